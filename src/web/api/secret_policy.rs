//! `GET` and `PUT /api/v1/settings/secrets`: what happens to secrets in texts of an operator's user, who has no page to
//! choose it. An agent's own token reads it and never sets it: it must not loosen what its person chose.

use axum::Json;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{caller, check_access, read_json};
use crate::accounts::{ActingFor, AgentAccess, Scope, TokenOwner};
use crate::redaction::SecretPolicy;
use crate::web::AppState;
use crate::web::error::Problem;

const BODY_BYTES_MAX: usize = 1_024;

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SecretChoice {
    /// warn: a secret is stored, and the response contains a warning; mask: a secret is replaced by its kind; refuse: the call
    /// fails, except for sessions, where secrets are masked because the text cannot be changed.
    #[schemars(extend("enum" = SecretPolicy::ALL.map(SecretPolicy::as_str)))]
    policy: String,
}

impl SecretChoice {
    fn of(policy: SecretPolicy) -> Json<Self> {
        Json(Self { policy: policy.as_str().to_owned() })
    }
}

/// A user that does not exist yet has the default.
pub async fn show(
    access: AgentAccess,
    State(state): State<AppState>,
) -> Result<Json<SecretChoice>, Problem> {
    check_access(&access, Scope::MemoryRead)?;
    let policy = match &access.acting_for {
        ActingFor::User(viewer) => {
            let redactor = state.embeddings.redactor();
            redactor.policy(viewer.user_id).await?
        }
        ActingFor::NewUser(_) => SecretPolicy::default(),
    };
    Ok(SecretChoice::of(policy))
}

/// For service tokens. Creates the user if need be, so that its first text is treated as chosen.
pub async fn save(
    access: AgentAccess,
    State(state): State<AppState>,
    request: Request,
) -> Result<Json<SecretChoice>, Problem> {
    check_access(&access, Scope::MemoryWrite)?;
    let sent: SecretChoice = read_json(request, BODY_BYTES_MAX, b"").await?;
    let policy = SecretPolicy::parse(&sent.policy)?;
    if !matches!(access.token_owner, TokenOwner::Operator(_)) {
        let sentence = "Only an operator's service token sets this, for a user of its own; a person chooses on the page Settings › Secrets.";
        return Err(Problem::new(StatusCode::FORBIDDEN, "operators_only", sentence));
    }
    let user = caller(access, &state).await?.user_id;
    state.embeddings.redactor().save(user, policy).await?;
    Ok(SecretChoice::of(policy))
}
