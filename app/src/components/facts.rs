//! Terms and what they are: as a column, or in one line that wraps.

use leptos::prelude::*;
use time::OffsetDateTime;

use super::When;
use crate::components::count;

pub type Fact = (&'static str, AnyView);

#[component]
pub fn Facts(facts: Vec<Fact>, #[prop(optional)] inline: bool) -> impl IntoView {
    view! {
        <dl class="facts" class:inline=inline>
            {facts
                .into_iter()
                .map(|(term, fact)| {
                    view! {
                        <div>
                            <dt>{term}</dt>
                            <dd>{fact}</dd>
                        </div>
                    }
                })
                .collect_view()}
        </dl>
    }
    .into_any()
}

/// The space whose vectors search uses.
#[derive(Clone, Debug, PartialEq)]
pub struct SpaceView {
    pub provider: String,
    pub model: String,
    pub dimensions: Option<i32>,
    /// `None` where its model gives no token vectors.
    pub late: Option<LateView>,
    pub since: OffsetDateTime,
}

/// How it stands with late interaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LateView {
    Off,
    /// Texts whose token vectors are made.
    Making {
        done: i64,
        of: i64,
    },
    On,
}

/// Whose vectors these are; `provider` is what its first fact is called.
pub fn space_facts(provider: &'static str, space: SpaceView) -> Vec<Fact> {
    let mut facts: Vec<Fact> = vec![
        (provider, view! { <bdi>{space.provider}</bdi> }.into_any()),
        ("Model", view! { <bdi>{space.model}</bdi> }.into_any()),
    ];
    if let Some(dimensions) = space.dimensions {
        facts.push(("Dimensions", dimensions.into_any()));
    }
    if let Some(late) = space.late {
        let how = match late {
            LateView::Off => "off".to_owned(),
            LateView::On => "on".to_owned(),
            LateView::Making { done, of } => {
                format!("being made, {} of {}", count(done), count(of))
            }
        };
        facts.push(("Late interaction", how.into_any()));
    }
    facts.push(("Since", view! { <When at=space.since /> }.into_any()));
    facts
}
