//! One file a route. A page reads its address, asks the backend once, and puts
//! components together; it holds no rule of memory.

mod account;
mod activity;
mod admin;
mod agents;
mod chat;
mod data;
mod docs;
mod documents;
mod embeddings;
mod entities;
mod fading;
mod graph;
mod invitation;
mod item;
mod join;
mod login;
mod memory;
mod not_found;
mod reset;
mod sessions;
mod summary;
mod work;

pub use account::Account;
pub use activity::Activity;
pub use admin::{Admin, Jobs, Users};
pub use agents::Agents;
pub use chat::Chat;
pub use data::{Data, Erased};
pub use docs::Docs;
pub use documents::{Document, Documents};
pub use embeddings::Embeddings;
pub use entities::{Entities, Entity};
pub use fading::Fading;
pub use graph::Graph;
pub use invitation::Invitation;
pub use item::Item;
pub use join::Join;
pub use login::Login;
pub use memory::Memory;
pub use not_found::NotFound;
pub use reset::Reset;
pub use sessions::{Session, Sessions};
pub use summary::Summary;
pub use work::Work;
