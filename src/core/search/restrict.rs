//! What is read for a search's filters before its arms run: the ids of a day and of a tag, and the time that the query names.

use std::borrow::Cow;
use std::sync::Arc;

use sqlx::PgConnection;

use super::query::Filters;
use super::reader::SearchIndex;
use super::{Search, arms, store, when};
use crate::accounts::UserId;
use crate::memories::{Period, day, projects, words};

impl Search {
    /// Adds the ids of the memories that are known and true on the requested day, and of those that have the tag, and the
    /// projects that are meant. Today without a tag or a project needs no statement.
    pub(super) async fn restrict<'f>(
        &self,
        conn: &mut PgConnection,
        user: UserId,
        held: &SearchIndex,
        filters: &'f Filters,
        text: Option<&str>,
    ) -> Result<Cow<'f, Filters>, sqlx::Error> {
        let is_of_project =
            filters.project.is_some() || text.is_some() && held.has_projects().await;
        if filters.day.is_now() && filters.tag.is_none() && !is_of_project {
            return Ok(Cow::Borrowed(filters));
        }
        let mut filters = filters.clone();
        if !filters.day.is_now() {
            let now = self.embeddings.now();
            let ids = day::store::list_ids(&mut *conn, user, &filters.day, now, None).await?;
            filters.on_day = Some(Arc::new(ids.into_iter().collect()));
        }
        if let Some(tag) = &filters.tag {
            let ids = store::list_tagged(&mut *conn, user, tag).await?;
            filters.tagged = Some(Arc::new(ids.into_iter().collect()));
        }
        if is_of_project {
            let meant = projects::meant(conn, user, filters.project.as_ref(), text).await?;
            filters.projects = Some(Arc::new(meant));
        }
        Ok(Cow::Owned(filters))
    }

    /// Adds the time that the query names, in the memory owner's time zone, unless the filters have one, and whether it asks for
    /// what is over. They have the ids
    /// of [`Self::restrict`], so that an event is looked up among what the search may find.
    pub(super) async fn in_time<'f>(
        &self,
        filters: &'f Filters,
        text: &str,
        held: &SearchIndex,
    ) -> Result<Cow<'f, Filters>, sqlx::Error> {
        if !filters.ingredients.time {
            return Ok(Cow::Borrowed(filters));
        }
        let asks_past = when::asks_past(text);
        if filters.time.is_some() {
            return Ok(Cow::Owned(Filters { asks_past, ..filters.clone() }));
        }
        let asked_at = filters.asked_at.or(filters.day.as_of);
        let now = asked_at.unwrap_or(self.embeddings.now());
        let time = match when::named(text, &held.time_zone, now) {
            None => self.time_beside_event(filters, text, held).await?,
            named => named,
        };
        Ok(match (time, asks_past) {
            (None, false) => Cow::Borrowed(filters),
            _ => Cow::Owned(Filters { time, asks_past, ..filters.clone() }),
        })
    }

    /// For "before the move": the time is derived from when the memory mentions a move.
    async fn time_beside_event(
        &self,
        filters: &Filters,
        text: &str,
        held: &SearchIndex,
    ) -> Result<Option<Period>, sqlx::Error> {
        let Some(clause) = when::EventClause::named(text) else {
            return Ok(None);
        };
        let (filters, now) = (filters.clone(), self.embeddings.now());
        held.with_index(move |held, index| {
            let wanted = held.wanted(index, &filters, now);
            let mentions = |name: &str| {
                let words = words::query_terms(name);
                arms::when::first_and_last_mention(index, &wanted, &words)
            };
            let (first, last) = clause.names().find_map(mentions)?;
            clause.period(first, last, &held.time_zone)
        })
        .await
    }
}
