//! Admin › Users: who signs in here and may do what, invitations, and what was
//! changed lately. Every step that shuts somebody out says what it does before
//! it does it. Nothing here tells anything of anybody's memory but how many bytes
//! it takes.

pub mod load;
pub mod post;

use axum::response::Response;
use leptos::prelude::*;

use crate::components::{
    Done, Field, FieldError, FormError, NoSuchPage, Paste, Section, StateBadge, When, count,
};
use crate::forms::{FormName, FormState};
use crate::page::Page;
use crate::view::{
    AdminEventRow, InvitationRow, InvitationState, OperatedUserRow, PersonRow, UsersFilters,
    UsersPage,
};

use super::storage::Largest;

const PATH: &str = "/admin/users";

pub async fn show(page: Page) -> Response {
    let filters = UsersFilters::from_query(page.query());
    let form = page.form.clone();
    let found = page.users_page(&filters).await;
    page.render(Section::Users, "Users · Admin", PATH, found, move |page| match page {
        Some(page) => view! { <Whole page filters=filters.clone() form=form.clone() /> }.into_any(),
        None => view! { <NoSuchPage /> }.into_any(),
    })
    .await
}

#[component]
fn Whole(page: UsersPage, filters: UsersFilters, form: FormState) -> impl IntoView {
    let people_form = form.of(FormName::People);
    let operated = page
        .operated
        .map(|found| view! { <Operated found external_id=filters.external_id.clone() /> });
    view! {
        <div class="page">
            <h1>"Users"</h1>
            <p class="lead">"People who sign in here. Their memories are private and are not shown; how much they store is."</p>
            <Done form=people_form.clone() />
            <FormError form=people_form fields=&[] />
            <NewResetLink form=form.of(FormName::ResetLink) />
            {operated}
            <div class="with-side parts">
                <div class="parts">
                    <People
                        people=page.people
                        total=page.total
                        next_before=page.next_before
                        filters
                    />
                </div>
                <div class="parts">
                    <Largest storage=page.storage />
                    <Invitations invitations=page.invitations form=form.of(FormName::Invitation) />
                    <Changes events=page.events />
                </div>
            </div>
        </div>
    }
    .into_any()
}

#[component]
fn NewResetLink(form: FormState) -> impl IntoView {
    let email = form.value("email");
    form.new_link.map(|link| {
        view! {
            <section class="part fresh" aria-labelledby="reset-title" tabindex="-1" autofocus>
                <h2 id="reset-title">"A password reset link for " <bdi>{email}</bdi></h2>
                <p>
                    <strong>"Copy it now, and send it to this user only."</strong>
                    " It is shown only once; only a hash of it is stored. It sets a new password once, within 24 hours."
                </p>
                <Paste caption="Link" text=link />
            </section>
        }
        .into_any()
    })
}

#[component]
fn People(
    people: Vec<PersonRow>,
    total: i64,
    next_before: Option<i64>,
    filters: UsersFilters,
) -> impl IntoView {
    let is_filtered = !filters.q.trim().is_empty();
    let heading = match (total, is_filtered) {
        (0, _) => "No users".to_owned(),
        (1, _) => "1 user".to_owned(),
        (n, _) => format!("{} users", count(n)),
    };
    let more = next_before.map(|before| {
        view! {
            <p>
                <a class="button" href=filters.href_after(Some(before))>
                    "Show the next"
                </a>
            </p>
        }
    });
    let first = filters.before.map(|_| {
        view! {
            <p>
                <a href=filters.href_after(None)>"Back to the newest"</a>
            </p>
        }
    });
    let nobody = (total == 0).then(|| {
        view! {
            <p class="hint">"No address contains this text. " <a href=PATH>"Show all users"</a></p>
        }
    });
    view! {
        <section class="part" aria-labelledby="people">
            <h2 id="people">{heading}</h2>
            <form class="search" method="get" action=PATH role="search">
                <label class="visually-hidden" for="users-q">
                    "Part of an address"
                </label>
                <input
                    id="users-q"
                    type="search"
                    name="q"
                    value=filters.q.clone()
                    placeholder="Part of an address"
                    autocomplete="off"
                    maxlength="254"
                    dir="auto"
                />
                <button type="submit">"Find"</button>
            </form>
            {nobody}
            {first}
            <ul class="tokens">
                {people.into_iter().map(|person| view! { <Person person /> }).collect_view()}
            </ul>
            {more}
        </section>
    }
    .into_any()
}

#[component]
fn Person(person: PersonRow) -> impl IntoView {
    let email = person.email.clone();
    let signed_in = match person.last_sign_in {
        Some(moment) => view! { "signed in " <When at=moment /> }.into_any(),
        None => "never signed in".into_any(),
    };
    let steps = match person.is_oneself {
        true => view! { <span class="hint">"This is you."</span> }.into_any(),
        false => steps_of(person.id, &email, person.is_admin, person.is_disabled, true),
    };
    view! {
        <li class="token" data-over=person.is_disabled.then_some("")>
            <div class="token-name">
                <bdi>{person.email}</bdi>
                {person.is_admin.then(|| view! { <StateBadge state="admin" /> })}
                {person.is_disabled.then(|| view! { <StateBadge state="disabled" /> })}
            </div>
            <p class="token-facts">
                <span>"created " <When at=person.created /></span>
                <span>{signed_in}</span>
                {person.stored.map(|size| view! { <span>"stores " {size}</span> })}
            </p>
            {steps}
        </li>
    }
    .into_any()
}

/// What can be done to an account, each with what it will do said before.
fn steps_of(id: i64, name: &str, is_admin: bool, is_disabled: bool, signs_in: bool) -> AnyView {
    let shut_out = match (is_disabled, signs_in) {
        (true, _) => Step {
            action: "enable",
            label: "Enable",
            sentence: "They can sign in again, and tokens that were not revoked work again.",
            is_danger: false,
        },
        (false, true) => Step {
            action: "disable",
            label: "Disable",
            sentence: "This signs out every browser, and stops their agents' tokens, new embeddings and their open invitations, at once. Nothing is deleted.",
            is_danger: true,
        },
        (false, false) => Step {
            action: "disable",
            label: "Disable",
            sentence: "Service tokens can no longer act for this user, and new embeddings stop, at once. Nothing is deleted.",
            is_danger: true,
        },
    };
    let role = match is_admin {
        true => Step {
            action: "demote",
            label: "Make a member",
            sentence: "They lose access to the admin pages, and their open invitations expire. Their memory and agents stay unchanged.",
            is_danger: true,
        },
        false => Step {
            action: "promote",
            label: "Make an admin",
            sentence: "They can manage providers, operators and users, as you can. They cannot see other users' memories.",
            is_danger: false,
        },
    };
    let role = (signs_in && !is_disabled).then(|| role.view(id, name));
    let reset = signs_in.then(|| reset_step(id, name));
    view! {
        <div class="user-steps">
            {shut_out.view(id, name)} {role} {reset}
        </div>
    }
    .into_any()
}

/// For somebody who forgot their password.
fn reset_step(id: i64, name: &str) -> AnyView {
    let name = name.to_owned();
    view! {
        <details class="confirm calm">
            <summary>
                "Reset link" <span class="visually-hidden">": " <bdi>{name}</bdi></span>
            </summary>
            <div>
                <p>
                    "Creates a link that sets a new password once, within 24 hours, and then signs out all their browsers. Their older reset links stop working. A disabled user stays disabled."
                </p>
                <form method="post" action=format!("{PATH}/{id}/reset")>
                    <button type="submit">"Create reset link"</button>
                </form>
            </div>
        </details>
    }
    .into_any()
}

struct Step {
    action: &'static str,
    label: &'static str,
    sentence: &'static str,
    is_danger: bool,
}

impl Step {
    fn view(self, id: i64, name: &str) -> AnyView {
        let class = if self.is_danger { "confirm" } else { "confirm calm" };
        let button = self.is_danger.then_some("danger");
        let name = name.to_owned();
        view! {
            <details class=class>
                <summary>
                    {self.label} <span class="visually-hidden">": " <bdi>{name}</bdi></span>
                </summary>
                <div>
                    <p>{self.sentence}</p>
                    <form method="post" action=format!("{PATH}/{id}")>
                        <button class=button type="submit" name="action" value=self.action>
                            {self.label}
                        </button>
                    </form>
                </div>
            </details>
        }
        .into_any()
    }
}

/// A user of an operator, who was looked for by the operator's own id.
#[component]
fn Operated(found: Option<OperatedUserRow>, external_id: String) -> impl IntoView {
    let body = match found {
        None => view! {
            <p>"This operator has no user that it calls " <bdi>{external_id}</bdi> "."</p>
        }
        .into_any(),
        Some(user) => {
            let steps = steps_of(user.id, &user.external_id, false, user.is_disabled, false);
            view! {
                <div class="token-name">
                    <bdi>{user.external_id}</bdi>
                    {user.is_disabled.then(|| view! { <StateBadge state="disabled" /> })}
                </div>
                <p class="token-facts">
                    <span>"a user of " <bdi>{user.operator}</bdi></span>
                </p>
                {steps}
            }
            .into_any()
        }
    };
    view! {
        <section class="part fresh" aria-labelledby="operated">
            <h2 id="operated">"An operator's user"</h2>
            {body}
        </section>
    }
    .into_any()
}

#[component]
fn Invitations(invitations: Vec<InvitationRow>, form: FormState) -> impl IntoView {
    let fresh = form.new_link.clone().map(|link| {
        view! {
            <section class="fresh" aria-labelledby="fresh-title" tabindex="-1" autofocus>
                <h3 id="fresh-title">"Invitation"</h3>
                <p>
                    <strong>"Copy it now, and send it yourself."</strong>
                    " It is shown only once; only a hash of it is stored. It creates one account, within 7 days."
                </p>
                <Paste caption="Link" text=link />
            </section>
        }
    });
    let role = form.value("role");
    let role_error = form.error_of("role");
    let role_described_by = role_error.is_some().then_some("invitation-role-error");
    let roles = [("member", "a member's"), ("admin", "an admin's")].map(|(value, words)| {
        view! {
            <option value=value selected=role == value>
                {words}
            </option>
        }
    });
    let rows =
        invitations.into_iter().map(|invitation| view! { <Invited invitation /> }).collect_view();
    view! {
        <section class="part" aria-labelledby="invitations">
            <h2 id="invitations">"Invitations and reset links"</h2>
            <p>"An invitation is a link that creates one account, even while sign-up is closed."</p>
            {fresh}
            <form class="stack" method="post" action="/admin/invitations">
                <FormError form=form.clone() fields=&["email", "role"] />
                <Field
                    form
                    name="email"
                    label="E-mail address (optional)"
                    hint="Leave blank to let the invited person choose."
                    kind="email"
                    autocomplete="off"
                    maxlength="254"
                    optional=true
                />
                <div class="field">
                    <label for="invitation-role">"Role"</label>
                    <select id="invitation-role" name="role" aria-describedby=role_described_by>
                        {roles.into_iter().collect_view()}
                    </select>
                    <FieldError id="invitation-role-error".to_owned() error=role_error />
                </div>
                <div>
                    <button type="submit">"Create invitation"</button>
                </div>
            </form>
            <ul class="tokens">{rows}</ul>
        </section>
    }
    .into_any()
}

#[component]
fn Invited(invitation: InvitationRow) -> impl IntoView {
    let state = match invitation.state {
        InvitationState::Open => "open",
        InvitationState::Used => "used",
        InvitationState::Expired => "expired",
        InvitationState::Revoked => "revoked",
    };
    let is_open = invitation.state == InvitationState::Open;
    // Where it was bound, the address stands there already.
    let used_by =
        invitation.used_by.filter(|_| invitation.email.is_none() && invitation.resets.is_none());
    let is_reset = invitation.resets.is_some();
    let name = match (invitation.resets, invitation.email) {
        (Some(email), _) => view! { "A new password for " <bdi>{email}</bdi> }.into_any(),
        (None, Some(email)) => view! { <bdi>{email}</bdi> }.into_any(),
        (None, None) => "Anyone with the link".into_any(),
    };
    let by = invitation.invited_by.map(|admin| view! { <span>"by " <bdi>{admin}</bdi></span> });
    let used_by = used_by.map(|user| view! { <span>"created " <bdi>{user}</bdi></span> });
    let ends = match invitation.state {
        InvitationState::Open => {
            Some(view! { <span>"expires " <When at=invitation.expires /></span> })
        }
        _ => None,
    };
    let (what_ends, button) = match is_reset {
        true => ("The link stops working. You can create another at any time.", "Revoke this link"),
        false => (
            "The link stops working. You can create another at any time.",
            "Revoke this invitation",
        ),
    };
    let revoke = is_open.then(|| {
        view! {
            <details class="confirm">
                <summary>"Revoke"</summary>
                <div>
                    <p>{what_ends}</p>
                    <form
                        method="post"
                        action=format!("/admin/invitations/{}/revoke", invitation.id)
                    >
                        <button class="danger" type="submit">
                            {button}
                        </button>
                    </form>
                </div>
            </details>
        }
    });
    view! {
        <li class="token" data-over=(!is_open).then_some("")>
            <div class="token-name">
                {name} <StateBadge state />
                {invitation.is_admin.then(|| view! { <StateBadge state="admin" /> })}
            </div>
            <p class="token-facts">
                <span>"created " <When at=invitation.created /></span>
                {by}
                {used_by}
                {ends}
            </p>
            {revoke}
        </li>
    }
    .into_any()
}

#[component]
fn Changes(events: Vec<AdminEventRow>) -> impl IntoView {
    let rows = if events.is_empty() {
        view! { <p class="hint">"Changes to invitations, roles, providers, service tokens, jobs and users are listed here."</p> }
            .into_any()
    } else {
        let rows = events
            .into_iter()
            .map(|event| {
                view! {
                    <li>
                        <bdi>{event.who}</bdi>
                        " "
                        {event.what}
                        {event.whom.map(|whom| view! { " " <bdi>{whom}</bdi> })}
                        ", "
                        <When at=event.at />
                    </li>
                }
            })
            .collect_view();
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
