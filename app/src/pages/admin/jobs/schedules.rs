//! The forms that set the schedules of jobs. They stand beside what the page renews by itself, so
//! that nothing that is being typed is lost.

use leptos::prelude::*;
use time::macros::format_description;

use super::PATH;
use crate::clock::Schedule;
use crate::components::{FieldError, SelectField};
use crate::forms::FormState;
use crate::jobs::JobState;

/// What the forms blame.
pub const FIELDS: &[&str] = &["at", "weekday"];
const WEEKDAYS: [&str; 7] =
    ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

pub fn schedules(jobs: &[JobState], form: &FormState) -> AnyView {
    let forms = jobs.iter().filter_map(|state| {
        let (default, schedule) = (state.job.schedule?, state.schedule()?);
        let form = match form.value("job") == state.job.name {
            true => form.clone(),
            false => FormState::default(),
        };
        Some(of_job(state, default, schedule, &form))
    });
    view! {
        <section class="part" aria-labelledby="schedules-title">
            <h2 id="schedules-title">"Schedules"</h2>
            <p class="lead">
                "When daily and weekly jobs run, in each user's local time. Users set their time zone on the page Account."
            </p>
            {forms.collect_view()}
        </section>
    }
    .into_any()
}

/// `default` is the job's own schedule, `schedule` the one in force.
fn of_job(state: &JobState, default: Schedule, schedule: Schedule, form: &FormState) -> AnyView {
    let (name, title) = (state.job.name, state.job.title);
    let id = format!("schedule-{name}");
    let typed = |field: &str, saved: String| match form.values.get(field) {
        Some(typed) if form.error.is_some() => typed.clone(),
        _ => saved,
    };
    let time_error = form.error_of("at");
    let time = format_description!("[hour]:[minute]");
    let at = typed("at", schedule.at.format(time).unwrap_or_default());
    let weekday = schedule.weekday.map(|day| {
        let values = [("weekday".to_owned(), typed("weekday", day.to_string()))].into();
        view! {
            <SelectField
                form=FormState { values, ..form.clone() }
                id=format!("{id}-weekday")
                name="weekday"
                label="Day of the week"
                choices=WEEKDAYS.map(|day| (day, day)).to_vec()
            />
        }
    });
    let default = state.set_schedule.map(|_| {
        view! {
            <button class="quiet long" type="submit" name="action" value="unschedule" formnovalidate>
                {format!("Reset to the default: {default}")}
            </button>
        }
    });
    let error_id = format!("{id}-error");
    let is_wrong = time_error.is_some();
    view! {
        <form method="post" action=PATH class="stack" id=id.clone()>
            <h3>{title}</h3>
            <p>{format!("Runs {}.", state.when())}</p>
            <input type="hidden" name="job" value=name />
            {weekday}
            <div class="field">
                <label for=format!("{id}-at")>
                    "Time of day" <span class="visually-hidden">" of " {title}</span>
                </label>
                <input
                    id=format!("{id}-at")
                    type="time"
                    name="at"
                    value=at
                    required=true
                    autofocus=is_wrong
                    aria-invalid=is_wrong.then_some("true")
                    aria-describedby=is_wrong.then(|| error_id.clone())
                />
                <FieldError id=error_id error=time_error />
            </div>
            <div class="actions">
                <button class="primary" type="submit" name="action" value="schedule">
                    "Save schedule"
                    <span class="visually-hidden">" of " {title}</span>
                </button>
                {default}
            </div>
        </form>
    }
    .into_any()
}
