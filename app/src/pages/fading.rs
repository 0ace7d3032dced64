//! Settings › Fading: what would be archived before it is switched on, how fast memories get weaker, and
//! what has faded, each with a button that brings it back.

use std::collections::BTreeMap;

use axum::response::Response;
use keepsake_edge::error::Problem;
use leptos::prelude::*;
use serde::Deserialize;

use crate::components::{
    Done, Field, FormError, Marked, Section, StateBadge, TypeBadge, When, count, memories,
};
use crate::db::actor;
use crate::forms::{
    self, Attempt, FormName, FormState, Outcome, Posted, Submission, done, memory_problem,
};
use crate::memories::fading::{
    self, BEGINNING_CHARS, FadedItem, FadingItem, FadingOverview, FadingSettings, HALF_LIVES,
};
use crate::memories::manage::RestoreOutcome;
use crate::memories::{self, ItemId, ItemType};
use crate::page::{Page, PageError, database};
use crate::words::{beginning, used};

const PATH: &str = "/settings/fading";
const FORM: FormName = FormName::Fading;

pub async fn show(page: Page) -> Response {
    let form = page.form.clone();
    let found = load(&page).await;
    page.render(Section::Fading, "Fading", PATH, found, move |(overview, schedule, can_manage)| {
        view! { <FadingPage overview schedule can_manage form=form.clone() /> }.into_any()
    })
    .await
}

/// Also when the next night comes, and whether people decide about memories here.
async fn load(page: &Page) -> Result<(FadingOverview, String, bool), PageError> {
    // It evaluates all items of the user, which may take long.
    let db = page.state.db.with_job_timeout();
    let overview = fading::overview(&db, page.viewer.user_id, page.state.clock.now()).await;
    Ok((overview.map_err(database)?, page.schedule_of("fade").await?, page.is_manageable().await?))
}

/// What is saved is the threshold, and the half-life of each type of memory.
#[derive(Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum FadingForm {
    On,
    Off,
    Save(BTreeMap<String, String>),
    Keep { item: forms::Field<i64> },
    Restore { item: forms::Field<i64> },
    RestoreAll,
}

pub async fn change(Posted(posted, form): Posted<FadingForm>) -> Response {
    let name = match form {
        Ok(FadingForm::Save(_)) => FormName::FadingSettings,
        _ => FORM,
    };
    let outcome = apply(&posted, form).await;
    posted.respond(show, PATH, name, outcome).await
}

async fn apply(posted: &Submission, form: Result<FadingForm, Problem>) -> Attempt {
    let (db, user, _) = posted.context();
    let sentence = match form? {
        FadingForm::On => return switch(posted, true).await,
        FadingForm::Off => return switch(posted, false).await,
        FadingForm::Save(fields) => {
            let is_on = fading::settings(db, user).await?.is_on;
            let text = |name: &str| fields.get(name).map_or("", String::as_str);
            let settings = FadingSettings::parse(is_on, text("threshold"), text)?;
            fading::save(db, user, &settings).await?;
            "Saved.".to_owned()
        }
        FadingForm::Keep { item } => {
            actor::require_open_browser();
            let item = ItemId(*item);
            let call = posted.begin("memory_half_life");
            let kept = fading::set_half_life(db, &call, item, Some(None)).await;
            call.ended_unknown();
            kept.map_err(memory_problem)?;
            format!("Memory {item} never fades.")
        }
        FadingForm::Restore { item } => {
            actor::require_open_browser();
            let item = ItemId(*item);
            match restore(posted, item).await? {
                true => format!("Memory {item} is active again."),
                false => format!(
                    "Memory {item} was not restored: another memory is active in its place. Its page asks which to keep."
                ),
            }
        }
        FadingForm::RestoreAll => {
            actor::require_open_browser();
            let (mut restored, mut replaced) = (0, 0);
            for item in fading::list_faded(db, user).await? {
                match restore(posted, item).await? {
                    true => restored += 1,
                    false => replaced += 1,
                }
            }
            restored_in_words(restored, replaced)
        }
    };
    Ok(done(FORM, sentence))
}

async fn switch(posted: &Submission, is_on: bool) -> Attempt {
    let (db, user, _) = posted.context();
    let settings = fading::settings(db, user).await?;
    fading::save(db, user, &FadingSettings { is_on, ..settings }).await?;
    Ok(Outcome::Redirect)
}

/// False if another item is active in its place.
async fn restore(posted: &Submission, item: ItemId) -> Result<bool, Problem> {
    let (state, call) = (&posted.state, posted.begin("memory_restore"));
    let restored = memories::restore(&state.db, &state.clock, &call, item, &[]).await;
    call.ended_unknown();
    Ok(restored.map_err(memory_problem)? == RestoreOutcome::Done)
}

fn restored_in_words(restored: u32, replaced: u32) -> String {
    let active = match restored {
        1 => "1 memory is active again.".to_owned(),
        n => format!("{n} memories are active again."),
    };
    match replaced {
        0 => active,
        1 => format!("{active} 1 was not restored: another memory is active in its place."),
        n => format!("{active} {n} were not restored: other memories are active in their place."),
    }
}

#[component]
fn FadingPage(
    overview: FadingOverview,
    schedule: String,
    can_manage: bool,
    form: FormState,
) -> impl IntoView {
    let settings = overview.settings.clone();
    view! {
        <div class="column page">
            <h1>"Fading"</h1>
            <p class="lead">
                "A memory that is not used gets weaker. Weak memories are archived at night, never deleted: you can restore them with one click."
            </p>
            <Done form=form.of(FORM) />
            <FormError form=form.of(FORM) fields=&[] />
            <Switch is_on=settings.is_on outlook=outlook(&overview, &schedule) />
            <Weakest items=overview.weakest total=overview.weak[0] can_manage />
            <Speed settings form=form.of(FormName::FadingSettings) />
            <Faded items=overview.faded total=overview.faded_count can_manage />
        </div>
    }
    .into_any()
}

#[component]
fn Switch(is_on: bool, outlook: String) -> impl IntoView {
    let (state, action, label) = match is_on {
        true => ("on", "off", "Switch off"),
        false => ("off", "on", "Switch on"),
    };
    view! {
        <section class="part" aria-labelledby="switch-title">
            <h2 id="switch-title">"Archive weak memories"</h2>
            <p class="badges">
                <StateBadge state />
            </p>
            <p>{outlook}</p>
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
fn outlook(overview: &FadingOverview, schedule: &str) -> String {
    let [now, month, year] = overview.weak;
    let will = match (overview.settings.is_on, now) {
        (true, 1) => "is archived",
        (true, _) => "are archived",
        (false, _) => "would be archived",
    };
    if overview.active == 0 {
        return "No memories yet.".to_owned();
    }
    format!(
        "Of {}, {} {will} on the next night ({schedule}). If none is used: {} within 30 days, {} within a year.",
        memories(overview.active),
        count(now),
        count(month),
        count(year),
    )
}

#[component]
fn Weakest(items: Vec<FadingItem>, total: i64, can_manage: bool) -> impl IntoView {
    if items.is_empty() {
        return ().into_any();
    }
    let more = more_than(items.len(), total);
    let rows = items.into_iter().map(|item| {
        let hint = view! {
            {format!(" {} % · {} · last ", percent(item.strength), used(item.access_count))}
            <When at=item.last_used />
        }
        .into_any();
        let keep = can_manage.then_some(("keep", "Keep"));
        row(item.id, item.item_type, item.beginning, hint, keep)
    });
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

/// A line about those of the list that are not shown.
fn more_than(shown: usize, total: i64) -> Option<AnyView> {
    let more = total - shown as i64;
    (more > 0)
        .then(|| view! { <p class="hint">{format!("And {} more.", count(more))}</p> }.into_any())
}

/// A memory, with the action of its button and the label.
fn row(
    id: ItemId,
    item_type: ItemType,
    text: String,
    hint: AnyView,
    button: Option<(&'static str, &'static str)>,
) -> AnyView {
    let button = button.map(|(action, label)| {
        view! {
            <form method="post" action=PATH>
                <input type="hidden" name="item" value=id.0 />
                <button type="submit" name="action" value=action>
                    {label}
                    <span class="visually-hidden">" memory " {id.0}</span>
                </button>
            </form>
        }
    });
    view! {
        <li>
            <div>
                <a href=format!("/memory/{id}") dir="auto">
                    <Marked text=beginning(text, BEGINNING_CHARS) />
                </a>
                <p class="hint">
                    <TypeBadge item_type=item_type.as_str().to_owned() />
                    {hint}
                </p>
            </div>
            {button}
        </li>
    }
    .into_any()
}

fn percent(share: f64) -> i64 {
    (100.0 * share).round() as i64
}

#[component]
fn Speed(settings: FadingSettings, form: FormState) -> impl IntoView {
    let (threshold, half_lives) = (percent(settings.threshold), half_lives(&settings));
    let mut saved = vec![("threshold", threshold.to_string())];
    saved.extend(half_lives.map(|(name, days)| {
        let days = days.map_or(String::new(), |days| days.to_string());
        (name, days)
    }));
    let form = form.or_saved(saved);
    let fields = half_lives.map(|(name, _)| {
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
            <p class="hint">{archived_unused(threshold, half_lives)}</p>
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

/// Each type that may fade, with its half-life in days; `None`: it never fades.
type HalfLives = [(&'static str, Option<i64>); HALF_LIVES.len()];

fn half_lives(settings: &FadingSettings) -> HalfLives {
    HALF_LIVES.map(|(item_type, _)| {
        let name = item_type.as_str();
        let days = settings.half_lives.get(name).copied().flatten();
        (name, days.map(|days| days.round() as i64))
    })
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

/// When a memory of each type is archived that nobody uses.
fn archived_unused(threshold: i64, half_lives: HalfLives) -> String {
    let halvings = (100.0 * CONFIDENCE / threshold as f64).log2().max(0.0);
    let said = half_lives.map(|(name, half_life)| {
        let name = label_of(name).to_lowercase();
        match half_life {
            Some(days) => {
                format!("{name} after {} days", count((days as f64 * halvings).round() as i64))
            }
            None => format!("{name} never"),
        }
    });
    format!("Archived without any use: {}.", said.join(", "))
}

#[component]
fn Faded(items: Vec<FadedItem>, total: i64, can_manage: bool) -> impl IntoView {
    let body = if total == 0 {
        view! { <p class="hint">"Nothing has faded. Faded memories are listed here and can be restored."</p> }
            .into_any()
    } else {
        let more = more_than(items.len(), total);
        let all = (can_manage && total > 1).then(|| {
            view! {
                <form method="post" action=PATH>
                    <button type="submit" name="action" value="restore_all">
                        {format!("Restore all {}", count(total))}
                    </button>
                </form>
            }
        });
        let rows = items.into_iter().map(|item| {
            let hint = view! {
                " faded "
                <When at=item.at />
            }
            .into_any();
            let restore = can_manage.then_some(("restore", "Restore"));
            row(item.id, item.item_type, item.beginning, hint, restore)
        });
        view! {
            <p>{format!("{} faded. They are archived: search finds them when archived memories are included.", have(total))}</p>
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_going_to_be_archived_is_told_in_numbers() {
        let overview = |active, weak| FadingOverview {
            settings: FadingSettings { is_on: false, ..FadingSettings::default() },
            weak,
            active,
            weakest: Vec::new(),
            faded_count: 0,
            faded: Vec::new(),
        };
        assert_eq!(
            outlook(&overview(480, [12, 20, 60]), "every day at 04:00"),
            "Of 480 memories, 12 would be archived on the next night (every day at 04:00). If none is used: 20 within 30 days, 60 within a year."
        );
        assert_eq!(outlook(&overview(0, [0; 3]), ""), "No memories yet.");
    }
}
