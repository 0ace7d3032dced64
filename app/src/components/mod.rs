//! Props in, HTML out: the parts that pages are made of. Nothing here asks the
//! backend (but for [`Frame`], which shows who is signed in) and nothing reaches wasm.

mod badge;
mod content;
mod field;
mod frame;
mod item_row;
mod notice;
mod paste;
mod score;
mod shortcuts;
mod time;
mod token;

pub use badge::{ITEM_TYPES, StateBadge, TypeBadge};
pub use content::Content;
pub use field::{Done, Field, FieldError, FormError, Password};
pub use frame::{Frame, Section};
pub use item_row::ItemRow;
pub use notice::Trouble;
pub use paste::Paste;
pub use score::Score;
pub use shortcuts::Shortcuts;
pub use time::When;
pub use token::{TOKEN_FIELDS, TokenChoices, TokenEntry};
