//! Offers the browser's time zone where another one is set. Nothing is set before it is pressed.

use leptos::prelude::*;

#[island]
pub fn ZoneSuggestion() -> impl IntoView {
    let (zone, set_zone) = signal(String::new());
    Effect::new(move |_| {
        #[cfg(feature = "hydrate")]
        if let Some(other) = browser_side::other_zone() {
            set_zone.set(other);
        }
        #[cfg(not(feature = "hydrate"))]
        let _ = set_zone;
    });
    view! {
        <form
            method="post"
            action="/account/time-zone"
            hidden=move || zone.with(String::is_empty)
        >
            <input type="hidden" name="time_zone" prop:value=move || zone.get() />
            <button class="long" type="submit">
                {move || format!("Use {}, as this browser does", zone.get())}
            </button>
        </form>
    }
}

#[cfg(feature = "hydrate")]
mod browser_side {
    use web_sys::HtmlInputElement;
    use web_sys::js_sys::{Array, Intl, Object, Reflect};

    use crate::islands::browser;

    /// The browser's, where the page shows another as saved.
    pub fn other_zone() -> Option<String> {
        let saved: HtmlInputElement = browser::by_id("time_zone-time_zone")?;
        let format = Intl::DateTimeFormat::new(&Array::new(), &Object::new());
        let options = format.resolved_options();
        let zone = Reflect::get(&options, &"timeZone".into()).ok()?;
        zone.as_string().filter(|zone| *zone != saved.default_value())
    }
}
