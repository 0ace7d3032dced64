//! Admin › Jobs: how the work stands is seen without a word of it; each button does what it says,
//! and leaves an admin event.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::{Duration, Instant};

use keepsake::queue::{self, SERVER};
use reqwest::StatusCode;
use sqlx::Connection as _;
use time::OffsetDateTime;

use super::beside;
use crate::server::Home;
use crate::support::{Browser, PATIENCE, Provider, Sql as _, TestApp, TestUser};

const PATH: &str = "/admin/jobs";

struct Place {
    app: TestApp,
    anna: TestUser,
    /// Signed in as Ben, who is the admin.
    browser: Browser,
}

impl Place {
    async fn start() -> Self {
        let (app, anna) = TestApp::start_for("anna").await;
        let ben = app.user("ben").await;
        app.make_admin(&ben).await;
        let browser = app.signed_in(&ben).await;
        Self { app, anna, browser }
    }

    /// Anna's own, from now on.
    async fn provider(&self) -> Provider {
        let provider = Provider::start().await;
        self.app.use_provider(&self.anna, &provider, "model").await;
        provider
    }

    async fn page(&self) -> String {
        self.browser.look(PATH).await
    }

    async fn press(&self, action: &str, job: &str, expected: StatusCode, says: &str) {
        let answer = self.browser.post(PATH, &[("action", action), ("job", job)]).await;
        assert_eq!(answer.status(), expected, "{action} {job}");
        let page = answer.text().await.unwrap();
        assert!(page.contains(says), "{action} {job}: {page}");
    }

    async fn pressed(&self, action: &str, job: &str, says: &str) {
        self.press(action, job, StatusCode::OK, says).await;
    }

    async fn refused(&self, action: &str, job: &str, says: &str) {
        self.press(action, job, StatusCode::UNPROCESSABLE_ENTITY, says).await;
    }

    async fn fail_all(&self) {
        self.app.sql(FAIL).run().await;
    }

    async fn assert_page_has(&self, path: &str, all: &[&str]) {
        let page = self.browser.look(path).await;
        for told in all {
            assert!(page.contains(told), "{told}: {page}");
        }
    }

    /// Actions and what they were about, newest first.
    async fn events(&self) -> Vec<(String, Option<String>)> {
        let events = self.app.accounts.list_admin_events().await.unwrap();
        // The test's own preparations are the command line's.
        let by_ben = events.into_iter().filter(|e| !e.by_command);
        by_ben
            .map(|e| {
                assert_eq!(e.actor.as_deref(), Some("ben@example.com"));
                (e.action.to_string(), e.subject)
            })
            .collect()
    }

    /// Waiting, later and failed.
    async fn counts(&self, job: &str) -> (i64, i64, i64) {
        let now = self.app.embeddings.now();
        let mut conn = self.app.superuser().await;
        let counts = queue::store::count_jobs(&mut conn, now).await.unwrap();
        let counts = counts.iter().find(|counts| counts.job == job);
        counts.map_or((0, 0, 0), |c| (c.waiting, c.delayed, c.failed))
    }
}

const FAIL: &str = "UPDATE job_queue SET problem = 'the database was away', attempts = 6,
                    run_at = run_at + interval '1 h' WHERE user_id <> 0";

#[tokio::test]
async fn vectors_that_failed_are_seen_without_a_word_of_them_and_tried_again() {
    let place = Place::start().await;
    let (app, anna) = (&place.app, &place.anna);
    let page = place.page().await;
    assert!(page.contains("Nothing is pending and nothing has failed"));
    assert!(page.contains("No run has failed.") && page.contains("No run is recorded yet."));
    assert!(!page.contains("data-look-again"));
    let provider = place.provider().await;
    provider.behave(|b| b.poison = Some("zanzibar"));
    anna.add("zanzibar clove").await;
    anna.add("plain").await;
    app.drain(anna).await;
    provider.behave(|b| b.status = Some(503));
    anna.add("third").await;
    app.drain(anna).await;
    let told = ["1 text of 1 user could not be embedded", "OpenAI-compatible endpoints of users"];
    place.assert_page_has(PATH, &told).await;
    let page = place.page().await;
    assert!(page.contains("data-look-again"), "{page}");
    for private in ["zanzibar", "anna@example.com", &provider.host_port()] {
        assert!(!page.contains(private), "{private} in {page}");
    }
    provider.behave(|b| {
        b.poison = None;
        b.status = None;
    });
    let told = "1 memory of 1 user: retried now.";
    place.pressed("retry_vectors", "", told).await;
    app.drain(anna).await;
    let states = app.vectors(anna, "active").await;
    assert!(states.iter().all(|(_, state)| state == "ready"), "{states:?}");
    assert_eq!(place.events().await, [("retry_vectors".to_owned(), None)]);
}

#[tokio::test]
async fn a_run_that_failed_says_why_without_content_and_is_retried() {
    let place = Place::start().await;
    let _provider = place.provider().await;
    place.anna.add("bees").await;
    place.fail_all().await;
    let page = place.page().await;
    let told = format!("User {}: 6 attempts: the database was away.", place.anna.id.0);
    assert!(page.contains(&told), "{page}");
    assert!(!page.contains("bees") && !page.contains("anna@example.com"));
    place.assert_page_has("/admin", &["1 job failed · ", "href=\"/admin/jobs\""]).await;

    place.pressed("retry", "embed", "1 failed run is retried now.").await;
    assert_eq!(place.counts("embed").await, (1, 0, 0));
    place.pressed("retry", "embed", "There is nothing to retry.").await;
    place.fail_all().await;
    place.pressed("retry", "", "1 failed run is retried now.").await;
    let (all, one) = (("retry_job", None), ("retry_job", Some("embed")));
    let told = [all, one].map(|(act, job)| (act.to_owned(), job.map(str::to_owned)));
    assert_eq!(place.events().await, told);
    let told = ["retried all failed runs", "retried the failed runs of the job", "Vectors"];
    place.assert_page_has("/admin/users", &told).await;
}

#[tokio::test]
async fn a_paused_job_is_not_claimed_until_it_is_resumed_but_by_a_command_for_one_account_alone() {
    let place = Place::start().await;
    let provider = place.provider().await;
    place.app.run_due().await;
    provider.forget_calls();
    place.anna.add("bees").await;
    place.pressed("pause", "embed", "Vectors is paused.").await;
    place.pressed("pause", "embed", "Vectors is paused.").await;
    place.app.run_due().await;
    assert!(provider.texts().is_empty());
    let page = place.page().await;
    assert!(page.contains("paused") && page.contains("just now"), "{page}");
    assert!(page.contains("id=\"resume-embed\"") && !page.contains("id=\"run-embed\""));
    place.assert_page_has("/admin", &["No job failed, 1 is paused"]).await;
    place.refused("run", "embed", "Vectors is paused; resume it first.").await;

    place.pressed("resume", "embed", "Vectors is resumed.").await;
    place.app.run_due().await;
    assert_eq!(provider.texts(), ["bees"]);
    let acts: Vec<_> = place.events().await.into_iter().map(|e| e.0).collect();
    assert_eq!(acts, ["resume_job", "pause_job"], "once each");

    place.pressed("pause", "embed", "Vectors is paused.").await;
    let home = Home::new();
    let run = |args: &[&str]| beside(&place.app, &home, args).output().unwrap();
    let refused = run(&["jobs", "run", "embed"]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        !refused.status.success() && said.contains("embed is paused; resume it on Admin › Jobs"),
        "{said}"
    );
    assert!(refused.stdout.is_empty());
    let ran = run(&["jobs", "run", "embed", "--email", &place.anna.email]);
    assert!(ran.status.success(), "{ran:?}");
}

#[tokio::test]
async fn a_job_is_run_now() {
    let place = Place::start().await;
    place.app.run_due().await;
    assert_eq!(place.counts("cleanup").await, (0, 1, 0));
    place.pressed("run", "cleanup", "Clean-up runs now.").await;
    assert_eq!(place.counts("cleanup").await, (1, 0, 0));
    assert!(place.page().await.contains("data-look-again"));
    // Of users: who waits for later or has failed is due, and the sweep looks for others.
    let _provider = place.provider().await;
    place.anna.add("bees").await;
    place.fail_all().await;
    assert_eq!(place.counts("embed").await, (0, 1, 1));
    assert_eq!(place.counts("sweep").await, (0, 1, 0));
    place.pressed("run", "embed", "Vectors runs now; 1 user waited.").await;
    assert_eq!(place.counts("embed").await, (1, 0, 0));
    assert_eq!(place.counts("sweep").await, (1, 0, 0));
    place.assert_page_has("/admin/users", &["ran the job", "Clean-up"]).await;
}

#[tokio::test]
async fn runs_are_shown_by_job_and_by_day() {
    let place = Place::start().await;
    let mut conn = place.app.superuser().await;
    let now = place.app.embeddings.now();
    for (user, days, problem) in [(7, 0, None), (0, 2, None), (7, 2, Some("no answer"))] {
        let at = now - time::Duration::days(days);
        let run = queue::runs::store::RunRecord {
            user: keepsake::db::UserId(user),
            job: if user == SERVER.0 { "expire" } else { "extract" },
            started_at: at,
            ended_at: at,
            took_ms: 2_140,
            done: 1_200,
            failed: 3,
            is_failed: problem.is_some(),
            problem,
        };
        queue::runs::store::record(&mut conn, &run).await.unwrap();
    }
    let told = [
        "1,200 done, 3 failed, in 2.1 s",
        "3 runs in 30 days, 1 failed; at most 2 per day",
        ": 1 done, 1 failed",
        "every minute",
        "every hour",
        "when there is work",
        "2 days ago",
    ];
    place.assert_page_has(PATH, &told).await;
}

#[tokio::test]
async fn what_is_not_known_is_refused_and_for_members_and_strangers_there_is_no_page_or_form() {
    let place = Place::start().await;
    for (action, job, told) in [
        ("explode", "embed", "`action` is not known"),
        ("run", "explode", "`job` names no job"),
        ("pause", "", "`job` names no job"),
        ("retry", "explode", "`job` names no job"),
        ("pause", "sweep", "Sweep cannot be paused"),
    ] {
        place.refused(action, job, told).await;
    }
    assert!(place.events().await.is_empty());
    for (job, at, told) in [
        ("complete", "", "`at` is not a time of day"),
        ("complete", "25:00", "`at` is not a time of day"),
        ("complete", "3 o'clock", "such as 03:00"),
        ("embed", "03:00", "Vectors runs when there is work; it has no time of day."),
        ("explode", "03:00", "`job` names no job"),
    ] {
        let fields = [("action", "schedule"), ("job", job), ("at", at)];
        let answer = place.browser.post(PATH, &fields).await;
        assert_eq!(answer.status(), StatusCode::UNPROCESSABLE_ENTITY, "{job} {at}");
        let page = answer.text().await.unwrap();
        assert_eq!(page.matches(told).count(), 1, "beside its field: {told}: {page}");
    }
    assert_eq!(place.app.count("job_settings").await, 0);
    let browser = place.app.browser();
    let fields = [("action", "pause"), ("job", "embed")];
    assert_eq!(browser.post(PATH, &fields).await.status(), 303);
    assert_eq!(browser.get(PATH).await.0, 303);
    browser.sign_in(&place.anna).await;
    assert_eq!(browser.post(PATH, &fields).await.status(), 404);
    let (status, page) = browser.get(PATH).await;
    assert_eq!(status, 404);
    assert!(!page.contains("Clean-up"), "{page}");
    let mut conn = place.app.superuser().await;
    assert_eq!(queue::store::list_paused(&mut conn).await.unwrap(), []);
}

#[tokio::test]
async fn a_command_waits_for_a_run_in_another_process_and_says_so() {
    let (app, anna) = TestApp::start_for("anna").await;
    for (problem, said) in [
        (None, "embed\t5 done\t1 failed\n"),
        (Some("the key was rejected"), "embed\t5 done\t1 failed\n"),
    ] {
        let home = Home::new();
        let mut command = beside(&app, &home, &["jobs", "run", "embed", "--email", &anna.email]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let errors = BufReader::new(child.stderr.take().unwrap());
        let (send, told) = std::sync::mpsc::channel();
        std::thread::spawn(move || errors.lines().try_for_each(|line| send.send(line.unwrap())));
        let began = Instant::now();
        let mut lines = Vec::new();
        let is_told = |line: &String| line.contains("runs in another process (rows left: 7)");
        while !lines.iter().any(is_told) {
            assert!(began.elapsed() < PATIENCE, "{lines:?}");
            app.sql("INSERT INTO job_queue (user_id, job, run_at, waiting_since, size, lease, lease_until)
                 VALUES ($1, 'embed', now(), now(), 7, 1, now() + interval '14 seconds')
                 ON CONFLICT (user_id, job) DO UPDATE SET size = 7, lease = 1, lease_until = now() + interval '14 seconds'").bind(anna.id.0).run().await;
            tokio::time::sleep(Duration::from_millis(100)).await;
            lines.extend(told.try_iter());
        }
        assert_eq!(child.try_wait().unwrap(), None, "it waits");
        // In one transaction, as a run ends.
        let mut ending = app.superuser().await;
        let mut ending = ending.begin().await.unwrap();
        let now = OffsetDateTime::now_utc();
        let run = queue::runs::store::RunRecord {
            user: anna.id,
            job: "embed",
            started_at: now,
            ended_at: now,
            took_ms: 40,
            done: 5,
            failed: 1,
            is_failed: problem.is_some(),
            problem,
        };
        queue::runs::store::record(&mut ending, &run).await.unwrap();
        let end = "UPDATE job_queue SET lease = NULL, lease_until = NULL, attempts = 1, run_at = NULL, problem = $1";
        ending.sql(end).bind(problem).run().await;
        ending.commit().await.unwrap();
        let done = child.wait_with_output().unwrap();
        lines.extend(told.iter());
        let waiting = lines.iter().filter(|line| line.contains("waiting for it"));
        assert_eq!(waiting.count(), 1, "{lines:?}");
        let failed = lines.iter().any(|line| line.contains("embed failed: the key was rejected"));
        let is_done = problem.is_none();
        assert_eq!((done.status.success(), failed), (is_done, !is_done), "{lines:?}");
        assert_eq!(String::from_utf8_lossy(&done.stdout), said);
    }
}
