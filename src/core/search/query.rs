//! A search query, parsed and validated once (Nova §3.2.1).

use std::collections::HashSet;
use std::sync::Arc;

use time::OffsetDateTime;

use super::many;
use crate::embedding::EmbeddingState;
use crate::input::{Invalid, check_text};
use crate::memories::model::TAG_CHARS_MAX;
use crate::memories::projects::MeantProjects;
use crate::memories::{Day, ItemId, ItemType, Period, ProjectRef, Status, ThemeSlug};

pub const QUERY_CHARS_MAX: usize = 8_000;
/// Of a longer text the end is asked ([`super::asks`]).
pub const WHOLE_CHARS_MAX: usize = 2_000;
pub const RESULTS_MAX: usize = 50;
pub const RESULTS_DEFAULT: usize = 10;
/// The default if the query asks for many things.
const RESULTS_SPREAD: usize = 20;
pub const RECENCY_DAYS_MAX: i64 = 36_500;
const MATCH_ALL: &str = "*";

/// The weights of embeddings and words (measured in bench/README.md, "An absolute scale").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Balance {
    /// 65 to 35; 85 to 15 with late interaction, which already weighs matching words.
    #[default]
    Meaning,
    /// 50 to 50.
    Even,
    /// 30 to 70.
    Words,
}

impl Balance {
    /// The weight of words; the rest is the embedding's. `by_tokens`, 0 to 1: as far as late interaction compares the words.
    pub fn lexical_weight(self, by_tokens: f64) -> f64 {
        match self {
            Self::Meaning => 0.35 - 0.2 * by_tokens,
            Self::Even => 0.5,
            Self::Words => 0.7,
        }
    }

    fn parse(name: Option<&str>) -> Result<Self, Invalid> {
        match name {
            None | Some("meaning") => Ok(Self::Meaning),
            Some("even") => Ok(Self::Even),
            Some("words") => Ok(Self::Words),
            Some(_) => Err(Invalid::new(
                "balance",
                "invalid_balance",
                "`balance` is not known; give meaning, even or words.",
            )),
        }
    }
}

/// The ranking signals besides embeddings and words. All are on, unless an evaluation measures the effect of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ingredients {
    /// People whom the query names.
    pub speakers: bool,
    /// Turns next to a found one.
    pub neighbours: bool,
    /// The time that the query names.
    pub time: bool,
    /// Diversified results if the query asks for many things.
    pub spread: bool,
    /// Late interaction, if the model returns tokens.
    pub late: bool,
    /// Whether it is the user's own statement.
    pub trust: bool,
}

impl Ingredients {
    /// For a text that is a statement and not a question.
    pub const OF_STATEMENTS: Self = Self {
        speakers: true,
        neighbours: true,
        time: false,
        spread: false,
        late: true,
        trust: false,
    };
    pub const NAMES: [&str; 6] = ["speakers", "neighbours", "time", "spread", "late", "trust"];

    /// All except the named ones.
    ///
    /// # Errors
    /// [`Invalid`] naming `without`.
    pub fn without<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Self, Invalid> {
        let mut left = Self::default();
        for name in names {
            let ingredient = match name {
                "speakers" => &mut left.speakers,
                "neighbours" => &mut left.neighbours,
                "time" => &mut left.time,
                "spread" => &mut left.spread,
                "late" => &mut left.late,
                "trust" => &mut left.trust,
                _ => {
                    return Err(Invalid::new(
                        "without",
                        "invalid_ingredient",
                        format!(
                            "`without` has `{name}`, which is not known; give some of {}.",
                            Self::NAMES.join(", ")
                        ),
                    ));
                }
            };
            *ingredient = false;
        }
        Ok(left)
    }
}

impl Default for Ingredients {
    fn default() -> Self {
        Self { speakers: true, neighbours: true, time: true, spread: true, late: true, trust: true }
    }
}

/// A theme as it is asked for: the one of this slug or, if there is none, of this display name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThemeFilter {
    pub slug: ThemeSlug,
    /// Trimmed; `None`: by its slug alone.
    pub name: Option<String>,
}

/// Which items may be found, and which signals count besides the text.
#[derive(Clone, Debug, Default)]
pub struct Filters {
    /// Leaves this one out.
    pub except: Option<ItemId>,
    pub theme: Option<ThemeFilter>,
    /// Empty means all.
    pub types: Vec<ItemType>,
    /// `None` means any. Not used for a past day.
    pub status: Option<Status>,
    /// The day on which items must have been known and true.
    pub day: Day,
    /// Ids of those items; read by each search of a past day.
    pub on_day: Option<Arc<HashSet<i64>>>,
    /// 1 to 36,500, counted back from `day.as_of`.
    pub recency_days: Option<i64>,
    /// The state of the item's embedding in the serving space.
    pub embedding: Option<EmbeddingState>,
    /// Excludes turns, episodes and document parts, regardless of `types`.
    pub memories_alone: bool,
    /// What the searching agent works on: items of other projects rank behind.
    pub project: Option<ProjectRef>,
    /// Those that are meant; read by each search of a memory with projects.
    pub projects: Option<Arc<MeantProjects>>,
    /// Only items added by this agent.
    pub agent: Option<i64>,
    /// With this tag; turns, episodes and documents have none.
    pub tag: Option<String>,
    /// Which items have it: read for each search that names one.
    pub tagged: Option<Arc<HashSet<i64>>>,
    /// Items from this time, or valid since then, rank higher; a listing by date contains only those. `None`: the time
    /// that the query names.
    pub time: Option<Period>,
    /// When the question was asked, to read its time; `None`: on the day of `day`, or now.
    pub asked_at: Option<OffsetDateTime>,
    /// The query asks for what is over.
    pub asks_past: bool,
    /// Diversify the first results.
    pub spread: bool,
    pub ingredients: Ingredients,
}

impl Filters {
    /// Whether any active memory may be found.
    pub fn are_open(&self) -> bool {
        self.types.is_empty()
            && self.theme.is_none()
            && self.recency_days.is_none()
            && self.embedding.is_none()
            && self.agent.is_none()
            && self.tag.is_none()
    }

    /// Turns have no theme and are never archived.
    pub fn wants_turns(&self) -> bool {
        let by_type = self.types.is_empty() || self.types.contains(&ItemType::Turn);
        by_type
            && !self.memories_alone
            && self.theme.is_none()
            && self.status != Some(Status::Archived)
            // A turn has no period of validity.
            && self.day.at.is_none()
    }

    /// False only if turns alone are requested.
    pub fn wants_items(&self) -> bool {
        self.types.is_empty() || self.types.iter().any(|t| *t != ItemType::Turn)
    }
}

/// The last item of a page of a listing by date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cursor {
    pub created_at: OffsetDateTime,
    pub id: ItemId,
}

#[derive(Clone, Debug)]
pub struct SearchQuery {
    /// Trimmed; `None` for `*` and blank, which list the newest.
    pub text: Option<String>,
    /// 1 to 50
    pub limit: usize,
    pub filters: Filters,
    pub cursor: Option<Cursor>,
    /// Minimum cosine similarity, 0 to 1; also drops items without a ready embedding. Ignored if only words are used.
    pub min_similarity: Option<f64>,
    pub balance: Balance,
    pub explain: bool,
}

/// A query from outside. Missing fields take their defaults.
#[derive(Clone, Copy, Debug, Default)]
pub struct RawQuery<'a> {
    pub query: &'a str,
    pub limit: Option<i64>,
    pub theme: Option<&'a str>,
    pub types: &'a [ItemType],
    pub recency_days: Option<i64>,
    pub embedding: Option<EmbeddingState>,
    /// `active` (the default), `archived` or `any`.
    pub status: Option<&'a str>,
    pub day: Day,
    pub cursor: Option<&'a str>,
    pub min_similarity: Option<f64>,
    /// `meaning` (the default), `even` or `words`.
    pub balance: Option<&'a str>,
    pub explain: bool,
    pub memories_alone: bool,
    pub agent: Option<i64>,
    pub tag: Option<&'a str>,
    pub time: Option<Period>,
    pub project: Option<&'a ProjectRef>,
    pub ingredients: Ingredients,
}

impl SearchQuery {
    pub fn parse(raw: RawQuery<'_>) -> Result<Self, Invalid> {
        check_text("query", raw.query, QUERY_CHARS_MAX)?;
        check_text("tag", raw.tag.unwrap_or_default(), TAG_CHARS_MAX)?;
        let text = match raw.query.trim() {
            "" | MATCH_ALL => None,
            text => Some(text.to_owned()),
        };
        let is_spread = raw.ingredients.spread && many::are_asked(text.as_deref());
        let cursor = raw.cursor.map(Cursor::parse).transpose()?;
        if cursor.is_some() && text.is_some() {
            return Err(Invalid::new(
                "cursor",
                "invalid_cursor",
                "`cursor` goes on from a listing by date; leave it out, or give query \"*\".",
            ));
        }
        Ok(Self {
            text,
            limit: parse_limit(raw.limit, is_spread)?,
            filters: Filters {
                except: None,
                theme: parse_theme(raw.theme)?,
                types: raw.types.to_vec(),
                status: parse_status(raw.status, raw.day)?,
                day: raw.day,
                on_day: None,
                recency_days: parse_recency(raw.recency_days)?,
                embedding: raw.embedding,
                memories_alone: raw.memories_alone,
                project: raw.project.cloned(),
                projects: None,
                agent: raw.agent,
                tag: raw.tag.map(|tag| tag.trim().to_owned()),
                tagged: None,
                time: raw.time.filter(|time| *time != Period::default()),
                asked_at: None,
                asks_past: false,
                spread: is_spread,
                ingredients: raw.ingredients,
            },
            cursor,
            min_similarity: parse_min_similarity(raw.min_similarity)?,
            balance: Balance::parse(raw.balance)?,
            explain: raw.explain,
        })
    }
}

fn parse_limit(limit: Option<i64>, is_spread: bool) -> Result<usize, Invalid> {
    let out_of_range = || {
        Invalid::new(
            "limit",
            "out_of_range",
            format!("`limit` is out of range; give 1 to {RESULTS_MAX}."),
        )
    };
    match limit {
        None if is_spread => Ok(RESULTS_SPREAD),
        None => Ok(RESULTS_DEFAULT),
        Some(n) => usize::try_from(n)
            .ok()
            .filter(|n| (1..=RESULTS_MAX).contains(n))
            .ok_or_else(out_of_range),
    }
}

/// A blank theme means no filter, because some agents fill in every field.
fn parse_theme(theme: Option<&str>) -> Result<Option<ThemeFilter>, Invalid> {
    let Some(theme) = theme else {
        return Ok(None);
    };
    let slug = ThemeSlug::parse(theme)?;
    let name = theme.trim();
    Ok((!name.is_empty()).then(|| ThemeFilter { slug, name: Some(name.to_owned()) }))
}

fn parse_status(status: Option<&str>, day: Day) -> Result<Option<Status>, Invalid> {
    match status {
        Some("archived") if !day.is_now() => Err(Invalid::new(
            "status",
            "invalid_status",
            "`status` cannot be archived together with `as_of` or `at`, which say themselves what counts; leave it out.",
        )),
        None | Some("active") if !day.is_now() => Ok(None),
        None | Some("active") => Ok(Some(Status::Active)),
        Some("archived") => Ok(Some(Status::Archived)),
        Some("any") => Ok(None),
        Some(_) => Err(Invalid::new(
            "status",
            "invalid_status",
            "`status` is not known; give active, archived or any.",
        )),
    }
}

fn parse_recency(days: Option<i64>) -> Result<Option<i64>, Invalid> {
    match days {
        None | Some(1..=RECENCY_DAYS_MAX) => Ok(days),
        Some(_) => Err(Invalid::new(
            "recency_days",
            "out_of_range",
            format!("`recency_days` is out of range; give 1 to {RECENCY_DAYS_MAX}."),
        )),
    }
}

fn parse_min_similarity(least: Option<f64>) -> Result<Option<f64>, Invalid> {
    match least {
        Some(least) if !(0.0..=1.0).contains(&least) => Err(Invalid::new(
            "min_similarity",
            "out_of_range",
            "`min_similarity` is out of range; give 0 to 1.",
        )),
        least => Ok(least),
    }
}

impl Cursor {
    /// Microseconds since 1970 and the id; opaque to clients.
    pub fn encode(self) -> String {
        format!("{}.{}", self.created_at.unix_timestamp_nanos() / 1_000, self.id)
    }

    fn parse(text: &str) -> Result<Self, Invalid> {
        let parts = || {
            let (micros, id) = text.split_once('.')?;
            let nanos = micros.parse::<i64>().ok()? as i128 * 1_000;
            let created_at = OffsetDateTime::from_unix_timestamp_nanos(nanos).ok()?;
            // PostgreSQL's range; the first year is incomplete.
            let in_range = (-4_711..=9_999).contains(&created_at.year());
            in_range.then_some(Self { created_at, id: ItemId(id.parse().ok()?) })
        };
        parts().ok_or_else(|| {
            Invalid::new(
                "cursor",
                "invalid_cursor",
                "`cursor` is not one of ours; give the `cursor` of the answer before, or none.",
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(raw: RawQuery<'_>) -> Result<SearchQuery, Invalid> {
        SearchQuery::parse(raw)
    }

    #[test]
    fn star_and_nothing_list_the_newest() {
        for query in ["", "  ", "*", " * "] {
            assert!(
                parse(RawQuery { query, ..RawQuery::default() }).expect("valid").text.is_none()
            );
        }
    }

    #[test]
    fn each_limit_names_its_field() {
        let long = "x".repeat(8_001);
        let cases = [
            ("query", RawQuery { query: &long, ..RawQuery::default() }),
            ("query", RawQuery { query: "a\0b", ..RawQuery::default() }),
            ("limit", RawQuery { limit: Some(0), ..RawQuery::default() }),
            ("limit", RawQuery { limit: Some(51), ..RawQuery::default() }),
            ("limit", RawQuery { limit: Some(-1), ..RawQuery::default() }),
            ("recency_days", RawQuery { recency_days: Some(0), ..RawQuery::default() }),
            ("recency_days", RawQuery { recency_days: Some(i64::MAX), ..RawQuery::default() }),
            ("min_similarity", RawQuery { min_similarity: Some(1.01), ..RawQuery::default() }),
            ("min_similarity", RawQuery { min_similarity: Some(f64::NAN), ..RawQuery::default() }),
            ("balance", RawQuery { balance: Some("sums"), ..RawQuery::default() }),
            ("status", RawQuery { status: Some("deleted"), ..RawQuery::default() }),
            ("cursor", RawQuery { cursor: Some("x"), ..RawQuery::default() }),
            ("cursor", RawQuery { cursor: Some("9223372036854775807.1"), ..RawQuery::default() }),
            ("cursor", RawQuery { query: "tea", cursor: Some("1.1"), ..RawQuery::default() }),
        ];
        for (field, raw) in cases {
            assert_eq!(parse(raw).expect_err(field).field, field);
        }
    }

    #[test]
    fn a_cursor_survives_the_round_trip() {
        for created_at in [
            time::macros::datetime!(2026-11-21 04:15:06.789012 UTC),
            time::macros::datetime!(1969-07-20 20:17:40.000001 UTC),
            time::macros::datetime!(-0043-03-15 12:00 UTC),
        ] {
            let id = ItemId(7);
            let cursor = Cursor { created_at, id };
            assert_eq!(Cursor::parse(&cursor.encode()), Ok(cursor));
        }
    }
}
