//! The document around every page.

use leptos::config::LeptosOptions;
use leptos::hydration::HydrationScripts;
use leptos::prelude::*;
use leptos_meta::{MetaTags, provide_meta_context};

/// In the context of every page: whether `/pkg/keepsake.js` and `.wasm` exist. Without them the pages are plain HTML, and
/// complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IslandsBuilt(pub bool);

pub fn shell(
    options: LeptosOptions,
    page: impl Fn() -> AnyView + Send + Sync + 'static,
) -> impl IntoView {
    let islands_built = use_context::<IslandsBuilt>().is_some_and(|built| built.0);
    view! {
        <!DOCTYPE html>
        <html lang="en">
            <head>
                <meta charset="utf-8" />
                <meta name="viewport" content="width=device-width, initial-scale=1" />
                <meta name="color-scheme" content="light dark" />
                <meta name="theme-color" media="(prefers-color-scheme: light)" content="#faf8f4" />
                <meta name="theme-color" media="(prefers-color-scheme: dark)" content="#171614" />
                <meta name="referrer" content="same-origin" />
                <link rel="preload" href="/fonts/inter-4.1.woff2" r#as="font" type="font/woff2" crossorigin="" />
                <link rel="stylesheet" href="/pkg/keepsake.css" />
                <link rel="icon" type="image/svg+xml" href="/favicon.svg" />
                {islands_built.then(|| view! { <HydrationScripts options islands=true /> })}
                <MetaTags />
            </head>
            <body>
                <Body page />
            </body>
        </html>
    }
}

#[component]
fn Body(page: impl Fn() -> AnyView + Send + Sync + 'static) -> impl IntoView {
    provide_meta_context();
    page()
}
