//! The forms of the activity page: whether search queries are stored, and deleting those that were.

use axum::extract::{RawForm, State};
use axum::response::Response;

use super::{Form, done, respond, unknown_action};
use crate::web::AppState;
use crate::web::auth::SignedIn;

const FORM: &str = "queries";

pub async fn queries(
    State(state): State<AppState>,
    signed_in: SignedIn,
    body: RawForm,
) -> Response {
    let form = Form::parse(&body);
    let user = signed_in.0.id;
    let attempt = async {
        let activity = &state.activity;
        let sentence = match form.get("action") {
            "keep" => {
                activity.keep_queries(user, true).await?;
                "Search queries are now logged.".to_owned()
            }
            "stop" => {
                activity.keep_queries(user, false).await?;
                "Search queries are no longer logged. Queries already logged stay until you delete them.".to_owned()
            }
            "forget" => {
                let forgotten = activity.forget_queries(user).await?;
                format!("Deleted the queries of {forgotten} searches.")
            }
            _ => return Err(unknown_action()),
        };
        Ok(done(FORM, sentence))
    };
    let outcome = attempt.await;
    respond(&state, signed_in, "/activity", FORM, &form, outcome).await
}
