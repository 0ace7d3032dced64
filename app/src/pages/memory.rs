//! The memory page: every filter lives in the address, and a form and plain
//! links change it. The parts marked `data-live` are those that the island
//! [`LiveResults`] replaces; no island may stand inside them.

mod empty;
mod filters;
mod row;
mod week;

use axum::response::Response;
use leptos::prelude::*;
use time::{Duration, OffsetDateTime};

use crate::address::{MemoryFilters, StatusFilter};
use crate::components::{DayBanner, Progress, Section, count, memories};
use crate::consolidation::dreaming::decide;
use crate::embedding::{ItemEmbedding, PENDING, PendingMemories};
use crate::input::{Invalid, sentence};
use crate::islands::LiveResults;
use crate::limits::{PAGE_SIZE, RANKED_MAX, ROWS_MAX};
use crate::memories::timeline::{self, Week};
use crate::memories::{self, Day, ItemType, MemoryTheme, Period, learned, proposals};
use crate::moment::date_of;
use crate::page::{
    Page, PageError, account_error, database, embedding_error, invalid, memory_error,
};
use crate::search::query::RESULTS_MAX;
use crate::search::{Hit, Mode, RawQuery, ResultPage, SearchQuery};
use crate::sessions::turns::{self, Conversations};
use empty::{Beginning, NothingMatches, OnlyConversations};
use filters::{SearchForm, Themes};
use row::Row;
use week::ThisWeek;

/// The largest themes, as a filter beside the list.
const THEMES_SHOWN_MAX: usize = 200;
/// More are not counted.
const COUNTED_MAX: i64 = 100;
const LOOK_SECONDS: u32 = 5;

#[derive(Clone)]
struct LoadedMemories {
    /// With the counts of the day that is shown.
    themes: Vec<MemoryTheme>,
    has_more_themes: bool,
    agents: Vec<(i64, String)>,
    rows: Vec<(Hit, ItemEmbedding)>,
    mode: Mode,
    has_more: bool,
    day: Day,
    /// All items of this user, whatever the filters.
    total_items: i64,
    /// Where there are no memories, but conversations.
    conversations: Option<Conversations>,
    /// Memories that agents and the server have stored and nobody has looked at, and those of imports.
    learned: i64,
    imported: i64,
    /// What agents propose, and what dreams do, and nobody has decided.
    proposed: i64,
    proposals: i64,
    /// One sentence: why the search was less than it could be, where `waiting` does not say it.
    degraded: Option<String>,
    /// Sentences about the whole answer: which time counts more, that probably nothing here answers.
    notes: Vec<String>,
    /// `None` once every memory is embedded.
    waiting: Option<PendingMemories>,
    /// `None` where the list is filtered.
    week: Option<Week>,
}

pub async fn show(page: Page) -> Response {
    let filters = MemoryFilters::from_query(page.query());
    let found = load(&page, &filters).await;
    let title = match filters.q.trim() {
        "" => "Memory".to_owned(),
        words => format!("{words} · Memory"),
    };
    let href = filters.href();
    page.render(Section::Memory, title, href, found, move |found| {
        if found.total_items == 0 && found.rows.is_empty() && found.conversations.is_none() {
            view! { <Beginning /> }.into_any()
        } else {
            view! { <Found found filters=filters.clone() /> }.into_any()
        }
    })
    .await
}

async fn load(page: &Page, filters: &MemoryFilters) -> Result<LoadedMemories, PageError> {
    let (state, viewer, user) = (&page.state, &page.viewer, page.viewer.user_id);
    let now = state.clock.now();
    let day = filters.day.parsed(&page.zone(), now).map_err(invalid)?;
    let mut query = search_query(filters, day).map_err(invalid)?;
    if query.text.is_none() {
        query.limit = filters.shown;
    }
    let mut found = state.search.find(viewer, &query).await.map_err(database)?;
    let ids: Vec<i64> = found.hits.iter().map(|hit| hit.item.id.0).collect();
    let rest = async {
        let mut tx = state.db.as_user(user).await?;
        let total_items = memories::store::count_items(&mut tx, user).await?;
        let conversations = match total_items {
            0 => Some(turns::count(&mut tx, user).await?),
            _ => None,
        };
        let waiting = state.embeddings.waiting(&mut tx, user).await?;
        let embeddings = state.embeddings.states(&mut tx, user, &ids).await?;
        tx.commit().await?;
        Ok((total_items, conversations, waiting, embeddings))
    };
    let (total_items, conversations, waiting, embeddings) = rest.await.map_err(embedding_error)?;
    let themes = match day.is_now() {
        true => memories::list_themes(&state.db, viewer, THEMES_SHOWN_MAX, now).await,
        false => memories::themes_on(&state.db, viewer, THEMES_SHOWN_MAX, &day, now).await,
    };
    let (themes, has_more_themes) = themes.map_err(memory_error)?;
    let (learned, imported) = learned::count(&state.db, user, now).await.map_err(database)?;
    let (proposed, _) = proposals::list(&state.db, user, None).await.map_err(database)?;
    let agents = state.accounts.agent_names(user).await.map_err(account_error)?;
    let is_filtered =
        MemoryFilters { shown: PAGE_SIZE, ..filters.clone() } != MemoryFilters::from_query("");
    let week = match is_filtered {
        true => None,
        false => Some(timeline::week(&state.db, user, now).await.map_err(database)?),
    };
    let waiting = Some(waiting).filter(|waiting| waiting.pending > 0);
    // One notice is enough.
    let is_said = |clause: &String| waiting.is_some() && clause.starts_with(PENDING);
    let degraded = found.degraded.take().filter(|clause| !is_said(clause));
    Ok(LoadedMemories {
        themes,
        has_more_themes,
        agents: agents.into_iter().map(|(id, name)| (id.0, name)).collect(),
        mode: found.mode,
        has_more: found.cursor.is_some() || found.hits.len() > filters.shown,
        day,
        total_items,
        conversations: conversations.filter(|all| all.sessions > 0),
        learned,
        imported,
        proposed: proposed.len() as i64,
        proposals: decide::count_open(&state.db, user).await.map_err(database)?,
        degraded: degraded.map(|clause| sentence(&clause)),
        notes: notes(page, &found),
        rows: found.hits.into_iter().zip(embeddings).take(filters.shown).collect(),
        waiting,
        week,
    })
}

fn search_query(filters: &MemoryFilters, day: Day) -> Result<SearchQuery, Invalid> {
    // Unknown types in the URL are ignored, so that old links keep working.
    let types: Vec<ItemType> =
        filters.types.iter().filter_map(|t| ItemType::from_label(t)).collect();
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
        embedding: filters.embedding,
        agent: filters.agent,
        tag: filters.tag.as_deref(),
        recency_days: filters.days,
        ..RawQuery::default()
    })
}

/// Notes about the whole answer.
fn notes(page: &Page, found: &ResultPage) -> Vec<String> {
    let is_absent = found.is_probably_absent() && !found.hits.is_empty();
    let absent = is_absent.then(|| "Probably not in memory: no result matches well.".to_owned());
    let time = found.time.map(|time| time_in_words(page, time));
    time.into_iter().chain(absent).collect()
}

/// Such as "Memories from 1 May 2023 to 31 May 2023 rank higher."
fn time_in_words(page: &Page, time: Period) -> String {
    let day = |at: OffsetDateTime| date_of(page.zone().local(at));
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

#[component]
fn Found(found: LoadedMemories, filters: MemoryFilters) -> impl IntoView {
    let (count, is_ranked) = (count_of(&found), found.mode != Mode::Recent);
    let degraded = found.degraded.map(|sentence| view! { <p class="degraded">{sentence}</p> });
    let note = |sentence| view! { <p class="answer-note">{sentence}</p> };
    let notes = found.notes.into_iter().map(note).collect_view();
    let today = filters.today().href();
    let more = found.has_more.then(|| more_of(&filters));
    // Without filters nothing is listed because there is nothing but conversations.
    let said = found.conversations.filter(|_| filters == MemoryFilters::from_query(""));
    let (count, class) = match said {
        Some(_) => ("No memories yet.".to_owned(), "first-words"),
        None => (count, "count"),
    };
    let rows = if let Some(conversations) = said {
        view! { <OnlyConversations conversations /> }.into_any()
    } else if found.rows.is_empty() {
        view! { <NothingMatches filters=filters.clone() /> }.into_any()
    } else {
        let rows = found.rows.into_iter().map(|(hit, embedding)| {
            view! { <Row hit embedding is_ranked day=filters.day.clone() /> }
        });
        view! { <ol class="rows">{rows.collect_view()}</ol> }.into_any()
    };
    view! {
        <div id="live" class="memory">
            <h1>"Memory"</h1>
            <SearchForm agents=found.agents filters=filters.clone() />
            <Themes themes=found.themes has_more=found.has_more_themes filters />
            <div class="found">
                <ToLookAt learned=found.learned imported=found.imported proposed=found.proposed proposals=found.proposals />
                <ThisWeek week=found.week />
                <Waiting waiting=found.waiting total=found.total_items />
                <section id="results" class="results" data-live="results" aria-labelledby="count">
                    <h2 id="count" class=class>
                        {count}
                    </h2>
                    <DayBanner day=found.day today />
                    {degraded}
                    {notes}
                    {rows}
                    {more}
                </section>
            </div>
        </div>
        <LiveResults />
    }
    .into_any()
}

/// How far the embedding of memories is: one line with a bar above the list, in place of a mark on every row.
/// Empty once nothing is pending, so that it can be replaced at any time.
#[component]
fn Waiting(waiting: Option<PendingMemories>, total: i64) -> impl IntoView {
    let look_again = waiting.as_ref().map(|_| LOOK_SECONDS);
    let body = waiting.map(|waiting| {
        let (pending, done) = (waiting.pending, total - waiting.pending);
        let all = memories(total);
        let line = match waiting.problem {
            None => format!("Embedding {} of {all}; keyword search works meanwhile", count(done)),
            Some(problem) => format!(
                "{} of {all} not embedded yet; keyword search works meanwhile. {problem}",
                count(pending)
            ),
        };
        view! { <Progress label="Embedding".to_owned() done failed=0 total line /> }
    });
    view! {
        <div data-renewed-from="/memory">
            <div class="waiting" data-live="embedding" data-look-again=look_again>
                {body}
            </div>
        </div>
    }
    .into_any()
}

/// The way to what was learned or imported since, and to what agents and dreams propose.
#[component]
fn ToLookAt(learned: i64, imported: i64, proposed: i64, proposals: i64) -> impl IntoView {
    let link = |href: &'static str, words: &'static str, count: i64| {
        let told = match count {
            0 => return None,
            n if n >= COUNTED_MAX => format!("{COUNTED_MAX} and more"),
            n => n.to_string(),
        };
        Some(view! {
            <a href=href>
                {words} " " <span class="count-badge">{told}</span>
            </a>
        })
    };
    let links: Vec<_> = [
        link("/learned", "New to review", learned),
        link("/learned#imported", "Imported, to review", imported),
        link("/learned#proposed", "Proposed by agents", proposed),
        link("/dreams", "Proposed in dreams", proposals),
    ]
    .into_iter()
    .flatten()
    .collect();
    match links.is_empty() {
        true => ().into_any(),
        false => view! { <p class="to-look-at">{links}</p> }.into_any(),
    }
}

/// What the list is, in a few words: the heading, and what is announced.
fn count_of(found: &LoadedMemories) -> String {
    let rows = found.rows.len();
    let is_ranked = found.mode != Mode::Recent;
    let what = what_of(found);
    match (rows, is_ranked, found.has_more) {
        (0, ..) => "No memories".to_owned(),
        (1, _, false) => format!("1 {}", what.0),
        (_, true, has_more) if has_more || rows >= RANKED_MAX => {
            format!("Top {rows}")
        }
        (_, true, _) => format!("{rows} {} by relevance", what.1),
        (_, false, true) => format!("The newest {rows} {}", what.1),
        (_, false, false) => format!("{rows} {}, newest first", what.1),
    }
}

/// What one row is, and several: what is no memory is not called one.
fn what_of(found: &LoadedMemories) -> (&'static str, &'static str) {
    let of = |(hit, _): &(Hit, ItemEmbedding)| match hit.item.item_type.as_str() {
        "turn" => ("message", "messages"),
        "episode" => ("episode", "episodes"),
        "document" => ("part of a document", "parts of documents"),
        _ => ("memory", "memories"),
    };
    let mut all = found.rows.iter().map(of);
    let first = all.next().unwrap_or(("memory", "memories"));
    match all.all(|other| other == first) {
        true => first,
        false => ("result", "results"),
    }
}

fn more_of(filters: &MemoryFilters) -> AnyView {
    match filters.with_more() {
        Some(more) => {
            let step = more.shown - filters.shown;
            let href = more.href();
            view! {
                <p class="more">
                    <a class="button" href=href data-live-link="more">
                        {format!("Show {step} more")}
                    </a>
                </p>
            }
            .into_any()
        }
        None => view! {
            <p class="more hint">
                {format!("At most {ROWS_MAX} are shown. Search to find older ones.")}
            </p>
        }
        .into_any(),
    }
}
