//! The summary, as its page shows it.

use crate::page::PageError;
use crate::view::{SourceItem, SummaryPage, SummaryState, SummaryText};

use crate::accounts::Viewer;
use crate::consolidation::summary::{self, SummaryOff, SummaryProgress};
use crate::input::sentence;
use crate::page::{Page, database, whose};
use crate::tools::ToolError;

impl Page {
    pub(crate) async fn summary_view(&self, viewer: &Viewer) -> Result<SummaryPage, PageError> {
        let found = self.state.consolidation.summary(viewer.user_id).await;
        let found = found.map_err(|error| match error.into() {
            ToolError::Database(error) => database(error),
            error => PageError { is_invalid: false, sentence: sentence(&error.to_string()) },
        })?;
        let (state, reason, next_try) = match found.state {
            SummaryProgress::Current => (SummaryState::Current, None, None),
            SummaryProgress::Waiting(at) => (SummaryState::Waiting, None, at),
            SummaryProgress::Writing => (SummaryState::Writing, None, None),
            SummaryProgress::Failed(why, at) => (SummaryState::Failed, Some(sentence(&why)), at),
            SummaryProgress::Empty => (SummaryState::Empty, None, None),
            SummaryProgress::Off(off) => {
                let state = match off {
                    SummaryOff::Memory => SummaryState::MemoryOff,
                    SummaryOff::Unwanted | SummaryOff::Chat | SummaryOff::NoModel => {
                        SummaryState::Off
                    }
                };
                (state, Some(sentence(&off.to_string())), None)
            }
        };
        let now = self.state.clock.now();
        Ok(SummaryPage {
            text: found.told.map(|told| self.summary_text(told)),
            can_be_written: found.can_be_written,
            state,
            reason,
            is_due: next_try.is_some_and(|at| at <= now),
            next_try: next_try,
        })
    }

    fn summary_text(&self, told: summary::SummaryText) -> SummaryText {
        SummaryText {
            paragraphs: told.text.split("\n\n").map(str::to_owned).collect(),
            made: told.made_at,
            model: told.model,
            items: told.items.into_iter().map(source_item).collect(),
            items_total: told.facts_total,
            is_stale: told.is_stale,
        }
    }
}

pub(crate) fn source_item(item: summary::SourceItem) -> SourceItem {
    SourceItem {
        id: item.id.0,
        beginning: match item.is_cut {
            true => format!("{}…", item.beginning.trim_end()),
            false => item.beginning,
        },
        word: whose(item.trust),
        is_active: item.is_active,
    }
}
