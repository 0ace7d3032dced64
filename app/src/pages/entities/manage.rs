//! What a person decides about one entity: its name and type, that it is another, that it is two, that it stays. Folded at
//! first; what was decided stands above, the latest with Undo.

use axum::http::StatusCode;
use keepsake_edge::error::Problem;
use leptos::prelude::*;
use serde::Deserialize;

use super::{entity_problem, mentions};
use crate::address::entity_path;
use crate::components::{ENTITY_TYPES, Field, FormError, Marked, SelectField, When, count};
use crate::entities::{
    self, Alias, DecisionRecord, Entity, EntityError, EntityId, decide, find_named,
};
use crate::forms::{self, Attempt, FormName, FormState, Outcome, Submission};
use crate::memories::mentions::EntityType;
use crate::page::asked;

#[derive(Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum EntityForm {
    Rename { name: forms::Field, r#type: forms::Field },
    Merge { with: forms::Field },
    Split { names: forms::Field },
    Protect,
    Unprotect,
    Undo { decision: forms::Field<i64> },
}

pub async fn apply(posted: &Submission, form: Result<EntityForm, Problem>) -> Attempt {
    let ((db, user, now), entity) = (posted.context(), EntityId(posted.id()?));
    let (decided, field) = match form {
        Ok(EntityForm::Rename { name, r#type }) => {
            let entity_type = EntityType::from_label(&r#type).ok_or_else(unknown_type)?;
            let name = posted.screened("name", &name).await?;
            let renamed = decide::rename(db, user, entity, &name, entity_type, now);
            (renamed.await, None)
        }
        Ok(EntityForm::Merge { with }) => {
            // Checks that the entity exists before another is looked up by name.
            let other = other_one(posted, entity, &with).await?;
            match decide::merge(db, user, (entity, other), now).await {
                Err(EntityError::NotFound(id)) if id == other && id != entity => {
                    return Err(no_such_other(id));
                }
                merged => (merged, Some("with")),
            }
        }
        Ok(EntityForm::Split { names }) => {
            let split = decide::split(db, user, entity, &names.numbers(), now).await;
            (split.map(|_| ()), Some("names"))
        }
        Ok(EntityForm::Protect) => (decide::protect(db, user, entity, true, now).await, None),
        Ok(EntityForm::Unprotect) => (decide::protect(db, user, entity, false, now).await, None),
        Ok(EntityForm::Undo { decision }) => {
            exists(posted, entity).await?;
            (decide::undo(db, user, entity, *decision, now).await, None)
        }
        Err(unknown) => {
            exists(posted, entity).await?;
            return Err(unknown);
        }
    };
    decided.map_err(|error| entity_problem(error, field))?;
    Ok(Outcome::Redirect)
}

/// Finds the other entity by its id or name.
async fn other_one(posted: &Submission, entity: EntityId, text: &str) -> Result<EntityId, Problem> {
    exists(posted, entity).await?;
    if let Ok(id) = text.trim().parse() {
        return Ok(EntityId(id));
    }
    let found = find_named(&posted.state.search, posted.user(), text).await;
    found.map_err(|error| match error {
        EntityError::Invalid(mut invalid) => {
            invalid.field = "with".into();
            invalid.into()
        }
        error => entity_problem(error, Some("with")),
    })
}

async fn exists(posted: &Submission, entity: EntityId) -> Result<(), Problem> {
    let found = entities::exists(&posted.state.db, posted.user(), entity).await;
    match found? {
        true => Ok(()),
        false => Err(entity_problem(EntityError::NotFound(entity), None)),
    }
}

fn no_such_other(id: EntityId) -> Problem {
    let sentence = format!("There is no entity {id} in your memory.");
    Problem {
        field: Some("with".to_owned()),
        ..Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "unknown_entity", sentence)
    }
}

fn unknown_type() -> Problem {
    Problem::new(
        StatusCode::UNPROCESSABLE_ENTITY,
        "unknown_type",
        "`type` is not known; choose one from the list.",
    )
}

#[component]
pub fn Decisions(id: EntityId, decisions: Vec<DecisionRecord>, can_manage: bool) -> impl IntoView {
    let form = asked().form.of(FormName::Entity);
    if decisions.is_empty() && form.error.is_none() {
        return ().into_any();
    }
    let can_undo = |one: &&DecisionRecord| one.undone_at.is_none() && one.event != "withdrawn";
    let latest = decisions.iter().find(can_undo).map(|one| one.id);
    let rows = decisions
        .into_iter()
        .map(|decision| {
            let can_undo = can_manage && latest == Some(decision.id);
            view! { <Decision id decision can_undo /> }
        })
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
fn Decision(id: EntityId, decision: DecisionRecord, can_undo: bool) -> impl IntoView {
    let words = in_words(&decision);
    let other = decision.other_id.zip(decision.other_name).map(|(other, name)| {
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
    let undone = decision.undone_at.map(|at| {
        view! {
            <span class="hint">"undone " <When at /></span>
        }
    });
    let undo = can_undo.then(|| {
        view! {
            <form method="post" action=entity_path(id.0)>
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
                <Marked text=words />
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

fn in_words(decision: &DecisionRecord) -> String {
    match decision.event.as_str() {
        "merged" => "Merged with".to_owned(),
        "split" => "Split: some names went to".to_owned(),
        "apart" => "Kept separate from".to_owned(),
        "renamed" => match decision.detail["name"].as_str() {
            Some(old) => format!("Renamed from {old}"),
            None => "Renamed".to_owned(),
        },
        "withdrawn" => match decision.detail["names"].as_i64() {
            Some(1) | None => "Withdrew a name that today's rules do not find".to_owned(),
            Some(names) => {
                format!("Withdrew {} names that today's rules do not find", count(names))
            }
        },
        "protected" => "Protected".to_owned(),
        "unprotected" => "Protection removed".to_owned(),
        other => other.to_owned(),
    }
}

/// Nothing of it where the browser is read-only.
#[component]
pub fn Manage(entity: Entity, names: Vec<Alias>, can_manage: bool) -> impl IntoView {
    if !can_manage {
        return ().into_any();
    }
    let form = asked().form;
    let is_open = form.error.is_some()
        && matches!(
            form.form,
            Some(FormName::EntityRename | FormName::EntityMerge | FormName::EntitySplit)
        );
    let id = entity.id;
    let split = (names.len() > 1).then(|| {
        let form = form.of(FormName::EntitySplit);
        view! { <Split id names form /> }
    });
    let protect = (!entity.is_user).then(|| view! { <Protect id is_on=entity.is_protected /> });
    view! {
        <details class="manage" id="manage" open=is_open>
            <summary>"Manage"</summary>
            <div class="manage-body entity-manage">
                <Rename entity form=form.of(FormName::EntityRename) />
                <Merge id form=form.of(FormName::EntityMerge) />
                {split}
                {protect}
            </div>
        </details>
    }
    .into_any()
}

#[component]
fn Rename(entity: Entity, form: FormState) -> impl IntoView {
    let entity_type = entity.entity_type.as_str().to_owned();
    let form = form.or_saved(vec![("name", entity.name), ("type", entity_type)]);
    view! {
        <form class="stack" method="post" action=entity_path(entity.id.0)>
            <h3>"Rename"</h3>
            <FormError form=form.clone() fields=&["name", "type"] />
            <Field form=form.clone() name="name" label="Name" autocomplete="off" />
            <SelectField
                form
                id="entity-type".to_owned()
                name="type"
                label="Type"
                choices=ENTITY_TYPES.map(|slug| (slug, slug)).to_vec()
            />
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
fn Merge(id: EntityId, form: FormState) -> impl IntoView {
    view! {
        <form class="stack" method="post" action=entity_path(id.0)>
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
fn Split(id: EntityId, names: Vec<Alias>, form: FormState) -> impl IntoView {
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
        <form class="stack" method="post" action=entity_path(id.0)>
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
fn Protect(id: EntityId, is_on: bool) -> impl IntoView {
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
        <form class="decision" method="post" action=entity_path(id.0)>
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
