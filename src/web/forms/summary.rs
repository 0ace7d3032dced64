//! The form of the page Summary: requests a new summary.

use axum::extract::State;
use axum::response::Response;
use serde::Deserialize;

use super::{Outcome, Posted, respond};
use crate::consolidation::Consolidation;
use crate::tools::ToolError;
use crate::web::AppState;
use crate::web::auth::SignedIn;

const PATH: &str = "/summary";

#[derive(Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum SummaryForm {
    Write,
}

pub async fn write_now(
    State(state): State<AppState>,
    signed_in: SignedIn,
    Posted(fields, form): Posted<SummaryForm>,
) -> Response {
    let attempt = async {
        let SummaryForm::Write = form?;
        let consolidation = Consolidation::new(state.search.clone());
        let asked = consolidation.ask_for_summary(signed_in.0.id).await;
        asked.map_err(ToolError::from)?;
        Ok(Outcome::Redirect)
    };
    let outcome = attempt.await;
    respond(&state, signed_in, PATH, "summary", &fields, outcome).await
}
