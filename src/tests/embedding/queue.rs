//! The queue: what is pushed, claimed and given back, by a clock that tests move.

use keepsake::db::UserId;
use keepsake::queue::store::{Claim, JobCapacity, RunEnd};
use keepsake::queue::{self, EMBED, LEASE};
use sqlx::PgConnection;
use time::{Duration, OffsetDateTime};

use super::with_provider;
use crate::support::Sql as _;
use crate::support::TestApp;

const OURS: i64 = 1;
const THEIRS: i64 = 2;
const ENDED: RunEnd<'_> = RunEnd { run_at: None, size: 0, endpoint: None, problem: None };
const ROOM: JobCapacity = JobCapacity { job: EMBED, places: 1, per_endpoint: 1 };

/// What is first in turn.
async fn claim(conn: &mut PgConnection, lease: i64, now: OffsetDateTime) -> Option<Claim> {
    let claims = queue::store::claim(conn, lease, &[ROOM], None, now).await;
    claims.unwrap().into_iter().next()
}

async fn finish(conn: &mut PgConnection, claim: &Claim, end: &RunEnd<'_>, now: OffsetDateTime) {
    let is_ours = queue::store::finish(conn, OURS, claim, end, now).await;
    assert!(is_ours.unwrap());
}

async fn push(conn: &mut PgConnection, user: UserId, size: usize, now: OffsetDateTime) {
    queue::push(conn, user, EMBED, size, now).await.unwrap();
}

/// Anna, for whom a job was pushed now.
async fn with_job() -> (TestApp, PgConnection, UserId, OffsetDateTime) {
    let (app, anna) = TestApp::start_for("anna").await;
    let (mut conn, now) = (app.superuser().await, app.embeddings.now());
    push(&mut conn, anna.id, 1, now).await;
    (app, conn, anna.id, now)
}

/// Three users, who have nothing to do yet.
async fn with_three() -> (TestApp, PgConnection, [UserId; 3], OffsetDateTime) {
    let app = TestApp::start().await;
    let mut ids = [UserId(0); 3];
    for (id, name) in ids.iter_mut().zip(["anna", "ben", "zoe"]) {
        *id = app.user(name).await.id;
    }
    let (conn, now) = (app.superuser().await, app.embeddings.now());
    (app, conn, ids, now)
}

#[tokio::test]
async fn a_second_push_makes_no_second_row_and_does_not_abort_its_transaction() {
    let app = TestApp::start().await;
    let (anna, now) = (app.user("anna").await, app.embeddings.now());
    // Two transactions that do not see each other.
    let mut one = app.db.as_user(anna.id).await.unwrap();
    let mut two = app.db.as_user(anna.id).await.unwrap();
    push(&mut one, anna.id, 1, now).await;
    let user = anna.id;
    let pushing = tokio::spawn(async move {
        push(&mut two, user, 1, now).await;
        push(&mut two, user, 1, now).await;
        two.commit().await.unwrap();
    });
    app.until_blocked(1).await;
    one.commit().await.unwrap();
    pushing.await.unwrap();
    assert_eq!(app.jobs().await.len(), 1);
}

#[tokio::test]
async fn what_is_pushed_while_a_job_runs_leaves_it_due() {
    let (app, mut conn, anna, now) = with_job().await;
    let first = claim(&mut conn, OURS, now).await.expect("it is due");
    assert_eq!((first.user, first.attempts), (anna, 1));
    assert_eq!(claim(&mut conn, THEIRS, now).await, None, "it runs");
    push(&mut conn, anna, 1, now).await;
    finish(&mut conn, &first, &ENDED, now).await;
    let second = claim(&mut conn, OURS, now).await.expect("more has come");
    assert_eq!(second.attempts, 1, "the first ended well");
    finish(&mut conn, &second, &ENDED, now).await;
    assert_eq!(claim(&mut conn, OURS, now).await, None);
    assert!(app.jobs().await.is_empty());
}

#[tokio::test]
async fn a_row_that_is_being_pushed_is_claimed_once_that_is_committed() {
    let (app, mut conn, anna, now) = with_job().await;
    // A run that began now would look for rows and miss the adder's.
    let mut adding = app.db.as_user(anna).await.unwrap();
    push(&mut adding, anna, 1, now).await;
    assert_eq!(claim(&mut conn, OURS, now).await, None);
    adding.commit().await.unwrap();
    assert!(claim(&mut conn, OURS, now).await.is_some());
}

#[tokio::test]
async fn who_has_least_to_do_goes_first_and_who_has_waited_for_long_goes_next() {
    let (_app, mut conn, [anna, ben, zoe], mut now) = with_three().await;
    push(&mut conn, anna, 10_000, now).await;
    push(&mut conn, ben, 5_000, now).await;
    let mut order = Vec::new();
    for slice in 0..8 {
        if slice == 2 {
            push(&mut conn, zoe, 10, now).await;
        }
        let claim = claim(&mut conn, OURS, now).await.expect("somebody is due");
        order.push(claim.user);
        now += Duration::seconds(10);
        let left = match claim.user {
            user if user == anna => 9_000,
            user if user == ben => 4_000,
            _ => 0,
        };
        let end = RunEnd { run_at: (left > 0).then_some(now), size: left, ..ENDED };
        finish(&mut conn, &claim, &end, now).await;
    }
    // Ben has less than Anna, Zoe least of all; Anna goes once she has waited for 30 s.
    assert_eq!(order, [ben, ben, zoe, anna, ben, ben, ben, anna]);
}

#[tokio::test]
async fn runs_that_call_one_provider_leave_places_to_those_that_call_another() {
    let (_app, mut conn, [anna, ben, zoe], now) = with_three().await;
    // Each has run before: Anna and Ben called the same.
    for (user, endpoint) in [(anna, 1), (ben, 1), (zoe, 2)] {
        push(&mut conn, user, 1, now).await;
        let claimed = claim(&mut conn, OURS, now).await.expect("it is due");
        let end = RunEnd { endpoint: Some(endpoint), ..ENDED };
        finish(&mut conn, &claimed, &end, now).await;
    }
    for (user, size) in [(anna, 1), (ben, 2), (zoe, 3)] {
        push(&mut conn, user, size, now).await;
    }
    let rooms = [JobCapacity { places: 4, ..ROOM }];
    let claims = queue::store::claim(&mut conn, OURS, &rooms, None, now).await;
    let mut users: Vec<i64> = claims.unwrap().iter().map(|claim| claim.user.0).collect();
    users.sort();
    assert_eq!(users, [anna.0, zoe.0], "Ben's provider has one run");
    let claims = queue::store::claim(&mut conn, OURS, &rooms, None, now).await;
    assert_eq!(claims.unwrap(), [], "it is still under way");
    // A run that calls nobody, or is not known to, changes nothing.
    let of_anna = Claim { user: anna, job: EMBED.to_owned(), pushes: 2, attempts: 1 };
    finish(&mut conn, &of_anna, &ENDED, now).await;
    push(&mut conn, anna, 9, now).await;
    let next = claim(&mut conn, OURS, now).await.map(|claim| claim.user);
    assert_eq!(next, Some(ben));
    assert_eq!(claim(&mut conn, OURS, now).await, None, "Anna's was kept");
}

#[tokio::test]
async fn a_held_row_is_claimed_once_its_lease_is_over_not_before_and_the_late_one_writes_nothing() {
    let (app, mut conn, anna, now) = with_job().await;
    let killed = claim(&mut conn, OURS, now).await.expect("it is due");
    let renewed_at = now + LEASE - Duration::seconds(1);
    let running = [(anna, EMBED), (UserId(99), EMBED)];
    queue::store::renew(&mut conn, OURS, &running, renewed_at).await.unwrap();
    // A worker whose clock is behind.
    let theirs = renewed_at - Duration::milliseconds(200);
    assert_eq!(claim(&mut conn, THEIRS, theirs).await, None);
    let seen = queue::store::count_in_progress(&mut conn, EMBED, None, theirs).await;
    assert_eq!(seen.unwrap().runs, 1);
    let counts = queue::store::count_jobs(&mut conn, theirs).await.unwrap();
    let embed = counts.iter().find(|counts| counts.job == EMBED);
    assert_eq!(embed.map(|counts| counts.running), Some(1));
    let later = now + LEASE + Duration::seconds(1);
    assert_eq!(claim(&mut conn, THEIRS, later).await, None, "it was renewed");
    let later = renewed_at + LEASE + Duration::seconds(1);
    let again = claim(&mut conn, THEIRS, later).await.expect("its lease is over");
    assert_eq!(again.attempts, 2);
    let late = queue::store::finish(&mut conn, OURS, &killed, &ENDED, later).await;
    assert!(!late.unwrap());
    assert_eq!(app.jobs().await.len(), 1, "it is still to be done");
}

#[tokio::test]
async fn what_kills_its_process_each_time_comes_back_more_and_more_rarely() {
    let (_app, mut conn, _, mut now) = with_job().await;
    let mut runs = 0;
    for _ in 0..720 {
        runs += usize::from(claim(&mut conn, OURS, now).await.is_some());
        now += Duration::seconds(5);
    }
    // In an hour of 720 looks: twice a minute in the end.
    assert!((110..130).contains(&runs), "{runs}");
}

#[tokio::test]
async fn after_a_failure_pushes_bring_nothing_forward_and_a_change_does() {
    let (_app, mut conn, anna, now) = with_job().await;
    let failed = claim(&mut conn, OURS, now).await.expect("it is due");
    let end = RunEnd { run_at: Some(now + Duration::minutes(5)), problem: Some("no"), ..ENDED };
    push(&mut conn, anna, 1, now).await;
    finish(&mut conn, &failed, &end, now).await;
    push(&mut conn, anna, 1, now).await;
    assert_eq!(claim(&mut conn, OURS, now).await, None);
    let failures = queue::store::list_failed(&mut conn, 10).await.unwrap();
    assert_eq!((failures.len(), failures[0].problem.as_str()), (1, "no"));
    let later = now + Duration::minutes(6);
    let again = claim(&mut conn, OURS, later).await.expect("its time has come");
    assert_eq!(again.attempts, 2);
    finish(&mut conn, &again, &end, now).await;
    queue::push_now(&mut conn, anna, EMBED, now).await.unwrap();
    assert_eq!(claim(&mut conn, OURS, now).await.map(|c| c.attempts), Some(1));
}

#[tokio::test]
async fn what_a_clock_that_was_ahead_has_put_off_comes_when_it_is_right_again() {
    let app = TestApp::start().await;
    let (anna, now) = (app.user("anna").await, app.embeddings.now());
    let mut conn = app.superuser().await;
    let ahead = now + Duration::days(1);
    push(&mut conn, anna.id, 1, ahead).await;
    assert_eq!(claim(&mut conn, OURS, now).await, None);
    let found = [(anna.id, now)];
    queue::push_found(&mut conn, EMBED, &found, now).await.unwrap();
    claim(&mut conn, OURS, now).await.expect("it is due");
    // A lease of that clock.
    let lease = conn.sql("UPDATE job_queue SET run_at = $1, lease_until = $2");
    lease.bind(now).bind(ahead).run().await;
    assert!(claim(&mut conn, THEIRS, now).await.is_some());
}

#[tokio::test]
async fn losing_every_hint_loses_no_work_and_two_sweeps_make_one_row() {
    let (app, anna, provider) = with_provider("model").await;
    let ben = app.user("ben").await;
    anna.add("Anna keeps bees.").await;
    ben.add("Ben rows.").await;
    app.sql("DELETE FROM job_queue").run().await;
    let twin = app.twin().await;
    let (one, two) = tokio::join!(app.embeddings.sweep(), twin.embeddings.sweep());
    // Anna's alone: Ben has no provider.
    assert_eq!((one.unwrap(), two.unwrap()), (1, 1));
    assert_eq!(app.jobs().await.len(), 1);
    // Run again it changes nothing.
    for _ in 0..2 {
        app.drain(&anna).await;
        assert_eq!(provider.texts().len(), 1);
    }
    app.sql("DELETE FROM job_queue").run().await;
    assert_eq!(app.embeddings.sweep().await.unwrap(), 0);
}

#[tokio::test]
async fn twenty_adds_at_once_make_one_row() {
    let (app, anna, _provider) = with_provider("model").await;
    app.drain(&anna).await;
    app.sql("DELETE FROM job_queue").run().await;
    let anna = &anna;
    let adds = (0..20).map(|n| async move { anna.add(&format!("secret {n}")).await });
    futures_util::future::join_all(adds).await;
    assert_eq!(app.jobs().await, [(anna.id.0, "embed".to_owned())]);
}

#[tokio::test]
async fn requests_push_for_their_own_user_and_see_nobody_elses() {
    let app = TestApp::start().await;
    let (anna, ben) = (app.user("anna").await, app.user("ben").await);
    let now = app.embeddings.now();
    push(&mut app.superuser().await, ben.id, 1, now).await;
    let mut tx = app.db.as_user(anna.id).await.unwrap();
    assert_eq!(tx.count("job_queue").await, 0);
    let refused = queue::push(&mut tx, ben.id, EMBED, 1, now).await.unwrap_err();
    assert!(refused.to_string().contains("row-level security"), "{refused}");
    for forbidden in [
        "DELETE FROM job_queue",
        "INSERT INTO job_runs SELECT FROM job_runs",
        "SELECT * FROM job_settings",
    ] {
        let mut tx = app.db.as_user(anna.id).await.unwrap();
        let refused = sqlx::query(forbidden).execute(&mut *tx).await.unwrap_err();
        assert!(refused.to_string().contains("permission denied"), "{forbidden}");
    }
}
