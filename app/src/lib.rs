//! The pages of Keepsake. `ssr` renders them on the server; `hydrate` builds
//! the islands, the only code that reaches the browser. This package knows
//! nothing of the database or of axum: it asks through [`backend::Backend`].

#[cfg(feature = "ssr")]
mod address;
#[cfg(feature = "ssr")]
pub mod backend;
#[cfg(feature = "ssr")]
mod components;
pub mod islands;
#[cfg(feature = "ssr")]
mod kinds;
#[cfg(feature = "ssr")]
mod pages;
#[cfg(feature = "ssr")]
mod shell;
#[cfg(feature = "ssr")]
pub mod view;
#[cfg(feature = "ssr")]
pub mod words;

#[cfg(feature = "ssr")]
pub use backend::IslandsBuilt;
#[cfg(feature = "ssr")]
pub use shell::{App, shell};

/// What the browser runs once the module is loaded: the islands alone wake up.
#[cfg(feature = "hydrate")]
#[wasm_bindgen::prelude::wasm_bindgen]
pub fn hydrate() {
    leptos::mount::hydrate_islands();
}
