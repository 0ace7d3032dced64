//! Which tools an agent sees, and the buttons that change it. They work without
//! JavaScript, and change nothing of what the agent may do.

use crate::forms::FormState;
use leptos::prelude::*;

use super::SelectField;

/// Each list, what it has, and the button that chooses it.
const LISTS: [(&str, &str, &str); 4] = [
    ("core", "Tools: core (5). Search, add, get, archive, list themes.", "Core tools"),
    (
        "full",
        "Tools: all (13). Core, and correct, confirm, forget, stats, summary, entity, graph, files.",
        "All tools",
    ),
    (
        "single",
        "Tools: one (memory). Save, search, forget and list in one tool, for models that handle several tools badly.",
        "One tool",
    ),
    ("connector", "Tools: connector (2). Search, fetch: what ChatGPT expects.", "Connector tools"),
];

/// The choice of a list for a program that is being connected; nothing chosen means the suggested one.
#[component]
pub fn ToolSelect(
    form: FormState,
    /// The list of a new agent where nothing is chosen.
    suggested: &'static str,
) -> impl IntoView {
    let choices = LISTS.map(|(name, told, _)| (name, told.trim_start_matches("Tools: ")));
    view! {
        <SelectField
            form
            id="consent-tools".to_owned()
            name="tools"
            label="Tools"
            hint="Which tools are listed to the agent; the permissions decide what it may do. A list chosen here also replaces the one of an existing agent."
            any=format!("{suggested}; existing agents keep theirs")
            choices=choices.to_vec()
        />
    }
    .into_any()
}

#[component]
pub fn ToolChoice(
    /// Where the form is posted.
    path: String,
    profile: &'static str,
    /// Which agent, for those who do not see where the button stands.
    of: String,
) -> impl IntoView {
    let told = LISTS.iter().find(|(name, ..)| *name == profile);
    let told = told.map_or("", |(_, told, _)| told);
    let others = LISTS.iter().filter(|(name, ..)| *name != profile);
    let buttons = others.map(|(name, _, label)| {
        let of = of.clone();
        view! {
            <button type="submit" name="action" value=*name>
                {*label}
                <span class="visually-hidden">" for " {of}</span>
            </button>
        }
    });
    let buttons = buttons.collect_view();
    view! {
        <form class="switch" method="post" action=path>
            <span class="hint">{told}</span>
            {buttons}
        </form>
    }
    .into_any()
}
