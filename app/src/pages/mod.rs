//! One file a page: `show` loads what the page tells and renders it, its forms change something and show it again. A page holds
//! no rule of memory.

pub mod account;
pub mod activity;
pub mod admin;
pub mod agents;
pub mod chat;
pub mod consent;
pub mod data;
pub mod docs;
pub mod documents;
pub mod dreams;
pub mod embeddings;
pub mod entities;
pub mod fading;
pub mod graph;
pub mod invitation;
pub mod item;
pub mod join;
pub mod learned;
mod link;
pub mod login;
pub mod memory;
pub mod reset;
pub mod secrets;
pub mod sessions;
pub mod summary;
pub mod timeline;
pub mod used;
pub mod webhooks;
pub mod work;
