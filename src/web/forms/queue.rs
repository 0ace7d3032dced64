//! The admin page's form about the queue: everything that failed is tried again, or
//! the runs of one job. For whoever is no admin there is no such form.

use axum::extract::{RawForm, State};
use axum::response::Response;

use super::{Form, Outcome, done, respond, unknown_action};
use crate::embedding::Retried;
use crate::queue;
use crate::web::AppState;
use crate::web::auth::Admin;
use crate::web::error::Problem;

const PATH: &str = "/admin";

pub async fn change(
    State(state): State<AppState>,
    Admin(signed_in): Admin,
    body: RawForm,
) -> Response {
    let form = Form::parse(&body);
    let outcome = obey(&state, &form).await;
    respond(&state, signed_in, PATH, "queue", &form, outcome).await
}

async fn obey(state: &AppState, form: &Form) -> Result<Outcome, Problem> {
    let job = form.get("job");
    let sentence = match form.get("action") {
        "retry" => told(state.embeddings.retry_all().await?),
        "retry_job" => {
            let now = state.clock.now();
            let mut tx = state.db.as_system().await?;
            let retried = queue::store::retry_failed(&mut tx, Some(job), now).await?;
            tx.commit().await?;
            match retried {
                0 => "There is nothing to try again.".to_owned(),
                1 => "1 run is tried again now.".to_owned(),
                n => format!("{n} runs are tried again now."),
            }
        }
        _ => return Err(unknown_action()),
    };
    Ok(done("queue", sentence))
}

fn told(retried: Retried) -> String {
    let items = match retried.items {
        1 => "1 memory".to_owned(),
        n => format!("{n} memories"),
    };
    let more = match retried.users_left {
        0 => String::new(),
        1 => " 1 user is left: press it again.".to_owned(),
        n => format!(" {n} users are left: press it again."),
    };
    match retried.users {
        0 => "There is nothing to try again.".to_owned(),
        1 => format!("{items} of 1 user: tried again now.{more}"),
        n => format!("{items} of {n} users: tried again now.{more}"),
    }
}
