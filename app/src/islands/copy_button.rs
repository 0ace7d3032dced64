//! Copies the code of the figure it stands in. Hidden until it can work: the
//! text beside it can always be selected.

use leptos::ev::MouseEvent;
use leptos::prelude::*;

#[island]
pub fn CopyButton() -> impl IntoView {
    let (awake, set_awake) = signal(false);
    let (says, set_says) = signal("Copy");
    Effect::new(move |_| set_awake.set(true));
    let copy = move |event: MouseEvent| {
        #[cfg(feature = "hydrate")]
        browser_side::copy(&event, set_says);
        #[cfg(not(feature = "hydrate"))]
        let _ = (event, set_says);
    };
    view! {
        <button
            class="copy"
            type="button"
            hidden=move || !awake.get()
            aria-live="polite"
            on:click=copy
        >
            {says}
        </button>
    }
}

#[cfg(feature = "hydrate")]
mod browser_side {
    use std::time::Duration;

    use leptos::prelude::*;
    use wasm_bindgen::JsCast;
    use wasm_bindgen_futures::{JsFuture, spawn_local};
    use web_sys::{Element, MouseEvent};

    use crate::islands::browser;

    const COPIED_FOR: Duration = Duration::from_secs(2);

    pub fn copy(event: &MouseEvent, says: WriteSignal<&'static str>) {
        let Some(code) = code_beside(event) else {
            return;
        };
        spawn_local(async move {
            if write(&code.text_content().unwrap_or_default()).await.is_some() {
                says.set("Copied");
                set_timeout(move || says.set("Copy"), COPIED_FOR);
            } else {
                // No clipboard (plain http) or no leave: the text stands ready for Ctrl+C.
                select(&code);
                says.set("Press Ctrl+C");
            }
        });
    }

    fn code_beside(event: &MouseEvent) -> Option<Element> {
        let button: Element = event.current_target()?.dyn_into().ok()?;
        let figure = button.closest("[data-copyable]").ok()??;
        figure.query_selector("code").ok()?
    }

    async fn write(text: &str) -> Option<()> {
        let navigator = browser::window()?.navigator();
        // Undefined outside a secure context, whatever its type says.
        let clipboard = navigator.clipboard();
        if clipboard.is_undefined() {
            return None;
        }
        JsFuture::from(clipboard.write_text(text)).await.ok()?;
        Some(())
    }

    fn select(code: &Element) -> Option<()> {
        let selection = browser::window()?.get_selection().ok()??;
        selection.select_all_children(code).ok()
    }
}
