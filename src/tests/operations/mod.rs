//! What whoever runs a server relies on: figures, lines, traces, readiness, a stop that
//! loses nothing, several servers on one database.

mod health;
mod jobs;
mod metrics;
mod schedules;
mod several;
mod stop;
mod told;
mod victims;

use std::process::Command;

use crate::server::Home;
use crate::support::{TestApp, database_url};

/// As the sealer of [`TestApp`] has it: servers on one database share it.
const SECRET_KEY: &str = "0707070707070707070707070707070707070707070707070707070707070707";

/// `keepsake …` on the database of this app.
fn beside(app: &TestApp, home: &Home, args: &[&str]) -> Command {
    let mut command = home.command(args);
    command
        .env("KEEPSAKE_DATABASE_URL", database_url(&app.options))
        .env("KEEPSAKE_SECRET_KEY", SECRET_KEY);
    command
}
