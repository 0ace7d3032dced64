//! The forms of the activity page: whether the words of searches are kept, and
//! the one that forgets them.

use app::view::FormState;
use axum::extract::{RawForm, State};
use axum::http::StatusCode;
use axum::response::Response;

use super::{Form, failed};
use crate::input::Invalid;
use crate::web::AppState;
use crate::web::auth::{SignedIn, Visitor};
use crate::web::error::Problem;
use crate::web::pages::after_form;

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
        match form.get("action") {
            "keep" => {
                activity.keep_queries(user, true).await?;
                Ok("The words of searches are kept from now on.".to_owned())
            }
            "stop" => {
                activity.keep_queries(user, false).await?;
                Ok("The words of searches are not kept any more; those that were stay until you forget them.".to_owned())
            }
            "forget" => {
                let forgotten = activity.forget_queries(user).await?;
                Ok(format!("Forgotten: the words of {forgotten} searches."))
            }
            _ => Err(Problem::from(Invalid::new(
                "action",
                "invalid_action",
                "`action` is not known; give keep, stop or forget.",
            ))),
        }
    };
    let (status, outcome) = match attempt.await {
        Ok(done) => {
            let outcome = FormState {
                form: FORM.to_owned(),
                done: Some(done),
                ..FormState::default()
            };
            (StatusCode::OK, outcome)
        }
        Err(problem) => failed(FORM, &form, problem),
    };
    let visitor = Visitor::SignedIn(signed_in);
    after_form(&state, visitor, "/activity", outcome, status).await
}
