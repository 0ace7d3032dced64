//! Backup, verification and restore by the role of `dist/postgres-role.sql`, which is no superuser, on a PostgreSQL of
//! their own.

use std::fs;
use std::path::Path;
use std::process::Command;

use keepsake::backup;
use keepsake::db;
use keepsake::postgres::{EmbeddedPostgres, client_programs};
use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection, PgConnection};

use super::{ENDED, backed_up, restored, rows, server_of};
use crate::server::Home;
use crate::support::Sql as _;
use crate::support::{TestApp, Wish};

const PASSWORD_OF_ROLE: &str = "letters and digits";

/// Runs SQL as the superuser, in this database.
async fn as_superuser(postgres: &EmbeddedPostgres, database: &str, sql: &str) {
    let options = postgres.connect_options().database(database);
    let mut conn = PgConnection::connect_with(&options).await.unwrap();
    conn.sql(sql.to_owned()).run_all().await;
    conn.close().await.unwrap();
}

/// A PostgreSQL that `dist/postgres-role.sql` was run on, and how the role connects.
async fn with_role(home: &Home) -> (EmbeddedPostgres, PgConnectOptions) {
    let data = home.folder.path();
    let postgres = EmbeddedPostgres::start(data).await.unwrap();
    // The script makes it.
    as_superuser(&postgres, "postgres", "DROP DATABASE keepsake").await;
    let admin = "CREATE ROLE admin SUPERUSER LOGIN PASSWORD 'admin'";
    as_superuser(&postgres, "postgres", admin).await;
    let options = postgres.connect_options();
    let host = match options.get_socket() {
        Some(folder) => folder.display().to_string(),
        None => options.get_host().to_owned(),
    };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("dist/postgres-role.sql");
    let ran = Command::new(client_programs(data).unwrap().join("psql"))
        .args(["--quiet", "--set=ON_ERROR_STOP=1", "--no-psqlrc", "--file"])
        .arg(script)
        .env("PGHOST", host)
        .env("PGPORT", options.get_port().to_string())
        .env("PGUSER", "admin")
        .env("PGPASSWORD", "admin")
        .env("PGDATABASE", "postgres")
        .env("KEEPSAKE_DB_PASSWORD", PASSWORD_OF_ROLE)
        .output()
        .unwrap();
    assert!(ran.status.success(), "{ran:?}");
    let options = options.username("keepsake").password(PASSWORD_OF_ROLE);
    (postgres, options.database("keepsake"))
}

/// Verifies the newest backup: what is wrong with it.
async fn verified(app: &TestApp) -> Option<String> {
    backup::ask_to_verify(&app.db, app.embeddings.now()).await.unwrap();
    assert_eq!(app.run_job("backup").await, 1);
    let mut conn = app.db.system_connection().await.unwrap();
    let newest = backup::list(&mut conn).await.unwrap().remove(0);
    assert!(newest.verified_at.is_some());
    newest.verify_problem
}

#[tokio::test]
async fn a_role_that_is_no_superuser_backs_up_verifies_and_restores() {
    let (home, folder) = (Home::new(), tempfile::tempdir().unwrap());
    let (postgres, options) = with_role(&home).await;
    db::prepare(&options).await.unwrap();
    let app = TestApp::start_as(Wish {
        database: Some(options.clone()),
        backup_dir: Some(folder.path().to_owned()),
        ..Wish::default()
    })
    .await;
    let anna = app.user("anna").await;
    let tea = anna.add("Anna drinks tea.").await;
    let now = app.embeddings.now();
    backup::ask(&app.db, now).await.unwrap();
    assert_eq!(app.run_job("backup").await, 1);
    assert_eq!(verified(&app).await, None);
    let left = app.count("pg_database WHERE datname LIKE '%check'").await;
    assert_eq!(left, 0, "the throwaway database is left");

    assert_eq!(app.count("pg_roles WHERE rolname LIKE '%\\_load'").await, 0, "a role is left");

    // What it may not do is said with the statement that helps.
    as_superuser(&postgres, "template1", "DROP EXTENSION vector").await;
    let problem = verified(&app).await.unwrap();
    assert!(problem.contains("in the database template1: CREATE EXTENSION vector;"), "{problem}");
    as_superuser(&postgres, "postgres", "ALTER ROLE keepsake NOCREATEDB").await;
    let problem = verified(&app).await.unwrap();
    assert!(problem.contains("ALTER ROLE keepsake CREATEDB;"), "{problem}");

    // Its own backup, and one that a superuser made elsewhere.
    as_superuser(&postgres, "template1", "CREATE EXTENSION vector").await;
    let other = TestApp::start().await;
    other.user("ben").await.add("Ben bakes bread.").await;
    let own = folder.path().join("by-the-role.tar");
    let elsewhere = folder.path().join("by-a-superuser.tar");
    backed_up(&other, &elsewhere).await;
    let superuser = postgres.connect_options();
    // Where no further role may sign in, it loads by itself, and a superuser does not load.
    let mut conn =
        PgConnection::connect_with(&superuser.clone().database("postgres")).await.unwrap();
    let hba: String = conn.sql("SHOW hba_file").value().await;
    let before = fs::read_to_string(&hba).unwrap();
    let allowed = [superuser.get_username(), "keepsake"]
        .map(|role| format!("local all {role} scram-sha-256\nhost all {role} all scram-sha-256\n"));
    fs::write(&hba, allowed.concat() + "local all all reject\nhost all all all reject\n").unwrap();
    conn.sql("CREATE DATABASE refused").run_all().await;
    conn.sql("ALTER ROLE keepsake CREATEDB").run_all().await;
    conn.sql("SELECT pg_reload_conf()").run_all().await;
    assert_eq!(verified(&app).await, None);
    let there = superuser.clone().database("refused");
    db::prepare(&there).await.unwrap();
    let refused = restored(&other, &elsewhere, &there).await.unwrap_err().to_string();
    assert!(refused.contains("does not let the role refused_load sign in"), "{refused}");
    fs::write(&hba, before).unwrap();
    conn.sql("SELECT pg_reload_conf()").run_all().await;
    backed_up(&app, &own).await;
    for (file, made_by, source, name) in
        [(own, &app, &superuser, "second"), (elsewhere, &other, &other.options, "third")]
    {
        let make = format!("CREATE DATABASE {name} OWNER keepsake");
        as_superuser(&postgres, "postgres", &make).await;
        let there = options.clone().database(name);
        db::prepare(&there).await.unwrap();
        restored(made_by, &file, &there).await.unwrap();
        // Counted as the superuser: the role alone sees no rows.
        let after = rows(&superuser.clone().database(name)).await;
        for (table, n) in rows(source).await {
            let n = if ENDED.contains(&table.as_str()) { 0 } else { n };
            assert_eq!(after.get(&table), Some(&n), "{name}: {table}");
        }
        assert_eq!(after["memory_items"], 1);
    }
    let next = server_of(&options.clone().database("second")).await;
    assert_eq!(anna.at(&next).find("tea").await, [tea]);
    postgres.stop().await.unwrap();
}
