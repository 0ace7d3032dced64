//! `keepsake rebuild` as a process of its own: what it says, and that it ends.

use std::process::{Output, Stdio};

use keepsake::embedding::EmbeddingOverview;

use super::Home;
use crate::support::{PATIENCE, Provider, TestApp, TestUser, database_url, until};

/// Two memories with vectors, about to be computed anew.
struct Remembered {
    app: TestApp,
    provider: Provider,
    anna: TestUser,
    home: Home,
}

impl Remembered {
    async fn new() -> Self {
        let (app, anna) = TestApp::start_for("anna").await;
        let provider = Provider::start().await;
        app.use_provider(&anna, &provider, "small").await;
        anna.add("Anna keeps bees.").await;
        anna.add("Anna lives in Bern.").await;
        app.drain(&anna).await;
        Self { app, provider, anna, home: Home::new() }
    }

    /// What the process said at its end, which comes in time.
    async fn rebuild(&self, flags: &[&str]) -> Output {
        let given = [&["rebuild", "--email", &self.anna.email], flags].concat();
        let mut command = tokio::process::Command::from(self.home.command(&given));
        command
            .env("KEEPSAKE_DATABASE_URL", database_url(&self.app.options))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        tokio::time::timeout(PATIENCE, command.output()).await.expect("it ends").unwrap()
    }

    /// What it said of it when it failed.
    async fn failure(&self) -> String {
        let output = self.rebuild(&[]).await;
        assert!(!output.status.success());
        String::from_utf8(output.stderr).unwrap()
    }

    async fn wait_for(&self, what: &str, is_so: impl Fn(&EmbeddingOverview) -> bool) {
        let embeddings = &self.app.embeddings;
        until(what, async || is_so(&embeddings.overview(self.anna.id).await.unwrap())).await;
    }
}

#[tokio::test]
async fn says_how_many_were_rebuilt_and_measures_what_it_changed_where_that_is_asked_for() {
    let here = Remembered::new().await;
    let said = async |flags: &[&str]| {
        let output = here.rebuild(flags).await;
        assert!(output.status.success());
        String::from_utf8(output.stdout).unwrap()
    };
    let few = said(&["--measure"]).await;
    assert!(few.contains("There are too few memories to measure"), "{few}");
    for n in 0..12 {
        here.anna.add(&format!("anna waters item{n} thing{n} garden monday")).await;
    }
    here.app.drain(&here.anna).await;
    here.provider.forget_calls();
    let unasked = said(&[]).await;
    assert!(unasked.contains("14 rebuilt, 0 failed"), "{unasked}");
    assert!(!unasked.contains("questions"), "{unasked}");
    assert_eq!(here.provider.texts().len(), 14);
    let measured = said(&["--measure"]).await;
    for part in ["of 12 questions about these memories", "before the rebuild"] {
        assert!(measured.contains(part), "{measured}");
    }
}

#[tokio::test]
async fn ends_when_it_is_cancelled_though_items_wait_for_a_provider_that_is_down() {
    let here = Remembered::new().await;
    here.provider.behave(|b| b.status = Some(503));
    let elsewhere = async {
        here.wait_for("begun", |seen| seen.rebuild.is_some()).await;
        // Pending beside the rebuild, and after it.
        here.anna.add("Anna rows on Sundays.").await;
        here.wait_for("put off", |seen| seen.serving.as_ref().is_some_and(|s| s.problem.is_some()))
            .await;
        assert!(here.app.embeddings.cancel_rebuild(here.anna.id).await.unwrap());
    };
    let (said, ()) = tokio::join!(here.failure(), elsewhere);
    assert!(said.contains("the rebuild was cancelled"), "{said}");
}

#[tokio::test]
async fn ends_with_an_error_where_none_of_the_memories_can_be_embedded() {
    let here = Remembered::new().await;
    here.provider.behave(|b| b.poison = Some("Anna"));
    let said = here.failure().await;
    assert!(said.contains("no memory could be embedded"), "{said}");
}
