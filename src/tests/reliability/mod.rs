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
    let timeouts = StatementTimeouts { request, job: HANG_GUARD };
    let database = Some(app.options.clone());
    TestApp::start_as(Wish { timeouts, database, ..Wish::default() }).await
}

/// What is asked of what a version had, whose answer says what was meant: by Anna or Ben, and the
/// first that is found.
const MEANT: [(&str, &str, &str); 4] = [
    (
        "Anna's",
        "Which hot beverage does she have after getting up?",
        "Anna drinks green tea in the morning.",
    ),
    ("Anna's", "Where is Anna's home?", "Anna lives in Linz."),
    ("Anna's", "Schafberg", "We hiked up the Schafberg last Sunday and saw two marmots."),
    ("Ben's", "Which insects does he keep?", "Ben keeps three beehives behind the barn."),
];
