//! Learned memories, as their page shows them.

use app::backend::PageError;
use app::view::{LearnedPage, LearnedRow, UnwantedRow};

use super::items::source_in_plain_words;
use super::whose;
use super::{Ui, database};
use crate::accounts::Viewer;
use crate::memories::learned::{self, LearnedItem};
use crate::memories::manage;

impl Ui {
    pub(super) async fn learned_view(&self, viewer: &Viewer) -> Result<LearnedPage, PageError> {
        let (db, now) = (&self.state.db, self.state.clock.now());
        let found = learned::overview(db, viewer.user_id, now).await;
        let found = found.map_err(database)?;
        let read_only = manage::is_browser_read_only(db).await;
        let unwanted = found.unwanted.into_iter().map(|line| UnwantedRow {
            id: line.id,
            text: line.text,
            item: line.item.map(|item| item.0),
        });
        Ok(LearnedPage {
            count: found.count,
            has_more: found.has_more,
            rows: found.items.into_iter().map(|item| self.learned_row(item)).collect(),
            unwanted: unwanted.collect(),
            is_manageable: !read_only.map_err(database)?,
        })
    }

    fn learned_row(&self, item: LearnedItem) -> LearnedRow {
        LearnedRow {
            id: item.id.0,
            item_type: item.item_type.as_str().to_owned(),
            theme: item.theme,
            beginning: item.beginning,
            word: whose(item.trust),
            source: source_in_plain_words(item.source, item.trust),
            agent: item.agent,
            quote: item.quote,
            said_in: item.said_in,
            created: self.moment(item.created_at),
        }
    }
}
