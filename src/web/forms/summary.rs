//! The form of the page Summary: requests a new summary.

use axum::extract::{RawForm, State};
use axum::response::Response;

use super::{Form, Outcome, respond, unknown_action};
use crate::tools::ToolError;
use crate::web::AppState;
use crate::web::auth::SignedIn;

const PATH: &str = "/summary";

pub async fn write_now(
    State(state): State<AppState>,
    signed_in: SignedIn,
    body: RawForm,
) -> Response {
    let form = Form::parse(&body);
    let attempt = async {
        if form.get("action") != "write" {
            return Err(unknown_action());
        }
        let asked = state.consolidation.ask_for_summary(signed_in.0.id).await;
        asked.map_err(ToolError::from)?;
        Ok(Outcome::Redirect)
    };
    let outcome = attempt.await;
    respond(&state, signed_in, PATH, "summary", &form, outcome).await
}
