//! Counts down how long Undo is offered, and takes it away when that is over. The server judges by
//! its own clock: without this, Undo stays, and says that it came too late.

use leptos::prelude::*;

/// Within an element whose `data-undo` says how many milliseconds are left, and whose parts `data-until`
/// go and `data-after` come at the end.
#[island]
pub fn UndoTime() -> impl IntoView {
    let (left, set_left) = signal(None::<u32>);
    Effect::new(move |_| {
        #[cfg(feature = "hydrate")]
        browser_side::start(set_left);
        #[cfg(not(feature = "hydrate"))]
        let _ = set_left;
    });
    view! {
        <span class="undo-time" aria-hidden="true" hidden=move || left.get().is_none()>
            {move || format!("{} s", left.get().unwrap_or_default())}
        </span>
    }
}

#[cfg(feature = "hydrate")]
mod browser_side {
    use std::time::Duration;

    use leptos::prelude::*;
    use web_sys::Element;

    use crate::islands::browser;

    pub fn start(set_left: WriteSignal<Option<u32>>) -> Option<()> {
        let root = browser::document()?.query_selector("[data-undo]").ok()??;
        let left_ms = root.get_attribute("data-undo")?.parse().ok()?;
        count_down(root, left_ms, set_left);
        Some(())
    }

    fn count_down(root: Element, left_ms: u32, set_left: WriteSignal<Option<u32>>) {
        set_left.set(Some(left_ms.div_ceil(1_000)));
        if left_ms == 0 {
            end(&root);
            return;
        }
        // To the next whole second.
        let step_ms = (left_ms - 1) % 1_000 + 1;
        let next = move || count_down(root, left_ms - step_ms, set_left);
        set_timeout(next, Duration::from_millis(step_ms.into()));
    }

    fn end(root: &Element) {
        for until in browser::elements(root, "[data-until]") {
            let _ = until.set_attribute("hidden", "");
        }
        for after in browser::elements(root, "[data-after]") {
            let _ = after.remove_attribute("hidden");
        }
    }
}
