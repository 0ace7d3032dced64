//! `memory_search`: search the memory (Nova §3.2.1).

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use time::OffsetDateTime;

use super::project::ProjectInput;
use super::values::{DateText, OutdatedText, WholeNumber, given, zone_of};
use super::{Services, Tool, ToolError};
use crate::accounts::Scope;
use crate::activity::RunningCall;
use crate::json::JsonTime;
use crate::memories::model::THEME_CHARS_MAX;
use crate::memories::period::PeriodPhase;
use crate::memories::{
    Day, DocumentPart, EpisodeSpan, ItemType, Period, Status, Trust, TurnPosition,
};
use crate::search::query::{QUERY_CHARS_MAX, RECENCY_DAYS_MAX, RESULTS_MAX};
use crate::search::{Explanation, Hit, RawQuery, ResultPage, SearchQuery};

/// What an agent may then tell its user.
const ABSENT: &str = "probably not in memory";

pub struct MemorySearch;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchInput {
    /// Words or a sentence; "*" lists the newest.
    #[schemars(length(max = QUERY_CHARS_MAX))]
    query: Option<String>,
    /// Default 10; 20 if it asks for many items.
    #[schemars(range(min = 1, max = RESULTS_MAX))]
    limit: Option<WholeNumber>,
    /// Only this theme.
    #[schemars(length(max = THEME_CHARS_MAX))]
    theme: Option<String>,
    /// turn: a verbatim message.
    types: Option<Vec<ItemType>>,
    /// Current project. Items of others rank lower.
    project: Option<ProjectInput>,
    /// Only items of the last N days.
    #[schemars(range(min = 1, max = RECENCY_DAYS_MAX))]
    recency_days: Option<WholeNumber>,
    /// Minimum cosine similarity, 0 to 1. Items without an embedding are excluded. A keyword-only search ignores it.
    #[schemars(range(min = 0, max = 1))]
    min_similarity: Option<f64>,
    /// Weights of meaning and keywords: meaning (default) 65 to 35, up to 85 to 15 with late interaction; even 50 to 50; words 30 to 70.
    #[schemars(extend("enum" = ["meaning", "even", "words", null]))]
    balance: Option<String>,
    /// Default active.
    #[schemars(extend("enum" = ["active", "archived", "any", null]))]
    status: Option<String>,
    /// Known on this date, e.g. 2024-05-17.
    as_of: Option<DateText>,
    /// True on this date.
    at: Option<DateText>,
    /// Rank items of this period higher.
    time: Option<TimeAsked>,
    /// Return the parts of each score. Default false.
    explain: Option<bool>,
    /// With "*": `cursor` of the previous page.
    cursor: Option<String>,
}

/// Both are optional.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TimeAsked {
    from: Option<DateText>,
    until: Option<DateText>,
}

#[derive(Serialize, JsonSchema)]
pub struct SearchOutput {
    results: Vec<ResultItem>,
    /// Confidence that the results contain the answer, 0 to 1. Null in a listing by date, or if no item reaches `min_similarity`.
    #[schemars(range(min = 0, max = 1))]
    confidence: Option<f64>,
    /// "probably not in memory" if `confidence` is low; or a sentence that says that no item reaches `min_similarity`. It also names ignored input fields.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    /// The period that the search preferred: from `time`, or as read in `query`. Items of this period rank higher.
    #[serde(skip_serializing_if = "Option::is_none")]
    time: Option<TimeMeant>,
    /// "hybrid" (semantic and keyword search), "fts" (keyword search only) or "recent" (newest first).
    #[schemars(extend("enum" = ["hybrid", "fts", "recent"]))]
    mode: &'static str,
    /// Why semantic search was not used, or covered only a part of the items; null if it was complete.
    degraded: Option<String>,
    /// Pass it as `cursor` to get the next page; null on the last page and for a query.
    cursor: Option<String>,
}

/// From `from` (inclusive) to `until` (exclusive). Null means open.
#[derive(Serialize, JsonSchema)]
struct TimeMeant {
    from: Option<JsonTime>,
    until: Option<JsonTime>,
}

#[derive(Serialize, JsonSchema)]
struct ResultItem {
    id: i64,
    /// The theme's slug; null for a turn, an episode or a part of a document.
    theme: Option<String>,
    #[serde(rename = "type")]
    item_type: ItemType,
    /// Shortened. `memory_get` returns the whole text.
    content_snippet: String,
    created_at: JsonTime,
    /// Comparable only within this answer; 0 in a listing by date.
    #[schemars(range(min = 0, max = 1))]
    score: f64,
    signals: ResultSignals,
    /// How the information was obtained.
    source: String,
    /// Trust class: who stated it.
    trust: Trust,
    /// The agent that added it.
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    status: Status,
    /// Start of validity.
    #[serde(skip_serializing_if = "Option::is_none")]
    valid_from: Option<JsonTime>,
    /// End of validity (exclusive).
    #[serde(skip_serializing_if = "Option::is_none")]
    valid_until: Option<JsonTime>,
    /// On the requested date, the item is no longer true (over) or not yet true (ahead). Omitted if it is true.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["over", "ahead"]))]
    holds: Option<&'static str>,
    /// The item's key, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    tags: Vec<String>,
    /// The agent that owns the item; no other agent can see it. Omitted if all agents share it.
    #[serde(skip_serializing_if = "Option::is_none")]
    owner: Option<String>,
    /// The project that the item belongs to. Omitted if it is about the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    project: Option<String>,
    /// The team leader or the global pool that shares the item. It is read-only. Omitted for your own memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    memory_of: Option<String>,
    #[serde(flatten)]
    outdated: OutdatedText,
    /// For a turn: its session and message.
    #[serde(skip_serializing_if = "Option::is_none")]
    said_in: Option<TurnPosition>,
    #[serde(skip_serializing_if = "Option::is_none")]
    part_of: Option<DocumentPart>,
    #[serde(skip_serializing_if = "Option::is_none")]
    told_of: Option<EpisodeSpan>,
    #[serde(skip_serializing_if = "Option::is_none")]
    explain: Option<Explanation>,
}

#[derive(Serialize, JsonSchema)]
struct ResultSignals {
    /// Keyword search found it.
    fts: bool,
    /// Semantic search found it.
    semantic: bool,
}

#[async_trait]
impl Tool for MemorySearch {
    const NAME: &'static str = "memory_search";
    const TITLE: &'static str = "Search memory";
    const DESCRIPTION: &'static str = "Search the user's memory. Use it when something personal comes up \
        (names, preferences, projects, decisions) or before you assume; not on every turn. Semantic and \
        keyword search; finds exact names (ERR_5021). Example: \
        {\"query\": \"staging database port\", \"limit\": 5}";
    const SCOPE: Scope = Scope::MemoryRead;
    const FOR_SCRIPTS: &'static [&'static str] = &["balance", "explain", "min_similarity"];
    type Input = SearchInput;
    type Output = SearchOutput;

    async fn run(
        context: &Services,
        call: &RunningCall,
        input: SearchInput,
    ) -> Result<SearchOutput, ToolError> {
        let now = context.clock.now();
        let user = call.viewer.user_id;
        let is_timed = input.time.is_some();
        let (from, until) = input.time.map_or((None, None), |time| (time.from, time.until));
        let dates = [&input.as_of, &input.at, &from, &until];
        let zone = zone_of(&context.db, user, &dates).await?;
        let time = is_timed.then(|| {
            let fields = ["time.from", "time.until"];
            Period::parse_as(fields, &zone, DateText::text(&from), DateText::text(&until))
        });
        let project = ProjectInput::parse(&input.project)?;
        let query = SearchQuery::parse(RawQuery {
            day: Day::parse(&zone, DateText::text(&input.as_of), DateText::text(&input.at), now)?,
            query: input.query.as_deref().unwrap_or_default(),
            limit: input.limit.map(|n| n.0),
            theme: input.theme.as_deref(),
            types: input.types.as_deref().unwrap_or_default(),
            recency_days: input.recency_days.map(|n| n.0),
            status: input.status.as_deref(),
            cursor: given(&input.cursor),
            min_similarity: input.min_similarity,
            balance: input.balance.as_deref(),
            time: time.transpose()?,
            project: project.as_ref(),
            explain: input.explain.unwrap_or(false),
            ..RawQuery::default()
        })?;
        let day = query.filters.day.at.or(query.filters.day.as_of).unwrap_or(now);
        let page = context.search.find(&call.viewer, &query).await?;
        let note = note(&page, query.min_similarity);
        let results =
            page.hits.into_iter().map(|hit| ResultItem::new(hit, query.explain, day)).collect();
        let output = SearchOutput {
            results,
            confidence: page.confidence.map(|confidence| confidence.value),
            note,
            time: page.time.map(|time| TimeMeant {
                from: time.from.map(JsonTime),
                until: time.until.map(JsonTime),
            }),
            mode: page.mode.as_str(),
            degraded: page.degraded,
            cursor: page.cursor,
        };
        if page.has_lent {
            let lent = output.results.iter().filter(|hit| hit.memory_of.is_some());
            call.read_lent(lent.map(ResultItem::touched).collect());
        }
        Ok(output)
    }

    fn touched(output: &SearchOutput) -> Vec<i64> {
        output.results.iter().map(ResultItem::touched).collect()
    }

    fn query(input: &SearchInput) -> Option<&str> {
        input.query.as_deref()
    }
}

/// What the page alone does not say.
pub(super) fn note(page: &ResultPage, min_similarity: Option<f64>) -> Option<String> {
    match page.nearest_below.zip(min_similarity) {
        Some((nearest, least)) => Some(none_reaches(least, nearest)),
        None => page.is_probably_absent().then(|| ABSENT.to_owned()),
    }
}

fn none_reaches(least: f64, nearest: f64) -> String {
    // Rounded down, to stay below.
    let nearest = (nearest * 100.0).floor() / 100.0;
    format!("No memory reaches min_similarity {least}; the nearest has {nearest}.")
}

impl ResultItem {
    /// The document's id for its parts, which are replaced with each revision.
    fn touched(&self) -> i64 {
        self.part_of.as_ref().map_or(self.id, |part| part.document)
    }

    fn new(hit: Hit, explain: bool, day: OffsetDateTime) -> Self {
        Self {
            signals: ResultSignals { fts: hit.matched_by_words(), semantic: hit.is_near },
            explain: explain.then_some(hit.explanation),
            id: hit.item.id.0,
            theme: hit.item.theme,
            item_type: hit.item.item_type,
            content_snippet: hit.snippet.text,
            created_at: JsonTime(hit.item.created_at),
            score: hit.score,
            source: hit.item.source,
            trust: hit.item.trust,
            agent: hit.item.agent,
            status: hit.item.status,
            valid_from: hit.item.period.from.map(JsonTime),
            valid_until: hit.item.period.until.map(JsonTime),
            holds: match hit.item.period.phase(day) {
                PeriodPhase::Holds => None,
                PeriodPhase::Over => Some("over"),
                PeriodPhase::Ahead => Some("ahead"),
            },
            key: hit.item.key,
            tags: hit.item.tags,
            owner: hit.item.owner,
            project: hit.item.project,
            memory_of: hit.memory_of.map(|name| name.to_string()),
            outdated: hit.item.replaced.outdated.into(),
            said_in: hit.item.turn,
            part_of: hit.item.part,
            told_of: hit.item.span,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_of_what_is_left_out_is_told_and_stays_below() {
        assert_eq!(
            none_reaches(0.99, 0.612),
            "No memory reaches min_similarity 0.99; the nearest has 0.61."
        );
        assert!(none_reaches(0.99, 0.9899).ends_with("has 0.98."));
        assert!(none_reaches(1.0, -0.004).ends_with("has -0.01."));
    }
}
