//! Agents' activity, as pages show it.

use crate::limits::{FOUND_SHOWN, PAGE_SIZE, ROWS_MAX};
use crate::page::PageError;
use crate::view::{ActivityFilters, ActivityPage, CallItem, CallRow, DayCalls, Reading};
use time::macros::format_description;
use time::{Date, Duration, OffsetDateTime};

use crate::accounts::{AgentId, Viewer};
use crate::activity::{
    ActivityFilter, ActivityRow, BEGINNING_CHARS, CallsPage, DAYS_COUNTED, DayCount, KEPT_DAYS,
    KEPT_ROWS_MAX, OK,
};
use crate::memories::{ItemId, ThemeSlug};
use crate::page::{Page, database, invalid};
use crate::pages::item::load::beginning;
use crate::pages::memory::load::date_of;
use crate::pages::timeline::load::{iso, parse_day};

const READINGS_SHOWN: i64 = 10;

impl Page {
    pub(crate) async fn activity_view(
        &self,
        viewer: &Viewer,
        filters: &ActivityFilters,
    ) -> Result<ActivityPage, PageError> {
        let shown = filters.shown.clamp(PAGE_SIZE, ROWS_MAX);
        let now = self.state.clock.now();
        let day = match &filters.day {
            Some(day) => Some(parse_day("day", day).map_err(invalid)?),
            None => None,
        };
        let theme = filters.theme.as_deref().map(ThemeSlug::parse).transpose();
        let theme = theme.map_err(invalid)?;
        let begins = |day: Date| day.midnight().assume_utc();
        let filter = ActivityFilter {
            agent: filters.agent.map(AgentId),
            tools: filters.tool.into_iter().collect(),
            went_well: filters.went_well,
            since: match day {
                Some(day) => Some(begins(day)),
                None => filters.days.map(|days| now - Duration::days(days)),
            },
            until: day.and_then(Date::next_day).map(begins),
            item: filters.item,
            theme: theme.map(|theme| theme.as_str().to_owned()),
            limit: shown as i64 + 1,
        };
        let page = self.state.activity.page(viewer.user_id, &filter).await;
        let page = page.map_err(database)?;
        let rows = page.rows.iter().take(shown);
        Ok(ActivityPage {
            rows: rows.map(|row| self.call_row(row, &page)).collect(),
            has_more: page.rows.len() > shown,
            chosen_day: day.map(|day| date_of(begins(day))),
            days: every_day(now.date(), &page.days),
            agents: page.agents.into_iter().map(|(id, name)| (id.0, name)).collect(),
            keeps_queries: page.keeps_queries,
            kept_queries: page.kept_queries,
            is_empty: page.is_empty,
            kept_days: KEPT_DAYS,
            kept_calls: KEPT_ROWS_MAX,
            public_url: self.state.public_url.as_str().to_owned(),
        })
    }

    /// The newest calls that found or changed this document.
    pub(crate) async fn calls_with(
        &self,
        viewer: &Viewer,
        document: i64,
    ) -> Result<Vec<Reading>, PageError> {
        let filter = ActivityFilter {
            item: Some(document),
            limit: FOUND_SHOWN as i64,
            ..ActivityFilter::default()
        };
        self.list_readings(viewer, &filter).await
    }

    /// The latest times that an agent read this item.
    pub(crate) async fn readings(
        &self,
        viewer: &Viewer,
        item: ItemId,
    ) -> Result<Vec<Reading>, PageError> {
        let tools = self.state.registry.definitions();
        let filter = ActivityFilter {
            tools: tools.filter(|tool| tool.read_only).map(|tool| tool.name).collect(),
            item: Some(item.0),
            limit: READINGS_SHOWN,
            ..ActivityFilter::default()
        };
        self.list_readings(viewer, &filter).await
    }

    async fn list_readings(
        &self,
        viewer: &Viewer,
        filter: &ActivityFilter,
    ) -> Result<Vec<Reading>, PageError> {
        let rows = self.state.activity.list(viewer.user_id, filter).await;
        let readings = rows.map_err(database)?.into_iter().map(|row| Reading {
            agent: name(&row),
            at: row.at,
            tool: row.tool,
        });
        Ok(readings.collect())
    }

    /// "Today", "Yesterday", "21 November 2026"; in UTC, as all times of the pages.
    fn day_of(&self, at: OffsetDateTime) -> String {
        let ago = self.state.clock.now().date() - at.date();
        match ago.whole_days() {
            0 => "Today".to_owned(),
            1 => "Yesterday".to_owned(),
            _ => date_of(at),
        }
    }

    fn call_row(&self, row: &ActivityRow, page: &CallsPage) -> CallRow {
        let items = row.items.iter().map(|id| CallItem {
            id: *id,
            beginning: page.documents.get(id).cloned().or_else(|| {
                let text = page.beginnings.get(id)?.clone();
                Some(beginning(text, BEGINNING_CHARS))
            }),
            is_document: page.documents.contains_key(id),
            is_lent: row.lent.contains(id),
        });
        CallRow {
            id: row.id,
            tool: row.tool.clone(),
            agent: name(row),
            at: row.at,
            day: self.day_of(row.at),
            time: row.at.format(format_description!("[hour]:[minute]")).unwrap_or_default(),
            problem: Some(row.outcome.clone()).filter(|outcome| outcome != OK),
            duration: duration(row.duration_us),
            items: items.collect(),
            query: row.query.clone(),
        }
    }
}

/// The caller; for shared memory, the team member whose agent read it.
fn name(row: &ActivityRow) -> String {
    let agent = row.agent.clone().unwrap_or_else(|| "you".to_owned());
    match &row.member {
        Some(member) => format!("{member}, of the team of {agent}"),
        None => agent,
    }
}

/// "0.4 ms", "8 ms", "1.2 s"
fn duration(us: i32) -> String {
    match f64::from(us) {
        us if us < 9_950.0 => format!("{:.1} ms", us / 1e3),
        us if us < 999_500.0 => format!("{:.0} ms", us / 1e3),
        us => format!("{:.1} s", us / 1e6),
    }
}

/// The days up to today, including those without calls.
fn every_day(today: Date, counted: &[DayCount]) -> Vec<DayCalls> {
    let format = format_description!("[day padding:none] [month repr:long]");
    let days = (0..DAYS_COUNTED).rev().map(|ago| today - Duration::days(ago));
    days.map(|day| {
        let calls = counted.iter().find(|count| count.day == day);
        DayCalls {
            iso: iso(day),
            day: day.format(format).unwrap_or_default(),
            ok: calls.map_or(0, |count| count.ok),
            failed: calls.map_or(0, |count| count.failed),
        }
    })
    .collect()
}
