//! The pages as plain HTML: what a browser without JavaScript does.

mod accounts;
mod activity;
mod agents;
mod embeddings;
mod memory;
