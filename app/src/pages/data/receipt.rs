//! Receipts of what was erased: the list of a person's own, and the page of one,
//! which is for whoever holds its address, since an erased account signs nobody in.

use axum::response::{IntoResponse, Redirect, Response};
use leptos::prelude::*;

use crate::components::not_found;
use crate::components::{Progress, Renewal, Section, StateBadge, When, count};
use crate::erasure::{self, ErasedRows, ErasureKind, Receipt, ReceiptId};
use crate::islands::{LiveProgress, UndoTime};
use crate::moment::whole_ms;
use crate::page::{Asked, asked, database};

const LOOK_SECONDS: u32 = 1;

/// The names of a receipt's rows for people, in display order.
const LABELS: [(&str, &str); 55] = [
    ("memory_items", "memories"),
    ("memory_embeddings", "vectors"),
    ("memory_item_events", "entries of history"),
    ("memory_origins", "links of memories to their sources"),
    ("memory_uses", "usage counts of memories"),
    ("fading_settings", "settings of fading"),
    ("secret_settings", "settings of secrets"),
    ("secret_findings", "fingerprints of secrets found"),
    ("secret_counts", "daily counts of secrets found"),
    ("memory_themes", "themes"),
    ("memory_summaries", "summary"),
    ("memory_summary_items", "places of memories in the summary, whose text is deleted too"),
    ("sessions", "sessions"),
    ("session_messages", "messages of sessions"),
    ("turns", "search entries of messages"),
    ("episodes", "episodes (summaries of sessions)"),
    ("recall_sessions", "sessions in which something was recalled"),
    ("session_extractions", "extraction records"),
    ("documents", "documents"),
    ("document_revisions", "revisions of documents"),
    ("parts", "search entries of documents"),
    ("entities", "entities"),
    ("entity_names", "names of entities"),
    ("entity_mentions", "places where entities are named"),
    ("entity_relations", "relations of entities"),
    ("entity_relation_sources", "source sentences of relations"),
    ("entity_pairs", "pairs of entities that may be the same"),
    ("entity_events", "entries of the history of entities"),
    ("entity_settings", "settings of entities"),
    ("dreams", "dreams"),
    ("dream_proposals", "changes that dreams proposed"),
    ("dream_settings", "settings of dreams"),
    ("proposals", "changes that agents proposed"),
    ("deletions", "deletions that waited for Undo"),
    ("agent_undos", "undos of agents"),
    ("memory_repeats", "places where memories were said again"),
    ("projects", "projects"),
    ("project_aliases", "names and places of projects"),
    ("activity", "calls of agents"),
    ("queries", "search queries of calls; the calls stay"),
    ("names", "names of themes, agents and projects"),
    ("mentions", "calls that concerned it; they stay, without it"),
    ("links", "links of other memories to it"),
    ("quotes", "memories that stay, without their source messages"),
    ("agents", "agents"),
    ("agent_tokens", "tokens"),
    ("embedding_spaces", "embedding spaces"),
    ("embedding_settings", "settings of embeddings"),
    ("chat_settings", "settings of the chat model"),
    ("chat_spend", "days of chat usage"),
    ("chat_spend_purposes", "days of chat usage by purpose"),
    ("chat_reservations", "calls of the chat model under way"),
    ("data_imports", "records of imports"),
    ("web_sessions", "web sessions"),
    ("users", "account"),
];

/// For whoever holds its id, signed in or not.
pub async fn show(page: Asked) -> Response {
    let is_held = page.asked_for("hold").is_some();
    let found = erasure::find_receipt(&page.state.db, page.id()).await.map_err(database);
    let href = format!("/erased/{}", page.id());
    page.render(Section::Elsewhere, "Erased", href, found, move |receipt| {
        let body = match receipt {
            Some(receipt) => view! { <ReceiptPage receipt is_held /> }.into_any(),
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

pub fn to_receipt(receipt: &ReceiptId) -> Response {
    Redirect::to(&path_of(receipt)).into_response()
}

fn path_of(receipt: &ReceiptId) -> String {
    format!("/erased/{}", receipt.as_str())
}

/// How many rows of one kind there are.
pub struct RowCount {
    /// "vectors"
    pub label: &'static str,
    pub erased: i64,
    /// At the beginning.
    pub found: i64,
}

/// Adds one line for all rows without a name here, so that nothing is omitted.
pub fn row_counts(found: &ErasedRows, erased: &ErasedRows) -> Vec<RowCount> {
    let of = |rows: &ErasedRows, name| rows.get(name).copied().unwrap_or_default();
    let is_named = |name: &str| LABELS.iter().any(|(named, _)| *named == name);
    let others = |rows: &ErasedRows| {
        let others = rows.iter().filter(|(name, _)| !is_named(name));
        others.map(|(_, count)| count).sum()
    };
    let named = LABELS.into_iter().map(|(name, label)| RowCount {
        label,
        erased: of(erased, name),
        found: of(found, name),
    });
    let others = RowCount {
        label: "other rows: internal data of search and background work",
        erased: others(erased),
        found: others(found),
    };
    named.chain([others]).collect()
}

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
                ErasureKind::Item => "One memory",
                ErasureKind::Session => "One session",
                ErasureKind::Document => "One document",
                ErasureKind::Account => "This account",
                ErasureKind::Chosen => "What was found about something",
            };
            view! {
                <li>
                    <a href=path_of(&receipt.id)>{what}</a>
                    <When at=receipt.requested_at />
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

#[component]
fn ReceiptPage(receipt: Receipt, is_held: bool) -> impl IntoView {
    let path = path_of(&receipt.id);
    let is_done = receipt.finished_at.is_some();
    let is_account = receipt.kind == ErasureKind::Account;
    let what = match receipt.kind {
        ErasureKind::Item => "One memory",
        ErasureKind::Session => "One session",
        ErasureKind::Document => "One document",
        ErasureKind::Account => "An account and everything in it",
        ErasureKind::Chosen => "What was found about something",
    };
    let undo_ms = receipt.due_at.map(|at| whole_ms(at - asked().state.clock.now()));
    let undo_ms = undo_ms.filter(|ms| *ms > 0);
    let lead = match (is_done, receipt.kind) {
        (false, _) if undo_ms.is_some() => {
            "It is deleted permanently in a few seconds. Agents do not find it any more."
        }
        (false, ErasureKind::Chosen | ErasureKind::Item) => {
            "It is being deleted. You can close this page; keep its address to see the receipt."
        }
        (false, _) => {
            "The account is being deleted. Everybody is signed out of it and its tokens no longer work. You can close this page; keep its address to see the receipt."
        }
        (true, ErasureKind::Account) => {
            "The account is deleted. Nothing of it is left in this server's database. This receipt says how much there was, not whose it was."
        }
        (true, ErasureKind::Session) => {
            "The session and its messages are deleted. Memories that you kept no longer show the messages they came from. This receipt says how much there was, not what it said."
        }
        (true, ErasureKind::Item | ErasureKind::Document | ErasureKind::Chosen) => {
            "It is deleted, with everything derived from it. This receipt says how much there was, not what it said."
        }
    };
    let rows = row_counts(&receipt.found, &receipt.erased);
    let erased = rows.iter().map(|row| row.erased).sum();
    // What was added meanwhile counts as well.
    let total = rows.iter().map(|row| row.found.max(row.erased)).sum();
    let line = format!("{} of {} rows deleted", count(erased), count(total));
    let rows = rows
        .into_iter()
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
    let when = receipt.finished_at.map(|at| {
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
    let undo = undo_ms.map(|left_ms| {
        view! {
            <div class="undo undo-danger" data-undo=left_ms>
                <form class="actions" method="post" action="/data/about" data-until="">
                    <input type="hidden" name="receipt" value=receipt.id.as_str().to_owned() />
                    <button type="submit" name="action" value="undo">
                        "Undo"
                    </button>
                    <UndoTime />
                </form>
            </div>
        }
    });
    let stays = (is_done && !is_account).then(|| {
        let rows = row_counts(&receipt.stays, &ErasedRows::new());
        let rows = rows.into_iter().filter(|row| row.found > 0).map(|row| {
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
                                done=erased
                                failed=0
                                total=total
                                line
                            />
                        }
                    })}
                <dl class="facts">
                    <div>
                        <dt>"Receipt"</dt>
                        <dd>
                            <code>{receipt.id.as_str().to_owned()}</code>
                        </dd>
                    </div>
                    <div>
                        <dt>"Requested"</dt>
                        <dd>{asked().moment(receipt.requested_at).exact}</dd>
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_without_a_name_for_people_are_counted_too() {
        let rows = |rows: &[(&str, i64)]| -> ErasedRows {
            rows.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect()
        };
        let found = rows(&[("memory_items", 3), ("memory_passages", 4), ("job_runs", 2)]);
        let erased = rows(&[("memory_items", 3), ("job_runs", 1)]);
        let shown: Vec<_> = row_counts(&found, &erased)
            .into_iter()
            .filter(|row| row.found > 0)
            .map(|row| (row.label, row.found, row.erased))
            .collect();
        let others = "other rows: internal data of search and background work";
        assert_eq!(shown, [("memories", 3, 3), (others, 6, 1)]);
    }
}
