//! Starts that meet each other, a signal, or a strange environment.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::time::{Duration, Instant};

use keepsake::db::{self, DatabaseError};
use rustix::process::{Pid, Signal, test_kill_process};
use sqlx::{Connection, PgConnection};

use super::{Home, Server, find, refused};
use crate::support::Sql as _;
use crate::support::{PATIENCE, empty_database, fresh_database};

const STARTS: usize = 8;

#[tokio::test]
async fn of_starts_at_once_on_an_empty_database_all_succeed() {
    let options = empty_database().await;
    let starts = (0..STARTS).map(|_| db::prepare(&options));
    for started in futures_util::future::join_all(starts).await {
        started.unwrap();
    }
}

#[tokio::test]
async fn a_start_that_loses_its_connection_does_not_blame_the_role() {
    let options = fresh_database().await;
    let connect = async || PgConnection::connect_with(&options).await.unwrap();
    let (mut holder, mut admin) = (connect().await, connect().await);
    holder.sql("BEGIN; GRANT USAGE ON SCHEMA public TO keepsake_app").run_all().await;
    let starting = tokio::spawn({
        let options = options.clone();
        async move { db::prepare(&options).await }
    });
    let began = Instant::now();
    let end = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
               WHERE datname = current_database() AND cardinality(pg_blocking_pids(pid)) > 0";
    while admin.sql(end).value::<i64>().await == 0 {
        assert!(began.elapsed() < PATIENCE, "it never waits");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let error = starting.await.unwrap().unwrap_err();
    assert!(matches!(error, DatabaseError::Sql(_)), "{error}");
}

/// Once it has its file.
async fn postmaster(home: &Home) -> Pid {
    let began = Instant::now();
    loop {
        let text = find(home.folder.path(), "postmaster.pid").map(fs::read_to_string);
        let line = text.and_then(|text| text.ok()?.lines().next()?.trim().parse().ok());
        if let Some(pid) = line.and_then(Pid::from_raw) {
            return pid;
        }
        assert!(began.elapsed() < PATIENCE, "PostgreSQL does not start");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_signal_during_the_start_stops_postgresql_before_the_end() {
    let home = Home::new();
    home.create_user("anna@example.com");
    for (command, signal) in [("serve", Signal::TERM), ("work", Signal::INT)] {
        let server = Server::spawn(&mut home.command(&[command]));
        let postmaster = postmaster(&home).await;
        server.signal(signal);
        let (code, log) = server.ended();
        assert_eq!(code, Some(0), "{command}: {log}");
        assert!(test_kill_process(postmaster).is_err(), "{command}: PostgreSQL still runs: {log}");
    }
}

#[test]
fn a_value_that_is_not_utf8_is_refused_with_its_name() {
    let home = Home::new();
    for (args, name) in [
        (&["user", "list"][..], "KEEPSAKE_DATA_DIR"),
        (&["serve"], "KEEPSAKE_SECRET_KEY"),
        (&["mcp"], "KEEPSAKE_TOKEN"),
    ] {
        let said = refused(home.command(args).env(name, OsStr::from_bytes(b"/a\xff")));
        assert!(said.contains(&format!("{name} is not UTF-8")), "{said}");
    }
}
