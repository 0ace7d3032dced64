//! The form of the page Summary: requests a new summary.

use axum::response::Response;
use serde::Deserialize;

use super::show;
use crate::forms::{FormName, Outcome, Posted};
use crate::tools::ToolError;

#[derive(Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum SummaryForm {
    Write,
}

pub async fn write_now(Posted(posted, form): Posted<SummaryForm>) -> Response {
    let attempt = async {
        let SummaryForm::Write = form?;
        let asked = posted.state.consolidation.ask_for_summary(posted.user()).await;
        asked.map_err(ToolError::from)?;
        Ok(Outcome::Redirect)
    };
    posted.respond(show, "/summary", FormName::Summary, attempt.await).await
}
