//! Receipts of what was erased: the list of a person's own, and the page of one,
//! which is for whoever holds its address, since an erased account signs nobody in.

use axum::response::Response;
use leptos::prelude::*;

use crate::components::not_found;
use crate::components::{Progress, Renewal, Section, StateBadge, When, count};
use crate::islands::{LiveProgress, UndoTime};
use crate::page::{Asked, asked};
use crate::view::{ErasedKind, Receipt};

const LOOK_SECONDS: u32 = 1;

#[component]
pub fn Receipts(receipts: Vec<Receipt>) -> impl IntoView {
    let body = if receipts.is_empty() {
        view! {
            <p class="hint">
                "Nothing was deleted permanently yet. You can delete a memory here or on its page, and a session on its page. The receipt is then listed here."
            </p>
        }
        .into_any()
    } else {
        let rows = receipts.into_iter().map(|receipt| {
            let what = match receipt.kind {
                ErasedKind::Memory => "One memory",
                ErasedKind::Session => "One session",
                ErasedKind::Document => "One document",
                ErasedKind::Account => "This account",
                ErasedKind::Chosen => "What was found about something",
            };
            view! {
                <li>
                    <a href=format!("/erased/{}", receipt.id)>{what}</a>
                    <When at=receipt.requested />
                </li>
            }
        });
        view! { <ol class="timeline">{rows.collect_view()}</ol> }.into_any()
    };
    view! {
        <section class="part" aria-labelledby="receipts-title">
            <h2 id="receipts-title">"Receipts"</h2>
            {body}
        </section>
    }
    .into_any()
}

/// For whoever holds its id, signed in or not.
pub async fn show(page: Asked) -> Response {
    let is_held = page.asked_for("hold").is_some();
    let found = page.receipt(page.id()).await;
    let href = format!("/erased/{}", page.id());
    page.render(Section::Elsewhere, "Erased", href, found, move |receipt| {
        let body = match receipt {
            Some(receipt) => view! { <Whole receipt is_held /> }.into_any(),
            None => {
                not_found();
                view! {
                    <h1>"No such receipt"</h1>
                    <p>"Check its address: it may be incomplete."</p>
                }
                .into_any()
            }
        };
        view! { <div class="column page">{body}</div> }.into_any()
    })
    .await
}

#[component]
fn Whole(receipt: Receipt, is_held: bool) -> impl IntoView {
    let path = format!("/erased/{}", receipt.id);
    let is_done = receipt.finished.is_some();
    let is_account = receipt.kind == ErasedKind::Account;
    let what = match receipt.kind {
        ErasedKind::Memory => "One memory",
        ErasedKind::Session => "One session",
        ErasedKind::Document => "One document",
        ErasedKind::Account => "An account and everything in it",
        ErasedKind::Chosen => "What was found about something",
    };
    let lead = match (is_done, receipt.kind) {
        (false, _) if receipt.undo_ms.is_some() => {
            "It is deleted permanently in a few seconds. Agents do not find it any more."
        }
        (false, ErasedKind::Chosen | ErasedKind::Memory) => {
            "It is being deleted. You can close this page; keep its address to see the receipt."
        }
        (false, _) => {
            "The account is being deleted. Everybody is signed out of it and its tokens no longer work. You can close this page; keep its address to see the receipt."
        }
        (true, ErasedKind::Account) => {
            "The account is deleted. Nothing of it is left in this server's database. This receipt says how much there was, not whose it was."
        }
        (true, ErasedKind::Session) => {
            "The session and its messages are deleted. Memories that you kept no longer show the messages they came from. This receipt says how much there was, not what it said."
        }
        (true, ErasedKind::Memory | ErasedKind::Document | ErasedKind::Chosen) => {
            "It is deleted, with everything derived from it. This receipt says how much there was, not what it said."
        }
    };
    let line = format!("{} of {} rows deleted", count(receipt.erased()), count(receipt.total()));
    let rows = receipt
        .rows
        .iter()
        .filter(|row| row.erased > 0 || row.found > 0)
        .map(|row| {
            view! {
                <div>
                    <dt>{row.label}</dt>
                    <dd class="number">{count(if is_done { row.erased } else { row.found })}</dd>
                </div>
            }
        })
        .collect_view();
    let when = receipt.finished.map(|at| {
        view! {
            <div>
                <dt>"Finished"</dt>
                <dd>{asked().moment(at).exact}</dd>
            </div>
        }
    });
    let download = is_done.then(|| {
        view! {
            <p>
                <a class="button" href=format!("{path}/receipt.json") download="">
                    "Download the receipt"
                </a>
            </p>
        }
    });
    let undo = receipt.undo_ms.map(|left_ms| {
        view! {
            <div class="undo undo-danger" data-undo=left_ms>
                <form class="actions" method="post" action="/data/about" data-until="">
                    <input type="hidden" name="receipt" value=receipt.id.clone() />
                    <button type="submit" name="action" value="undo">
                        "Undo"
                    </button>
                    <UndoTime />
                </form>
            </div>
        }
    });
    let stays = (is_done && !is_account).then(|| {
        let rows = receipt.stays.iter().filter(|row| row.found > 0).map(|row| {
            view! {
                <div>
                    <dt>{row.label}</dt>
                    <dd class="number">{count(row.found)}</dd>
                </div>
            }
        });
        let rows = rows.collect::<Vec<_>>();
        let chosen = (!rows.is_empty()).then(|| {
            view! {
                <p>"Found with it, and not chosen:"</p>
                <dl class="facts">{rows}</dl>
            }
        });
        view! {
            <h2>"What stays, and why"</h2>
            {chosen}
            <ul>
                <li>"Backups made before, until the operator deletes them. A restore deletes it again."</li>
                <li>"What agents, their programs and model providers have received before."</li>
                <li>"Other texts that say the same in other words."</li>
            </ul>
        }
    });
    let renewal = (!is_done).then(|| view! { <Renewal path=path.clone() is_held /> });
    view! {
        <div data-renewed-from=path.clone()>
            <div class="column" data-live="erased" data-look-again=(!is_done).then_some(LOOK_SECONDS)>
                <p class="badges">
                    <StateBadge state=if is_done { "erased" } else { "erasing" } />
                </p>
                <h1>{what}</h1>
                <p class="lead">{lead}</p>
                {undo}
                {(is_account || !is_done)
                    .then(|| {
                        view! {
                            <Progress
                                label="Erased".to_owned()
                                done=receipt.erased()
                                failed=0
                                total=receipt.total()
                                line
                            />
                        }
                    })}
                <dl class="facts">
                    <div>
                        <dt>"Receipt"</dt>
                        <dd>
                            <code>{receipt.id.clone()}</code>
                        </dd>
                    </div>
                    <div>
                        <dt>"Requested"</dt>
                        <dd>{asked().moment(receipt.requested).exact}</dd>
                    </div>
                    {when}
                </dl>
                <h2>{if is_done { "What was deleted" } else { "What is deleted" }}</h2>
                <dl class="facts">{rows}</dl>
                {stays}
                {download}
            </div>
            {renewal}
        </div>
        <LiveProgress />
    }
    .into_any()
}
