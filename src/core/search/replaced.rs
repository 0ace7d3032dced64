//! A text that says what was replaced since stands behind what replaced it, and one that says what was forgotten is not found
//! ([`derived`]). Decided for the hits of one page alone, from the rows.

use sqlx::PgConnection;
use time::OffsetDateTime;

use super::candidate::{CandidateSignals, FoundItem, ReplacedText};
use super::explanation::Explanation;
use super::query::{Filters, SearchQuery};
use super::{Hit, LentFound, Search, WeighedTerms, snippet};
use crate::accounts::UserId;
use crate::db::Tx;
use crate::memories::derived;
use crate::memories::{Day, ItemId, Period, Status, words};

/// Whether the query leaves a row out: as a memory, it is found where archived ones are.
pub fn is_left_out(row: &FoundItem, filters: &Filters) -> bool {
    row.replaced.is_forgotten && filters.status == Some(Status::Active)
}

/// Adds to rows of a day what they say of what does not hold then.
pub async fn read(
    conn: &mut PgConnection,
    user: UserId,
    rows: &mut [FoundItem],
    day: &Day,
) -> Result<(), sqlx::Error> {
    let derived = rows.iter().filter(|row| row.item_type.is_derived());
    let ids: Vec<i64> = derived.map(|row| row.id.0).collect();
    let bases = derived::bases(conn, user, &ids, day.as_of).await?;
    for row in rows {
        let Some(basis) = bases.get(&row.id.0) else {
            continue;
        };
        let told = basis.told_by(&row.content);
        let ends = || told.iter().filter_map(|fact| fact.ended.as_ref());
        let successors = ends().filter_map(|end| Some((end.successor.as_ref()?.0, end.at)));
        row.replaced = ReplacedText {
            outdated: basis.outdated(&row.content),
            is_forgotten: ends().any(|end| end.is_forgotten),
            rest: basis.still_told(&row.content).filter(|_| !told.is_empty()),
            held: basis.held().collect(),
            successors: successors.collect(),
        };
    }
    Ok(())
}

/// Whether the words of a question are about what is left out of a text, and not all found in the rest.
pub fn is_asked(terms: &WeighedTerms, text: &str, rest: Option<&str>) -> bool {
    let all = count_asked(terms, text);
    all == 0 || rest.is_none_or(|rest| count_asked(terms, rest) < all)
}

/// Whether the words of a question that a text has are all in what is left out of it.
pub fn is_asked_alone(terms: &WeighedTerms, text: &str, rest: &str) -> bool {
    count_asked(terms, text) > 0 && count_asked(terms, rest) == 0
}

/// How many of the question's words a text has.
fn count_asked(terms: &WeighedTerms, text: &str) -> usize {
    let asked: Vec<&words::Term> = terms.iter().map(|(term, _)| term).collect();
    let mut found: Vec<usize> =
        words::matches_by_term(text, &asked).into_iter().map(|(_, term)| term).collect();
    found.sort_unstable();
    found.dedup();
    found.len()
}

/// What a page of hits was chosen from.
pub(super) struct RankedCandidates<'a> {
    pub(super) all: &'a [(CandidateSignals, Explanation)],
    pub(super) lent: Option<&'a LentFound>,
    pub(super) terms: &'a WeighedTerms,
    /// The time that was asked about.
    pub(super) time: Option<Period>,
}

impl RankedCandidates<'_> {
    fn score_of(&self, id: ItemId) -> Option<f64> {
        let found = self.all.iter().find(|(found, _)| found.id == id);
        found.map(|(_, why)| why.score())
    }

    /// What a hit stands behind: what replaced that which the question is about. In the time that is asked about, it held.
    fn successor_of(&self, hit: &Hit) -> Option<ItemId> {
        let replaced = &hit.item.replaced;
        let until = self.time.and_then(|time| time.until);
        let then = |(_, at): &&(ItemId, OffsetDateTime)| until.is_none_or(|until| *at < until);
        let successors = replaced.successors.iter().filter(then);
        let scored = successors.map(|(id, _)| (self.score_of(*id), *id));
        let (score, successor) = scored
            .max_by(|(a, _), (b, _)| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal))?;
        let held = replaced.held.iter().filter_map(|id| self.score_of(*id)).reduce(f64::max);
        let is_of_held = held > score;
        let is_asked = is_asked(self.terms, &hit.item.content, replaced.rest.as_deref());
        (is_asked && !is_of_held).then_some(successor)
    }
}

impl Search {
    /// Puts what replaced what a hit says before it.
    pub(super) async fn put_behind(
        &self,
        tx: &mut Option<Tx>,
        user: UserId,
        hits: &mut Vec<Hit>,
        ranked: RankedCandidates<'_>,
        query: &SearchQuery,
    ) -> Result<(), sqlx::Error> {
        let mut place = 0;
        while place < hits.len() {
            if let Some(successor) = ranked.successor_of(&hits[place]) {
                let there = hits.iter().position(|hit| hit.item.id == successor);
                let newer = match there {
                    Some(there) if there < place => None,
                    Some(there) => Some(hits.remove(there)),
                    None => self.successor(tx, user, successor, &ranked, query).await?,
                };
                if let Some(mut newer) = newer {
                    let missing = hits[place].score - newer.explanation.score();
                    newer.explanation.replaces = missing.max(0.0);
                    newer.score = newer.explanation.score();
                    hits.insert(place, newer);
                    hits.truncate(query.limit);
                    place += 1;
                }
            }
            place += 1;
        }
        Ok(())
    }

    /// A hit that is not on the page; `None` if the filters leave it out.
    async fn successor(
        &self,
        tx: &mut Option<Tx>,
        user: UserId,
        id: ItemId,
        ranked: &RankedCandidates<'_>,
        query: &SearchQuery,
    ) -> Result<Option<Hit>, sqlx::Error> {
        let found = ranked.all.iter().find(|(found, _)| found.id == id);
        if found.is_none() && (!query.filters.are_open() || query.min_similarity.is_some()) {
            return Ok(None);
        }
        let rows = self.rows(tx, user, ranked.lent, &[id.0], &query.filters.day).await?;
        let row = rows.into_values().next();
        let row = row.filter(|row| query.filters.status.is_none_or(|status| row.status == status));
        let memory_of = ranked.lent.and_then(|lent| lent.name_of(id.0));
        Ok(row.map(|item| match found {
            Some((found, why)) => Hit::new(item, *why, found, ranked.terms, memory_of),
            None => Hit {
                memory_of,
                snippet: snippet::beginning_of(item.key.as_deref(), &item.content),
                score: 0.0,
                is_near: false,
                explanation: Explanation::default(),
                item,
            },
        }))
    }
}
