//! A page that has nothing to show yet: what will be here, and three steps to it.

use leptos::prelude::*;

use super::Paste;

/// `by_hand` says what the pasted line does, for whoever has no agent at hand.
#[component]
pub fn FirstSteps(
    first_words: &'static str,
    lead: &'static str,
    by_hand: &'static str,
    caption: &'static str,
    line: String,
) -> impl IntoView {
    view! {
        <div class="begin">
            <p class="first-words">{first_words}</p>
            <p class="lead">{lead}</p>
            <ol class="steps">
                <li>
                    <p>
                        "Create an agent and copy its token: " <a href="/agents">"Agents & tokens"</a>
                        "."
                    </p>
                </li>
                <li>
                    <p>"Connect your agent with the lines shown there: Claude Code, Codex, Cursor and others."</p>
                    <details class="fold">
                        <summary>"Or " {by_hand} " by hand"</summary>
                        <Paste caption text=line />
                    </details>
                </li>
                <li>
                    <p>"It appears here."</p>
                </li>
            </ol>
        </div>
    }
    .into_any()
}
