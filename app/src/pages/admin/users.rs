//! Admin › Users: who signs in here and may do what, invitations, and what was
//! changed lately. Every step that shuts somebody out says what it does before
//! it does it. Nothing here tells anything of anybody's memory but how many bytes
//! it takes.

mod changes;
pub mod invitations;

use std::collections::BTreeMap;

use axum::extract::{Path, State};
use axum::response::Response;
use keepsake_edge::AppState;
use leptos::prelude::*;

use super::storage::{Largest, stored};
use crate::accounts::admin_events::{AdminAction, AdminActor, AdminEvent};
use crate::accounts::invitations::Invitation;
use crate::accounts::operators::OperatedUser;
use crate::accounts::people::{People, Person};
use crate::accounts::{AccountError, ExternalId, OperatorId, Role, UserId};
use crate::address::UsersFilters;
use crate::components::{Done, FormError, NoSuchPage, Paste, Section, StateBadge, When, count};
use crate::forms::{
    ActionForm, Admin, Form, FormName, FormState, Outcome, Posted, done, page, parse_id, respond,
    unknown_action,
};
use crate::page::{Page, account_error, asked};
use crate::quota::StorageOverview;
use changes::Changes;
use invitations::Invitations;

const PATH: &str = "/admin/users";
/// No e-mail address is longer.
const ADDRESS_CHARS_MAX: usize = 254;

#[derive(Clone)]
struct UsersPage {
    people: People,
    /// Bytes by user; not of those who were not counted yet.
    stored: BTreeMap<i64, i64>,
    storage: StorageOverview,
    /// Of those who store most, by user.
    names: BTreeMap<i64, String>,
    invitations: Vec<Invitation>,
    /// What came of looking for a user of an operator; `None` when none was looked for.
    operated: Option<Option<OperatedUser>>,
    events: Vec<AdminEvent>,
}

pub async fn show(page: Page) -> Response {
    let filters = UsersFilters::from_query(page.query());
    let form = page.form.clone();
    let found = match page.is_admin() {
        true => load(&page, &filters).await.map(Some).map_err(account_error),
        false => Ok(None),
    };
    page.render(Section::Users, "Users · Admin", PATH, found, move |page| match page {
        Some(page) => view! { <Users page filters=filters.clone() form=form.clone() /> }.into_any(),
        None => view! { <NoSuchPage /> }.into_any(),
    })
    .await
}

async fn load(page: &Page, filters: &UsersFilters) -> Result<UsersPage, AccountError> {
    let (accounts, quota) = (&page.state.accounts, page.state.embeddings.quota());
    // PostgreSQL rejects NUL.
    let is_address = filters.q.chars().count() <= ADDRESS_CHARS_MAX && !filters.q.contains('\0');
    let words = if is_address { filters.q.as_str() } else { "\u{fffd}" };
    let people = accounts.list_people(words, filters.before.map(UserId)).await?;
    let ids: Vec<i64> = people.rows.iter().map(|person| person.id.0).collect();
    let stored = quota.bytes_of(&ids).await?;
    let storage = quota.overview().await?;
    let largest: Vec<i64> = storage.largest.iter().map(|(user, _)| user.0).collect();
    Ok(UsersPage {
        people,
        stored,
        storage,
        names: accounts.list_names(&largest).await?.into_iter().collect(),
        invitations: accounts.list_invitations().await?,
        operated: operated(page, filters).await?,
        events: accounts.list_admin_events().await?,
    })
}

async fn operated(
    page: &Page,
    filters: &UsersFilters,
) -> Result<Option<Option<OperatedUser>>, AccountError> {
    let Some(operator) = filters.operator else {
        return Ok(None);
    };
    // An invalid external id belongs to nobody.
    let Ok(external) = ExternalId::parse(filters.external_id.as_bytes()) else {
        return Ok(Some(None));
    };
    let accounts = &page.state.accounts;
    Ok(Some(accounts.find_operated_user(OperatorId(operator), &external).await?))
}

/// Like an invitation: the only response that ever contains the link.
pub async fn make_reset_link(
    State(state): State<AppState>,
    Admin(signed_in): Admin,
    Path(user): Path<String>,
) -> Response {
    let attempt = async {
        let user = UserId(parse_id(&user)?);
        let admin = signed_in.0.id;
        let (name, token) = state.accounts.make_reset_link(admin, user).await?;
        let (server, token) = (state.public_url.as_str(), token.reveal());
        Ok(Outcome::from(FormState {
            new_link: Some(format!("{server}/reset/{token}")),
            values: [("email".to_owned(), name)].into(),
            ..page(FormName::ResetLink)
        }))
    };
    let (outcome, fields) = (attempt.await, Form::default());
    respond(show, &state, signed_in, PATH, FormName::People, &fields, outcome).await
}

pub async fn change(_: Admin, Posted(posted, form): Posted<ActionForm>) -> Response {
    let state = &posted.state;
    let attempt = async {
        let user = UserId(posted.id()?);
        let action = AdminAction::parse(&form?.action).ok_or_else(unknown_action)?;
        let by = AdminActor::Admin(posted.user());
        let name = state.accounts.change_person(by, user, action).await?;
        state.search.reader().forget(user);
        Ok(done(FormName::People, format!("{name} {}", outcome_of(action))))
    };
    posted.respond(show, PATH, FormName::People, attempt.await).await
}

fn outcome_of(action: AdminAction) -> &'static str {
    match action {
        AdminAction::Disable => {
            "was disabled: every browser is signed out, and their tokens no longer work."
        }
        AdminAction::Enable => {
            "was enabled: they can sign in, and their agents' tokens work again."
        }
        AdminAction::Promote => "is now an admin.",
        _ => "is no longer an admin.",
    }
}

#[component]
fn Users(page: UsersPage, filters: UsersFilters, form: FormState) -> impl IntoView {
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
                    <PeopleList people=page.people stored=page.stored filters />
                </div>
                <div class="parts">
                    <Largest storage=page.storage names=page.names />
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
fn PeopleList(people: People, stored: BTreeMap<i64, i64>, filters: UsersFilters) -> impl IntoView {
    let heading = match people.total {
        0 => "No users".to_owned(),
        1 => "1 user".to_owned(),
        n => format!("{} users", count(n)),
    };
    let more = people.next_before.map(|UserId(before)| {
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
    let nobody = (people.total == 0).then(|| {
        view! {
            <p class="hint">"No address contains this text. " <a href=PATH>"Show all users"</a></p>
        }
    });
    let rows = people.rows.into_iter().map(|person| {
        let bytes = stored.get(&person.id.0).copied();
        view! { <PersonEntry person bytes /> }
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
                {rows.collect_view()}
            </ul>
            {more}
        </section>
    }
    .into_any()
}

#[component]
fn PersonEntry(
    person: Person,
    /// That they store; `None`: not counted yet.
    bytes: Option<i64>,
) -> impl IntoView {
    let is_oneself = asked().account().is_some_and(|admin| admin.id == person.id);
    let is_admin = person.role == Role::Admin;
    let signed_in = match person.last_sign_in_at {
        Some(moment) => view! { "signed in " <When at=moment /> }.into_any(),
        None => "never signed in".into_any(),
    };
    let steps = match is_oneself {
        true => view! { <span class="hint">"This is you."</span> }.into_any(),
        false => steps_of(person.id, &person.email, is_admin, person.disabled, true),
    };
    view! {
        <li class="token" data-over=person.disabled.then_some("")>
            <div class="token-name">
                <bdi>{person.email}</bdi>
                {is_admin.then(|| view! { <StateBadge state="admin" /> })}
                {person.disabled.then(|| view! { <StateBadge state="disabled" /> })}
            </div>
            <p class="token-facts">
                <span>"created " <When at=person.created_at /></span>
                <span>{signed_in}</span>
                {bytes.map(|bytes| view! { <span>"stores " {stored(bytes)}</span> })}
            </p>
            {steps}
        </li>
    }
    .into_any()
}

/// What can be done to an account, each with what it will do said before.
fn steps_of(
    UserId(id): UserId,
    name: &str,
    is_admin: bool,
    is_disabled: bool,
    signs_in: bool,
) -> AnyView {
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
fn Operated(found: Option<OperatedUser>, external_id: String) -> impl IntoView {
    let body = match found {
        None => view! {
            <p>"This operator has no user that it calls " <bdi>{external_id}</bdi> "."</p>
        }
        .into_any(),
        Some(user) => {
            let steps = steps_of(user.id, &user.external_id, false, user.disabled, false);
            view! {
                <div class="token-name">
                    <bdi>{user.external_id}</bdi>
                    {user.disabled.then(|| view! { <StateBadge state="disabled" /> })}
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
