//! `memory_search`: search the memory (Nova §3.2.1).

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use time::OffsetDateTime;

use super::project::ProjectInput;
use super::values::{
    DateText, EpisodeOrigin, FoundType, OutdatedText, PartOrigin, ToolTrust, TurnOrigin,
    WholeNumber, given, zone_of,
};
use super::{Services, Tool, ToolError};
use crate::accounts::Scope;
use crate::activity::RunningCall;
use crate::memories::model::THEME_CHARS_MAX;
use crate::memories::period::PeriodPhase;
use crate::memories::{Day, ItemType, Period};
use crate::search::query::{QUERY_CHARS_MAX, RECENCY_DAYS_MAX, RESULTS_MAX};
use crate::search::{Hit, RawQuery, ResultPage, SearchQuery};

/// What an agent may then tell its user.
const ABSENT: &str = "probably not in memory";

pub struct MemorySearch;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchInput {
    /// Words or a sentence; "*" lists the newest.
    #[schemars(length(max = QUERY_CHARS_MAX))]
    query: Option<String>,
    /// Default 10.
    #[schemars(range(min = 1, max = RESULTS_MAX))]
    limit: Option<WholeNumber>,
    /// Only this theme.
    #[schemars(length(max = THEME_CHARS_MAX))]
    theme: Option<String>,
    /// A turn is what was said, word by word.
    types: Option<Vec<FoundType>>,
    /// Where you work: others rank behind.
    project: Option<ProjectInput>,
    /// Only this recent.
    #[schemars(range(min = 1, max = RECENCY_DAYS_MAX))]
    recency_days: Option<WholeNumber>,
    /// Best left out.
    #[schemars(range(min = 0, max = 1))]
    min_similarity: Option<f64>,
    /// Default meaning.
    #[schemars(extend("enum" = ["meaning", "even", "words", null]))]
    balance: Option<String>,
    /// Default active.
    #[schemars(extend("enum" = ["active", "archived", "any", null]))]
    status: Option<String>,
    /// As known on 2024-05-17.
    as_of: Option<DateText>,
    /// True then.
    at: Option<DateText>,
    /// Prefer this time.
    time: Option<TimeAsked>,
    explain: Option<bool>,
    /// With "*": the last answer's `cursor`.
    cursor: Option<String>,
}

/// Either may be left out.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TimeAsked {
    from: Option<DateText>,
    until: Option<DateText>,
}

#[derive(Serialize, JsonSchema)]
pub struct SearchOutput {
    results: Vec<ResultItem>,
    /// That the answer is among these, 0 to 1; null in a listing by date, or where nothing reaches `min_similarity`.
    #[schemars(range(min = 0, max = 1))]
    confidence: Option<f64>,
    /// "probably not in memory" where it is low; or that nothing reaches `min_similarity`.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    /// The time that was asked about, by `time` or in the words of `query`: what was said then stands higher.
    #[serde(skip_serializing_if = "Option::is_none")]
    time: Option<TimeMeant>,
    /// "hybrid" (by meaning and words), "fts" (by words alone) or "recent" (newest first).
    #[schemars(extend("enum" = ["hybrid", "fts", "recent"]))]
    mode: &'static str,
    /// Why the search was less than it could be; null when it was not.
    degraded: Option<String>,
    /// Give it back to read on; null at the end.
    cursor: Option<String>,
}

/// From the first moment to before the other; null: open.
#[derive(Serialize, JsonSchema)]
struct TimeMeant {
    #[serde(with = "time::serde::rfc3339::option")]
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    from: Option<OffsetDateTime>,
    #[serde(with = "time::serde::rfc3339::option")]
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    until: Option<OffsetDateTime>,
}

#[derive(Serialize, JsonSchema)]
struct ResultItem {
    id: i64,
    /// The theme's slug; null of a turn.
    theme: Option<String>,
    #[serde(rename = "type")]
    item_type: FoundType,
    /// Cut; `memory_get` gives the whole text.
    content_snippet: String,
    #[serde(with = "time::serde::rfc3339")]
    #[schemars(with = "String", extend("format" = "date-time"))]
    created_at: OffsetDateTime,
    /// Within this answer; 0 in a listing by date.
    #[schemars(range(min = 0, max = 1))]
    score: f64,
    signals: ResultSignals,
    /// How it is known.
    source: String,
    /// Whose word it is.
    trust: ToolTrust,
    /// The agent that added it.
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    #[schemars(extend("enum" = ["active", "archived"]))]
    status: &'static str,
    /// Since when what it says is true.
    #[serde(with = "time::serde::rfc3339::option")]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    valid_from: Option<OffsetDateTime>,
    /// The first moment at which it is true no more.
    #[serde(with = "time::serde::rfc3339::option")]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    valid_until: Option<OffsetDateTime>,
    /// It is no longer true (over) or not yet (ahead), on the day that is asked about; left out: it holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["over", "ahead"]))]
    holds: Option<&'static str>,
    /// The name of the fact, where it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    tags: Vec<String>,
    /// It belongs to this agent alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    owner: Option<String>,
    /// What it was learned of; left out: of the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    project: Option<String>,
    /// The leader of your team, or the global pool, that lends it: you may read it and not change it. Left out: it is your own memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    memory_of: Option<String>,
    #[serde(flatten)]
    outdated: OutdatedText,
    /// Of a turn: where it was said.
    #[serde(skip_serializing_if = "Option::is_none")]
    said_in: Option<TurnOrigin>,
    #[serde(skip_serializing_if = "Option::is_none")]
    part_of: Option<PartOrigin>,
    #[serde(skip_serializing_if = "Option::is_none")]
    told_of: Option<EpisodeOrigin>,
    #[serde(skip_serializing_if = "Option::is_none")]
    explain: Option<Explain>,
}

#[derive(Serialize, JsonSchema)]
struct ResultSignals {
    /// A word matched.
    fts: bool,
    /// Among the nearest by meaning.
    semantic: bool,
}

#[derive(Serialize, JsonSchema)]
struct Explain {
    /// Cosine distance, 0 to 2; null without a vector.
    distance: Option<f64>,
    semantic: f64,
    /// By late interaction: token by token, 0 to 0.8 or so; null where the model gives no tokens, or the text has several passages.
    late: Option<f64>,
    /// How much of the meaning that is.
    late_share: f64,
    /// Meaning in common: 0 as unrelated texts, 1 as paraphrases.
    semantic_normalised: f64,
    /// The share of the query's words, by rarity.
    lexical: f64,
    /// The same.
    lexical_normalised: f64,
    words_matched: i64,
    substring: bool,
    weights: SignalWeights,
    /// Added where it was said by whom the query names.
    speaker: f64,
    /// It mentions what the query names.
    entities: f64,
    /// It was said in the time that is asked about, or near it.
    time: f64,
    /// Added for what the user said themselves, where other words are found too.
    trust: f64,
    /// Added for what was said just before and after it.
    neighbours: f64,
    /// By which meaning, words and neighbours are multiplied, so that the best of an answer has 1.
    likeness_scale: f64,
    /// Added for what has all rare words of the query, or more of its numbers, addresses and codes than the others.
    exact: f64,
    /// Added to what replaced something that is found, and stands before it.
    replaces: f64,
    /// By which the sum is multiplied, so that no score is more than 1.
    scale: f64,
    /// By which the sum is multiplied before `exact` is added: less than 1 for a turn, which stands behind a memory of the same words, for what states nothing, and for what is over or ahead.
    tier: f64,
    /// 1.2 for what is the own of the agent that asks and comes first.
    own: f64,
}

/// The score is `scale` × `tier` × `own` × (`likeness_scale` × (each normalised signal by its weight + `neighbours`) + `speaker` + `entities` + `time` + `trust`) + `exact` + `replaces`.
#[derive(Serialize, JsonSchema)]
struct SignalWeights {
    semantic: f64,
    lexical: f64,
}

#[async_trait]
impl Tool for MemorySearch {
    const NAME: &'static str = "memory_search";
    const TITLE: &'static str = "Search memory";
    const DESCRIPTION: &'static str = "Find what is remembered about the user. Use it when something personal comes up \
        (names, preferences, projects, decisions) or before assuming; not by reflex at every turn. Finds by \
        meaning and by words, exact names (ERR_5021) too. Example: \
        {\"query\": \"staging database port\", \"limit\": 5}";
    const SCOPE: Scope = Scope::MemoryRead;
    const FOR_SCRIPTS: &'static [&'static str] =
        &["balance", "explain", "min_similarity"];
    type Input = SearchInput;
    type Output = SearchOutput;

    async fn run(
        context: &Services,
        call: &RunningCall,
        input: SearchInput,
    ) -> Result<SearchOutput, ToolError> {
        let types: Vec<ItemType> =
            input.types.unwrap_or_default().into_iter().map(ItemType::from).collect();
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
            types: &types,
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
            time: page.time.map(|time| TimeMeant { from: time.from, until: time.until }),
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
        let why = hit.explanation;
        Self {
            signals: ResultSignals { fts: hit.matched_by_words(), semantic: hit.is_near },
            explain: explain.then_some(Explain {
                distance: why.distance,
                semantic: why.semantic,
                late: why.late,
                late_share: why.late_share,
                semantic_normalised: why.semantic_normalised,
                lexical: why.lexical,
                lexical_normalised: why.lexical,
                words_matched: why.words_matched,
                substring: why.is_substring,
                weights: SignalWeights {
                    semantic: why.semantic_weight,
                    lexical: why.lexical_weight,
                },
                speaker: why.speaker,
                entities: why.entities,
                time: why.time,
                trust: why.trust,
                neighbours: why.neighbours,
                likeness_scale: why.likeness_scale,
                exact: why.exact,
                replaces: why.replaces,
                scale: why.scale,
                tier: why.tier_weight,
                own: why.own_weight,
            }),
            id: hit.item.id.0,
            theme: hit.item.theme,
            item_type: hit.item.item_type.into(),
            content_snippet: hit.snippet.text,
            created_at: hit.item.created_at,
            score: hit.score,
            source: hit.item.source,
            trust: hit.item.trust.into(),
            agent: hit.item.agent,
            status: hit.item.status.as_str(),
            valid_from: hit.item.period.from,
            valid_until: hit.item.period.until,
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
            said_in: hit.item.turn.map(TurnOrigin::from),
            part_of: hit.item.part.map(PartOrigin::from),
            told_of: hit.item.span.map(EpisodeOrigin::from),
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
