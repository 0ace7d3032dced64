//! The forms of the activity page: whether search queries are stored, and deleting those that were.

use axum::response::Response;
use serde::Deserialize;

use super::show;
use crate::forms::{FormName, Posted, done};

const FORM: FormName = FormName::Queries;

#[derive(Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum QueriesForm {
    Keep,
    Stop,
    Forget,
}

pub async fn queries(Posted(posted, form): Posted<QueriesForm>) -> Response {
    let attempt = async {
        let (activity, user) = (&posted.state.activity, posted.user());
        let sentence = match form? {
            QueriesForm::Keep => {
                activity.keep_queries(user, true).await?;
                "Search queries are now logged.".to_owned()
            }
            QueriesForm::Stop => {
                activity.keep_queries(user, false).await?;
                "Search queries are no longer logged. Queries already logged stay until you delete them.".to_owned()
            }
            QueriesForm::Forget => {
                let forgotten = activity.forget_queries(user).await?;
                format!("Deleted the queries of {forgotten} searches.")
            }
        };
        Ok(done(FORM, sentence))
    };
    posted.respond(show, "/activity", FORM, attempt.await).await
}
