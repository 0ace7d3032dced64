//! One user's trouble stops neither the steps after it nor other users.

use keepsake::queue::SERVER;
use serde_json::{Value, json};

use crate::support::{TestApp, TestUser};

async fn failed_jobs(app: &TestApp) -> Vec<(i64, String)> {
    let failed = "SELECT user_id, job FROM job_queue WHERE problem IS NOT NULL ORDER BY job";
    app.sql(failed).rows().await
}

async fn status_and_session(app: &TestApp, user: &TestUser) -> (String, bool) {
    let both = "SELECT (SELECT status FROM memory_items WHERE user_id = $1 AND type <> 'turn'),
                (SELECT completed_at IS NOT NULL FROM sessions WHERE user_id = $1)";
    app.sql(both).bind(user.id.0).row().await
}

async fn live(user: &TestUser) {
    let item = json!({ "type": "fact", "content": "short-lived", "expires_in_days": 1 });
    user.call("memory_add", item).await;
    let said = json!({ "messages": [{ "id": "1", "role": "user", "content": "hello" }] });
    let answer = user.post("/api/v1/sessions/s/messages", &said).await;
    assert_eq!(answer.status(), 200, "{}", answer.json::<Value>().await.unwrap());
}

#[tokio::test]
async fn a_user_whose_rows_cannot_be_changed_holds_up_no_other() {
    let app = TestApp::start().await;
    let (anna, ben) = (app.user("anna").await, app.user("ben").await);
    live(&anna).await;
    live(&ben).await;
    let is_others = format!("user_id <> {}", anna.id.0);
    for table in ["memory_items", "sessions", "memory_summaries"] {
        app.refuse_unless(table, &is_others).await;
    }
    app.clock.advance(time::Duration::days(2));
    app.run_due().await;
    let annas = ["compare", "complete", "expire"].map(|job| (anna.id.0, job.to_owned()));
    assert_eq!(failed_jobs(&app).await, annas, "and are tried again");
    assert_eq!(status_and_session(&app, &anna).await, ("active".to_owned(), false));
    assert_eq!(status_and_session(&app, &ben).await, ("archived".to_owned(), true));
}

#[tokio::test]
async fn a_step_that_fails_does_not_stop_those_after_it() {
    let (app, ben) = TestApp::start_for("ben").await;
    live(&ben).await;
    app.clock.advance(time::Duration::days(2));
    let revoke = "REVOKE SELECT ON sessions FROM keepsake_system";
    app.sql(revoke).run_all().await;
    app.run_due().await;
    let swept = [(SERVER.0, "sweep".to_owned())];
    assert_eq!(failed_jobs(&app).await, swept, "and is tried again");
    assert_eq!(status_and_session(&app, &ben).await, ("archived".to_owned(), false));
}
