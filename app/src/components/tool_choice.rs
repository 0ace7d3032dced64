//! Which tools an agent is told of, and the button that changes it. It works without
//! JavaScript, and changes nothing of what the agent may do.

use leptos::prelude::*;

#[component]
pub fn ToolChoice(
    /// Where the form is posted.
    path: String,
    has_all: bool,
    /// Which agent, for those who do not see where the button stands.
    of: String,
) -> impl IntoView {
    let (told, action, label) = match has_all {
        true => (
            "It is told of all tools: those of every agent, and correct, confirm, forget, count.",
            "core",
            "Core tools alone",
        ),
        false => (
            "It is told of the core tools: search, add, get, archive, list themes.",
            "full",
            "All tools",
        ),
    };
    view! {
        <form class="switch" method="post" action=path>
            <span class="hint">{told}</span>
            <button type="submit" name="action" value=action>
                {label}
                <span class="visually-hidden">" for " {of}</span>
            </button>
        </form>
    }
    .into_any()
}
