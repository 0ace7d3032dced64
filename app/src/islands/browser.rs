//! The few things that every island asks of the browser. An island that cannot
//! have them does nothing: the page goes on as plain HTML.

use wasm_bindgen::prelude::*;
use web_sys::{Document, Element, HtmlElement, Window};

pub fn window() -> Option<Window> {
    web_sys::window()
}

pub fn document() -> Option<Document> {
    window()?.document()
}

/// The element with this id, as the kind that is asked for.
pub fn by_id<E: JsCast>(id: &str) -> Option<E> {
    document()?.get_element_by_id(id)?.dyn_into().ok()
}

pub fn elements(within: &Element, selector: &str) -> Vec<Element> {
    let Ok(found) = within.query_selector_all(selector) else {
        return Vec::new();
    };
    (0..found.length()).filter_map(|index| found.get(index)?.dyn_into().ok()).collect()
}

pub fn focused() -> Option<HtmlElement> {
    document()?.active_element()?.dyn_into().ok()
}

/// Listens for as long as the page lives.
pub fn listen<E: JsCast + wasm_bindgen::convert::FromWasmAbi + 'static>(
    target: &web_sys::EventTarget,
    event: &str,
    handler: impl FnMut(E) + 'static,
) {
    let closure = Closure::<dyn FnMut(E)>::new(handler);
    let _ = target.add_event_listener_with_callback(event, closure.as_ref().unchecked_ref());
    closure.forget();
}
