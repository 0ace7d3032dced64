//! Props in, HTML out: the parts that pages are made of. Nothing here asks the
//! services, and nothing reaches wasm.

mod badge;
mod beginning;
mod connect;
mod content;
mod day;
mod days;
mod embedding_fields;
mod endpoint_form;
mod facts;
mod field;
mod frame;
mod memory_switch;
mod notice;
mod outcome;
mod paste;
mod pick;
mod progress;
mod renewal;
mod score;
mod shortcuts;
mod source_list;
mod span;
mod time;
mod token;
mod tool_choice;
mod unseen;

pub use crate::kinds::{ENTITY_TYPES, ITEM_TYPES, TOOLS, did, shape_of};
pub use crate::words::{count, documents, memories, rate, size, some_texts, texts, time_left};
pub use badge::{
    EmbeddingMark, OutdatedBadge, OwnerBadge, Retired, Shape, StateBadge, TypeBadge, WordBadge,
    WordOf, retired_state, type_name,
};
pub use beginning::FirstSteps;
pub use connect::{Connect, TOKEN_PLACE, add_line, search_line, session_line};
pub use content::Content;
pub use day::{DayBanner, DayFields};
pub use days::{Bar, Bars, OUTCOMES, calls};
use embedding_fields::EmbeddingFields;
pub use endpoint_form::{
    EffectiveModel, EndpointKind, FoldedStep, OwnEndpoint, SwitchedOff, SystemEndpoint,
};
pub use facts::{Fact, Facts, LateView, SpaceView, space_facts};
pub use field::{Done, Field, FieldError, FormError, NumberField, Password, SelectField};
pub use frame::{Frame, Section};
pub use memory_switch::MemorySwitch;
pub use notice::{NoSuchPage, Trouble, not_found, with_code};
pub use outcome::{Confirm, TestReport};
pub use paste::Paste;
pub use pick::{Choice, Pick};
pub use progress::Progress;
pub use renewal::Renewal;
pub use score::{Score, ScoreTable};
pub use shortcuts::Shortcuts;
pub use source_list::SourceList;
pub use span::{Axis, SpanBar};
pub use time::When;
pub use token::{SCOPES, TOKEN_FIELDS, TokenChoices, TokenEntry};
pub use tool_choice::{ToolChoice, ToolSelect};
pub use unseen::{Marked, MarkedLink, without_unseen};
