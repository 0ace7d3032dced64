//! The list of memories, as its page shows it, today or on another day.

use std::collections::HashMap;

use crate::limits::{PAGE_SIZE, ROWS_MAX};
use crate::page::PageError;
use crate::view::{
    Conversations, DayFilters, DayTold, MemoryFilters, MemoryLine, MemoryPage, SearchMode,
    StatusFilter, ThemeCount, WeekView,
};
use time::macros::format_description;
use time::{Duration, OffsetDateTime};

use crate::accounts::Viewer;
use crate::clock::Zone;
use crate::consolidation::dreaming::decide;
use crate::embedding::{ItemEmbedding, PENDING, PendingMemories};
use crate::input::{Invalid, sentence};
use crate::memories::{self, Day, ItemId, ItemType, Period, timeline};
use crate::page::{Page, account_error, database, embedding_error, invalid, memory_error};
use crate::pages::embeddings;
use crate::pages::item::load::beginning;
use crate::search::query::RESULTS_MAX;
use crate::search::{self, Mode, RawQuery, SearchQuery};
use crate::sessions::turns;
use keepsake_edge::AppState;
use keepsake_edge::visitor::Visitor;

/// The largest themes, as a filter beside the list.
const THEMES_SHOWN_MAX: usize = 200;

impl Page {
    pub(crate) async fn memory_view(
        &self,
        viewer: &Viewer,
        filters: &MemoryFilters,
    ) -> Result<MemoryPage, PageError> {
        let day = self.day(&filters.day)?;
        let query = search_query(filters, day).map_err(invalid)?;
        let Listed { page, total_items, conversations, waiting, embeddings } =
            list(&self.state, viewer, query, filters.shown).await?;
        let now = self.state.clock.now();
        let (themes, has_more_themes) = self.themes(viewer, filters, &day).await?;
        let learned = memories::learned::count(&self.state.db, viewer.user_id, now).await;
        let (learned, imported) = learned.map_err(database)?;
        let proposed = self.proposed(viewer, None).await?.0.len() as i64;
        let proposals = decide::count_open(&self.state.db, viewer.user_id).await;
        let agents = self.state.accounts.agent_names(viewer.user_id).await;
        let agents = agents.map_err(account_error)?;
        let is_filtered =
            MemoryFilters { shown: PAGE_SIZE, ..filters.clone() } != MemoryFilters::from_query("");
        let week = match is_filtered {
            true => None,
            false => Some(self.week(viewer).await?),
        };
        let mode = page.mode;
        let notes = self.notes(&page);
        let shown = filters.shown.clamp(PAGE_SIZE, ROWS_MAX);
        let has_more = page.cursor.is_some() || page.hits.len() > shown;
        let hits = page.hits.into_iter().zip(&embeddings).take(shown);
        let waiting = embeddings::load::waiting_view(waiting, total_items);
        // One notice is enough.
        let is_said = |clause: &String| waiting.is_some() && clause.starts_with(PENDING);
        let degraded = page.degraded.filter(|clause| !is_said(clause));
        Ok(MemoryPage {
            themes,
            has_more_themes,
            agents: agents.into_iter().map(|(id, name)| (id.0, name)).collect(),
            rows: hits
                .map(|(hit, embedding)| self.item_row(hit, mode, embedding, &filters.day))
                .collect(),
            has_more,
            day: self.day_told(&day),
            total_items,
            conversations,
            learned,
            imported,
            proposed,
            proposals: proposals.map_err(database)?,
            mode: match mode {
                Mode::Hybrid => SearchMode::Hybrid,
                Mode::Fts => SearchMode::Fts,
                Mode::Recent => SearchMode::Recent,
            },
            degraded: degraded.map(|clause| sentence(&clause)),
            notes,
            waiting,
            week,
            public_url: self.state.public_url.as_str().to_owned(),
        })
    }

    /// With the counts of the day that is shown; and of what changed lately, where areas are drawn. Also whether there are more.
    async fn themes(
        &self,
        viewer: &Viewer,
        filters: &MemoryFilters,
        day: &Day,
    ) -> Result<(Vec<ThemeCount>, bool), PageError> {
        let (db, now) = (&self.state.db, self.state.clock.now());
        let themes = match day.is_now() {
            true => memories::list_themes(db, viewer, THEMES_SHOWN_MAX, now).await,
            false => memories::themes_on(db, viewer, THEMES_SHOWN_MAX, day, now).await,
        };
        let (themes, has_more) = themes.map_err(memory_error)?;
        let changed = match filters.shows_areas() {
            true => memories::changed_themes(db, viewer, now).await,
            false => Ok(HashMap::new()),
        };
        let changed = changed.map_err(memory_error)?;
        let counts = themes.into_iter().map(|theme| ThemeCount {
            changed_count: changed.get(&theme.slug).copied().unwrap_or(0),
            slug: theme.slug,
            display_name: theme.display_name,
            active_count: theme.active_count,
        });
        Ok((counts.collect(), has_more))
    }

    async fn week(&self, viewer: &Viewer) -> Result<WeekView, PageError> {
        let now = self.state.clock.now();
        let week = timeline::week(&self.state.db, viewer.user_id, now).await;
        let week = week.map_err(database)?;
        let mut view = WeekView {
            learned: week.learned,
            changed: week.changed,
            ended: week.ended,
            ..WeekView::default()
        };
        let line_of = |id: ItemId, text: String| MemoryLine {
            href: format!("/memory/{id}"),
            text: beginning(text, timeline::CHARS_MAX),
        };
        for one in week.lines {
            let line = line_of(one.id, one.beginning);
            match (one.instead, one.expires_at, one.uses) {
                (Some((id, text)), ..) => view.changes.push((line, line_of(id, text))),
                (None, Some(at), _) => view.expiring.push((line, at)),
                (None, None, uses) => view.used.push((line, uses.unwrap_or_default())),
            }
        }
        Ok(view)
    }

    /// Notes about the whole answer.
    fn notes(&self, page: &search::ResultPage) -> Vec<String> {
        let is_absent = page.is_probably_absent() && !page.hits.is_empty();
        let absent =
            is_absent.then(|| "Probably not in memory: no result matches well.".to_owned());
        let time = page.time.map(|time| self.time_told(time));
        time.into_iter().chain(absent).collect()
    }

    /// Such as "Memories from 1 May 2023 to 31 May 2023 rank higher."
    fn time_told(&self, time: Period) -> String {
        let day = |at: OffsetDateTime| date_of(self.zone().local(at));
        // The last day of the period.
        let last = |until: OffsetDateTime| day(until - Duration::MICROSECOND);
        let when = match (time.from, time.until) {
            (Some(from), Some(until)) if day(from) == last(until) => format!("on {}", day(from)),
            (Some(from), Some(until)) => format!("from {} to {}", day(from), last(until)),
            (Some(from), None) => format!("since {}", day(from)),
            (None, Some(until)) => format!("until {}", last(until)),
            (None, None) => "at any time".to_owned(),
        };
        format!("Memories {when} rank higher.")
    }

    /// The time zone of the signed-in person.
    pub(crate) fn zone(&self) -> Zone {
        match &self.visitor {
            Visitor::SignedIn(signed_in) => signed_in.0.time_zone.clone(),
            Visitor::Stranger => Zone::utc(),
        }
    }

    /// The day in the URL, which ends at midnight in the person's time zone.
    pub(crate) fn day(&self, filters: &DayFilters) -> Result<Day, PageError> {
        let now = self.state.clock.now();
        Day::parse(&self.zone(), Some(&filters.as_of), Some(&filters.at), now).map_err(invalid)
    }

    /// `None` for today.
    pub(crate) fn day_told(&self, day: &Day) -> Option<DayTold> {
        let told = |at: OffsetDateTime| date_of(self.zone().local(at));
        (!day.is_now()).then(|| DayTold { as_of: day.as_of.map(told), at: day.at.map(told) })
    }
}

/// "3 March 2026"
pub(crate) fn date_of(at: OffsetDateTime) -> String {
    at.format(format_description!("[day padding:none] [month repr:long] [year]"))
        .unwrap_or_default()
}

fn search_query(filters: &MemoryFilters, day: Day) -> Result<SearchQuery, Invalid> {
    // Unknown types in the URL are ignored, so that old links keep working.
    let types: Vec<ItemType> = filters.types.iter().filter_map(|t| ItemType::searched(t)).collect();
    // The list of another day shows what was active then.
    let status = match filters.status {
        StatusFilter::Archived if day.is_now() => "archived",
        StatusFilter::All => "any",
        _ => "active",
    };
    SearchQuery::parse(RawQuery {
        day,
        query: &filters.q,
        limit: Some(RESULTS_MAX as i64),
        theme: filters.theme.as_deref(),
        types: &types,
        status: Some(status),
        embedding: filters.embedding.map(embeddings::load::state_filter),
        agent: filters.agent,
        tag: filters.tag.as_deref(),
        recency_days: filters.days,
        ..RawQuery::default()
    })
}

struct Listed {
    page: search::ResultPage,
    /// All items of the user, whatever the filters.
    total_items: i64,
    conversations: Option<Conversations>,
    waiting: PendingMemories,
    /// One per hit.
    embeddings: Vec<ItemEmbedding>,
}

/// Runs one search, whatever the number of rows requested.
async fn list(
    state: &AppState,
    viewer: &Viewer,
    mut query: SearchQuery,
    shown: usize,
) -> Result<Listed, PageError> {
    if query.text.is_none() {
        query.limit = shown.clamp(PAGE_SIZE, ROWS_MAX);
    }
    let found = state.search.find(viewer, &query).await;
    let page = found.map_err(database)?;
    let ids: Vec<i64> = page.hits.iter().map(|hit| hit.item.id.0).collect();
    let rest = async {
        let mut tx = state.db.as_user(viewer.user_id).await?;
        let total_items = memories::store::count_items(&mut tx, viewer.user_id).await?;
        let conversations = match total_items {
            0 => Some(turns::count(&mut tx, viewer.user_id).await?),
            _ => None,
        };
        let waiting = state.embeddings.waiting(&mut tx, viewer.user_id).await?;
        let embeddings = state.embeddings.states(&mut tx, viewer.user_id, &ids).await?;
        tx.commit().await?;
        Ok((total_items, conversations, waiting, embeddings))
    };
    let (total_items, conversations, waiting, embeddings) = rest.await.map_err(embedding_error)?;
    let conversations = conversations.filter(|all| all.sessions > 0);
    let conversations =
        conversations.map(|all| Conversations { sessions: all.sessions, messages: all.messages });
    Ok(Listed { page, total_items, conversations, waiting, embeddings })
}
