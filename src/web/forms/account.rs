//! The forms of Account: the password, the time zone, and memory for all agents of a person.

use axum::extract::State;
use axum::response::Response;
use serde::Deserialize;
use tower_sessions::Session;

use super::sign_in::remember;
use super::{Field, Outcome, Posted, done, respond};
use crate::accounts::Password;
use crate::accounts::model::parse_time_zone;
use crate::web::AppState;
use crate::web::auth::SignedIn;
use crate::web::client::ClientAddress;

const PATH: &str = "/account";
const PASSWORD_FORM: &str = "password";
const TIME_ZONE_FORM: &str = "time_zone";
const MEMORY_FORM: &str = "memory";

#[derive(Deserialize)]
pub struct PasswordForm {
    current_password: Field,
    new_password: Field,
}

pub async fn change_password(
    State(state): State<AppState>,
    ClientAddress(address): ClientAddress,
    signed_in: SignedIn,
    session: Session,
    Posted(fields, form): Posted<PasswordForm>,
) -> Response {
    let user = signed_in.0.id;
    let attempt = async {
        let form = form?;
        state
            .throttles
            .admit_sign_in(&signed_in.0.email, address)
            .await?;
        let new = Password::parse_new("new_password", &form.new_password)?;
        let current = Password::to_compare(&form.current_password);
        state.accounts.change_password(user, current, new).await?;
        // All web sessions were ended; this browser gets a new one.
        remember(&session, user).await?;
        Ok(done(
            PASSWORD_FORM,
            "Your password was changed, and every other browser was signed out.",
        ))
    };
    let outcome = attempt.await;
    respond(&state, signed_in, PATH, PASSWORD_FORM, &fields, outcome).await
}

#[derive(Deserialize)]
pub struct TimeZoneForm {
    time_zone: Field,
}

pub async fn set_time_zone(
    State(state): State<AppState>,
    signed_in: SignedIn,
    Posted(fields, form): Posted<TimeZoneForm>,
) -> Response {
    let user = signed_in.0.id;
    let mut now_in = signed_in.clone();
    let attempt = async {
        let zone = parse_time_zone(&form?.time_zone)?;
        state.accounts.set_time_zone(user, &zone).await?;
        let sentence = format!("Your time zone is {}.", zone.name());
        now_in.0.time_zone = zone;
        Ok(done(TIME_ZONE_FORM, sentence))
    };
    let outcome = attempt.await;
    respond(&state, now_in, PATH, TIME_ZONE_FORM, &fields, outcome).await
}

#[derive(Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum MemorySwitchForm {
    On,
    Off,
}

/// Changes what agents may do, never what is stored.
pub async fn switch_memory(
    State(state): State<AppState>,
    signed_in: SignedIn,
    Posted(fields, form): Posted<MemorySwitchForm>,
) -> Response {
    let attempt = async {
        let on = matches!(form?, MemorySwitchForm::On);
        let accounts = &state.accounts;
        accounts.switch_user_memory(signed_in.0.id, on).await?;
        Ok(Outcome::Redirect)
    };
    let outcome = attempt.await;
    respond(&state, signed_in, PATH, MEMORY_FORM, &fields, outcome).await
}
