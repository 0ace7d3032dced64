//! The pages of Keepsake. `ssr` renders them on the server: `pages/` has one file a page, which loads what it shows, renders it
//! and takes its forms; `routes.rs` lists them. `hydrate` builds the islands, the only code that reaches the browser.

#[cfg(feature = "ssr")]
mod address;
#[cfg(feature = "ssr")]
mod asked;
#[cfg(feature = "ssr")]
mod components;
#[cfg(feature = "ssr")]
mod endpoint;
#[cfg(feature = "ssr")]
mod form;
#[cfg(feature = "ssr")]
mod forms;
pub mod islands;
#[cfg(feature = "ssr")]
mod kinds;
#[cfg(feature = "ssr")]
mod limits;
#[cfg(feature = "ssr")]
mod moment;
#[cfg(feature = "ssr")]
mod nowhere;
#[cfg(feature = "ssr")]
mod page;
#[cfg(feature = "ssr")]
mod pages;
#[cfg(feature = "ssr")]
mod routes;
#[cfg(feature = "ssr")]
mod shell;
#[cfg(feature = "ssr")]
mod visits;
#[cfg(feature = "ssr")]
pub mod words;

#[cfg(feature = "ssr")]
pub use {
    address::DocumentFilters,
    nowhere::{not_found, not_found_for, wrong_method},
    page::broken,
    pages::docs,
    routes::pages,
    visits::identify_visitor,
};

#[cfg(feature = "ssr")]
use keepsake_core::{
    accounts, activity, backup, clock, consolidation, containment, db, documents, embedding,
    entities, erasure, export, input, jobs, memories, providers, queue, quota, redaction, search,
    services, sessions, tools, webhooks,
};

/// What the browser runs once the module is loaded: the islands alone wake up.
#[cfg(feature = "hydrate")]
#[wasm_bindgen::prelude::wasm_bindgen]
pub fn hydrate() {
    leptos::mount::hydrate_islands();
}
