//! Admin › Users: what admins and the command line have changed lately.

use leptos::prelude::*;

use crate::accounts::admin_events::{AdminAction as A, AdminEvent};
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
    let (what, is_about) = match event.action {
        A::Disable => ("disabled", true),
        A::Enable => ("enabled", true),
        A::Promote => ("gave the admin role to", true),
        A::Demote => ("removed the admin role from", true),
        A::InviteAdmin => ("invited an admin", false),
        A::InviteMember => ("invited a member", false),
        A::RevokeInvitation => ("revoked an invitation or a reset link", false),
        A::MakeResetLink => ("created a password reset link for", true),
        A::UseResetLink => ("set a new password by a reset link", false),
        A::SetPassword => ("set the password of", true),
        A::MakeOperator => ("created the operator", true),
        A::ChangeOperator => ("changed the limit of the operator", true),
        A::MakeServiceToken => ("created a service token of", true),
        A::RevokeServiceToken => ("revoked a service token of", true),
        A::SetProvider => ("set the embedding provider of the server", false),
        A::RemoveProvider => ("removed the embedding provider of the server", false),
        A::SetChat => ("set the chat model of the server", false),
        A::RemoveChat => ("removed the chat model of the server", false),
        A::BuiltinOn => ("switched the builtin model on", false),
        A::BuiltinOff => ("switched the builtin model off", false),
        A::BuiltinMultilingual => ("chose the multilingual builtin model", false),
        A::BuiltinEnglish => ("kept the English builtin model", false),
        A::LateOn => ("switched late interaction on", false),
        A::LateOff => ("switched late interaction off", false),
        A::AllowEndpoint => ("allowed an endpoint", false),
        A::DisallowEndpoint => ("removed an allowed endpoint", false),
        A::CloseBrowser => ("made the memory browser read-only", false),
        A::OpenBrowser => ("made the memory browser editable again", false),
        A::SetStorage => ("changed the storage limit of each user", false),
        A::RunJob => ("ran the job", true),
        A::PauseJob => ("paused the job", true),
        A::ResumeJob => ("resumed the job", true),
        A::RetryJob if event.subject.is_some() => ("retried the failed runs of the job", true),
        A::RetryJob => ("retried all failed runs", false),
        A::ScheduleJob => ("changed the schedule of the job", true),
        A::UnscheduleJob => ("set the default schedule of the job", true),
        A::RetryVectors => ("retried all failed embeddings", false),
        A::AcceptInvitation => ("accepted an invitation", false),
    };
    let subject = match event.action.as_str().ends_with("_job") {
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
