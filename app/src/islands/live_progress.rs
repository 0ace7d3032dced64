//! Keeps a page true while something is under way: the progress on Settings ›
//! Embeddings and above the memories, an agent's first call on Agents & tokens. It looks again as often
//! as the page says (`data-look-again`, in seconds) and takes over its live parts.
//! It stops when the page says no more, rests while nobody sees it, and says how
//! far things are at most every 5 seconds.

use leptos::prelude::*;

/// Within the element that names the page to look at, in `data-renewed-from`.
#[island]
pub fn LiveProgress() -> impl IntoView {
    Effect::new(move |_| {
        #[cfg(feature = "hydrate")]
        browser_side::start();
    });
    view! { <p id="announcer" class="visually-hidden" role="status"></p> }
}

#[cfg(feature = "hydrate")]
pub(super) mod browser_side {
    use std::time::Duration;

    use leptos::prelude::set_timeout;
    use wasm_bindgen_futures::spawn_local;
    use web_sys::{Element, HtmlElement};

    use crate::islands::{browser, swap};

    const ANNOUNCED_EVERY_SECONDS: u32 = 5;
    /// After a look that failed: the server may be restarting. Who was signed out
    /// meanwhile is not looked for for ever.
    const TRIED_AGAIN_AFTER_SECONDS: u32 = 5;
    const FAILED_LOOKS_MAX: u32 = 60;
    /// What takes longer is looked at less often: a second later for each minute, up to this.
    const WAIT_SECONDS_MAX: u32 = 15;

    /// What is looked at again.
    struct Watch {
        root: Element,
        path: String,
        watched_seconds: u32,
    }

    pub fn start() -> Option<()> {
        let root = browser::document()?.query_selector("[data-renewed-from]").ok()??;
        let path = root.get_attribute("data-renewed-from")?;
        let watch = Watch { root, path, watched_seconds: 0 };
        watch.again_later(0)?;
        keep_the_height()
    }

    /// What is below does not jump when the work is done and its buttons go.
    fn keep_the_height() -> Option<()> {
        let place: HtmlElement = browser::by_id("status-place")?;
        let height = format!("{}px", place.offset_height());
        place.style().set_property("min-height", &height).ok()
    }

    impl Watch {
        /// `silent_seconds`: since something was last said.
        fn again_later(mut self, silent_seconds: u32) -> Option<()> {
            let due = self.root.query_selector("[data-look-again]").ok()??;
            let least: u32 = due.get_attribute("data-look-again")?.parse().ok()?;
            let wait_seconds = (least + self.watched_seconds / 60).min(WAIT_SECONDS_MAX);
            self.watched_seconds += wait_seconds;
            let look = move || spawn_local(self.look(silent_seconds + wait_seconds, 0));
            set_timeout(look, Duration::from_secs(wait_seconds.into()));
            Some(())
        }

        async fn look(self, silent_seconds: u32, failed_looks: u32) {
            if browser::document().is_some_and(|document| document.hidden()) {
                self.again_later(silent_seconds);
                return;
            }
            let shown = match swap::fetch(&self.path, None).await {
                Some(answer) => swap::adopt(&self.root, &answer),
                None => None,
            };
            if shown.is_none() {
                if failed_looks < FAILED_LOOKS_MAX {
                    let again = move || spawn_local(self.look(silent_seconds, failed_looks + 1));
                    set_timeout(again, Duration::from_secs(TRIED_AGAIN_AFTER_SECONDS.into()));
                }
                return;
            }
            let goes_on = self.root.query_selector("[data-look-again]").ok().flatten();
            let silent_seconds = match goes_on {
                Some(_) if silent_seconds < ANNOUNCED_EVERY_SECONDS => silent_seconds,
                _ => {
                    announce(&self.root);
                    0
                }
            };
            self.again_later(silent_seconds);
        }
    }

    fn announce(root: &Element) -> Option<()> {
        let line = root.query_selector("[data-progress-line]").ok()??;
        let announcer: Element = browser::by_id("announcer")?;
        announcer.set_text_content(line.text_content().as_deref());
        Some(())
    }
}
