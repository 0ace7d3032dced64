//! The keys: `/` to the search box, `j` and `k` through the rows, `y`, `x` and `c` for what is decided of a row, Escape out
//! of the account menu, `?` for the list of them. It never takes a key from somebody who is typing.

use leptos::prelude::*;

#[island]
pub fn Keyboard() -> impl IntoView {
    let (awake, set_awake) = signal(false);
    Effect::new(move |_| {
        #[cfg(feature = "hydrate")]
        browser_side::listen_for_keys();
        set_awake.set(true);
    });
    let open = move |_| {
        #[cfg(feature = "hydrate")]
        browser_side::show_shortcuts();
    };
    view! {
        <button class="quiet" type="button" hidden=move || !awake.get() on:click=open>
            "Keyboard shortcuts"
            <kbd>"?"</kbd>
        </button>
    }
}

#[cfg(feature = "hydrate")]
pub(super) mod browser_side {
    use wasm_bindgen::JsCast;
    use web_sys::{Element, HtmlDialogElement, HtmlElement, HtmlInputElement, KeyboardEvent};

    use crate::islands::browser;

    pub fn listen_for_keys() {
        if let Some(document) = browser::document() {
            browser::listen(&document, "keydown", |event: KeyboardEvent| {
                if handle(&event).is_some() {
                    event.prevent_default();
                }
            });
        }
    }

    pub fn show_shortcuts() -> Option<()> {
        let dialog: HtmlDialogElement = browser::by_id("shortcuts")?;
        (!dialog.open()).then(|| dialog.show_modal().ok())?
    }

    /// `Some` when the key was ours.
    fn handle(event: &KeyboardEvent) -> Option<()> {
        if event.ctrl_key() || event.meta_key() || event.alt_key() || event.is_composing() {
            return None;
        }
        let focused = browser::focused();
        if focused.as_ref().is_some_and(is_typing) {
            if event.key() == "Escape" {
                focused?.blur().ok()?;
            }
            return None;
        }
        if event.key() == "Escape" {
            return close_menu(&focused?);
        }
        if browser::by_id::<HtmlDialogElement>("shortcuts").is_some_and(|dialog| dialog.open()) {
            return None;
        }
        match event.key().as_str() {
            "/" => {
                let search: HtmlInputElement = browser::by_id("q")?;
                search.focus().ok()?;
                search.select();
                Some(())
            }
            "j" => step(1),
            "k" => step(-1),
            "?" => show_shortcuts(),
            // A key that is held decides once.
            key @ ("y" | "x" | "c") if !event.repeat() => decide(key),
            _ => None,
        }
    }

    /// Closes the account menu that has the focus, and gives the focus back to what opens it.
    fn close_menu(focused: &HtmlElement) -> Option<()> {
        let menu = focused.closest(".account-menu[open]").ok()??;
        menu.remove_attribute("open").ok()?;
        let opener = menu.query_selector("summary").ok()??;
        opener.dyn_ref::<HtmlElement>()?.focus().ok()
    }

    fn is_typing(element: &HtmlElement) -> bool {
        element
            .matches("input:not([type=checkbox]), textarea, select, [contenteditable]")
            .unwrap_or(false)
    }

    /// Presses the button of this key in the row that has the focus, or in the first.
    fn decide(key: &str) -> Option<()> {
        let row = match browser::focused().and_then(|here| here.closest("[data-row]").ok()?) {
            Some(row) => row,
            None => browser::document()?.query_selector("[data-row]").ok()??,
        };
        let button = row.query_selector(&format!("[data-key={key}]")).ok()??;
        button.dyn_ref::<HtmlElement>()?.click();
        Some(())
    }

    /// Focuses the first link of a row: the one that opens it.
    pub fn focus_link(row: &Element) -> Option<()> {
        let link = row.query_selector("a").ok()??;
        link.dyn_ref::<HtmlElement>()?.focus().ok()
    }

    /// Moves the focus by rows; from outside the list, to its first row.
    fn step(by: isize) -> Option<()> {
        let body = browser::document()?.body()?;
        // Those in a closed fold cannot be seen.
        let rows = browser::elements(&body, "[data-row]:not(details:not([open]) [data-row])");
        let focused = browser::focused();
        let has_focus = |row: &Element| row.contains(focused.as_ref().map(AsRef::as_ref));
        let here = rows.iter().position(has_focus);
        let next = here.map_or(0, |here| here.saturating_add_signed(by));
        focus_link(rows.get(next)?)
    }
}
