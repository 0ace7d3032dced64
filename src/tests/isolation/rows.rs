//! One user never sees another, and the database itself is what keeps them apart.

use keepsake::db::UserId;
use serde_json::json;
use sqlx::{Connection, PgConnection};

use crate::consolidation::told;
use crate::support::Sql as _;
use crate::support::{TestApp, TestUser, citus_workers};

const TENANT_TABLES: &str = "agents agent_tokens memory_themes memory_items memory_item_events \
     activity sessions session_messages session_extractions memory_summaries memory_summary_items";

/// One row in each.
async fn fill(app: &TestApp, user: &TestUser) -> i64 {
    // Of a tool's result no item is made.
    told(user, "chat", &[json!({ "id": "1", "role": "tool", "content": "mine" })]).await;
    let id = user.add("mine").await;
    for row in [
        "INSERT INTO memory_summaries (user_id) VALUES ($1)",
        "INSERT INTO memory_summary_items SELECT $1, id FROM memory_items WHERE user_id = $1",
    ] {
        assert_eq!(app.sql(row).bind(user.id.0).run().await, 1);
    }
    id
}

#[tokio::test]
async fn row_security_alone_hides_every_other_users_rows_and_keeps_others_from_writing() {
    let app = TestApp::start().await;
    let (anna, ben) = (app.user("anna").await, app.user("ben").await);
    let id = fill(&app, &anna).await;
    for table in TENANT_TABLES.split(' ') {
        let bens = i64::from(table.starts_with("agent"));
        for (user, rows) in [(anna.id, 1), (ben.id, bens), (UserId(i64::MAX), 0)] {
            // No filter by user.
            let mut as_user = app.db.as_user(user).await.unwrap();
            assert_eq!(as_user.count(table).await, rows, "{table} {user:?}");
        }
    }
    let mut as_ben = app.db.as_user(ben.id).await.unwrap();
    assert_eq!(as_ben.count("users").await, 1);
    let update = "UPDATE memory_items SET content = 'taken' WHERE id = $1";
    assert_eq!(as_ben.sql(update).bind(id).run().await, 0);
    let plant = as_ben.sql(
        "INSERT INTO memory_themes (user_id, slug, display_name, created_at, updated_at)
         VALUES ($1, 'planted', 'planted', now(), now())",
    );
    let refused = plant.bind(anna.id.0).try_run().await.unwrap_err();
    assert!(refused.to_string().contains("row-level security"), "{refused}");
}

#[tokio::test]
async fn forgetting_the_user_finds_nothing_and_raises_nothing_on_a_reused_connection() {
    let (app, anna) = TestApp::start_for("anna").await;
    fill(&app, &anna).await;
    let as_app = app.options.clone().options([("role", "keepsake_app")]);
    let mut conn = PgConnection::connect_with(&as_app).await.unwrap();
    for _ in 0..2 {
        for table in TENANT_TABLES.split(' ') {
            assert_eq!(conn.count(table).await, 0, "{table}");
        }
        // Afterwards the setting is '' rather than unset.
        let mut tx = conn.begin().await.unwrap();
        let set = format!("SET LOCAL keepsake.user_id = {}", anna.id.0);
        tx.sql(set).run().await;
        assert_eq!(tx.count("memory_items").await, 1);
        tx.commit().await.unwrap();
    }
}

#[tokio::test]
async fn requests_run_as_app_and_cannot_become_more_even_with_a_superusers_url() {
    let (app, anna) = TestApp::start_for("anna").await;
    let mut tx = app.db.as_user(anna.id).await.unwrap();
    for when in ["now", "after"] {
        let role: String = tx.sql("SELECT current_user::text").value().await;
        assert_eq!(role, "keepsake_app", "{when}");
        tx.sql("RESET ROLE").run().await;
    }
    // On Citus what an erasure calls acts as this role, of its own user's rows alone
    // (docs/scaling.md).
    for (forbidden, may_on_citus) in [
        ("DELETE FROM memory_items", true),
        ("DELETE FROM memory_item_events", true),
        ("DELETE FROM sessions", true),
        ("DELETE FROM session_messages", true),
        ("UPDATE session_messages SET content = 'other'", true),
        ("DELETE FROM session_extractions", true),
        ("DELETE FROM memory_summaries", false),
        ("UPDATE memory_summary_items SET item_id = 1", false),
        ("SELECT count(*) FROM account_tables", false),
        ("UPDATE memory_item_events SET event = 'added'", false),
        ("DELETE FROM activity", true),
        ("UPDATE activity SET query = NULL", true),
        ("UPDATE activity SET outcome = 'ok'", false),
        ("SELECT prune_activity(0, now())", false),
        ("SELECT data FROM web_sessions", false),
        // Of no row of it on Citus: its row security admits none to this role.
        ("SELECT name FROM operators", true),
        ("SELECT hint FROM service_tokens", false),
        ("UPDATE users SET operator_id = 1", false),
        ("UPDATE agents SET name = 'other'", false),
        ("ALTER TABLE memory_items DISABLE ROW LEVEL SECURITY", false),
        ("UPDATE users SET role = 'admin'", false),
    ] {
        if may_on_citus && !citus_workers().is_empty() {
            continue;
        }
        let mut tx = app.db.as_user(anna.id).await.unwrap();
        let refused = tx.sql(forbidden).try_run().await.unwrap_err();
        let code = refused.as_database_error().and_then(|e| e.code().map(|c| c.into_owned()));
        assert_eq!(code.as_deref(), Some("42501"), "{forbidden}");
    }
}

#[tokio::test]
async fn the_system_role_sees_no_memory() {
    let app = TestApp::start().await;
    for what in [
        "count(*) FROM memory_themes",
        "content FROM memory_items",
        "key FROM memory_items",
        "tags FROM memory_items",
        "event FROM memory_item_events",
        "item_id FROM memory_item_events",
        "body FROM memory_summaries",
        "count(*) FROM memory_summary_items",
        "model FROM chat_settings",
        "count(*) FROM activity",
        "forget_activity_queries()",
        "external_id FROM sessions",
        "content FROM session_messages",
        "reason FROM session_extractions",
        "embedding FROM memory_embeddings",
        "terms FROM memory_passages",
        "error FROM memory_embeddings",
        "sealed_key FROM embedding_spaces",
        "sealed_key FROM embedding_settings",
        "sealed_key FROM chat_settings",
        "count(*) FROM chat_spend",
    ] {
        let mut tx = app.db.as_system().await.unwrap();
        let refused = tx.sql(format!("SELECT {what}")).try_run().await.unwrap_err();
        assert!(refused.to_string().contains("permission denied"), "{what}: {refused}");
    }
}

#[tokio::test]
async fn an_owner_who_is_no_superuser_can_migrate_rows_under_force() {
    let (app, anna) = TestApp::start_for("anna").await;
    anna.add("mine").await;
    app.sql("ALTER ROLE keepsake_owner NOBYPASSRLS").run().await;
    let as_owner = app.options.clone().options([("role", "keepsake_owner")]);
    let mut owner = PgConnection::connect_with(&as_owner).await.unwrap();
    let touched = owner.sql("UPDATE memory_items SET confidence = 90").run().await;
    app.sql("ALTER ROLE keepsake_owner BYPASSRLS").run().await;
    assert_eq!(touched, 1);
}
