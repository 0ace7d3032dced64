//! The forms of the activity page: whether the words of searches are kept, and
//! the one that forgets them.

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
                "The words of searches are kept from now on.".to_owned()
            }
            "stop" => {
                activity.keep_queries(user, false).await?;
                "The words of searches are not kept any more; those that were stay until you forget them.".to_owned()
            }
            "forget" => {
                let forgotten = activity.forget_queries(user).await?;
                format!("Forgotten: the words of {forgotten} searches.")
            }
            _ => return Err(unknown_action()),
        };
        Ok(done(FORM, sentence))
    };
    let outcome = attempt.await;
    respond(&state, signed_in, "/activity", FORM, &form, outcome).await
}
