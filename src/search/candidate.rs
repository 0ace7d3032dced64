//! What the search statements answer of each item that may be a hit.

use time::OffsetDateTime;

use crate::memories::{ItemId, ItemType, Status, Turn};

/// A row that an arm found, with the signals the ranking is made of.
#[derive(Clone, Debug)]
pub struct Candidate {
    pub id: ItemId,
    /// By slug; a turn has none.
    pub theme: Option<String>,
    pub item_type: ItemType,
    pub content: String,
    pub tags: Vec<String>,
    /// What has expired is as good as archived.
    pub status: Status,
    pub key: Option<String>,
    /// The agent's name, or how else the item came.
    pub source: String,
    pub created_at: OffsetDateTime,
    pub expires_at: Option<OffsetDateTime>,
    /// Another item took its place.
    pub is_superseded: bool,
    /// 0 where the list is by date.
    pub lexical: f64,
    pub words_matched: i64,
    pub is_substring: bool,
    /// Cosine distance, 0 to 2; `None` without a ready vector in the query's space.
    pub distance: Option<f64>,
    /// Among the [`CANDIDATES_MAX`](super::store::CANDIDATES_MAX) nearest.
    pub is_near: bool,
    /// By an arm, and not only as somebody's neighbour.
    pub is_found: bool,
    /// Said by whom the query names, or naming them where nobody is said to speak.
    pub is_of_named: bool,
    /// What was said just before or after, and how many steps away: 1 to [`NEIGHBOUR_STEPS_MAX`](super::store::NEIGHBOUR_STEPS_MAX).
    /// Of an arm's first few alone, and not once more of the neighbour.
    pub neighbours: Vec<(ItemId, i64)>,
    /// [`Asked::vector`](super::store::Asked::vector) is of the space that serves its user, who has not switched vectors off.
    pub is_of_serving: bool,
    pub turn: Option<Turn>,
}

/// The same, as the statements answer it.
pub(super) struct CandidateLookup {
    pub id: i64,
    pub theme: Option<String>,
    pub item_type: String,
    pub content: String,
    pub tags: Vec<String>,
    pub status: String,
    pub key: Option<String>,
    pub source: String,
    pub created_at: OffsetDateTime,
    pub expires_at: Option<OffsetDateTime>,
    pub is_superseded: bool,
    pub lexical: f64,
    pub words_matched: i64,
    pub is_substring: bool,
    pub distance: Option<f64>,
    pub is_near: bool,
    pub is_found: bool,
    pub is_of_named: bool,
    pub beside: Option<Vec<i64>>,
    pub steps: Option<Vec<i64>>,
    pub is_of_serving: bool,
    pub session_id: Option<i64>,
    pub session: Option<String>,
    pub position: Option<i32>,
    pub message: Option<String>,
    pub role: Option<String>,
}

impl CandidateLookup {
    pub(super) fn at(self, now: OffsetDateTime) -> Candidate {
        let row = self;
        let session = row.session_id.zip(row.session);
        let message = row.position.zip(row.message).zip(row.role);
        let beside = row.beside.into_iter().flatten().map(ItemId);
        Candidate {
            id: ItemId(row.id),
            theme: row.theme,
            item_type: ItemType::from_column(&row.item_type),
            content: row.content,
            tags: row.tags,
            status: Status::from_column(&row.status).at(row.expires_at, now),
            key: row.key,
            source: row.source,
            created_at: row.created_at,
            expires_at: row.expires_at,
            is_superseded: row.is_superseded,
            lexical: row.lexical,
            words_matched: row.words_matched,
            is_substring: row.is_substring,
            distance: row.distance,
            is_near: row.is_near,
            is_found: row.is_found,
            is_of_named: row.is_of_named,
            neighbours: beside.zip(row.steps.into_iter().flatten()).collect(),
            is_of_serving: row.is_of_serving,
            turn: session.zip(message).map(
                |((session_id, session), ((position, message), role))| Turn {
                    session_id,
                    session,
                    position,
                    message,
                    role,
                },
            ),
        }
    }
}
