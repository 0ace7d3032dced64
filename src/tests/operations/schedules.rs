//! Schedules and time zones: what happens at a time of day happens at that time where the user is,
//! once, whatever the server or its clock has done meanwhile.

use reqwest::{Method, StatusCode};
use serde_json::json;
use time::{Duration, OffsetDateTime, Time};

use super::beside;
use crate::data::import;
use crate::server::Home;
use crate::support::{Browser, TestApp, TestUser};

const ACCOUNT: &str = "/account/time-zone";
const JOBS: &str = "/admin/jobs";

async fn set_zone(app: &TestApp, user: &TestUser, zone: &str) {
    let browser = app.signed_in(user).await;
    let set = browser.post(ACCOUNT, &[("time_zone", zone)]).await;
    assert_eq!(set.status(), StatusCode::OK);
    let page = set.text().await.unwrap();
    assert!(page.contains(&format!("Your time zone is {zone}.")), "{page}");
}

async fn zones(app: &TestApp) -> Vec<String> {
    app.sql("SELECT time_zone FROM users ORDER BY id").values().await
}

/// Moves the clock on to when it is next this hour, in UTC, and by so much.
fn go_to(app: &TestApp, hour: u8, and: Duration) -> OffsetDateTime {
    let now = app.embeddings.now();
    let today = now.replace_time(Time::from_hms(hour, 0, 0).unwrap()) + and;
    let then = if today > now { today } else { today + Duration::DAY };
    app.clock.advance(then - now);
    then
}

async fn say(user: &TestUser, session: &str, id: &str) {
    let said = json!({ "messages": [{ "id": id, "role": "user", "content": "hello" }] });
    let path = format!("/api/v1/sessions/{session}/messages");
    assert_eq!(user.post(&path, &said).await.status(), StatusCode::OK);
}

/// Why it was completed; nothing where it is open.
async fn why(user: &TestUser, session: &str) -> Option<String> {
    let path = format!("/api/v1/sessions/{session}");
    let (_, session) = user.request(Method::GET, &path, None).await;
    session["completed_why"].as_str().map(str::to_owned)
}

async fn admin(app: &TestApp, user: &TestUser) -> Browser {
    app.make_admin(user).await;
    app.signed_in(user).await
}

#[tokio::test]
async fn each_users_night_comes_at_three_in_their_time_zone() {
    let app = TestApp::start().await;
    let [anna, ben, cleo] = ["anna", "ben", "cleo"].map(|name| app.user(name));
    let users = [anna.await, ben.await, cleo.await, app.user("dora").await];
    // 9 hours before UTC, none, 7 hours after; clocks are never set there.
    set_zone(&app, &users[0], "Asia/Tokyo").await;
    set_zone(&app, &users[2], "America/Phoenix").await;
    // A name that the program does not know counts as UTC.
    let mars = "UPDATE users SET time_zone = 'Mars/Olympus' WHERE id = $1";
    app.sql(mars).bind(users[3].id.0).run().await;
    assert_eq!(zones(&app).await, ["Asia/Tokyo", "UTC", "America/Phoenix", "Mars/Olympus"]);
    for (hour, whose) in [(18, &[0][..]), (3, &[1, 3]), (10, &[2])] {
        go_to(&app, hour, -Duration::minutes(5));
        app.run_job("complete").await;
        let session = format!("at-{hour}");
        for user in &users {
            say(user, &session, "1").await;
        }
        go_to(&app, hour, -Duration::SECOND);
        assert_eq!(app.run_job("complete").await, 0, "{hour}");
        app.clock.advance(Duration::SECOND);
        assert_eq!(app.run_job("complete").await as usize, whose.len(), "{hour}");
        for (at, user) in users.iter().enumerate() {
            let expected = whose.contains(&at).then(|| "nightly".to_owned());
            assert_eq!(why(user, &session).await, expected, "{hour} {at}");
        }
    }
}

#[tokio::test]
async fn the_sweep_finds_whose_night_has_come_and_a_run_of_each_ends_their_sessions() {
    let app = TestApp::start().await;
    let (anna, ben) = (app.user("anna").await, app.user("ben").await);
    set_zone(&app, &anna, "Asia/Tokyo").await;
    go_to(&app, 18, -Duration::minutes(5));
    say(&anna, "late", "1").await;
    say(&ben, "late", "1").await;
    app.clock.advance(Duration::minutes(5));
    app.run_due().await;
    assert_eq!(why(&anna, "late").await.as_deref(), Some("nightly"));
    assert_eq!(why(&ben, "late").await, None);
    let runs: Vec<(i64, i64)> =
        app.sql("SELECT user_id, done FROM job_runs WHERE job = 'complete'").rows().await;
    assert_eq!(runs, [(anna.id.0, 1)]);
}

#[tokio::test]
async fn a_night_that_was_missed_is_made_up_for_once_and_comes_back_with_no_clock() {
    let (app, anna) = TestApp::start_for("anna").await;
    let sweep = async || app.run_job("complete").await;
    go_to(&app, 2, Duration::minutes(50));
    say(&anna, "s", "1").await;
    // The server is off when it strikes three.
    app.clock.advance(Duration::minutes(20));
    assert_eq!((sweep().await, sweep().await), (1, 0));
    assert_eq!(why(&anna, "s").await.as_deref(), Some("nightly"));
    // The clock jumps back, and it strikes three again: what was said since is completed, once.
    say(&anna, "s", "2").await;
    app.clock.advance(-Duration::minutes(40));
    assert_eq!(sweep().await, 0, "half past two, of what is said at ten past three");
    go_to(&app, 3, Duration::minutes(9));
    assert_eq!(sweep().await, 0);
    assert_eq!(why(&anna, "s").await, None);
    // It jumps forward, past two nights: one completion.
    app.clock.advance(Duration::days(2));
    assert_eq!((sweep().await, sweep().await), (1, 0));
    assert_eq!(why(&anna, "s").await.as_deref(), Some("still"));
}

#[tokio::test]
async fn an_admins_other_time_holds_until_the_default_is_back() {
    let app = TestApp::start().await;
    let (anna, ben) = (app.user("anna").await, app.user("ben").await);
    let browser = admin(&app, &ben).await;
    let default = "every day at 03:00, in each user's time zone";
    let page = browser.look(JOBS).await;
    assert!(page.contains(default), "{page}");
    assert!(!page.contains("Back to the default"), "{page}");
    let set = [("action", "schedule"), ("job", "complete"), ("at", "05:30")];
    for _ in 0..2 {
        let answer = browser.post(JOBS, &set).await;
        assert_eq!(answer.status(), StatusCode::OK);
        let page = answer.text().await.unwrap();
        for told in [
            "Completion runs every day at 05:30, in each user's time zone.",
            "value=\"05:30\"",
            "Reset to the default: every day at 03:00",
        ] {
            assert!(page.contains(told), "{told}: {page}");
        }
    }
    let home = Home::new();
    let list = beside(&app, &home, &["jobs", "list"]).output().unwrap();
    let list = String::from_utf8(list.stdout).unwrap();
    let told = "complete\tevery day at 05:30, in each user's time zone\t";
    assert!(list.contains(told), "{list}");
    go_to(&app, 2, Duration::minutes(50));
    say(&anna, "s", "1").await;
    app.clock.advance(Duration::minutes(20));
    assert_eq!(app.run_job("complete").await, 0);
    go_to(&app, 5, Duration::minutes(25));
    app.run_job("complete").await;
    say(&anna, "t", "1").await;
    app.clock.advance(Duration::minutes(5));
    assert_eq!(app.run_job("complete").await, 1);
    assert_eq!(why(&anna, "t").await.as_deref(), Some("nightly"));

    let back = [("action", "unschedule"), ("job", "complete")];
    for _ in 0..2 {
        let page = browser.post(JOBS, &back).await.text().await.unwrap();
        let told = "Completion runs every day at 03:00, in each user's time zone again.";
        assert!(page.contains(told), "{page}");
        assert!(!page.contains("Back to the default"), "{page}");
    }
    go_to(&app, 2, Duration::minutes(55));
    say(&anna, "u", "1").await;
    app.clock.advance(Duration::minutes(5));
    assert_eq!(app.run_job("complete").await, 1);
    let events = app.accounts.list_admin_events().await.unwrap();
    let by_ben = events.into_iter().filter(|event| !event.by_command);
    let acts: Vec<_> = by_ben.map(|event| (event.action.as_str(), event.subject)).collect();
    let of_job = |act| (act, Some("complete".to_owned()));
    assert_eq!(acts, [of_job("unschedule_job"), of_job("schedule_job")], "once each");
    let users = browser.get("/admin/users").await.1;
    for told in ["changed the schedule of the job", "set the default schedule of the job"] {
        assert!(users.contains(told), "{told}: {users}");
    }
}

#[tokio::test]
async fn a_person_sets_their_own_time_zone_and_nobody_elses() {
    let app = TestApp::start().await;
    let (anna, ben) = (app.user("anna").await, app.user("ben").await);
    let browser = app.browser();
    let bens = ben.id.0.to_string();
    let fields = [
        ("time_zone", "europe/vienna "),
        ("user", bens.as_str()),
        ("user_id", bens.as_str()),
        ("email", "ben@example.com"),
    ];
    assert_eq!(browser.post(ACCOUNT, &fields).await.status(), 303, "a stranger");
    browser.sign_in(&anna).await;
    let (_, before) = browser.get("/account").await;
    for told in ["value=\"UTC\"", "<option value=\"America/New_York\">", "list=\"time-zones\""] {
        assert!(before.contains(told), "{told}: {before}");
    }
    assert_eq!(browser.post(ACCOUNT, &fields).await.status(), 200);
    assert_eq!(zones(&app).await, ["Europe/Vienna", "UTC"]);
    for bad in ["", "Vienna", "+02:00", "Etc/Unknown", "<b>Europe/Vienna"] {
        let answer = browser.post(ACCOUNT, &[("time_zone", bad)]).await;
        assert_eq!(answer.status(), StatusCode::UNPROCESSABLE_ENTITY, "{bad}");
        let page = answer.text().await.unwrap();
        let told =
            "`time_zone` is not the name of a time zone; give one such as Europe/Vienna, or UTC.";
        assert_eq!(page.matches(told).count(), 1, "{bad}: {page}");
        assert!(!page.contains("<b>Europe"), "{page}");
    }
    assert_eq!(zones(&app).await, ["Europe/Vienna", "UTC"]);
    assert!(browser.get("/account").await.1.contains("value=\"Europe/Vienna\""));
}

#[tokio::test]
async fn a_new_accounts_first_night_is_the_first_one_after_it_was_created() {
    let app = TestApp::start().await;
    go_to(&app, 4, Duration::minutes(10));
    let (anna, ben) = (app.user("anna").await, app.user("ben").await);
    anna.add("Anna keeps bees.").await;
    // What is imported has a history from before the account.
    let old = r#"{"record":"item","type":"fact","content":"Ben bakes.","created_at":"2024-01-01T10:00:00Z",
                  "events":[{"event":"added","at":"2024-01-01T10:00:00Z"}]}"#;
    let file = format!("{{\"keepsake_export\":1}}\n{}\n", old.replace('\n', " "));
    assert_eq!(import(&app, &ben, &file).await.added, 1);
    let rounds = async || -> Vec<(i64, String)> {
        for job in ["enrich", "fade", "reflect"] {
            app.run_job(job).await;
        }
        let rounds = "SELECT user_id, job FROM job_rounds WHERE job <> 'reflect' ORDER BY 1, 2";
        app.sql(rounds).rows().await
    };
    assert_eq!(rounds().await, []);
    go_to(&app, 4, Duration::ZERO);
    let each = |user: &TestUser| ["enrich", "fade"].map(|job| (user.id.0, job.to_owned()));
    assert_eq!(rounds().await, [each(&anna), each(&ben)].concat());
}
