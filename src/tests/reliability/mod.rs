//! What is promised when many act at once, and when a schema grows under rows that are
//! there: the parts of docs/reliability.md that need no process to be killed.

mod at_once;
mod busy_model;
mod connections;
mod hostile;
mod migrations;
mod plans;
mod released;
mod sweep;
mod together;
mod upgrade;

use std::time::Duration;

use keepsake::db::StatementTimeouts;

use crate::support::{HANG_GUARD, TestApp, Wish};

/// Another server on this app's database, where a request's statements have this long.
async fn hurried(app: &TestApp, request: Duration) -> TestApp {
    let timeouts = StatementTimeouts { request, job: HANG_GUARD, silence: HANG_GUARD };
    let database = Some(app.options.clone());
    TestApp::start_as(Wish { timeouts, database, ..Wish::default() }).await
}
