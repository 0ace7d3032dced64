//! What the search statement answers of each item that may be a hit: signals, which the
//! ranking is made of, and the rest, which is read of the hits alone. A hundred rows are
//! ranked for ten that are shown.

use std::ops::Deref;

use sqlx::postgres::PgRow;
use sqlx::{Decode, Postgres, Row};
use time::OffsetDateTime;

use crate::memories::{ItemId, ItemType, Period, Status, Trust, Turn};

/// A row that an arm found: its signals, and what else there is to read of it.
pub struct Candidate<Rest = PgRow> {
    pub signals: Signals,
    pub rest: Rest,
}

impl<Rest> Deref for Candidate<Rest> {
    type Target = Signals;

    fn deref(&self) -> &Signals {
        &self.signals
    }
}

/// What the ranking is made of.
#[derive(Clone, Debug)]
pub struct Signals {
    pub id: ItemId,
    pub created_at: OffsetDateTime,
    pub is_turn: bool,
    /// Σ idf · ts_rank over the words that matched, over log length; 0 where none did.
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
    /// [`Asked::vector`](super::store::Asked::vector) is of the space that serves its user, who has not switched vectors off.
    pub is_of_serving: bool,
    /// What was said just before or after, and how many steps away: 1 to [`NEIGHBOUR_STEPS_MAX`](super::store::NEIGHBOUR_STEPS_MAX).
    /// Of an arm's first few alone, and not once more of the neighbour.
    pub neighbours: Vec<(ItemId, i64)>,
}

/// What a hit shows of its item.
#[derive(Clone, Debug)]
pub struct FoundItem {
    pub id: ItemId,
    pub created_at: OffsetDateTime,
    /// By slug; a turn has none.
    pub theme: Option<String>,
    pub item_type: ItemType,
    pub content: String,
    pub tags: Vec<String>,
    /// What has expired is as good as archived.
    pub status: Status,
    pub key: Option<String>,
    pub source: String,
    pub trust: Trust,
    /// The agent that added it, by name.
    pub agent: Option<String>,
    pub expires_at: Option<OffsetDateTime>,
    pub period: Period,
    /// Another item took its place.
    pub is_superseded: bool,
    pub turn: Option<Turn>,
}

impl Candidate {
    /// In the order in which [`store::find`](super::store::find) selects, signals first.
    pub(super) fn read(row: PgRow) -> Result<Self, sqlx::Error> {
        let mut columns = Columns { row: &row, at: 0 };
        let mut signals = Signals {
            id: ItemId(columns.next()?),
            created_at: columns.next()?,
            is_turn: columns.next()?,
            lexical: columns.next()?,
            words_matched: columns.next()?,
            is_substring: columns.next()?,
            distance: columns.next()?,
            is_near: columns.next()?,
            is_found: columns.next()?,
            is_of_named: columns.next()?,
            is_of_serving: columns.next()?,
            neighbours: Vec::new(),
        };
        let beside: Option<Vec<i64>> = columns.next()?;
        let steps: Option<Vec<i64>> = columns.next()?;
        let beside = beside.into_iter().flatten().map(ItemId);
        signals.neighbours = beside.zip(steps.into_iter().flatten()).collect();
        Ok(Self { signals, rest: row })
    }

    pub(super) fn item(&self, now: OffsetDateTime) -> Result<FoundItem, sqlx::Error> {
        const SIGNALS: usize = 13;
        let mut columns = Columns {
            row: &self.rest,
            at: SIGNALS,
        };
        FoundItem::read(&mut columns, self.signals.id, self.signals.created_at, now)
    }
}

impl FoundItem {
    /// In the order in which [`store::list_recent`](super::store::list_recent) selects.
    pub(super) fn of(row: &PgRow, now: OffsetDateTime) -> Result<Self, sqlx::Error> {
        let mut columns = Columns { row, at: 0 };
        let (id, created_at) = (ItemId(columns.next()?), columns.next()?);
        Self::read(&mut columns, id, created_at, now)
    }

    fn read(
        columns: &mut Columns<'_>,
        id: ItemId,
        created_at: OffsetDateTime,
        now: OffsetDateTime,
    ) -> Result<Self, sqlx::Error> {
        let theme = columns.next()?;
        let item_type = ItemType::from_column(columns.next()?);
        let (content, tags) = (columns.next()?, columns.next()?);
        let status = Status::from_column(columns.next()?);
        let (key, source) = (columns.next()?, columns.next()?);
        let trust = Trust::from_column(columns.next()?);
        let (agent, expires_at) = (columns.next()?, columns.next()?);
        let (from, until) = (columns.next()?, columns.next()?);
        Ok(Self {
            id,
            created_at,
            theme,
            item_type,
            content,
            tags,
            status: status.at(expires_at, now),
            key,
            source,
            trust,
            agent,
            expires_at,
            period: Period { from, until },
            is_superseded: columns.next()?,
            turn: turn(columns)?,
        })
    }
}

fn turn(columns: &mut Columns<'_>) -> Result<Option<Turn>, sqlx::Error> {
    let session: Option<i64> = columns.next()?;
    let session = session.zip(columns.next()?);
    let position: Option<i32> = columns.next()?;
    let message = position.zip(columns.next()?).zip(columns.next()?);
    Ok(session.zip(message).map(
        |((session_id, session), ((position, message), role))| Turn {
            session_id,
            session,
            position,
            message,
            role,
        },
    ))
}

/// A row from left to right. The statements are checked when we are compiled, their columns' types by every test of search.
struct Columns<'r> {
    row: &'r PgRow,
    at: usize,
}

impl<'r> Columns<'r> {
    fn next<T: Decode<'r, Postgres>>(&mut self) -> Result<T, sqlx::Error> {
        self.at += 1;
        self.row.try_get_unchecked(self.at - 1)
    }
}
