//! The forms of Account: the password, the time zone, and memory for all agents of a person.

use std::collections::BTreeMap;

use axum::response::Response;
use serde::Deserialize;
use tower_sessions::Session;

use super::show;
use crate::accounts::model::parse_time_zone;
use crate::accounts::{AccountError, Password};
use crate::forms::{Field, FormName, FormState, Outcome, Posted, done, page};
use crate::pages::login::post::{remember, unreachable};
use keepsake_edge::client::ClientAddress;

const PATH: &str = "/account";

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
