//! Dreams, as their page shows them.

use crate::page::PageError;
use crate::view::{
    DreamView, DreamsPage, DreamtOf, ProposalKind, ProposalSide, ProposalState as State,
    ProposalView,
};

use crate::accounts::Viewer;
use crate::consolidation::dreaming::decide;
use crate::consolidation::dreaming::model::{Dream, PairMemory, Proposal, ProposalState};
use crate::consolidation::dreaming::{self, ProposedChange};
use crate::documents::DocumentError;
use crate::memories::manage;
use crate::page::whose;
use crate::page::{Page, database};
use crate::providers::chat::{ChatError, ChatPurpose};

impl Page {
    pub(crate) async fn dreams_view(
        &self,
        viewer: &Viewer,
        before: Option<i64>,
    ) -> Result<DreamsPage, PageError> {
        let (db, user, now) = (&self.state.db, viewer.user_id, self.state.clock.now());
        let (found, has_more) = decide::list(db, user, before).await.map_err(database)?;
        let settings = dreaming::settings(db, user).await.map_err(database)?;
        let waiting = decide::count_waiting(db, user, now).await.map_err(database)?;
        let read_only = manage::is_browser_read_only(db).await.map_err(database)?;
        let why_none = match self.state.chat.effective(user, ChatPurpose::Dreaming).await {
            Ok(Some(_)) => None,
            Err(ChatError::Database(error)) => return Err(database(error)),
            Ok(None) | Err(_) => {
                Some("No dreams: they need a chat model that is switched on for dreaming.")
            }
        };
        let older_than = found.last().map(|dream| dream.id).filter(|_| has_more);
        let mut dreams = Vec::with_capacity(found.len());
        for dream in found {
            dreams.push(self.dream_view(viewer, dream).await?);
        }
        Ok(DreamsPage {
            dreams,
            older_than,
            why_none,
            waiting,
            episodes_min: settings.episodes_min.into(),
            applies: settings.applies,
            is_manageable: !read_only,
        })
    }

    async fn dream_view(&self, viewer: &Viewer, dream: Dream) -> Result<DreamView, PageError> {
        let document = dream.document.as_ref().map(|(id, _)| *id);
        let body = match document.filter(|_| !dream.is_archived) {
            Some(id) => {
                let read = self.state.documents.read_revision(viewer.user_id, id, None).await;
                match read {
                    Ok(whole) => Some(whole.content),
                    Err(DocumentError::Database(error)) => return Err(database(error)),
                    // Deleted in the meantime.
                    Err(_) => None,
                }
            }
            None => None,
        };
        let read = dream.read.into_iter().map(|one| DreamtOf {
            id: one.id.0,
            session: one.session,
            short: one.short,
            at: one.ended_at,
        });
        Ok(DreamView {
            id: dream.id,
            at: dream.dreamt_at,
            owner: dream.owner,
            episodes: dream.episodes,
            read: read.collect(),
            document: dream.document,
            body: body.as_deref().map(parts_of).unwrap_or_default(),
            word: dream.trust.map(whose),
            proposals: dream.proposals.into_iter().map(|one| self.proposal_view(one)).collect(),
        })
    }

    fn proposal_view(&self, one: Proposal) -> ProposalView {
        ProposalView {
            n: one.n,
            kind: match one.kind {
                ProposedChange::Merge => ProposalKind::Merge,
                ProposedChange::Supersede => ProposalKind::Supersede,
                ProposedChange::Contradiction => ProposalKind::Contradiction,
            },
            why: one.why,
            state: match one.state {
                ProposalState::Open => State::Open,
                ProposalState::Applied if one.by_dream => State::Applied,
                ProposalState::Applied => State::Accepted,
                ProposalState::Dismissed => State::Dismissed,
                ProposalState::Undone => State::Undone,
                ProposalState::Void => State::Void,
            },
            gone: self.side_view(one.gone),
            kept: self.side_view(one.kept),
        }
    }

    fn side_view(&self, side: PairMemory) -> ProposalSide {
        ProposalSide {
            id: side.id.0,
            beginning: side.beginning,
            word: whose(side.trust),
            is_confirmed: side.is_confirmed,
            said: side.stated_at,
        }
    }
}

/// Headings with their lines; the title is left out, since the page has it.
fn parts_of(document: &str) -> Vec<(String, Vec<String>)> {
    let mut parts: Vec<(String, Vec<String>)> = Vec::new();
    for line in document.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            parts.push((heading.to_owned(), Vec::new()));
        } else if let (Some(said), Some((_, lines))) = (line.strip_prefix("- "), parts.last_mut()) {
            lines.push(said.to_owned());
        }
    }
    parts
}
