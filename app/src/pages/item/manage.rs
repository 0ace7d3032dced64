//! What a person decides about one memory, apart from its text: archive, restore, confirm, unconfirm
//! and delete permanently. Folded at first; what was done last stands above the text, with Undo.

use leptos::prelude::*;

use super::memory_link;
use crate::components::{Field, FormError, count};
use crate::forms::{FormName, FormState, Rival};
use crate::islands::UndoTime;
use crate::view::{Deletion, ItemErasure, ItemPage, ItemStrength, Retired, Undo};

/// What became of the last decision. At most one can be undone.
#[component]
pub fn Decided(item: ItemPage, form: FormState) -> impl IntoView {
    let error = form.error.map(|error| {
        view! {
            <p class="error" role="alert">
                {error}
            </p>
        }
    });
    let body = if !form.rivals.is_empty() {
        view! { <InItsPlace id=item.id rivals=form.rivals /> }.into_any()
    } else if let Some(deletion) = item.deletion {
        view! { <Deleting id=item.id deletion /> }.into_any()
    } else if let Some(undo) = item.undo {
        view! { <Undoable id=item.id undo /> }.into_any()
    } else {
        ().into_any()
    };
    view! {
        {error}
        {body}
    }
    .into_any()
}

fn path_of(id: i64) -> String {
    format!("/memory/{id}")
}

#[component]
fn Undoable(id: i64, undo: Undo) -> impl IntoView {
    view! {
        <div class="done undo" data-undo=undo.left_ms>
            <p role="status">{undo.done}</p>
            <form class="actions" method="post" action=path_of(id) data-until="">
                <input type="hidden" name="event" value=undo.event />
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
fn Deleting(id: i64, deletion: Deletion) -> impl IntoView {
    view! {
        <div class="undo undo-danger" data-undo=deletion.left_ms>
            <p role="status" data-until="">
                "This memory will be deleted permanently in ten seconds."
            </p>
            <p role="status" data-after="" hidden>
                "This memory was deleted permanently. Its receipt is on the page "
                <a href="/data#receipts-title">"Your data"</a> "."
            </p>
            <form class="actions" method="post" action="/data/delete" data-until="">
                <input type="hidden" name="item" value=id />
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
fn InItsPlace(id: i64, rivals: Vec<Rival>) -> impl IntoView {
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
                    {memory_link(rival.id)} ": " <span dir="auto">{rival.beginning.clone()}</span>
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
pub fn Manage(item: ItemPage, form: FormState) -> impl IntoView {
    if !item.is_manageable || item.deletion.is_some() {
        return ().into_any();
    }
    let id = item.id;
    let is_open = form.form == Some(FormName::HalfLife);
    let decisions = match (item.retired, item.locked) {
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
            {whose(id, item.owner, item.agent)}
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
            {item.strength.filter(|strength| strength.can_be_set).map(|strength| view! { <HalfLife id strength form=form.clone() /> })}
        }
        .into_any(),
    };
    view! {
        <details class="manage" id="manage" open=is_open>
            <summary>"Manage"</summary>
            <div class="manage-body">
                {decisions}
                <form class="decision" method="post" action="/data/delete">
                    <input type="hidden" name="item" value=id />
                    <div>
                        <button class="danger" type="submit" name="action" value="delete">
                            "Delete permanently"
                        </button>
                    </div>
                    <p class="hint">
                        {goes(item.erasure)} " Its words may stand in conversations and documents too: "
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
fn HalfLife(id: i64, strength: ItemStrength, form: FormState) -> impl IntoView {
    let days = strength.half_life.map_or(String::new(), |days| days.to_string());
    let form = form.of(FormName::HalfLife).or_saved(vec![("days", days)]);
    let by_type = strength.is_own.then(|| {
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

/// Who sees it, and the other way.
fn whose(id: i64, owner: Option<String>, agent: Option<String>) -> AnyView {
    match (owner, agent) {
        (Some(_), _) => view! {
            <Decide id action="share" label="Share with all agents" hint="All of your agents see it, except those limited to their own memories." />
        }
        .into_any(),
        (None, Some(_)) => view! {
            <Decide id action="own" label="Restrict to its agent" hint="Only the agent that added it sees it. You can share it again." />
        }
        .into_any(),
        (None, None) => ().into_any(),
    }
}

#[component]
fn Decide(id: i64, action: &'static str, label: &'static str, hint: &'static str) -> impl IntoView {
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

/// What a deletion removes, in numbers.
fn goes(erasure: ItemErasure) -> String {
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
