//! What agents propose and may not change themselves, on the page of what was learned, which takes the decisions.

use leptos::prelude::*;

use super::PATH;
use crate::components::{Marked, When, count};
use crate::memories::ItemId;
use crate::memories::proposals::{AgentProposal, ProposalReason};

/// Agents' proposals, and whether there are more than these.
pub type Proposals = (Vec<AgentProposal>, bool);

/// Nothing where nothing is proposed.
#[component]
pub fn Proposed(proposed: Proposals, can_decide: bool) -> impl IntoView {
    let (rows, has_more) = proposed;
    if rows.is_empty() {
        return ().into_any();
    }
    let all: Vec<String> = rows.iter().map(|row| row.id.to_string()).collect();
    let decide_all = (can_decide && rows.len() > 1).then(|| {
        let shown = count(rows.len() as i64);
        view! {
            <form class="actions" method="post" action=PATH>
                <input type="hidden" name="proposal" value=all.join(" ") />
                <button type="submit" name="action" value="accept">
                    {format!("Accept these {shown}")}
                </button>
                <button type="submit" name="action" value="dismiss">
                    {format!("Dismiss these {shown}")}
                </button>
            </form>
        }
    });
    let rows =
        rows.into_iter().map(|proposal| view! { <Proposal proposal can_decide /> }).collect_view();
    view! {
        <section class="part" id="proposed" aria-labelledby="proposed-title">
            <h2 id="proposed-title">"Proposed by agents"</h2>
            <ol class="learned">{rows}</ol>
            {has_more.then(|| view! { <p class="hint">"And more."</p> })}
            {decide_all}
        </section>
        <h2>"To review"</h2>
    }
    .into_any()
}

#[component]
fn Proposal(proposal: AgentProposal, can_decide: bool) -> impl IntoView {
    let id = proposal.id;
    let side = |term: &'static str, item: ItemId, text: String| {
        view! {
            <div class="proposal-side">
                <p class="proposal-term">{term}</p>
                <p class="proposal-words">
                    <a href=format!("/memory/{item}") dir="auto">
                        <Marked text />
                    </a>
                </p>
            </div>
        }
    };
    let why = match proposal.reason {
        ProposalReason::Locked => "you confirmed it",
        ProposalReason::Together => "you confirmed another one of its key",
        ProposalReason::Rate => "too many changes within a minute",
    };
    let (what, term) = match proposal.instead {
        Some(_) => ("Replace", "Before"),
        None => ("Archive", "Memory"),
    };
    let button = |action: &'static str, label: &'static str| {
        view! {
            <button type="submit" name="action" value=action>
                {label}
                <span class="visually-hidden">" proposal " {id}</span>
            </button>
        }
    };
    let decide = can_decide.then(|| {
        view! {
            <form class="actions" method="post" action=PATH>
                <input type="hidden" name="proposal" value=id />
                {button("accept", "Accept")}
                {button("dismiss", "Dismiss")}
            </form>
        }
    });
    view! {
        <li>
            <div class="proposal">
                {side(term, proposal.item, proposal.beginning)}
                {proposal.instead.map(|(item, text)| side("After", item, text))}
            </div>
            <p class="hint">
                {what} ", proposed by " <bdi>{proposal.agent}</bdi> " " <When at=proposal.proposed_at /> ": " {why}
            </p>
            {decide}
        </li>
    }
    .into_any()
}
