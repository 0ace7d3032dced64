//! The button that gives access. It waits until its page has had the focus for a moment: a click that was meant for another
//! page, and the second half of a double click, do not give it. Without scripts there is another button, which does not wait.

use leptos::prelude::*;

#[island]
pub fn AllowSoon() -> impl IntoView {
    let (is_awake, set_awake) = signal(false);
    let (is_ready, set_ready) = signal(false);
    Effect::new(move |_| {
        set_awake.set(true);
        #[cfg(feature = "hydrate")]
        browser_side::look(0, set_ready);
        #[cfg(not(feature = "hydrate"))]
        let _ = set_ready;
    });
    view! {
        <button
            class="primary"
            type="submit"
            name="action"
            value="allow"
            hidden=move || !is_awake.get()
            disabled=move || !is_ready.get()
        >
            "Allow"
        </button>
    }
}

#[cfg(feature = "hydrate")]
mod browser_side {
    use std::time::Duration;

    use leptos::prelude::*;

    use crate::islands::browser;

    const LOOK_EVERY: Duration = Duration::from_millis(100);
    /// Looks in a row that find the page with the focus.
    const LOOKS: u8 = 7;

    pub fn look(before: u8, set_ready: WriteSignal<bool>) {
        let has_focus = browser::document().is_none_or(|page| page.has_focus().unwrap_or(true));
        let looks = if has_focus { LOOKS.min(before + 1) } else { 0 };
        set_ready.set(looks == LOOKS);
        set_timeout(move || look(looks, set_ready), LOOK_EVERY);
    }
}
