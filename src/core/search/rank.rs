//! From candidates to results: ranked or by date. Each hit is read from the database under the rights of its memory's owner.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use sqlx::PgConnection;

use super::candidate::{CandidateSignals, FoundItem};
use super::explanation::Explanation;
use super::fuse;
use super::query::{Cursor, SearchQuery};
use super::reader::IndexRequest;
use super::replaced::{self, RankedCandidates};
use super::{
    Hit, LentFound, Mode, ResultPage, Search, WeighedTerms, arms, kept, lent, relevance, snippet,
    store,
};
use crate::accounts::{UserId, Viewer};
use crate::db::Tx;
use crate::memories::{Day, EpisodeSpan, ItemId, Period, day};

/// The input of the ranking.
pub(super) struct RankingInput {
    /// The user's transaction, if it is still open.
    pub(super) tx: Option<Tx>,
    pub(super) user: UserId,
    pub(super) signals: Vec<CandidateSignals>,
    pub(super) terms: WeighedTerms,
    pub(super) lent: Option<LentFound>,
    /// The time that was asked for, or that the query names.
    pub(super) time: Option<Period>,
}

impl Search {
    pub(super) async fn rank(
        &self,
        found: RankingInput,
        query: &SearchQuery,
    ) -> Result<ResultPage, sqlx::Error> {
        let RankingInput { mut tx, user, signals, terms, lent, time } = found;
        let mut confidence = relevance::of_answer(&signals, terms.len());
        let has_near = signals.iter().any(|c| c.is_near);
        // Without similarities, the threshold is ignored.
        let similarity_min = query.min_similarity.filter(|_| has_near);
        // What the caller gave is not misread.
        let is_read = time.is_some() && query.filters.time.is_none();
        let kept = is_read.then(|| kept::best_without_time(&signals, query.balance));
        let relevance = relevance::of_all(&signals, terms.len());
        let mut ranked = fuse::weighted(signals, query.balance);
        for (found, why) in &mut ranked {
            why.relevance = relevance.get(&found.id.0).copied().unwrap_or_default();
        }
        let nearest = ranked.iter().map(|(_, why)| why.similarity()).reduce(f64::max);
        ranked.retain(|(_, why)| similarity_min.is_none_or(|least| why.similarity() >= least));
        let nearest_below = nearest.filter(|_| ranked.is_empty());
        if let Some(lent) = &lent {
            let ids: Vec<i64> = ranked.iter().map(|(found, _)| found.id.0).collect();
            let copies = self.lent_copies(user, lent, &ids).await?;
            ranked.retain(|(found, _)| !copies.contains(&found.id.0));
        }
        if query.filters.spread {
            fuse::spread(&mut ranked, query.limit);
        }
        kept::keep(&mut ranked, &kept.unwrap_or_default(), query.limit);
        let (mut hits, mut next) = (Vec::new(), 0);
        let mut left_out: HashSet<ItemId> = HashSet::new();
        // Some rows may have been deleted since, and some say what was forgotten.
        while hits.len() < query.limit && next < ranked.len() {
            let most = ranked.len().min(next + query.limit - hits.len());
            let found = ranked[next..most].to_vec();
            let read = self.hits(&mut tx, user, lent.as_ref(), found, query, &terms).await?;
            let is_left_out = |hit: &Hit| replaced::is_left_out(&hit.item, &query.filters);
            let (gone, read): (Vec<Hit>, Vec<Hit>) = read.into_iter().partition(is_left_out);
            left_out.extend(gone.iter().map(|hit| hit.item.id));
            hits.extend(read);
            next = most;
        }
        if !left_out.is_empty() {
            let found = ranked.iter().map(|(found, _)| found);
            let found = found.filter(|found| !left_out.contains(&found.id)).cloned();
            confidence = relevance::of_answer(&found.collect::<Vec<_>>(), terms.len());
        }
        let from = RankedCandidates { all: &ranked, lent: lent.as_ref(), terms: &terms, time };
        self.put_behind(&mut tx, user, &mut hits, from, query).await?;
        // Read only: dropping rolls back in the background, so that nobody waits for it.
        drop(tx);
        Ok(ResultPage {
            hits,
            mode: if has_near { Mode::Hybrid } else { Mode::Fts },
            cursor: None,
            degraded: None,
            has_lent: lent.is_some(),
            time,
            confidence: Some(confidence).filter(|_| nearest_below.is_none()),
            nearest_below,
        })
    }

    /// Reads these candidates; without those that are gone, or of another status by now.
    async fn hits(
        &self,
        tx: &mut Option<Tx>,
        user: UserId,
        lent: Option<&LentFound>,
        ranked: Vec<(CandidateSignals, Explanation)>,
        query: &SearchQuery,
        terms: &WeighedTerms,
    ) -> Result<Vec<Hit>, sqlx::Error> {
        let ids: Vec<i64> = ranked.iter().map(|(found, _)| found.id.0).collect();
        let rows = self.rows(tx, user, lent, &ids, &query.filters.day);
        let mut rows = rows.await?;
        let status = query.filters.status;
        let hits = ranked.into_iter().filter_map(|(found, why)| {
            let item = rows.remove(&found.id)?;
            let is_wanted = status.is_none_or(|status| item.status == status);
            let memory_of = lent.and_then(|lent| lent.name_of(found.id.0));
            is_wanted.then(|| Hit::new(item, why, &found, terms, memory_of))
        });
        Ok(hits.collect())
    }

    /// The rows of these ids, own and lent, each under its owner's rights.
    pub(super) async fn rows(
        &self,
        tx: &mut Option<Tx>,
        user: UserId,
        lent: Option<&LentFound>,
        ids: &[i64],
        day: &Day,
    ) -> Result<HashMap<ItemId, FoundItem>, sqlx::Error> {
        let now = self.embeddings.now();
        let is_lent = |id: &i64| lent.is_some_and(|lent| lent.has(*id));
        let (of_lent, own): (Vec<i64>, Vec<i64>) = ids.iter().partition(|id| is_lent(id));
        let mut rows = Vec::new();
        if !own.is_empty() {
            let mut own_tx = match tx.take() {
                Some(tx) => tx,
                None => self.db.as_user(user).await?,
            };
            rows = store::list_found(&mut own_tx, user, &own, now).await?;
            as_then(&mut own_tx, user, &mut rows, day).await?;
            replaced::read(&mut own_tx, user, &mut rows, day).await?;
            // Released before another connection is acquired, to avoid a deadlock of the pool.
            *tx = lent.is_none().then_some(own_tx);
        }
        if let Some(lent) = lent.filter(|_| !of_lent.is_empty())
            && let Some(mut tx) = lent.begin().await?
        {
            let owner = lent.lent().user_id;
            let mut theirs = store::list_found(&mut tx, owner, &of_lent, now).await?;
            as_then(&mut tx, owner, &mut theirs, day).await?;
            replaced::read(&mut tx, owner, &mut theirs, day).await?;
            // Turns are not lent, nor the session of an episode.
            let theirs = theirs.into_iter().filter(|row| row.turn.is_none());
            rows.extend(theirs.map(|row| FoundItem {
                trust: row.trust.read_by_another(lent.lent().is_anothers(user)),
                span: row.span.map(EpisodeSpan::without_session),
                ..row
            }));
        }
        Ok(rows.into_iter().map(|row| (row.id, row)).collect())
    }

    /// Newest first, own and lent items merged.
    pub(super) async fn newest(
        &self,
        viewer: &Viewer,
        query: &SearchQuery,
    ) -> Result<ResultPage, sqlx::Error> {
        let (user, now) = (viewer.user_id, self.embeddings.now());
        let need = IndexRequest::of(user, query, None);
        let (mut tx, held) = self.reader.current(&self.db, &need).await?;
        let filters = self.restrict(&mut tx, user, &held, &query.filters, None).await?;
        let mut newest = held.newest(query, &filters, now).await;
        let theme = held.theme_to_lend(filters.theme.as_ref());
        drop(held);
        let (mut tx, mut lent) = (Some(tx), None);
        if viewer.lent.is_some() {
            tx = None;
            let of_lent = self.newest_lent(viewer, query, theme.as_ref(), now).await?;
            if let Some((found, of_lent)) = of_lent {
                newest.extend(of_lent);
                lent = Some(found);
            }
        }
        newest.sort_unstable_by(|a, b| b.cmp(a));
        let has_more = newest.len() > query.limit;
        newest.truncate(query.limit);
        // Taken from the index: the last row may have been deleted since.
        let next = newest.last().filter(|_| has_more).copied();
        let ids: Vec<i64> = newest.iter().map(|(_, id)| *id).collect();
        let day = &filters.day;
        let rows = self.rows(&mut tx, user, lent.as_ref(), &ids, day).await?;
        let mut rows: Vec<FoundItem> = rows.into_values().collect();
        rows.retain(|row| !replaced::is_left_out(row, &filters));
        rows.sort_by_key(|row| std::cmp::Reverse((row.created_at, row.id.0)));
        let cursor = next.map(|(created_at, id)| {
            Cursor { created_at: arms::time_of(created_at), id: ItemId(id) }.encode()
        });
        let hit = |item: FoundItem| {
            let memory_of = lent.as_ref().and_then(|lent| lent.name_of(item.id.0));
            Hit {
                memory_of,
                snippet: snippet::beginning_of(item.key.as_deref(), &item.content),
                score: 0.0,
                is_near: false,
                explanation: Explanation::default(),
                item,
            }
        };
        let mut hits: Vec<Hit> = rows.into_iter().map(hit).collect();
        if lent.is_some() {
            lent::drop_copies(&mut hits);
        }
        Ok(ResultPage {
            hits,
            mode: Mode::Recent,
            cursor,
            degraded: None,
            has_lent: lent.is_some(),
            time: filters.time,
            confidence: None,
            nearest_below: None,
        })
    }
}

/// Restores the state of the rows as of a past day.
async fn as_then(
    conn: &mut PgConnection,
    user: UserId,
    rows: &mut [FoundItem],
    day: &Day,
) -> Result<(), sqlx::Error> {
    let Some(as_of) = day.as_of else {
        return Ok(());
    };
    let ids: Vec<i64> = rows.iter().map(|row| row.id.0).collect();
    let mut then = day::then(conn, user, &ids, as_of).await?;
    for row in rows {
        if let Some(then) = then.remove(&row.id.0) {
            row.as_then(then);
        }
    }
    Ok(())
}

impl Hit {
    pub(super) fn new(
        item: FoundItem,
        explanation: Explanation,
        found: &CandidateSignals,
        terms: &WeighedTerms,
        memory_of: Option<Arc<str>>,
    ) -> Self {
        Self {
            memory_of,
            snippet: snippet::of(
                item.key.as_deref(),
                &item.content,
                terms,
                found.best_passage,
                snippet::SNIPPET_CHARS,
            ),
            score: explanation.score(),
            is_near: found.is_near,
            explanation,
            item,
        }
    }

    /// Whether a word of the query or a part of it matched.
    pub fn matched_by_words(&self) -> bool {
        self.explanation.words_matched > 0 || self.explanation.is_substring
    }
}
