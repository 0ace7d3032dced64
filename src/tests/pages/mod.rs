//! The pages as plain HTML: what a browser without JavaScript does.

mod accounts;
mod activity;
mod agents;
mod any_day;
mod docs;
mod documents;
mod embeddings;
mod entities;
pub mod every_route;
pub mod held_body;
mod memory;
mod memory_switch;
mod operators;
mod payloads;
mod pictures;
mod reset_links;
mod sessions;
mod sign_in;
mod users;
mod work;
