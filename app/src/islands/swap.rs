//! Takes over parts of a page that was fetched anew: those marked `data-live`.
//! The focus stays where it was, what is folded open stays open, and what has
//! not changed is not touched. The server's HTML is the only way to render.

use wasm_bindgen::JsCast;
use wasm_bindgen_futures::JsFuture;
use web_sys::{
    AbortSignal, Document, DomParser, Element, HtmlElement, RequestInit, Response, SupportedType,
};

use super::browser;

/// The page at this address, parsed; nothing when it is not the page we asked for.
pub async fn fetch(address: &str, signal: Option<&AbortSignal>) -> Option<Document> {
    let options = RequestInit::new();
    options.set_signal(signal);
    let request = browser::window()?.fetch_with_str_and_init(address, &options);
    let response: Response = JsFuture::from(request).await.ok()?.dyn_into().ok()?;
    if response.status() != 200 || response.redirected() {
        return None;
    }
    let html = JsFuture::from(response.text().ok()?).await.ok()?;
    DomParser::new().ok()?.parse_from_string(&html.as_string()?, SupportedType::TextHtml).ok()
}

/// Adopts the new parts of `root`, all or none.
pub fn adopt(root: &Element, answer: &Document) -> Option<()> {
    let document = browser::document()?;
    let mut parts = Vec::new();
    for old in browser::elements(root, "[data-live]") {
        let name = old.get_attribute("data-live")?;
        let new = answer.query_selector(&format!("[data-live={name}]")).ok()??;
        parts.push((old, new));
    }
    let focused = Focused::now();
    for (old, new) in parts {
        keep_open(&old, &new);
        if old.outer_html() == new.outer_html() {
            continue;
        }
        document.adopt_node(&new).ok()?;
        old.replace_with_with_node_1(&new).ok()?;
    }
    if let Some(focused) = focused {
        focused.restore(root);
    }
    Some(())
}

fn keep_open(old: &Element, new: &Element) {
    for fold in browser::elements(old, "details[open][id]") {
        let again = new.query_selector(&format!("details[id={}]", fold.id()));
        if let Ok(Some(again)) = again {
            let _ = again.set_attribute("open", "");
        }
    }
}

/// What had the focus, named so that it is found again among the new parts.
struct Focused {
    element: HtmlElement,
    id: String,
    href: Option<String>,
}

impl Focused {
    fn now() -> Option<Self> {
        let element = browser::focused()?;
        Some(Self { id: element.id(), href: element.get_attribute("href"), element })
    }

    fn restore(&self, root: &Element) -> Option<()> {
        if self.element.is_connected() {
            return None;
        }
        let again = if !self.id.is_empty() {
            browser::by_id(&self.id)?
        } else {
            let href = self.href.as_deref()?;
            let mut links = browser::elements(root, "a").into_iter();
            links.find(|link| link.get_attribute("href").as_deref() == Some(href))?
        };
        again.dyn_ref::<HtmlElement>()?.focus().ok()
    }
}
