//! Admin › Users: what admins and the command line have changed lately.

use leptos::prelude::*;

use crate::accounts::admin_events::AdminEvent;
use crate::components::When;
use crate::jobs;

#[component]
pub fn Changes(events: Vec<AdminEvent>) -> impl IntoView {
    let rows = if events.is_empty() {
        view! { <p class="hint">"Changes to invitations, roles, providers, service tokens, jobs and users are listed here."</p> }
            .into_any()
    } else {
        let rows = events.into_iter().map(|event| view! { <Change event /> }).collect_view();
        view! { <ul class="changes">{rows}</ul> }.into_any()
    };
    view! {
        <section class="part" aria-labelledby="changes">
            <h2 id="changes">"Recent changes"</h2>
            {rows}
        </section>
    }
    .into_any()
}

#[component]
fn Change(event: AdminEvent) -> impl IntoView {
    let gone = || "a deleted account".to_owned();
    let (what, is_about) = match event.action.as_str() {
        "disable" => ("disabled", true),
        "enable" => ("enabled", true),
        "promote" => ("gave the admin role to", true),
        "demote" => ("removed the admin role from", true),
        "invite_admin" => ("invited an admin", false),
        "invite_member" => ("invited a member", false),
        "revoke_invitation" => ("revoked an invitation or a reset link", false),
        "make_reset_link" => ("created a password reset link for", true),
        "use_reset_link" => ("set a new password by a reset link", false),
        "set_password" => ("set the password of", true),
        "make_operator" => ("created the operator", true),
        "change_operator" => ("changed the limit of the operator", true),
        "make_service_token" => ("created a service token of", true),
        "revoke_service_token" => ("revoked a service token of", true),
        "set_provider" => ("set the embedding provider of the server", false),
        "remove_provider" => ("removed the embedding provider of the server", false),
        "set_chat" => ("set the chat model of the server", false),
        "remove_chat" => ("removed the chat model of the server", false),
        "builtin_on" => ("switched the builtin model on", false),
        "builtin_off" => ("switched the builtin model off", false),
        "builtin_multilingual" => ("chose the multilingual builtin model", false),
        "builtin_english" => ("kept the English builtin model", false),
        "late_on" => ("switched late interaction on", false),
        "late_off" => ("switched late interaction off", false),
        "allow_endpoint" => ("allowed an endpoint", false),
        "disallow_endpoint" => ("removed an allowed endpoint", false),
        "close_browser" => ("made the memory browser read-only", false),
        "open_browser" => ("made the memory browser editable again", false),
        "set_storage" => ("changed the storage limit of each user", false),
        "run_job" => ("ran the job", true),
        "pause_job" => ("paused the job", true),
        "resume_job" => ("resumed the job", true),
        "retry_job" if event.subject.is_some() => ("retried the failed runs of the job", true),
        "retry_job" => ("retried all failed runs", false),
        "schedule_job" => ("changed the schedule of the job", true),
        "unschedule_job" => ("set the default schedule of the job", true),
        "retry_vectors" => ("retried all failed embeddings", false),
        _ => ("accepted an invitation", false),
    };
    let subject = match event.action.ends_with("_job") {
        true => event.subject.map(title_of_job),
        false => event.subject,
    };
    let who = match event.by_command {
        true => "the command line".to_owned(),
        false => event.actor.unwrap_or_else(gone),
    };
    let whom = is_about.then(|| subject.unwrap_or_else(gone));
    view! {
        <li>
            <bdi>{who}</bdi>
            " "
            {what}
            {whom.map(|whom| view! { " " <bdi>{whom}</bdi> })}
            ", "
            <When at=event.at />
        </li>
    }
    .into_any()
}

/// A job that no longer exists is shown by its name.
fn title_of_job(name: String) -> String {
    jobs::find(&name).map_or(name, |job| job.title.to_owned())
}
