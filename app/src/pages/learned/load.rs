//! Learned memories, as their page shows them.

use crate::page::PageError;
use crate::view::{LearnedPage, LearnedRow, ProposedRow, UnwantedRow};

use crate::accounts::Viewer;
use crate::memories::learned::{self, LearnedItem};
use crate::memories::proposals::{self, ProposalReason};
use crate::memories::{ItemId, manage};
use crate::page::whose;
use crate::page::{Page, database};
use crate::pages::item::load::source_in_plain_words;

impl Page {
    pub(crate) async fn learned_view(&self, viewer: &Viewer) -> Result<LearnedPage, PageError> {
        let (db, now) = (&self.state.db, self.state.clock.now());
        let found = learned::overview(db, viewer.user_id, now).await;
        let found = found.map_err(database)?;
        let read_only = manage::is_browser_read_only(db).await;
        let unwanted = found.unwanted.into_iter().map(|line| UnwantedRow {
            id: line.id,
            text: line.text,
            item: line.item.map(|item| item.0),
        });
        let (proposed, has_more_proposed) = self.proposed(viewer, None).await?;
        Ok(LearnedPage {
            proposed,
            has_more_proposed,
            count: found.count,
            has_more: found.has_more,
            imported: found.imported.into_iter().map(|item| self.learned_row(item)).collect(),
            imported_count: found.imported_count,
            claimed: found.claimed.into_iter().map(|item| self.learned_row(item)).collect(),
            rows: found.items.into_iter().map(|item| self.learned_row(item)).collect(),
            unwanted: unwanted.collect(),
            is_manageable: !read_only.map_err(database)?,
        })
    }

    /// What agents propose about one memory or about all, newest first, and whether there is more.
    pub(crate) async fn proposed(
        &self,
        viewer: &Viewer,
        item: Option<ItemId>,
    ) -> Result<(Vec<ProposedRow>, bool), PageError> {
        let found = proposals::list(&self.state.db, viewer.user_id, item).await;
        let (found, has_more) = found.map_err(database)?;
        let rows = found.into_iter().map(|one| ProposedRow {
            id: one.id,
            agent: one.agent,
            item: one.item.0,
            beginning: one.beginning,
            instead: one.instead.map(|(id, text)| (id.0, text)),
            why: match one.reason {
                ProposalReason::Locked => "you confirmed it",
                ProposalReason::Together => "you confirmed another one of its key",
                ProposalReason::Rate => "too many changes within a minute",
            },
            proposed: one.proposed_at,
        });
        Ok((rows.collect(), has_more))
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
            created: item.created_at,
        }
    }
}
