//! Which tools an agent sees, and the buttons that change it. They work without
//! JavaScript, and change nothing of what the agent may do.

use crate::forms::FormState;
use leptos::prelude::*;

use super::FieldError;

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
    let chosen = form.value("tools").to_owned();
    let error = form.error_of("tools");
    let described_by = match error.is_some() {
        true => "consent-tools-hint consent-tools-error",
        false => "consent-tools-hint",
    };
    let options = LISTS.map(|(name, told, _)| {
        let told = told.trim_start_matches("Tools: ");
        view! {
            <option value=name selected=chosen == name>
                {told}
            </option>
        }
    });
    let options = options.into_iter().collect_view();
    view! {
        <div class="field">
            <label for="consent-tools">"Tools"</label>
            <p class="hint" id="consent-tools-hint">
                "Which tools are listed to the agent; the permissions decide what it may do. A list chosen here also replaces the one of an existing agent."
            </p>
            <select id="consent-tools" name="tools" aria-describedby=described_by>
                <option value="">{format!("{suggested}; existing agents keep theirs")}</option>
                {options}
            </select>
            <FieldError id="consent-tools-error".to_owned() error />
        </div>
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
