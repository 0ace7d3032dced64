//! Settings › Fading: what would be archived before it is switched on, how fast memories get weaker, and
//! what has faded, each with a button that brings it back.

pub mod load;
pub mod post;

use axum::response::Response;
use leptos::prelude::*;

use crate::components::{
    Done, Field, FormError, Marked, Section, StateBadge, TypeBadge, When, count, memories,
};
use crate::forms::{FormName, FormState};
use crate::page::Page;
use crate::view::{FadedRow, FadingPage, FadingRow};

pub const PATH: &str = "/settings/fading";
const FORM: FormName = FormName::Fading;

pub async fn show(page: Page) -> Response {
    let form = page.form.clone();
    let found = page.fading_view(&page.viewer).await;
    page.render(Section::Fading, "Fading", PATH, found, move |page| {
        view! { <Whole page form=form.clone() /> }.into_any()
    })
    .await
}

#[component]
fn Whole(page: FadingPage, form: FormState) -> impl IntoView {
    view! {
        <div class="column page">
            <h1>"Fading"</h1>
            <p class="lead">
                "A memory that is not used gets weaker. Weak memories are archived at night, never deleted: you can restore them with one click."
            </p>
            <Done form=form.of(FORM) />
            <FormError form=form.of(FORM) fields=&[] />
            <Switch page=page.clone() />
            <Weakest page=page.clone() />
            <Speed page=page.clone() form=form.of(FormName::FadingSettings) />
            <Faded page />
        </div>
    }
    .into_any()
}

#[component]
fn Switch(page: FadingPage) -> impl IntoView {
    let (state, action, label) = match page.is_on {
        true => ("on", "off", "Switch off"),
        false => ("off", "on", "Switch on"),
    };
    view! {
        <section class="part" aria-labelledby="switch-title">
            <h2 id="switch-title">"Archive weak memories"</h2>
            <p class="badges">
                <StateBadge state />
            </p>
            <p>{outlook(&page)}</p>
            <form method="post" action=PATH>
                <button type="submit" name="action" value=action>
                    {label}
                </button>
            </form>
        </section>
    }
    .into_any()
}

/// What is going to be archived, in words.
fn outlook(page: &FadingPage) -> String {
    let [now, month, year] = page.weak;
    let will = match (page.is_on, now) {
        (true, 1) => "is archived",
        (true, _) => "are archived",
        (false, _) => "would be archived",
    };
    if page.active == 0 {
        return "No memories yet.".to_owned();
    }
    format!(
        "Of {}, {} {will} on the next night ({}). If none is used: {} within 30 days, {} within a year.",
        memories(page.active),
        count(now),
        page.schedule,
        count(month),
        count(year),
    )
}

#[component]
fn Weakest(page: FadingPage) -> impl IntoView {
    if page.weakest.is_empty() {
        return ().into_any();
    }
    let more = page.weak[0] - page.weakest.len() as i64;
    let more =
        (more > 0).then(|| view! { <p class="hint">{format!("And {} more.", count(more))}</p> });
    let can_keep = page.is_manageable;
    let rows = page.weakest.into_iter().map(|row| view! { <Weak row can_keep /> });
    view! {
        <section class="part" aria-labelledby="weak-title">
            <h2 id="weak-title">"Weak now"</h2>
            <p class="hint">
                "Weakest first. A memory regains its full strength when an agent finds or reads it, or when it is confirmed or stated again. Memories that you keep never fade."
            </p>
            <ul class="fading">{rows.collect_view()}</ul>
            {more}
        </section>
    }
    .into_any()
}

#[component]
fn Weak(row: FadingRow, can_keep: bool) -> impl IntoView {
    let used = match row.uses {
        0 => "never used".to_owned(),
        1 => "used once".to_owned(),
        n => format!("used {} times", count(n)),
    };
    view! {
        <li>
            <div>
                <a href=format!("/memory/{}", row.id) dir="auto">
                    <Marked text=row.beginning />
                </a>
                <p class="hint">
                    <TypeBadge item_type=row.item_type.to_owned() />
                    {format!(" {} % · {used} · last ", row.strength)}
                    <When at=row.used />
                </p>
            </div>
            {can_keep.then(|| view! { <One id=row.id action="keep" label="Keep" /> })}
        </li>
    }
    .into_any()
}

#[component]
fn One(id: i64, action: &'static str, label: &'static str) -> impl IntoView {
    view! {
        <form method="post" action=PATH>
            <input type="hidden" name="item" value=id />
            <button type="submit" name="action" value=action>
                {label}
                <span class="visually-hidden">" memory " {id}</span>
            </button>
        </form>
    }
    .into_any()
}

#[component]
fn Speed(page: FadingPage, form: FormState) -> impl IntoView {
    let mut saved = vec![("threshold", page.threshold.to_string())];
    saved.extend(page.half_lives.iter().map(|(name, days)| {
        let days = days.map_or(String::new(), |days| days.to_string());
        (*name, days)
    }));
    let form = form.or_saved(saved);
    let fields = page.half_lives.iter().map(|(name, _)| {
        let form = form.clone();
        view! {
            <Field
                form
                name
                label=label_of(name)
                inputmode="numeric"
                autocomplete="off"
                maxlength="5"
                optional=true
            />
        }
    });
    view! {
        <section class="part" aria-labelledby="speed-title">
            <h2 id="speed-title">"Half-life"</h2>
            <p class="hint">
                "After its half-life without use a memory is half as strong. Instructions, reflections and confirmed memories never fade. You can set the half-life of one memory on its page, under Manage."
            </p>
            <Curves page=page.clone() />
            <form class="stack" method="post" action=PATH>
                <FormError
                    form=form.clone()
                    fields=&["threshold", "preference", "fact", "summary", "other"]
                />
                <fieldset class="fading-days">
                    <legend>"Half-life in days; leave blank to never fade"</legend>
                    {fields.collect_view()}
                </fieldset>
                <Field
                    form=form.clone()
                    name="threshold"
                    label="Archive below this strength, in percent"
                    hint="1 to 50"
                    inputmode="numeric"
                    autocomplete="off"
                    maxlength="2"
                />
                <div>
                    <button type="submit" name="action" value="save">
                        "Save"
                    </button>
                </div>
            </form>
        </section>
    }
    .into_any()
}

fn label_of(item_type: &str) -> &'static str {
    match item_type {
        "preference" => "Preferences",
        "fact" => "Facts",
        "summary" => "Summaries",
        _ => "Other",
    }
}

/// Of a memory as sure as most are.
const CONFIDENCE: f64 = 0.7;
const WIDTH: f64 = 400.0;
const HEIGHT: f64 = 120.0;
const LEFT: f64 = 40.0;
const YEARS: [i64; 4] = [1, 2, 3, 4];

/// Strength over four years without any use, a curve for each type.
#[component]
fn Curves(page: FadingPage) -> impl IntoView {
    let days = 365.0 * YEARS.len() as f64;
    let x = move |day: f64| LEFT + day / days * WIDTH;
    let y = |strength: f64| HEIGHT * (1.0 - strength);
    let limit = page.threshold as f64 / 100.0;
    let mut said = Vec::new();
    let curves = page.half_lives.iter().enumerate().map(|(n, (name, half_life))| {
        let at = |day: f64| {
            half_life.map_or(CONFIDENCE, |half| CONFIDENCE * 0.5_f64.powf(day / half as f64))
        };
        let points: Vec<String> = (0..=73)
            .map(|step| f64::from(step) * days / 73.0)
            .map(|day| format!("{:.1},{:.1}", x(day), y(at(day))))
            .collect();
        said.push(match half_life {
            Some(half) => {
                let ends = *half as f64 * (CONFIDENCE / limit).log2().max(0.0);
                format!(
                    "{} after {} days",
                    label_of(name).to_lowercase(),
                    count(ends.round() as i64)
                )
            }
            None => format!("{} never", label_of(name).to_lowercase()),
        });
        view! {
            <g class=format!("curve curve-{n}")>
                <title>{label_of(name)}</title>
                <polyline points=points.join(" ") />
            </g>
        }
    });
    let curves = curves.collect_view();
    let years = YEARS.map(|year| {
        let at = x(365.0 * year as f64);
        let label = if year == 1 { "1 year".to_owned() } else { year.to_string() };
        view! {
            <line class="grid" x1=at x2=at y1="0" y2=HEIGHT />
            <text x=at y=HEIGHT + 14.0 text-anchor="end">
                {label}
            </text>
        }
    });
    let said = format!("Archived without any use: {}.", said.join(", "));
    let keys = page.half_lives.iter().enumerate().map(|(n, (name, _))| {
        view! {
            <li class=format!("key curve-{n}")>
                <svg viewBox="0 0 16 8" width="16" height="8" aria-hidden="true">
                    <polyline points="0,4 16,4" />
                </svg>
                {label_of(name)}
            </li>
        }
    });
    view! {
        <figure class="curves">
            <svg
                viewBox=format!("0 -6 {} {}", LEFT + WIDTH + 4.0, HEIGHT + 24.0)
                role="img"
                aria-label=said.clone()
            >
                {years.collect_view()}
                <line class="axis" x1=LEFT x2=LEFT + WIDTH y1=HEIGHT y2=HEIGHT />
                <text x=LEFT - 6.0 y=y(CONFIDENCE) + 4.0 text-anchor="end">
                    "70 %"
                </text>
                <text x=LEFT - 6.0 y=y(limit) + 4.0 text-anchor="end">
                    {format!("{} %", page.threshold)}
                </text>
                <line class="limit" x1=LEFT x2=LEFT + WIDTH y1=y(limit) y2=y(limit) />
                {curves}
            </svg>
            <ul class="curve-keys">{keys.collect_view()}</ul>
            <figcaption class="hint">{said}</figcaption>
        </figure>
    }
    .into_any()
}

#[component]
fn Faded(page: FadingPage) -> impl IntoView {
    let can_restore = page.is_manageable;
    let body = if page.faded_count == 0 {
        view! { <p class="hint">"Nothing has faded. Faded memories are listed here and can be restored."</p> }
            .into_any()
    } else {
        let more = page.faded_count - page.faded.len() as i64;
        let more = (more > 0)
            .then(|| view! { <p class="hint">{format!("And {} more.", count(more))}</p> });
        let all = (can_restore && page.faded_count > 1).then(|| {
            view! {
                <form method="post" action=PATH>
                    <button type="submit" name="action" value="restore_all">
                        {format!("Restore all {}", count(page.faded_count))}
                    </button>
                </form>
            }
        });
        let rows = page.faded.into_iter().map(|row| view! { <Gone row can_restore /> });
        view! {
            <p>{format!("{} faded. They are archived: search finds them when archived memories are included.", have(page.faded_count))}</p>
            <ul class="fading">{rows.collect_view()}</ul>
            {more}
            {all}
        }
        .into_any()
    };
    view! {
        <section class="part" aria-labelledby="faded-title">
            <h2 id="faded-title">"Faded"</h2>
            {body}
        </section>
    }
    .into_any()
}

fn have(n: i64) -> String {
    match n {
        1 => "1 memory has".to_owned(),
        n => format!("{} have", memories(n)),
    }
}

#[component]
fn Gone(row: FadedRow, can_restore: bool) -> impl IntoView {
    view! {
        <li>
            <div>
                <a href=format!("/memory/{}", row.id) dir="auto">
                    <Marked text=row.beginning />
                </a>
                <p class="hint">
                    <TypeBadge item_type=row.item_type.to_owned() />
                    " faded "
                    <When at=row.at />
                </p>
            </div>
            {can_restore.then(|| view! { <One id=row.id action="restore" label="Restore" /> })}
        </li>
    }
    .into_any()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_going_to_be_archived_is_told_in_numbers() {
        let page = FadingPage {
            active: 480,
            weak: [12, 20, 60],
            schedule: "every day at 04:00".to_owned(),
            ..FadingPage::default()
        };
        assert_eq!(
            outlook(&page),
            "Of 480 memories, 12 would be archived on the next night (every day at 04:00). If none is used: 20 within 30 days, 60 within a year."
        );
        assert_eq!(outlook(&FadingPage::default()), "No memories yet.");
    }
}
