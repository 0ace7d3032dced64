//! A line ready to be pasted, with a button that copies it (an island; without
//! JavaScript the text is there to be selected).

use leptos::prelude::*;

use crate::islands::CopyButton;

#[component]
pub fn Paste(#[prop(into)] caption: String, text: String) -> impl IntoView {
    let label = caption.clone();
    view! {
        <figure class="paste" data-copyable="">
            <figcaption>{caption}</figcaption>
            <CopyButton />
            <pre tabindex="0" role="group" aria-label=label>
                <code>{text}</code>
            </pre>
        </figure>
    }
    .into_any()
}
