//! What a person decides about one memory, apart from its text: archive, restore, confirm, unconfirm
//! and delete permanently. Folded at first; what was done last stands above the text, with Undo. Another user's memory is not
//! found; in a read-only browser nothing can be changed, but for the permanent deletion, which is among the forms of one's data.
//! Also the admin's form that makes it read-only.

use std::fmt::Display;

use axum::response::Response;
use keepsake_edge::error::Problem;
use leptos::prelude::*;
use serde::Deserialize;

use super::{LoadedItem, memory_link, show};
use crate::components::{Field, FormError, Retired, count};
use crate::db::actor;
use crate::forms::{
    self, Admin, Attempt, FormName, FormState, Outcome, Posted, Rival, Submission, done,
    memory_problem, page,
};
use crate::islands::UndoTime;
use crate::memories::fading::{self, HALF_LIVES, Strength};
use crate::memories::manage::{self, RestoreOutcome, UNDO_FOR};
use crate::memories::{self, ItemEvent, ItemId, Reconfirmation};
use crate::moment::whole_ms;
use crate::page::{Page, PageError, asked, database};
use crate::pages::admin;

pub const FORM: FormName = FormName::Manage;

pub fn path_of(item: impl Display) -> String {
    format!("/memory/{item}")
}

/// What is undone is an event of the memory's history.
#[derive(Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum ManageForm {
    Archive,
    Restore { newer: forms::Field },
    Confirm,
    Unconfirm,
    Share,
    Own,
    HalfLife { days: forms::Field },
    HalfLifeByType,
    Undo { event: forms::Field<i64> },
}

pub async fn decide(Posted(posted, form): Posted<ManageForm>) -> Response {
    actor::require_open_browser();
    let name = match form {
        Ok(ManageForm::HalfLife { .. }) => FormName::HalfLife,
        _ => FORM,
    };
    let (path, outcome) = (path_of(&posted.id), apply(&posted, form).await);
    posted.respond_if_found(show, &path, name, outcome).await
}

async fn apply(posted: &Submission, form: Result<ManageForm, Problem>) -> Attempt {
    let (db, clock) = (&posted.state.db, &posted.state.clock);
    let (item, form) = (ItemId(posted.id()?), form?);
    let tool = match form {
        ManageForm::Archive => "memory_archive",
        ManageForm::Restore { .. } => "memory_restore",
        ManageForm::Confirm => "memory_confirm",
        ManageForm::Unconfirm => "memory_unconfirm",
        ManageForm::Share => "memory_share",
        ManageForm::Own => "memory_own",
        ManageForm::HalfLife { .. } | ManageForm::HalfLifeByType => "memory_half_life",
        ManageForm::Undo { .. } => "memory_undo",
    };
    let call = posted.begin(tool);
    let done = |()| RestoreOutcome::Done;
    let decided = match form {
        ManageForm::Archive => memories::archive(db, clock, &call, item).await.map(done),
        ManageForm::Restore { newer } => {
            let newer: Vec<ItemId> = newer.numbers().into_iter().map(ItemId).collect();
            memories::restore(db, clock, &call, item, &newer).await
        }
        ManageForm::Confirm => {
            let confirmed =
                memories::confirm(db, clock, &call, item, Reconfirmation::ChangesNothing);
            confirmed.await.map(done)
        }
        ManageForm::Unconfirm => memories::unconfirm(db, clock, &call, item).await.map(done),
        ManageForm::Share => manage::set_owner(db, clock, &call, item, false).await.map(done),
        ManageForm::Own => manage::set_owner(db, clock, &call, item, true).await.map(done),
        ManageForm::HalfLife { days } => {
            let days = fading::parse_days("days", &days)?;
            fading::set_half_life(db, &call, item, Some(days)).await.map(done)
        }
        ManageForm::HalfLifeByType => fading::set_half_life(db, &call, item, None).await.map(done),
        ManageForm::Undo { event } => manage::undo(db, clock, &call, item, *event).await,
    };
    // A success was recorded together with its change.
    call.ended_unknown();
    match decided.map_err(memory_problem)? {
        RestoreOutcome::Done => Ok(Outcome::Redirect),
        RestoreOutcome::Replaced(rivals) => Ok(Outcome::from(FormState {
            rivals: rivals.into_iter().map(rival).collect(),
            ..page(FORM)
        })),
    }
}

fn rival(rival: manage::Replacement) -> Rival {
    Rival { id: rival.id.0, beginning: rival.beginning }
}

#[derive(Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum BrowserForm {
    Close,
    Open,
}

/// Whether users may manage memories in the browser.
pub async fn browser(_: Admin, Posted(posted, form): Posted<BrowserForm>) -> Response {
    let (db, clock) = (&posted.state.db, &posted.state.clock);
    let attempt = async {
        let (read_only, sentence) = match form? {
            BrowserForm::Close => (true, "The memory browser is now read-only for all users."),
            BrowserForm::Open => (false, "Users can manage memories in the browser again."),
        };
        manage::set_browser_read_only(db, clock, read_only).await?;
        Ok(done(FormName::Browser, sentence))
    };
    posted.respond(admin::show, "/admin", FormName::Browser, attempt.await).await
}

/// What became of the last decision. At most one can be undone.
#[component]
pub fn Decided(found: LoadedItem, form: FormState) -> impl IntoView {
    let (id, now) = (found.item.id, asked().state.clock.now());
    let undo = manage::undoable(&found.history, now).filter(|_| found.is_manageable);
    let error = form.error.map(|error| {
        view! {
            <p class="error" role="alert">
                {error}
            </p>
        }
    });
    let body = if !form.rivals.is_empty() {
        view! { <InItsPlace id rivals=form.rivals /> }.into_any()
    } else if let Some(at) = found.item.delete_at {
        view! { <Deleting id left_ms=whole_ms(at - now) /> }.into_any()
    } else if let Some(event) = undo {
        view! { <Undoable id event=event.clone() left_ms=whole_ms(event.at + UNDO_FOR - now) /> }
            .into_any()
    } else {
        ().into_any()
    };
    view! {
        {error}
        {body}
    }
    .into_any()
}

#[component]
fn Undoable(id: ItemId, event: ItemEvent, left_ms: u32) -> impl IntoView {
    let done = match event.event.as_str() {
        "archived" => "You archived this memory.",
        "restored" => "You restored this memory.",
        "confirmed" => "You confirmed this memory.",
        _ => "You removed the confirmation of this memory.",
    };
    view! {
        <div class="done undo" data-undo=left_ms>
            <p role="status">{done}</p>
            <form class="actions" method="post" action=path_of(id) data-until="">
                <input type="hidden" name="event" value=event.id />
                <button type="submit" name="action" value="undo">
                    "Undo"
                </button>
                <UndoTime />
            </form>
        </div>
    }
    .into_any()
}

#[component]
fn Deleting(id: ItemId, left_ms: u32) -> impl IntoView {
    view! {
        <div class="undo undo-danger" data-undo=left_ms>
            <p role="status" data-until="">
                "This memory will be deleted permanently in ten seconds."
            </p>
            <p role="status" data-after="" hidden>
                "This memory was deleted permanently. Its receipt is on the page "
                <a href="/data#receipts-title">"Your data"</a> "."
            </p>
            <form class="actions" method="post" action="/data/delete" data-until="">
                <input type="hidden" name="item" value=id.0 />
                <button type="submit" name="action" value="undo">
                    "Undo"
                </button>
                <UndoTime />
            </form>
        </div>
    }
    .into_any()
}

/// Takes the focus, so that the question is in sight and is read out.
#[component]
fn InItsPlace(id: ItemId, rivals: Vec<Rival>) -> impl IntoView {
    let is_one = rivals.len() == 1;
    let (why, restore, keep) = match is_one {
        true => (
            "Not restored: another memory is active in its place.",
            "Restore this and archive the newer one",
            "Keep the newer one",
        ),
        false => (
            "Not restored: other memories are active in its place.",
            "Restore this and archive the newer ones",
            "Keep the newer ones",
        ),
    };
    let named = rivals
        .iter()
        .map(|rival| {
            view! {
                <li>
                    {memory_link(ItemId(rival.id))} ": " <span dir="auto">{rival.beginning.clone()}</span>
                </li>
            }
        })
        .collect_view();
    let agreed = rivals
        .iter()
        .map(|rival| view! { <input type="hidden" name="newer" value=rival.id /> })
        .collect_view();
    view! {
        <section class="ask" aria-labelledby="ask-title" tabindex="-1" autofocus>
            <h2 id="ask-title">{why}</h2>
            <ul class="rivals">{named}</ul>
            <form method="post" action=path_of(id) class="actions">
                {agreed}
                <button class="primary long" type="submit" name="action" value="restore">
                    {restore}
                </button>
                <a class="button" href=path_of(id)>
                    {keep}
                </a>
            </form>
        </section>
    }
    .into_any()
}

/// Nothing of it where the browser is read-only, and while the memory is being deleted.
#[component]
pub fn Manage(found: LoadedItem, form: FormState) -> impl IntoView {
    if !found.is_manageable || found.item.delete_at.is_some() {
        return ().into_any();
    }
    let LoadedItem { item, retired, strength, erasure, .. } = found;
    let id = item.id;
    let fades = HALF_LIVES.iter().any(|(fading, _)| *fading == item.item_type) && !item.protected;
    let half_life = strength.filter(|_| fades).map(|strength| {
        view! { <HalfLife id strength form=form.clone() /> }
    });
    let is_open = form.form == Some(FormName::HalfLife);
    let decisions = match (retired, item.locked) {
        // An episode changes with what was said, and is not confirmed.
        _ if item.span.is_some() => ().into_any(),
        (Some(retired), _) => view! { <Decide id action="restore" label="Restore" hint=restore_hint(retired) /> }
            .into_any(),
        (None, is_locked) => view! {
            <Decide
                id
                action="archive"
                label="Archive"
                hint="Agents find it only when they include archived memories. You can restore it."
            />
            {share_or_own(id, item.owner.is_some(), item.agent.is_some())}
            {(!is_locked)
                .then(|| {
                    view! {
                        <Decide
                            id
                            action="confirm"
                            label="Confirm"
                            hint="It does not fade, agents only propose changes, and only your own statement replaces it."
                        />
                    }
                })}
            {item
                .protected
                .then(|| {
                    view! {
                        <Decide
                            id
                            action="unconfirm"
                            label="Remove confirmation"
                            hint="It fades and is replaced as others are."
                        />
                    }
                })}
            {half_life}
        }
        .into_any(),
    };
    view! {
        <details class="manage" id="manage" open=is_open>
            <summary>"Manage"</summary>
            <div class="manage-body">
                {decisions}
                <form class="decision" method="post" action="/data/delete">
                    <input type="hidden" name="item" value=id.0 />
                    <div>
                        <button class="danger" type="submit" name="action" value="delete">
                            "Delete permanently"
                        </button>
                    </div>
                    <p class="hint">
                        {erasure_in_words(&erasure)} " Its words may stand in conversations and documents too: "
                        <a href=format!("/data/about?memory={id}")>"look for them and choose"</a> "."
                    </p>
                </form>
            </div>
        </details>
    }
    .into_any()
}

/// How fast it fades: for itself, or as its type does.
#[component]
fn HalfLife(id: ItemId, strength: Strength, form: FormState) -> impl IntoView {
    let days = strength.half_life_days();
    let days = days.map_or(String::new(), |days| (days.round() as i64).to_string());
    let form = form.of(FormName::HalfLife).or_saved(vec![("days", days)]);
    let by_type = strength.is_own_rate.then(|| {
        view! {
            <button type="submit" name="action" value="half_life_by_type">
                "Default of its type"
            </button>
        }
    });
    view! {
        <form class="decision" method="post" action=path_of(id)>
            <FormError form=form.clone() fields=&["days"] />
            <Field
                form
                name="days"
                label="Half-life in days"
                hint="It is half as strong after this many days without use. Leave blank to never fade."
                inputmode="numeric"
                autocomplete="off"
                maxlength="5"
                optional=true
            />
            <div class="actions">
                <button type="submit" name="action" value="half_life">
                    "Set"
                </button>
                {by_type}
            </div>
        </form>
    }
    .into_any()
}

/// The other way than now.
fn share_or_own(id: ItemId, has_owner: bool, has_agent: bool) -> AnyView {
    match (has_owner, has_agent) {
        (true, _) => view! {
            <Decide id action="share" label="Share with all agents" hint="All of your agents see it, except those limited to their own memories." />
        }
        .into_any(),
        (false, true) => view! {
            <Decide id action="own" label="Restrict to its agent" hint="Only the agent that added it sees it. You can share it again." />
        }
        .into_any(),
        (false, false) => ().into_any(),
    }
}

#[component]
fn Decide(
    id: ItemId,
    action: &'static str,
    label: &'static str,
    hint: &'static str,
) -> impl IntoView {
    view! {
        <form class="decision" method="post" action=path_of(id)>
            <div>
                <button type="submit" name="action" value=action>
                    {label}
                </button>
            </div>
            <p class="hint">{hint}</p>
        </form>
    }
    .into_any()
}

fn restore_hint(retired: Retired) -> &'static str {
    match retired {
        Retired::Archived | Retired::Faded => "Agents find it again.",
        Retired::Superseded | Retired::PutAside => {
            "Agents find it again. If the other memory is active, you choose which of the two to keep."
        }
        Retired::Expired => "Agents find it again. Its expiry date is removed.",
    }
}

/// What goes with one memory.
#[derive(Clone, Copy)]
pub struct ItemErasure {
    vectors: i64,
    events: i64,
    /// Calls that were about it.
    mentions: i64,
    /// Memories whose place it took.
    links: i64,
    /// The summary stands on it.
    is_in_summary: bool,
    /// Memories that were written from it.
    derived: i64,
}

pub async fn erasure(page: &Page, item: ItemId) -> Result<ItemErasure, PageError> {
    let rows = crate::erasure::weigh_item(&page.state.db, page.viewer.user_id, item).await;
    let rows = rows.map_err(database)?;
    let of = |name| rows.get(name).copied().unwrap_or_default();
    Ok(ItemErasure {
        vectors: of("memory_embeddings"),
        events: of("memory_item_events"),
        mentions: of("mentions"),
        links: of("links"),
        is_in_summary: of("memory_summary_items") > 0,
        derived: of("memory_origins"),
    })
}

/// What a deletion removes, in numbers.
fn erasure_in_words(erasure: &ItemErasure) -> String {
    let of = |n: i64, one: &str, many: &str| match n {
        1 => format!("1 {one}"),
        n => format!("{} {many}", count(n)),
    };
    let mut said = format!(
        "Its text, {} and {} are deleted after ten seconds, and its theme if it is then empty. This cannot be undone afterwards.",
        of(erasure.vectors, "vector", "vectors"),
        of(erasure.events, "entry of its history", "entries of its history"),
    );
    if erasure.mentions > 0 {
        said += &format!(
            " {} in the activity, without its ID and without the search query.",
            of(erasure.mentions, "call about it stays", "calls about it stay"),
        );
    }
    if erasure.is_in_summary {
        said += " The summary uses it: its text is deleted too, and written again without it.";
    }
    if erasure.derived > 0 {
        let what = of(
            erasure.derived,
            "memory that was derived from it is deleted",
            "memories that were derived from it are deleted",
        );
        said += &format!(" {what}, too.");
    }
    if erasure.links > 0 {
        said += &format!(
            " {} to it.",
            of(
                erasure.links,
                "older memory that it replaced no longer links",
                "older memories that it replaced no longer link"
            ),
        );
    }
    said
}
