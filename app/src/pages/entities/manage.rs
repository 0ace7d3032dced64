//! What a person decides about one entity: its name and type, that it is another, that it is two,
//! that it stays. Folded at first; what was decided stands above, the latest with Undo.

use leptos::prelude::*;

use crate::address::entity_path;
use crate::components::{ENTITY_TYPES, Field, FormError, Marked, When};
use crate::forms::{FormName, FormState};
use crate::page::asked;
use crate::view::{EntityDecision, EntityName, EntityPage};

use super::same::mentions;

#[component]
pub fn Decisions(page: EntityPage) -> impl IntoView {
    let form = asked().form.of(FormName::Entity);
    if page.decisions.is_empty() && form.error.is_none() {
        return ().into_any();
    }
    let (id, is_manageable) = (page.link.id, page.is_manageable);
    let rows = page
        .decisions
        .into_iter()
        .map(|decision| view! { <Decided id decision is_manageable /> })
        .collect_view();
    view! {
        <section class="part" id="decisions" aria-labelledby="decisions-title">
            <h2 id="decisions-title">"History"</h2>
            <FormError form fields=&[] />
            <ol class="timeline">{rows}</ol>
        </section>
    }
    .into_any()
}

#[component]
fn Decided(id: i64, decision: EntityDecision, is_manageable: bool) -> impl IntoView {
    let other = decision.other.map(|(other, name)| {
        view! {
            <a href=entity_path(other)>
                <bdi>
                    <Marked text=name />
                </bdi>
            </a>
        }
    });
    let actor = match decision.by_person {
        true => "by you",
        false => "automatically",
    };
    let undone = decision.undone.map(|moment| {
        view! {
            <span class="hint">"undone " <When at=moment /></span>
        }
    });
    let undo = (decision.can_undo && is_manageable).then(|| {
        view! {
            <form method="post" action=entity_path(id)>
                <input type="hidden" name="decision" value=decision.id />
                <button type="submit" name="action" value="undo">
                    "Undo"
                </button>
            </form>
        }
    });
    view! {
        <li>
            <span class="event">
                <Marked text=decision.words />
                " "
                {other}
            </span>
            <span class="actor">{actor}</span>
            {undone}
            {undo}
            <When at=decision.at />
        </li>
    }
    .into_any()
}

/// Nothing of it where the browser is read-only.
#[component]
pub fn Manage(page: EntityPage) -> impl IntoView {
    if !page.is_manageable {
        return ().into_any();
    }
    let form = asked().form;
    let is_open = form.error.is_some()
        && matches!(
            form.form,
            Some(FormName::EntityRename | FormName::EntityMerge | FormName::EntitySplit)
        );
    let id = page.link.id;
    let split = (page.names.len() > 1).then(|| {
        let form = form.of(FormName::EntitySplit);
        view! { <Split id names=page.names.clone() form /> }
    });
    let protect = (!page.is_user).then(|| view! { <Protect id is_on=page.is_protected /> });
    view! {
        <details class="manage" id="manage" open=is_open>
            <summary>"Manage"</summary>
            <div class="manage-body entity-manage">
                <Rename page=page.clone() form=form.of(FormName::EntityRename) />
                <Merge id form=form.of(FormName::EntityMerge) />
                {split}
                {protect}
            </div>
        </details>
    }
    .into_any()
}

#[component]
fn Rename(page: EntityPage, form: FormState) -> impl IntoView {
    let form = form.or_saved(vec![
        ("name", page.link.name.clone()),
        ("type", page.link.entity_type.to_owned()),
    ]);
    let chosen = form.value("type");
    let types = ENTITY_TYPES.map(|slug| {
        view! {
            <option value=slug selected=slug == chosen>
                {slug}
            </option>
        }
    });
    view! {
        <form class="stack" method="post" action=entity_path(page.link.id)>
            <h3>"Rename"</h3>
            <FormError form=form.clone() fields=&["name"] />
            <Field form name="name" label="Name" autocomplete="off" />
            <div class="field">
                <label for="entity-type">"Type"</label>
                <select id="entity-type" name="type">
                    {types.into_iter().collect_view()}
                </select>
            </div>
            <div>
                <button type="submit" name="action" value="rename">
                    "Save"
                </button>
            </div>
        </form>
    }
    .into_any()
}

#[component]
fn Merge(id: i64, form: FormState) -> impl IntoView {
    view! {
        <form class="stack" method="post" action=entity_path(id)>
            <h3>"Merge"</h3>
            <FormError form=form.clone() fields=&["with"] />
            <Field
                form
                name="with"
                label="Merge with"
                hint="The name or ID of the other entity. Its names, memories and relations move to this one."
                autocomplete="off"
            />
            <div>
                <button type="submit" name="action" value="merge">
                    "Merge"
                </button>
            </div>
        </form>
    }
    .into_any()
}

#[component]
fn Split(id: i64, names: Vec<EntityName>, form: FormState) -> impl IntoView {
    let chosen: Vec<String> = form.value("names").split(' ').map(str::to_owned).collect();
    let boxes = names
        .into_iter()
        .map(|alias| {
            let is_chosen = chosen.contains(&alias.id.to_string());
            view! {
                <label class="check">
                    <input type="checkbox" name="names" value=alias.id checked=is_chosen />
                    <bdi>
                        <Marked text=alias.name />
                    </bdi>
                    <span class="hint number">{mentions(alias.mentions)}</span>
                </label>
            }
        })
        .collect_view();
    view! {
        <form class="stack" method="post" action=entity_path(id)>
            <h3>"Split"</h3>
            <fieldset class="field">
                <legend>"Names that belong to another entity"</legend>
                {boxes}
            </fieldset>
            <FormError form fields=&[] />
            <p class="hint">"Memories that use these names move with them."</p>
            <div>
                <button type="submit" name="action" value="split">
                    "Split"
                </button>
            </div>
        </form>
    }
    .into_any()
}

#[component]
fn Protect(id: i64, is_on: bool) -> impl IntoView {
    let (action, label, hint) = match is_on {
        true => (
            "unprotect",
            "Remove protection",
            "It can be merged automatically again, and is deleted when no memory names it.",
        ),
        false => (
            "protect",
            "Protect",
            "It stays even when no memory names it, and only you can merge it.",
        ),
    };
    view! {
        <form class="decision" method="post" action=entity_path(id)>
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
