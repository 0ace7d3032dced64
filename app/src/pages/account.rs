//! The account of the person who is signed in: who they are here, their time zone, whether their
//! agents may use memory, and a new password. Changing that ends every other session, and the page says so.

use std::collections::BTreeMap;

use axum::response::Response;
use keepsake_edge::client::ClientAddress;
use leptos::prelude::*;
use serde::Deserialize;
use tower_sessions::Session;

use super::login::{remember, unreachable};
use crate::accounts::model::parse_time_zone;
use crate::accounts::{AccountError, Password, Role, User};
use crate::clock::Zone;
use crate::components::{self, Done, FormError, MemorySwitch, Section};
use crate::forms::{Field, FormName, FormState, Outcome, Posted, done, page};
use crate::islands::ZoneSuggestion;
use crate::page::Page;

const PATH: &str = "/account";

pub async fn show(page: Page) -> Response {
    let (form, user) = (page.form.clone(), page.signed_in.0.clone());
    page.render(Section::Account, "Account", PATH, Ok(user), move |user| {
        view! { <AccountPage user posted=form.clone() /> }.into_any()
    })
    .await
}

#[derive(Deserialize)]
pub struct PasswordForm {
    current_password: Field,
    new_password: Field,
}

pub async fn change_password(
    ClientAddress(address): ClientAddress,
    session: Session,
    Posted(posted, form): Posted<PasswordForm>,
) -> Response {
    let (accounts, throttles) = (&posted.state.accounts, &posted.state.throttles);
    let attempt = async {
        let (user, form) = (posted.user(), form?);
        let email = &posted.signed_in.0.email;
        throttles.admit_sign_in(email, address).await?;
        let new = Password::parse_new("new_password", &form.new_password)?;
        let current = Password::to_compare(&form.current_password);
        let verified = accounts.change_password(user, current, new).await?;
        // All web sessions were ended; this browser gets a new one, unless the account was closed to it meanwhile.
        remember(&posted.state, &session, user).await?;
        if !accounts.finish_sign_in(&verified).await? {
            session.flush().await.map_err(unreachable)?;
            return Err(AccountError::WrongPassword.into());
        }
        let sentence = "Your password was changed, and every other browser was signed out.";
        let agents = accounts.list_agents(user).await?;
        let now = posted.state.clock.now();
        let open = agents.iter().filter_map(|(agent, tokens)| {
            let open = tokens.iter().filter(|token| token.is_valid(now)).count();
            (open > 0).then(|| agent.name.clone())
        });
        let open: Vec<String> = open.collect();
        let values = BTreeMap::from([("open".to_owned(), open.join(", "))]);
        let done = Some(sentence.to_owned());
        Ok(Outcome::from(FormState { done, values, ..page(FormName::Password) }))
    };
    posted.respond(show, PATH, FormName::Password, attempt.await).await
}

#[derive(Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum TokensForm {
    EndAll,
}

/// Revokes the tokens of all agents, those of programs that are connected by OAuth too.
pub async fn end_tokens(Posted(posted, form): Posted<TokensForm>) -> Response {
    let attempt = async {
        let TokensForm::EndAll = form?;
        let revoked = posted.state.accounts.revoke_all_tokens(posted.user()).await?;
        let sentence = match revoked {
            0 => "There was no token left to end.".to_owned(),
            1 => "1 token has ended. Its program needs a new one.".to_owned(),
            n => format!("{n} tokens have ended. Their programs need new ones."),
        };
        Ok(done(FormName::Password, sentence))
    };
    posted.respond(show, PATH, FormName::Password, attempt.await).await
}

#[derive(Deserialize)]
pub struct TimeZoneForm {
    time_zone: Field,
}

pub async fn set_time_zone(Posted(mut posted, form): Posted<TimeZoneForm>) -> Response {
    let attempt = async {
        let zone = parse_time_zone(&form?.time_zone)?;
        let accounts = &posted.state.accounts;
        accounts.set_time_zone(posted.user(), &zone).await?;
        let sentence = format!("Your time zone is {}.", zone.name());
        posted.signed_in.0.time_zone = zone;
        Ok(done(FormName::TimeZone, sentence))
    };
    let outcome = attempt.await;
    posted.respond(show, PATH, FormName::TimeZone, outcome).await
}

#[derive(Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum MemorySwitchForm {
    On,
    Off,
}

/// Changes what agents may do, never what is stored.
pub async fn switch_memory(Posted(posted, form): Posted<MemorySwitchForm>) -> Response {
    let attempt = async {
        let on = matches!(form?, MemorySwitchForm::On);
        let accounts = &posted.state.accounts;
        accounts.switch_user_memory(posted.user(), on).await?;
        Ok(Outcome::Redirect)
    };
    posted.respond(show, PATH, FormName::Memory, attempt.await).await
}

#[component]
fn AccountPage(user: User, posted: FormState) -> impl IntoView {
    let (form, switch_form) = (posted.of(FormName::Password), posted.of(FormName::Memory));
    let zone_form = posted.of(FormName::TimeZone);
    view! {
            <div class="column page">
                <h1>"Account"</h1>
                <dl class="facts">
                    <div>
                        <dt>"Signed in as"</dt>
                        <dd>
                            <bdi>{user.email}</bdi>
                        </dd>
                    </div>
                    <div>
                        <dt>"Role"</dt>
                        <dd>{if user.role == Role::Admin { "admin" } else { "member" }}</dd>
                    </div>
                </dl>
                <section class="part" aria-labelledby="memory-title">
                    <h2 id="memory-title">"Memory"</h2>
                    <p class="lead">
                        "While memory is off, your agents can neither read nor add memories. Existing memories stay, and you still see them here."
                    </p>
                    <FormError form=switch_form fields=&[] />
                    <MemorySwitch
                        path="/account/memory".to_owned()
                        is_on=user.memory_enabled
                        of="all of your agents".to_owned()
                    />
                </section>
                <TimeZone form=zone_form zone=user.time_zone.name().to_owned() />
                <section class="part" aria-labelledby="password-title">
                    <h2 id="password-title">"Change your password"</h2>
                    <p class="lead">
                        "This signs out every other browser. Your agents' tokens keep working."
                    </p>
                    <Done form=form.clone() />
                    <OpenDoors form=form.clone() />
                    <form class="stack" method="post" action="/account/password">
                        <FormError form=form.clone() fields=&["current_password", "new_password"] />
                        <components::Password form=form.clone() name="current_password" label="Current password" />
                        <components::Password form name="new_password" label="New password" new=true />
                        <div>
                            <button class="primary" type="submit">
                                "Change password"
                            </button>
                        </div>
                    </form>
                </section>
            </div>
    }
    .into_any()
}

/// After a new password: what can still read the memory, and how to end it.
#[component]
fn OpenDoors(form: FormState) -> impl IntoView {
    let open = form.value("open");
    (form.done.is_some() && !open.is_empty()).then(|| {
        view! {
            <p>
                "These agents still have access: " <bdi>{open}</bdi>
                ". End it if somebody else may know your tokens, or one by one on " <a href="/agents">"Agents & tokens"</a> "."
            </p>
            <form class="actions" method="post" action="/account/tokens">
                <button class="danger" type="submit" name="action" value="end_all">
                    "End all"
                </button>
            </form>
        }
    })
}

#[component]
fn TimeZone(form: FormState, zone: String) -> impl IntoView {
    let names = Zone::names().into_iter();
    let options = names.map(|name| view! { <option value=name></option> });
    let done = form.clone();
    view! {
        <section class="part" aria-labelledby="time-zone-title">
            <h2 id="time-zone-title">"Time zone"</h2>
            <p class="lead">
                "Scheduled work, such as completing your sessions at night, follows this time zone. Times on these pages are in UTC."
            </p>
            <Done form=done />
            <form class="stack" method="post" action="/account/time-zone">
                <FormError form=form.clone() fields=&["time_zone"] />
                <components::Field
                    form=form.or_saved(vec![("time_zone", zone)])
                    name="time_zone"
                    label="Time zone"
                    hint="A name such as Europe/Vienna, or UTC."
                    autocomplete="off"
                    maxlength="64"
                    list="time-zones"
                />
                <datalist id="time-zones">{options.collect_view()}</datalist>
                <div>
                    <button class="primary" type="submit">
                        "Save time zone"
                    </button>
                </div>
            </form>
            <ZoneSuggestion />
        </section>
    }
    .into_any()
}
