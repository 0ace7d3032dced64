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

use crate::server::{Home, Server};
use crate::support::{Provider, TestApp, TestUser, database_url, until};

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

/// `keepsake serve …` beside this app, with these settings.
async fn serving(app: &TestApp, more: &[&str], settings: &[(&str, &str)]) -> (Home, Server) {
    let home = Home::new();
    let mut command = beside(app, &home, &[&["serve"][..], more].concat());
    command.envs(settings.iter().copied());
    let server = Server::start_command(&home, &mut command).await;
    (home, server)
}

/// Anna on a server of her own, with an endpoint of her own.
async fn with_provider() -> (TestApp, TestUser, Provider) {
    let (app, anna) = TestApp::start_for("anna").await;
    let provider = Provider::start().await;
    app.use_provider(&anna, &provider, "model").await;
    (app, anna, provider)
}

/// Until the user has as many vectors, all of them ready, and no other is being made.
async fn until_ready(app: &TestApp, user: &TestUser, vectors: usize) {
    until("all vectors are ready", async || {
        let rows = app.vectors(user, "active").await;
        let are_ready = rows.len() == vectors && rows.iter().all(|(_, state)| state == "ready");
        are_ready && app.vectors(user, "building").await.is_empty()
    })
    .await;
}
