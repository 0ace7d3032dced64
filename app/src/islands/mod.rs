//! The only code that is shipped as wasm. Every page is complete without it;
//! an island may spare a reload or a reach for the mouse, and no more.

mod allow_soon;
mod copy_button;
mod graph_view;
mod keyboard;
mod live_progress;
mod live_results;
mod undo_time;
mod zone_suggestion;

pub use allow_soon::AllowSoon;
pub use copy_button::CopyButton;
pub use graph_view::GraphView;
pub use keyboard::Keyboard;
pub use live_progress::LiveProgress;
pub use live_results::LiveResults;
pub use undo_time::UndoTime;
pub use zone_suggestion::ZoneSuggestion;

#[cfg(feature = "hydrate")]
mod browser;
#[cfg(feature = "hydrate")]
mod swap;
