//! Props in, HTML out: the parts that pages are made of. Nothing here asks the
//! backend (but for [`Frame`], which shows who is signed in) and nothing reaches wasm.

mod badge;
mod beginning;
mod call;
mod connect;
mod content;
mod days;
mod facts;
mod field;
mod figures;
mod frame;
mod item_row;
mod memory_switch;
mod notice;
mod outcome;
mod paste;
mod progress;
mod provider_fields;
mod renewal;
mod score;
mod shortcuts;
mod time;
mod token;

pub use badge::{EmbeddingMark, ITEM_TYPES, Shape, StateBadge, TypeBadge};
pub use beginning::FirstSteps;
pub use call::{Call, TOOLS, did};
pub use connect::{Connect, FirstCall, TOKEN_PLACE, add_line, search_line};
pub use content::Content;
pub use days::{Days, calls};
pub use facts::{Fact, Facts, space_facts};
pub use field::{Done, Field, FieldError, FormError, Password};
pub use figures::{count, memories, rate, size, time_left};
pub use frame::{Frame, Section};
pub use item_row::ItemRow;
pub use memory_switch::MemorySwitch;
pub use notice::Trouble;
pub use outcome::{Confirm, TestReport};
pub use paste::Paste;
pub use progress::Progress;
pub use provider_fields::{PROVIDER_FIELDS, ProviderFields};
pub use renewal::Renewal;
pub use score::{Score, ScoreTable};
pub use shortcuts::Shortcuts;
pub use time::When;
pub use token::{TOKEN_FIELDS, TokenChoices, TokenEntry};
