//! On the cluster of tools/with_citus.py: whose rows are where, and what is not possible there. On an ordinary PostgreSQL: that
//! it is told apart.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use keepsake::accounts::{AccountError, AgentSettings, ExternalId, Scope, UsersMax};
use keepsake::db::citus::{self, CitusError};
use keepsake::db::prepare;
use serde_json::json;
use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection, PgConnection};

use crate::support::Sql as _;
use crate::support::{TestApp, citus_workers, empty_database, fresh_database};
use crate::teams::agent_id;

fn is_on_citus() -> bool {
    !citus_workers().is_empty()
}

#[tokio::test]
async fn a_server_knows_whether_its_database_is_distributed() {
    let app = TestApp::start().await;
    let mut conn = app.db.system_connection().await.unwrap();
    assert_eq!(citus::is_distributed(&mut conn).await.unwrap(), is_on_citus());
    let plans: String = conn.sql("SELECT current_setting('plan_cache_mode')").value().await;
    let generic = if is_on_citus() { "force_custom_plan" } else { "force_generic_plan" };
    assert_eq!(plans, generic);
    let again = citus::distribute(&app.options, None, &[]).await;
    match is_on_citus() {
        true => assert_eq!(again.unwrap(), 0),
        false => assert!(matches!(again, Err(CitusError::Missing(_))), "{again:?}"),
    }
}

/// All that migrations make, but for what Citus has otherwise (src/core/db/citus/store.rs).
async fn schema(options: &PgConnectOptions) -> Vec<String> {
    let mut conn = PgConnection::connect_with(options).await.unwrap();
    conn.sql(
        "SELECT concat_ws(' ', c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,
                          pg_get_expr(d.adbin, d.adrelid)) AS made
         FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
         LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
         WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'v')
         UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = 'public'
         UNION ALL SELECT concat_ws(' ', oid::regprocedure, prosrc) FROM pg_proc
                   WHERE proowner = 'keepsake_owner'::regrole AND proname <> 'forget_lent_reads'
         UNION ALL SELECT concat_ws(' ', tablename, policyname, permissive, roles, cmd, qual, with_check) FROM pg_policies
         UNION ALL SELECT concat_ws(' ', conrelid::regclass, conname, pg_get_constraintdef(oid)) FROM pg_constraint
                   WHERE connamespace = 'public'::regnamespace
         UNION ALL SELECT concat_ws(' ', table_name, column_name, grantee, privilege_type)
                   FROM information_schema.column_privileges WHERE table_schema = 'public'
         UNION ALL SELECT concat_ws(' ', tgrelid::regclass, pg_get_triggerdef(oid)) FROM pg_trigger WHERE NOT tgisinternal
         UNION ALL SELECT concat_ws(' ', name, place) FROM account_tables
         UNION ALL SELECT concat_ws(' ', version, encode(checksum, 'hex')) FROM _sqlx_migrations
         ORDER BY made",
    )
    .values()
    .await
}

#[tokio::test]
async fn a_distributed_database_is_migrated_statement_by_statement_to_the_same_schema() {
    if is_on_citus() {
        return;
    }
    let options = empty_database().await;
    let mut conn = PgConnection::connect_with(&options).await.unwrap();
    let name = options.get_database().unwrap();
    conn.sql(format!("ALTER DATABASE {name} SET keepsake.distributed = 'on'")).run_all().await;
    prepare(&options).await.unwrap();
    let [made, expected] = [schema(&options).await, schema(&fresh_database().await).await];
    assert!(expected.len() > 1_000, "{}", expected.len());
    assert_eq!(made, expected);
}

#[tokio::test]
async fn a_migration_is_run_on_the_cluster() {
    let app = TestApp::start().await;
    if !is_on_citus() {
        return;
    }
    // As it was before the last migration that had to be one for Citus.
    for statement in [
        "DROP INDEX entity_relations_subject_idx",
        "DROP INDEX entity_events_name_idx",
        "DROP FUNCTION has_words_of(text, text)",
        "DROP FUNCTION folded(text)",
        "ALTER FUNCTION erase_session(bigint, boolean, text, timestamptz) SECURITY DEFINER",
        // As a later migration makes it; no team is asked for here.
        "ALTER FUNCTION require_team_writes() SECURITY DEFINER",
        "DELETE FROM _sqlx_migrations WHERE version = 20261220000500",
        "COMMENT ON FUNCTION current_user_id() IS 'of another version'",
        // As clusters of 0.2.0 have it.
        "ALTER FUNCTION require_session(bigint, bytea, boolean) OWNER TO CURRENT_USER",
    ] {
        app.sql(statement).run_all().await;
    }
    prepare(&app.options).await.unwrap();
    let run_as_owner =
        "SELECT prosecdef OR proowner <> 'keepsake_owner'::regrole FROM pg_proc
         WHERE proname IN ('erase_session', 'has_words_of', 'require_session', 'require_session_itself', 'require_team_writes')";
    assert_eq!(app.sql(run_as_owner).values::<bool>().await, [false; 5]);
    let is_theirs = "SELECT prosrc LIKE '%require_session_itself%' FROM pg_proc WHERE proname = 'require_session'";
    assert!(app.sql(is_theirs).value::<bool>().await);
}

#[tokio::test]
async fn the_app_role_writes_for_its_own_user_alone() {
    let app = TestApp::start().await;
    let (anna, ben) = (app.user("anna").await, app.user("ben").await);
    let id = anna.add("The spare key hangs in the shed.").await;
    // Not of a worker's own sequence, which begins at 2^48.
    assert!(id < 1 << 40, "{id}");
    let options = app.options.clone().options([("role", "keepsake_app")]);
    let mut conn = PgConnection::connect_with(&options).await.unwrap();
    for statement in [
        "INSERT INTO memory_themes (user_id, slug, display_name, created_at, updated_at) VALUES ($1, 'a-gift', '', now(), now())",
        "INSERT INTO memory_themes (user_id, slug, display_name, created_at, updated_at) SELECT $1, 'a-gift', '', now(), now() FROM unnest('{1}'::int[]) RETURNING id",
    ] {
        for (to, may) in [(&anna, true), (&ben, false)] {
            let mut tx = conn.begin().await.unwrap();
            tx.sql(format!("SET LOCAL keepsake.user_id = {}", anna.id.0)).run_all().await;
            let done = tx.sql(statement).bind(to.id.0).try_run().await;
            let said = done.err().map(|error| error.to_string());
            match may {
                true => assert_eq!(said, None),
                false => assert!(said.is_some_and(|said| said.contains("row-level security"))),
            }
            tx.rollback().await.unwrap();
        }
    }
    let nobody: Vec<i64> = conn.sql("SELECT id FROM memory_items").values().await;
    assert_eq!(nobody, [] as [i64; 0]);
}

#[tokio::test]
async fn what_is_not_possible_on_citus_is_refused_in_one_sentence() {
    let (app, anna) = TestApp::start_for("anna").await;
    let lead = agent_id(&app, &anna, "agent").await;
    app.token(anna.id, "other", &Scope::ALL, None).await;
    let other = agent_id(&app, &anna, "other").await;
    app.service_token("acme", &Scope::ALL).await;
    let operator = app.accounts.list_operators().await.unwrap()[0].id;
    let item = anna.add("The spare key hangs in the shed.").await;

    let settings = AgentSettings::parse(&json!({ "memory_scope": "own_first" })).unwrap();
    let (pool, max) = (ExternalId::parse(b"pool").unwrap(), UsersMax::parse("3").unwrap());
    let accounts = &app.accounts;
    let refusals = [
        accounts.set_agent_settings(anna.id, other, &settings).await,
        accounts.add_to_team(anna.id, lead, other).await,
        accounts.invite_to_team(anna.id, lead).await.map(drop),
        accounts.change_operator(operator, max, Some(&pool)).await,
    ];
    for refusal in refusals {
        match (is_on_citus(), refusal) {
            (false, done) => done.unwrap(),
            (true, Err(AccountError::Invalid(invalid))) => {
                assert!(invalid.to_string().contains("Citus"), "{invalid}");
            }
            (true, other) => panic!("{other:?}"),
        }
    }
    let browser = app.signed_in(&anna).await;
    let response = browser.post(&format!("/memory/{item}"), &[("action", "own")]).await;
    let body = response.text().await.unwrap();
    assert_eq!(body.contains("Citus"), is_on_citus(), "{body}");
}

const CLIENTS: usize = 8;
const CALLS: usize = 50;

/// Of as many users as clients; `-- --ignored --nocapture` prints them, for docs/scaling.md.
#[tokio::test]
#[ignore = "measures: adds and searches a second"]
async fn adds_and_searches_a_second() {
    let app = TestApp::start().await;
    let mut users = vec![];
    for n in 0..CLIENTS {
        users.push(app.user(&format!("user{n}")).await);
    }
    let started = Instant::now();
    join_all(users.iter().map(async |user| {
        for n in 0..CALLS {
            user.add(&format!("On day {n} they rowed to the island.")).await;
        }
    }))
    .await;
    let adds = started.elapsed();
    let started = Instant::now();
    let found = join_all(users.iter().map(async |user| {
        let mut found = 0;
        for n in 0..CALLS {
            found += user.find(&format!("island day {n}")).await.len();
        }
        found
    }))
    .await;
    let searches = started.elapsed();
    assert!(found.iter().all(|found| *found >= CALLS), "{found:?}");
    let per_second = |time: Duration| (CLIENTS * CALLS) as f64 / time.as_secs_f64();
    eprintln!(
        "{} workers: {:.0} adds, {:.0} searches a second",
        citus_workers().len(),
        per_second(adds),
        per_second(searches)
    );
}
