//! The search through every column of every table.

use std::collections::BTreeSet;

use sqlx::{Connection, PgConnection};

use super::LIVES_IN;
use super::holds::holds;
use crate::server::Home;
use crate::support::Sql as _;

pub(super) async fn superuser(home: &Home) -> PgConnection {
    let options = keepsake::postgres::of_running_server(home.folder.path()).unwrap().unwrap();
    PgConnection::connect_with(&options).await.unwrap()
}

/// Every column of every table of every schema of ours and of the queue's.
pub(super) async fn search_the_database(home: &Home, secrets: &[String], words: &[String]) {
    let mut conn = superuser(home).await;
    let select = "SELECT c.oid::regclass::text AS table, quote_ident(a.attname) AS column
         FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
         JOIN pg_namespace n ON n.oid = c.relnamespace
         WHERE c.relkind IN ('r', 'p', 'm') AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')
         ORDER BY 1, 2";
    let columns: Vec<(String, String)> = conn.sql(select).rows().await;
    assert!(columns.len() > 100, "only {} columns", columns.len());
    let mut lived_in: BTreeSet<(String, String)> = BTreeSet::new();
    for (table, column) in columns {
        let place = format!("{table}.{column}");
        let all = format!("SELECT {column}::text FROM {table} WHERE {column} IS NOT NULL");
        let values: Vec<String> = conn.sql(all).values().await;
        let values = values.join("\n");
        for secret in secrets {
            assert!(!holds(&values, secret), "{secret} in {place}");
        }
        for word in words {
            if !holds(&values, word) {
                continue;
            }
            let may = LIVES_IN.iter().find(|(known, _)| known == word);
            let is_home = may.is_some_and(|(_, places)| places.split(' ').any(|p| p == place));
            assert!(is_home, "{word} in {place}");
            lived_in.insert((word.clone(), place.clone()));
        }
    }
    // What is listed is true, and the search does find things.
    for (word, places) in LIVES_IN {
        let is_there = |p: &str| lived_in.contains(&((*word).to_owned(), p.to_owned()));
        assert!(places.split(' ').any(is_there), "{word} was found in none of {places}");
    }
}
