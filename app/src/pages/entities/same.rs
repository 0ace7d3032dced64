//! Names that may be one: a person says whether they are. In a read-only browser nothing can be decided.

use axum::response::Response;
use leptos::prelude::*;
use serde::Deserialize;

use super::{PATH, entity_problem, mentions, show};
use crate::address::entity_path;
use crate::components::{FormError, Marked, TypeBadge, count};
use crate::db::actor;
use crate::entities::decide::{keep_apart, merge};
use crate::entities::{Entity, EntityId, PossibleDuplicate};
use crate::forms::{Field, FormName, Outcome, Posted};
use crate::page::asked;

#[derive(Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum EntityPairForm {
    Merge { one: Field<i64>, other: Field<i64> },
    Apart { one: Field<i64>, other: Field<i64> },
}

/// Decides whether two possible duplicates are the same entity.
pub async fn decide(Posted(posted, form): Posted<EntityPairForm>) -> Response {
    actor::require_open_browser();
    let (db, user, now) = posted.context();
    let attempt = async {
        let decided = match form? {
            EntityPairForm::Merge { one, other } => {
                merge(db, user, (EntityId(*one), EntityId(*other)), now).await
            }
            EntityPairForm::Apart { one, other } => {
                keep_apart(db, user, (EntityId(*one), EntityId(*other)), now).await
            }
        };
        decided.map_err(|error| entity_problem(error, None))?;
        Ok(Outcome::Redirect)
    };
    posted.respond_if_found(show, PATH, FormName::EntityPairs, attempt.await).await
}

/// In words; `None` for a reason that is not known here.
fn reason_of(pair: &PossibleDuplicate) -> Option<&'static str> {
    match pair.why.as_str() {
        "letters" => Some("look alike in different scripts"),
        "spelling" => Some("similar spelling"),
        "part" => Some("one name contains the other"),
        "initials" => Some("initials"),
        "meaning" => Some("similar description"),
        _ => None,
    }
}

#[component]
pub fn PossibleDuplicates(
    pairs: Vec<PossibleDuplicate>,
    total: i64,
    can_manage: bool,
) -> impl IntoView {
    let pairs = pairs.into_iter().filter_map(|pair| Some((reason_of(&pair)?, pair)));
    let pairs: Vec<_> = pairs.collect();
    let form = asked().form.of(FormName::EntityPairs);
    if pairs.is_empty() && form.error.is_none() {
        return ().into_any();
    }
    let shown = pairs.len() as i64;
    let rest = (total > shown).then(|| {
        let words = format!("{} of {} are shown.", count(shown), count(total));
        view! { <p class="hint">{words}</p> }
    });
    let pairs = pairs
        .into_iter()
        .map(|(reason, pair)| view! { <Pair reason pair can_manage /> })
        .collect_view();
    view! {
        <section class="part" id="same" aria-labelledby="same-title">
            <h2 id="same-title">"Possible duplicates"</h2>
            <p class="hint">
                "These names may mean the same. Merging makes them one entity; you can undo it on its page."
            </p>
            <FormError form fields=&[] />
            <ul class="same">{pairs}</ul>
            {rest}
        </section>
    }
    .into_any()
}

#[component]
fn Pair(reason: &'static str, pair: PossibleDuplicate, can_manage: bool) -> impl IntoView {
    // The first one is kept in a merge: the user, or the one with more mentions.
    let rank = |entity: &Entity| (entity.is_user, entity.mentions);
    let (one, other) = match rank(&pair.other) > rank(&pair.one) {
        true => (pair.other, pair.one),
        false => (pair.one, pair.other),
    };
    let named = format!("{} and {}", one.name, other.name);
    let label = |action: &str| format!("{action}: {named}");
    let buttons = can_manage.then(|| {
        view! {
            <form class="actions" method="post" action="/entities/pairs">
                <input type="hidden" name="one" value=one.id.0 />
                <input type="hidden" name="other" value=other.id.0 />
                <button type="submit" name="action" value="merge" aria-label=label("Merge")>
                    "Merge"
                </button>
                <button type="submit" name="action" value="apart" aria-label=label("Keep separate")>
                    "Keep separate"
                </button>
            </form>
        }
    });
    view! {
        <li>
            <div class="same-pair">
                <Side entity=one />
                <Side entity=other />
                <p class="hint">{reason}</p>
            </div>
            {buttons}
        </li>
    }
    .into_any()
}

#[component]
fn Side(entity: Entity) -> impl IntoView {
    view! {
        <p class="same-side">
            <a href=entity_path(entity.id.0) dir="auto">
                <Marked text=entity.name />
            </a>
            <TypeBadge item_type=entity.entity_type.as_str().to_owned() />
            <span class="hint number">{mentions(entity.mentions)}</span>
        </p>
    }
    .into_any()
}
