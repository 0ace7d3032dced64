//! What a dream proposes of two memories, side by side, with the buttons that decide.

use leptos::prelude::*;

use super::PATH;
use crate::components::{Marked, StateBadge, When};
use crate::consolidation::dreaming::ProposedChange;
use crate::consolidation::dreaming::model::{PairMemory, Proposal, ProposalState};
use crate::kinds::whose;

#[component]
pub fn Proposals(id: i64, proposals: Vec<Proposal>, can_decide: bool) -> impl IntoView {
    if proposals.is_empty() {
        return ().into_any();
    }
    let open = proposals.iter().filter(|one| one.state == ProposalState::Open);
    let (asks, others): (Vec<_>, Vec<_>) =
        open.partition(|one| one.kind == ProposedChange::Contradiction);
    let (acceptable, open) = (others.len(), asks.len() + others.len());
    let applied = proposals.iter().filter(|one| one.state == ProposalState::Applied).count();
    let button = |action: &'static str, label: String| {
        view! {
            <button type="submit" name="action" value=action>
                {label}
            </button>
        }
    };
    let all = (can_decide && (open > 1 || applied > 0)).then(|| {
        view! {
            <form class="actions" method="post" action=PATH>
                <input type="hidden" name="dream" value=id />
                {(acceptable > 1).then(|| button("accept_all", format!("Accept {acceptable}")))}
                {(open > 1).then(|| button("dismiss_all", "Dismiss all".to_owned()))}
                {(applied > 0)
                    .then(|| {
                        let label = match applied {
                            1 => "Undo its change".to_owned(),
                            n => format!("Undo all {n} changes"),
                        };
                        button("undo", label)
                    })}
            </form>
        }
    });
    let rows = proposals.into_iter().map(|one| view! { <ProposedPair id one can_decide /> });
    view! {
        <h3>"Proposes"</h3>
        <ol class="proposals">{rows.collect_view()}</ol>
        {all}
    }
    .into_any()
}

#[component]
fn ProposedPair(id: i64, one: Proposal, can_decide: bool) -> impl IntoView {
    let is_open = one.state == ProposalState::Open;
    let what = match one.kind {
        ProposedChange::Merge => "Both say the same: the first would be archived.",
        ProposedChange::Supersede => "The second replaces the first.",
        ProposedChange::Contradiction if is_open => {
            "They contradict each other. Which one is true?"
        }
        ProposedChange::Contradiction => "They contradict each other.",
    };
    let state = match one.state {
        ProposalState::Open => None,
        ProposalState::Applied if one.by_dream => Some("applied"),
        ProposalState::Applied => Some("accepted"),
        ProposalState::Dismissed => Some("dismissed"),
        ProposalState::Undone => Some("undone"),
        ProposalState::Void => Some("no longer applies"),
    };
    let state = state.map(|state| view! { <StateBadge state /> }.into_any());
    let is_applied = one.state == ProposalState::Applied;
    let asks = is_open && one.kind == ProposedChange::Contradiction;
    let (before, after) = match one.kind {
        ProposedChange::Contradiction => ("One", "Other"),
        _ => ("Before", "After"),
    };
    let n = one.n;
    let kept = one.kept.id.0;
    let decide = can_decide.then(|| {
        view! {
            <form class="actions" method="post" action=PATH>
                <input type="hidden" name="dream" value=id />
                <input type="hidden" name="n" value=n />
                {(is_open && !asks)
                    .then(|| {
                        view! {
                            <input type="hidden" name="kept" value=kept />
                            <button type="submit" name="action" value="accept">
                                "Accept"
                            </button>
                        }
                    })}
                {is_open
                    .then(|| {
                        view! {
                            <button type="submit" name="action" value="dismiss">
                                "Dismiss"
                            </button>
                        }
                    })}
                {is_applied
                    .then(|| {
                        view! {
                            <button type="submit" name="action" value="undo">
                                "Undo"
                            </button>
                        }
                    })}
            </form>
        }
        .into_any()
    });
    let choose = move |side: i64| {
        (asks && can_decide).then(|| {
            view! {
                <form method="post" action=PATH>
                    <input type="hidden" name="dream" value=id />
                    <input type="hidden" name="n" value=n />
                    <input type="hidden" name="kept" value=side />
                    <button type="submit" name="action" value="accept">
                        "This is true"
                        <span class="visually-hidden">": memory " {side}</span>
                    </button>
                </form>
            }
            .into_any()
        })
    };
    view! {
        <li>
            <p class="proposal-what">
                {what} " " {state}
            </p>
            <div class="proposal">
                <div class="proposal-side" class:proposal-gone=!asks>
                    <Side term=before side=one.gone.clone() />
                    {choose(one.gone.id.0)}
                </div>
                <div class="proposal-side">
                    <Side term=after side=one.kept.clone() />
                    {choose(one.kept.id.0)}
                </div>
            </div>
            <p class="hint">
                "Why: " <bdi>{one.why}</bdi>
            </p>
            {decide}
        </li>
    }
    .into_any()
}

#[component]
fn Side(term: &'static str, side: PairMemory) -> impl IntoView {
    view! {
        <p class="proposal-term">{term}</p>
        <p class="proposal-words">
            <a href=format!("/memory/{}", side.id) dir="auto">
                <Marked text=side.beginning />
            </a>
        </p>
        <p class="hint">
            {whose(side.trust)} {side.is_confirmed.then_some(", confirmed")} ", " <When at=side.stated_at />
        </p>
    }
    .into_any()
}
