//! Dreams and their proposals, as a person reads them.

use time::OffsetDateTime;

use super::ProposedChange;
use crate::db::labels;
use crate::memories::{ItemId, Trust};

/// A dream: what it read, wrote and proposes.
#[derive(Clone, Debug)]
pub struct Dream {
    pub id: i64,
    /// Id and path; `None`: nothing was worth keeping.
    pub document: Option<(i64, String)>,
    /// An agent or a person deleted its document, which can be restored.
    pub is_archived: bool,
    pub trust: Option<Trust>,
    /// The agent whose private episodes it read; `None`: shared ones.
    pub owner: Option<String>,
    /// How many it read, including those that were deleted since.
    pub episodes: i64,
    pub dreamt_at: OffsetDateTime,
    pub read: Vec<ReadEpisode>,
    pub proposals: Vec<Proposal>,
}

/// An episode that a dream read.
#[derive(Clone, Debug)]
pub struct ReadEpisode {
    pub id: ItemId,
    pub session: Option<i64>,
    pub short: String,
    pub ended_at: OffsetDateTime,
}

#[derive(Clone, Debug)]
pub struct Proposal {
    pub n: i16,
    pub kind: ProposedChange,
    pub why: String,
    pub state: ProposalState,
    pub decided_at: Option<OffsetDateTime>,
    /// The dream applied it without asking.
    pub by_dream: bool,
    pub gone: PairMemory,
    pub kept: PairMemory,
}

/// One memory of a pair.
#[derive(Clone, Debug)]
pub struct PairMemory {
    pub id: ItemId,
    pub beginning: String,
    pub trust: Trust,
    pub is_confirmed: bool,
    /// When it was last stated.
    pub stated_at: OffsetDateTime,
}

labels! {
    pub enum ProposalState {
        Open = "open",
        Applied = "applied",
        Dismissed = "dismissed",
        Undone = "undone",
        /// One of the two has changed since, so the proposal no longer applies.
        Void = "void",
    }
}

/// A dream's proposal about an item that was applied or undone.
#[derive(Clone, Debug)]
pub struct ItemProposal {
    pub dream: i64,
    pub at: OffsetDateTime,
    pub by_dream: bool,
}
