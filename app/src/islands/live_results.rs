//! Filters a list (of memories, of calls) without leaving its page: fetches the address that the
//! form or link names and adopts the parts marked `data-live` from the answer.
//! Whatever goes wrong ends in an ordinary navigation to the same address.
//!
//! It owns nothing but the line that announces the count. The list stays plain
//! HTML outside of the island, so that there is one way to render it: the server's.

use leptos::prelude::*;

#[island]
pub fn LiveResults() -> impl IntoView {
    Effect::new(move |_| {
        #[cfg(feature = "hydrate")]
        {
            browser_side::start();
            // What is under way above a list.
            super::live_progress::browser_side::start();
        }
    });
    view! { <p id="announcer" class="visually-hidden" role="status"></p> }
}

#[cfg(feature = "hydrate")]
mod browser_side {
    use std::cell::RefCell;
    use std::rc::Rc;
    use std::time::Duration;

    use leptos::prelude::{TimeoutHandle, set_timeout_with_handle};
    use wasm_bindgen::{JsCast, JsValue};
    use wasm_bindgen_futures::spawn_local;
    use web_sys::{
        AbortController, Document, Element, Event, FormData, HtmlElement, HtmlFormElement,
        HtmlInputElement, MouseEvent, UrlSearchParams,
    };

    use crate::islands::{browser, swap};

    const TYPING_PAUSE: Duration = Duration::from_millis(200);

    /// What brought a visit about; it decides what becomes of history, focus and search box.
    #[derive(Clone, Copy, PartialEq, Eq)]
    enum Cause {
        Typing,
        Form,
        Link,
        More,
        History,
    }

    #[derive(Default)]
    struct Live {
        pause: Option<TimeoutHandle>,
        /// A key was pressed in a date field since it was last sent.
        is_typing_date: bool,
        request: Option<AbortController>,
    }

    /// `None` anywhere below: the page lacks a part, and stays as the server made it.
    pub fn start() -> Option<()> {
        let root: Element = browser::by_id("live")?;
        let form: HtmlFormElement = browser::by_id("filters")?;
        let live = Rc::new(RefCell::new(Live::default()));

        browser::listen(&form, "input", {
            let (live, form) = (live.clone(), form.clone());
            move |event: Event| {
                if is_search_box(&event) {
                    visit_after_pause(&live, &form);
                }
            }
        });
        browser::listen(&form, "change", {
            let (live, form) = (live.clone(), form.clone());
            move |event: Event| {
                if is_search_box(&event) {
                    return;
                }
                // Chromium tells of every key in a date field, and of what is picked in its calendar.
                if date_field(&event).is_none() || !live.borrow().is_typing_date {
                    visit_form(&live, &form, Cause::Form);
                }
            }
        });
        browser::listen(&form, "keydown", {
            let live = live.clone();
            move |event: Event| {
                if date_field(&event).is_some() {
                    live.borrow_mut().is_typing_date = true;
                }
            }
        });
        browser::listen(&form, "focusout", {
            let (live, form) = (live.clone(), form.clone());
            move |event: Event| {
                let Some(date) = date_field(&event) else {
                    return;
                };
                let is_typed = std::mem::take(&mut live.borrow_mut().is_typing_date);
                // Its default is what the list was made with.
                if is_typed && date.value() != date.default_value() {
                    visit_form(&live, &form, Cause::Form);
                }
            }
        });
        browser::listen(&form, "submit", {
            let (live, form) = (live.clone(), form.clone());
            move |event: Event| {
                event.prevent_default();
                visit_form(&live, &form, Cause::Form);
            }
        });
        browser::listen(&root, "click", {
            let live = live.clone();
            move |event: MouseEvent| {
                if let Some((address, cause)) = link_of(&event) {
                    event.prevent_default();
                    visit(&live, address, cause);
                }
            }
        });
        let window = browser::window()?;
        browser::listen(&window, "popstate", move |_: Event| {
            if let Some(address) = address_here() {
                visit(&live, address, Cause::History);
            }
        });
        Some(())
    }

    fn is_search_box(event: &Event) -> bool {
        field_of(event).is_some_and(|input| input.type_() == "search")
    }

    fn date_field(event: &Event) -> Option<HtmlInputElement> {
        field_of(event).filter(|input| input.type_() == "date")
    }

    fn field_of(event: &Event) -> Option<HtmlInputElement> {
        event.target()?.dyn_into().ok()
    }

    /// A plain click on one of our links; with a key held it is the browser's.
    fn link_of(event: &MouseEvent) -> Option<(String, Cause)> {
        let is_plain = event.button() == 0
            && !(event.ctrl_key() || event.meta_key() || event.shift_key() || event.alt_key());
        if !is_plain || event.default_prevented() {
            return None;
        }
        let target: Element = event.target()?.dyn_into().ok()?;
        let link = target.closest("a[data-live-link]").ok()??;
        let is_more = link.get_attribute("data-live-link").as_deref() == Some("more");
        let cause = if is_more { Cause::More } else { Cause::Link };
        Some((link.get_attribute("href")?, cause))
    }

    fn address_here() -> Option<String> {
        browser::window()?.location().href().ok()
    }

    /// The address the browser would go to on submit, less the empty fields.
    fn address_of(form: &HtmlFormElement) -> Option<String> {
        let fields = FormData::new_with_form(form).ok()?;
        let query = UrlSearchParams::new_with_str_sequence_sequence(&fields).ok()?;
        let path = form.get_attribute("action")?;
        for name in ["q", "embedding", "agent", "as_of", "at", "tool", "outcome", "days", "status"]
        {
            if query.get(name).is_some_and(|words| words.trim().is_empty()) {
                query.delete(name);
            }
        }
        let query = String::from(query.to_string());
        Some(if query.is_empty() { path } else { format!("{path}?{query}") })
    }

    fn visit_after_pause(live: &Rc<RefCell<Live>>, form: &HtmlFormElement) {
        stop_waiting(live);
        let handle = set_timeout_with_handle(
            {
                let (live, form) = (live.clone(), form.clone());
                move || visit_form(&live, &form, Cause::Typing)
            },
            TYPING_PAUSE,
        );
        live.borrow_mut().pause = handle.ok();
    }

    fn stop_waiting(live: &Rc<RefCell<Live>>) {
        if let Some(pause) = live.borrow_mut().pause.take() {
            pause.clear();
        }
    }

    fn visit_form(live: &Rc<RefCell<Live>>, form: &HtmlFormElement, cause: Cause) {
        if let Some(address) = address_of(form) {
            visit(live, address, cause);
        }
    }

    fn visit(live: &Rc<RefCell<Live>>, address: String, cause: Cause) {
        stop_waiting(live);
        live.borrow_mut().is_typing_date = false;
        let Ok(controller) = AbortController::new() else {
            return leave_for(&address);
        };
        let signal = controller.signal();
        if let Some(stale) = live.borrow_mut().request.replace(controller) {
            stale.abort();
        }
        set_busy(true);
        let live = live.clone();
        spawn_local(async move {
            let answer = swap::fetch(&address, Some(&signal)).await;
            if signal.aborted() {
                return;
            }
            let shown = answer.and_then(|answer| show(&live, &answer, cause));
            set_busy(false);
            if shown.is_none() {
                return leave_for(&address);
            }
            remember(&address, cause);
            announce();
        });
    }

    fn set_busy(is_busy: bool) {
        if let Some(results) = browser::by_id::<Element>("results") {
            let _ = results.set_attribute("aria-busy", if is_busy { "true" } else { "false" });
        }
    }

    fn leave_for(address: &str) {
        if let Some(window) = browser::window() {
            let _ = window.location().assign(address);
        }
    }

    /// Adopts the new parts, all or none.
    fn show(live: &Rc<RefCell<Live>>, answer: &Document, cause: Cause) -> Option<()> {
        let root: Element = browser::by_id("live")?;
        let rows_before = browser::elements(&root, "[data-row]").len();
        swap::adopt(&root, answer)?;
        browser::document()?.set_title(&answer.title());
        if cause == Cause::More {
            focus_row(&root, rows_before);
        }
        // What was typed meanwhile is about to be sent.
        if cause != Cause::Typing && live.borrow().pause.is_none() {
            take_over_words(answer);
        }
        if cause == Cause::Link {
            scroll_up_to(&root);
            for fold in browser::elements(&root, "[data-fold]") {
                let _ = fold.remove_attribute("open");
            }
        }
        Some(())
    }

    /// The search box is never replaced, so that the caret stays; its words are.
    fn take_over_words(answer: &Document) -> Option<()> {
        let new = answer.get_element_by_id("q")?.get_attribute("value");
        let search: HtmlInputElement = browser::by_id("q")?;
        search.set_value(&new.unwrap_or_default());
        Some(())
    }

    /// Only ever up: where the top is in sight, nothing moves.
    fn scroll_up_to(root: &Element) -> Option<()> {
        let top = f64::from(root.dyn_ref::<HtmlElement>()?.offset_top());
        if browser::window()?.scroll_y().ok()? > top {
            root.scroll_into_view();
        }
        Some(())
    }

    fn focus_row(root: &Element, index: usize) -> Option<()> {
        let rows = browser::elements(root, "[data-row]");
        crate::islands::keyboard::browser_side::focus_link(rows.get(index)?)
    }

    fn remember(address: &str, cause: Cause) {
        let Some(history) = browser::window().and_then(|window| window.history().ok()) else {
            return;
        };
        let _ = match cause {
            Cause::History => Ok(()),
            Cause::Typing => history.replace_state_with_url(&JsValue::NULL, "", Some(address)),
            Cause::Form | Cause::Link | Cause::More => {
                history.push_state_with_url(&JsValue::NULL, "", Some(address))
            }
        };
    }

    fn announce() -> Option<()> {
        let count: Element = browser::by_id("count")?;
        let announcer: Element = browser::by_id("announcer")?;
        announcer.set_text_content(count.text_content().as_deref());
        Some(())
    }
}
