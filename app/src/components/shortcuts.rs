//! The list of keyboard shortcuts. The dialog is plain HTML: the island
//! [`Keyboard`](crate::islands::Keyboard), in the frame's foot, only opens it.

use leptos::prelude::*;

const SHORTCUTS: [(&str, &str); 7] = [
    ("/", "Search"),
    ("j", "Next memory"),
    ("k", "Previous memory"),
    ("Enter", "Open the memory"),
    ("y x c", "Keep, forget, confirm, on the page Learned"),
    ("Esc", "Leave the search box, close the account menu or this list"),
    ("?", "Show this list"),
];

#[component]
pub fn Shortcuts() -> impl IntoView {
    let rows = SHORTCUTS.map(|(key, meaning)| {
        view! {
            <div>
                <dt>
                    <kbd>{key}</kbd>
                </dt>
                <dd>{meaning}</dd>
            </div>
        }
    });
    view! {
        <dialog id="shortcuts" class="shortcuts" aria-labelledby="shortcuts-title">
            <h2 id="shortcuts-title">"Keyboard shortcuts"</h2>
            <dl>{rows.into_iter().collect_view()}</dl>
            <form method="dialog">
                <button type="submit">"Close"</button>
            </form>
        </dialog>
    }
    .into_any()
}
