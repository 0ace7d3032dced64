//! When agents have read a memory or a document, as its page tells.

use time::OffsetDateTime;

use crate::accounts::Viewer;
use crate::activity::{ActivityFilter, ActivityRow};
use crate::limits::FOUND_SHOWN;
use crate::memories::ItemId;
use crate::page::{Page, PageError, database};

const READINGS_SHOWN: i64 = 10;

/// One time that something was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    pub tool: String,
    pub agent: String,
    pub at: OffsetDateTime,
}

/// The latest times that an agent read this item.
pub async fn of_item(page: &Page, item: ItemId) -> Result<Vec<Reading>, PageError> {
    let tools = page.state.registry.definitions();
    let filter = ActivityFilter {
        tools: tools.filter(|tool| tool.read_only).map(|tool| tool.name).collect(),
        item: Some(item.0),
        limit: READINGS_SHOWN,
        ..ActivityFilter::default()
    };
    list(page, &page.viewer, &filter).await
}

impl Page {
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
        list(self, viewer, &filter).await
    }
}

async fn list(
    page: &Page,
    viewer: &Viewer,
    filter: &ActivityFilter,
) -> Result<Vec<Reading>, PageError> {
    let rows = page.state.activity.list(viewer.user_id, filter).await;
    let reading = |row: ActivityRow| Reading { agent: caller(&row), at: row.at, tool: row.tool };
    Ok(rows.map_err(database)?.into_iter().map(reading).collect())
}

/// The agent; for shared memory, the team member whose agent read it.
pub fn caller(row: &ActivityRow) -> String {
    let agent = row.agent.clone().unwrap_or_else(|| "you".to_owned());
    match &row.member {
        Some(member) => format!("{member}, of the team of {agent}"),
        None => agent,
    }
}
