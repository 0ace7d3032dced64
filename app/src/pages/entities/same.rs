//! Names that may be one: a person says whether they are.

use leptos::prelude::*;

use crate::components::{FormError, Marked, TypeBadge, count};
use crate::forms::FormName;
use crate::page::asked;
use crate::view::{EntityPair, EntityRow};

#[component]
pub fn Same(pairs: Vec<EntityPair>, total: i64, is_manageable: bool) -> impl IntoView {
    let form = asked().form.of(FormName::EntityPairs);
    if pairs.is_empty() && form.error.is_none() {
        return ().into_any();
    }
    let shown = pairs.len() as i64;
    let rest = (total > shown).then(|| {
        let words = format!("{} of {} are shown.", count(shown), count(total));
        view! { <p class="hint">{words}</p> }
    });
    let pairs = pairs.into_iter().map(|pair| view! { <Asked pair is_manageable /> }).collect_view();
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
fn Asked(pair: EntityPair, is_manageable: bool) -> impl IntoView {
    let (one, other) = (pair.one.link.id, pair.other.link.id);
    let named = format!("{} and {}", pair.one.link.name, pair.other.link.name);
    let label = |action: &str| format!("{action}: {named}");
    let buttons = is_manageable.then(|| {
        view! {
            <form class="actions" method="post" action="/entities/pairs">
                <input type="hidden" name="one" value=one />
                <input type="hidden" name="other" value=other />
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
                <Side row=pair.one />
                <Side row=pair.other />
                <p class="hint">{pair.why}</p>
            </div>
            {buttons}
        </li>
    }
    .into_any()
}

#[component]
fn Side(row: EntityRow) -> impl IntoView {
    view! {
        <p class="same-side">
            <a href=row.link.href() dir="auto">
                <Marked text=row.link.name.clone() />
            </a>
            <TypeBadge item_type=row.link.entity_type.to_owned() />
            <span class="hint number">{mentions(row.mentions)}</span>
        </p>
    }
    .into_any()
}

/// "1 mention", "1,234 mentions"
pub fn mentions(n: i64) -> String {
    match n {
        1 => "1 mention".to_owned(),
        n => format!("{} mentions", count(n)),
    }
}
