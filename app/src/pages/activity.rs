//! Who read and wrote what, when: every call of the person's agents. Every
//! filter lives in the address; a form and plain links change it. The parts
//! marked `data-live` are those that the island [`LiveResults`] replaces.

mod calls;
pub mod queries;
pub mod readings;

use axum::response::Response;
use leptos::prelude::*;
use time::macros::format_description;
use time::{Date, Duration};

use super::used::PATH as USED;
use crate::accounts::AgentId;
use crate::activity::{
    ActivityFilter, CallsPage, DAYS_COUNTED, DayCount, KEPT_DAYS, KEPT_ROWS_MAX,
};
use crate::address::{ActivityFilters, PERIODS};
use crate::components::{
    Bar, Bars, Choice, Done, FirstSteps, OUTCOMES, Pick, Section, TOKEN_PLACE, TOOLS, calls, count,
    search_line,
};
use crate::forms::FormState;
use crate::islands::LiveResults;
use crate::limits::ROWS_MAX;
use crate::memories::ThemeSlug;
use crate::moment::{date_of, iso, parse_day};
use crate::page::{Page, PageError, asked, database, invalid};
use crate::words;
use calls::by_day;
use queries::Queries;

const DAYS_MIN: usize = 7;

pub async fn show(page: Page) -> Response {
    let filters = ActivityFilters::from_query(page.query());
    let form = page.form.clone();
    let found = load(&page, &filters).await;
    let href = filters.href();
    page.render(Section::Activity, "Activity", href, found, move |(found, day)| {
        let (filters, form) = (filters.clone(), form.clone());
        match found.is_empty {
            true => view! { <Beginning found form /> }.into_any(),
            false => view! { <Found found day filters form /> }.into_any(),
        }
    })
    .await
}

/// One call more than is shown, where there are more; and the day that is asked for.
async fn load(
    page: &Page,
    filters: &ActivityFilters,
) -> Result<(CallsPage, Option<Date>), PageError> {
    let day = filters.day.as_deref().map(|day| parse_day("day", day)).transpose();
    let day = day.map_err(invalid)?;
    let theme = filters.theme.as_deref().map(ThemeSlug::parse).transpose();
    let theme = theme.map_err(invalid)?;
    let begins = |day: Date| day.midnight().assume_utc();
    let filter = ActivityFilter {
        agent: filters.agent.map(AgentId),
        tools: filters.tool.into_iter().collect(),
        went_well: filters.went_well,
        since: match day {
            Some(day) => Some(begins(day)),
            None => filters.days.map(|days| page.state.clock.now() - Duration::days(days)),
        },
        until: day.and_then(Date::next_day).map(begins),
        item: filters.item,
        theme: theme.map(|theme| theme.as_str().to_owned()),
        limit: filters.shown as i64 + 1,
    };
    let found = page.state.activity.page(page.viewer.user_id, &filter).await;
    Ok((found.map_err(database)?, day))
}

#[component]
fn Found(
    found: CallsPage,
    day: Option<Date>,
    filters: ActivityFilters,
    form: FormState,
) -> impl IntoView {
    let mut found = found;
    let has_more = found.rows.len() > filters.shown;
    found.rows.truncate(filters.shown);
    let mut items = found.rows.iter().flat_map(|row| &row.items);
    let is_document = items.any(|id| found.documents.contains_key(id) && Some(*id) == filters.item);
    let heading = heading_of(found.rows.len(), has_more);
    let more = has_more.then(|| more_of(&filters));
    let kept = format!(
        "Calls are kept for {} days, at most {} of them. They store no content, only which memories they concern.",
        KEPT_DAYS,
        count(KEPT_ROWS_MAX),
    );
    let rows = if found.rows.is_empty() {
        view! {
            <div class="nothing">
                <p class="first-words">"No matching calls."</p>
                <p>
                    <a href="/activity" data-live-link="loosen">
                        "Show all calls"
                    </a>
                </p>
            </div>
        }
        .into_any()
    } else {
        by_day(&found)
    };
    view! {
        <div id="live" class="page">
            <h1>"Activity"</h1>
            <Done form=form.clone() />
            <div data-live="days">
                <Days counted=found.days filters=filters.clone() />
                <p>
                    <a href=USED>"Used and unused memories"</a>
                </p>
            </div>
            <Narrow agents=found.agents filters day is_document />
            <section id="results" class="results" data-live="results" aria-labelledby="count">
                <h2 id="count" class="count">
                    {heading}
                </h2>
                {rows}
                {more}
            </section>
            <Queries is_on=found.keeps_queries kept=found.kept_queries form kept_for=kept />
        </div>
        <LiveResults />
    }
    .into_any()
}

#[component]
fn Narrow(
    agents: Vec<(AgentId, String)>,
    filters: ActivityFilters,
    day: Option<Date>,
    /// What the filters name by number is a document.
    is_document: bool,
) -> impl IntoView {
    let agents: Vec<Choice> = agents
        .into_iter()
        .map(|(id, name)| (id.0.to_string(), name, filters.agent == Some(id.0)))
        .collect();
    let tools = TOOLS
        .map(|(tool, did, _)| (tool.to_owned(), did.to_owned(), filters.tool == Some(tool)))
        .to_vec();
    let outcomes = [("ok", "ok", true), ("failed", "failed", false)]
        .map(|(slug, words, went_well)| {
            let is_chosen = filters.went_well == Some(went_well);
            (slug.to_owned(), words.to_owned(), is_chosen)
        })
        .to_vec();
    let periods = PERIODS
        .map(|(days, words)| (days.to_string(), words.to_owned(), filters.days == Some(days)))
        .to_vec();
    let chip = |name: &'static str, value: String, words: String, without: ActivityFilters| {
        view! {
            <input type="hidden" name=name value=value />
            <a class="chip" href=without.href() data-live-link="loosen">
                <bdi>{words}</bdi>
                <span aria-hidden="true">"✕"</span>
                <span class="visually-hidden">": show calls with any"</span>
            </a>
        }
    };
    let what = if is_document { "document" } else { "memory" };
    let item = filters.item.map(|id| {
        chip("item", id.to_string(), format!("with {what} {id}"), filters.without_item())
    });
    let theme = filters.theme.clone().map(|theme| {
        chip("theme", theme.clone(), format!("theme: {theme}"), filters.without_theme())
    });
    let day = day.map(|day| {
        let words = format!("on {}", date_of(day.midnight().assume_utc()));
        chip("day", filters.day.clone().unwrap_or_default(), words, filters.on_day(None))
    });
    let reset = filters.is_narrowed().then(|| {
        view! {
            <a class="reset" href="/activity" data-live-link="loosen">
                "Show all"
            </a>
        }
    });
    view! {
        <form id="filters" class="filters" method="get" action="/activity" autocomplete="off">
            <div class="narrow picks" data-live="narrow">
                <Pick name="agent" label="Agent" any="All agents" choices=agents />
                <Pick name="tool" label="Action" any="All actions" choices=tools />
                <Pick name="outcome" label="Outcome" any="All outcomes" choices=outcomes />
                <Pick name="days" label="Period" any="Any time" choices=periods />
                {item}
                {theme}
                {day}
                <button type="submit">
                    "Filter"
                </button>
                {reset}
            </div>
        </form>
    }
    .into_any()
}

#[component]
fn Days(counted: Vec<DayCount>, filters: ActivityFilters) -> impl IntoView {
    let days = every_day(asked().state.clock.now().date(), &counted);
    let summary = summary_of(&days);
    // From the first use on, a week at least.
    let unused = days.iter().position(|day| total(day) > 0).unwrap_or(0);
    let days = days.split_at(unused.min(days.len().saturating_sub(DAYS_MIN))).1;
    let words = |day: &DayCount| {
        day.day
            .format(format_description!("[day padding:none] [month repr:long]"))
            .unwrap_or_default()
    };
    let first = days.first().map(words);
    let links = days.iter().map(|day| {
        let href = || filters.on_day(Some(&iso(day.day))).href();
        (total(day) > 0).then(href)
    });
    let links = links.collect();
    let bars = days
        .iter()
        .map(|day| Bar {
            title: match (total(day), day.failed) {
                (n, 0) => format!("{}: {}", words(day), calls(n)),
                (n, failed) => format!("{}: {}, {} failed", words(day), calls(n), count(failed)),
            },
            parts: vec![day.ok, day.failed],
        })
        .collect();
    view! { <Bars bars links first summary classes=OUTCOMES /> }
}

fn total(day: &DayCount) -> i64 {
    day.ok + day.failed
}

/// The last days up to today, including those without calls.
fn every_day(today: Date, counted: &[DayCount]) -> Vec<DayCount> {
    let days = (0..DAYS_COUNTED).rev().map(|ago| today - Duration::days(ago));
    days.map(|day| {
        let calls = counted.iter().find(|count| count.day == day);
        calls.copied().unwrap_or(DayCount { day, ok: 0, failed: 0 })
    })
    .collect()
}

fn summary_of(days: &[DayCount]) -> String {
    let all = days.iter().map(total).sum();
    let failed: i64 = days.iter().map(|day| day.failed).sum();
    let ended = match failed {
        0 => String::new(),
        n => format!(", {} failed", count(n)),
    };
    format!("{} in {}{ended}", calls(all), words::days(days.len()))
}

/// What the list is, in a few words: the heading, and what is announced.
fn heading_of(shown: usize, has_more: bool) -> String {
    match (shown, has_more) {
        (0, _) => "No calls".to_owned(),
        (n, true) => format!("The newest {}", calls(n as i64)),
        (1, false) => "1 call".to_owned(),
        (n, false) => format!("{}, newest first", calls(n as i64)),
    }
}

fn more_of(filters: &ActivityFilters) -> AnyView {
    match filters.with_more() {
        Some(more) => {
            let step = more.shown - filters.shown;
            view! {
                <p class="more">
                    <a class="button" href=more.href() data-live-link="more">
                        {format!("Show {step} more")}
                    </a>
                </p>
            }
            .into_any()
        }
        None => view! {
            <p class="more hint">
                {format!("At most {ROWS_MAX} are shown. Filter to see older calls.")}
            </p>
        }
        .into_any(),
    }
}

#[component]
fn Beginning(found: CallsPage, form: FormState) -> impl IntoView {
    view! {
        <div class="column">
            <h1>"Activity"</h1>
            <Done form=form.clone() />
            <FirstSteps
                first_words="No agent has called yet."
                lead="Here will be every call of your agents: what they searched, read, added and archived, when, and which memories it was about."
                by_hand="make a first call"
                caption="Search memories"
                line=search_line(asked().state.public_url.as_str(), TOKEN_PLACE)
            />
            <Queries
                is_on=found.keeps_queries
                kept=found.kept_queries
                form
                kept_for=String::new()
            />
        </div>
    }
    .into_any()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_picture_is_told_in_words() {
        let day = |ok, failed| DayCount { day: Date::MIN, ok, failed };
        assert_eq!(summary_of(&[day(1_200, 0), day(0, 3)]), "1,203 calls in 2 days, 3 failed");
        assert_eq!(summary_of(&[day(1, 0)]), "1 call in 1 day");
    }
}
