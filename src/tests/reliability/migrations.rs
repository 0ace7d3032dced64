//! Every released schema goes forward with its rows. Each prefix of migrations/ counts as
//! released: a database is brought to it, filled with what that schema allows, and brought
//! to the head, where every row must be as it was. A new migration is covered by being there.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;

use keepsake::db::prepare;
use serde_json::Value;
use sqlx::migrate::Migrator;
use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection, PgConnection};

use crate::support::Sql as _;
use crate::support::{empty_database, fresh_database};

static MIGRATIONS: Migrator = sqlx::migrate!();

/// What `sha384sum migrations/*.sql` printed at the last release.
const RELEASED: &str = include_str!("../../../migrations/released.sha384");

/// What a column that must be filled is filled with, by its type. A column whose CHECK
/// lists values takes the first of them; a foreign key finds the row of its table, since
/// every id is 1.
const BY_TYPE: [(&str, &str); 14] = [
    ("bigint", "1"),
    ("integer", "1"),
    ("smallint", "1"),
    ("boolean", "true"),
    ("text", "'text'"),
    ("text[]", "'{act_as}'"),
    ("bigint[]", "'{1}'"),
    ("integer[]", "'{1,1,1}'"),
    ("bytea", "'\\x01'"),
    ("jsonb", "'{}'"),
    ("date", "'2026-11-21'"),
    ("timestamp with time zone", "'2026-11-21'"),
    ("tsvector", "'text'"),
    ("inet", "'127.0.0.1'"),
];

/// Columns that may be empty, and are not: so that users sign in as they do, and a vector is one.
const FILLED_TOO: [(&str, &str, &str); 13] = [
    ("secret_findings", "fingerprint", "decode(repeat('01', 16), 'hex')"),
    ("backup_state", "only_row", "true"),
    ("dream_settings", "episodes_min", "5"),
    ("users", "email", "'anna@example.com'"),
    ("users", "password_hash", "'hash'"),
    ("memory_embeddings", "bits", "repeat('1', 1024)::bit(1024)"),
    ("memory_embeddings", "embedding", "array_fill(1, ARRAY[384])::halfvec"),
    ("embedding_spaces", "dimensions", "384"),
    ("invitations", "role", "'member'"),
    ("memory_items", "theme_id", "1"),
    ("entity_relations", "value", "'a baker'"),
    // Another agent than the leader.
    ("team_members", "member_agent", "2"),
    // Its number is drawn from a sequence.
    ("documents", "id", "1"),
];

#[derive(sqlx::FromRow)]
struct Column {
    table: String,
    name: String,
    kind: String,
    must_be_filled: bool,
    first_listed: Option<String>,
}

/// The columns of all tables of Keepsake's own.
async fn columns(owner: &mut PgConnection) -> Vec<Column> {
    owner.sql(r"SELECT c.relname::text AS table, a.attname::text AS name, format_type(a.atttypid, NULL) AS kind,
                 a.attidentity <> '' OR (a.attnotnull AND NOT a.atthasdef) AS must_be_filled,
                 (SELECT substring(pg_get_constraintdef(k.oid) FROM '''([^'']*)''::text')
                  FROM pg_constraint k WHERE k.conrelid = c.oid AND k.contype = 'c' AND k.conkey = ARRAY[a.attnum]
                    AND pg_get_constraintdef(k.oid) LIKE '%ANY (ARRAY[%' LIMIT 1) AS first_listed
          FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
          WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
            AND c.relname <> '_sqlx_migrations' AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
          ORDER BY c.relname, a.attnum").rows().await
}

fn value_of(column: &Column) -> Option<String> {
    let is_this =
        |(table, name, _): &&(&str, &str, &str)| *table == column.table && *name == column.name;
    if let Some((_, _, value)) = FILLED_TOO.iter().find(is_this) {
        return Some((*value).to_owned());
    }
    if !column.must_be_filled {
        return None;
    }
    if let Some(listed) = &column.first_listed {
        return Some(format!("'{listed}'"));
    }
    let of_type = BY_TYPE.iter().find(|(kind, _)| *kind == column.kind);
    let (_, value) =
        of_type.unwrap_or_else(|| panic!("name a value of type {} in BY_TYPE", column.kind));
    Some((*value).to_owned())
}

fn insert(table: &str, columns: &[&Column]) -> String {
    let filled = columns.iter().filter_map(|column| Some((&*column.name, value_of(column)?)));
    let (names, values): (Vec<&str>, Vec<String>) = filled.unzip();
    format!(
        "INSERT INTO {table} ({}) OVERRIDING SYSTEM VALUE VALUES ({})",
        names.join(", "),
        values.join(", ")
    )
}

/// A row in every table, in an order that the foreign keys allow.
async fn fill(owner: &mut PgConnection, prefix: i64) {
    let all = columns(owner).await;
    let mut by_table: BTreeMap<&str, Vec<&Column>> = BTreeMap::new();
    for column in &all {
        by_table.entry(&column.table).or_default().push(column);
    }
    let mut waiting: Vec<(&str, String)> =
        by_table.iter().map(|(table, columns)| (*table, insert(table, columns))).collect();
    while !waiting.is_empty() {
        let (mut left, mut refusals) = (Vec::new(), Vec::new());
        for (table, statement) in waiting.clone() {
            let mut savepoint = owner.begin().await.unwrap();
            let done = savepoint.sql(statement.as_str()).try_run().await;
            match done {
                Ok(_) => savepoint.commit().await.unwrap(),
                // The migration itself has put the row there.
                Err(error) if is_there_already(&error) => savepoint.rollback().await.unwrap(),
                Err(error) => {
                    savepoint.rollback().await.unwrap();
                    refusals.push(format!("{statement}: {error}"));
                    left.push((table, statement));
                }
            }
        }
        assert!(
            left.len() < waiting.len(),
            "at migration {prefix} these tables take no row; say in FILLED_TOO what they need:\n{}",
            refusals.join("\n")
        );
        waiting = left;
    }
}

fn is_there_already(error: &sqlx::Error) -> bool {
    error.as_database_error().is_some_and(|e| e.is_unique_violation())
}

/// Every row of every table, as JSON.
pub async fn rows(owner: &mut PgConnection) -> BTreeMap<String, Vec<Value>> {
    let mut rows = BTreeMap::new();
    let mut tables: Vec<String> = columns(owner).await.into_iter().map(|c| c.table).collect();
    tables.dedup();
    for table in tables {
        let found = owner.sql(format!("SELECT to_jsonb(t) FROM {table} t")).values().await;
        rows.insert(table, found);
    }
    rows
}

/// As the owner, who runs migrations, in a database that has the roles and the extensions alone.
async fn owner_of(options: &PgConnectOptions) -> PgConnection {
    let mut setup = PgConnection::connect_with(options).await.unwrap();
    setup.sql("CREATE EXTENSION vector; CREATE EXTENSION hstore; CREATE EXTENSION btree_gin; CREATE EXTENSION btree_gist;
         GRANT USAGE, CREATE ON SCHEMA public TO keepsake_owner;
         GRANT USAGE ON SCHEMA public TO keepsake_app, keepsake_system;").run_all().await;
    let as_owner = options.clone().options([("role", "keepsake_owner")]);
    PgConnection::connect_with(&as_owner).await.unwrap()
}

#[tokio::test]
async fn every_released_schema_goes_forward_with_its_rows() {
    // Whoever comes first makes the roles.
    fresh_database().await;
    let versions: Vec<i64> = MIGRATIONS.iter().map(|m| m.version).collect();
    assert!(versions.len() >= 5, "{versions:?}");
    for released in &versions {
        let options = empty_database().await;
        let mut owner = owner_of(&options).await;
        MIGRATIONS.run_direct(Some(*released), &mut owner, false).await.unwrap();
        fill(&mut owner, *released).await;
        let before = rows(&mut owner).await;
        let empty: Vec<&String> =
            before.iter().filter(|(_, rows)| rows.is_empty()).map(|(table, _)| table).collect();
        assert!(empty.is_empty(), "at migration {released} nothing is in {empty:?}");
        owner.close().await.unwrap();

        // As a newer program does it at its start.
        prepare(&options).await.unwrap();

        let mut owner = PgConnection::connect_with(&options).await.unwrap();
        let after = rows(&mut owner).await;
        for (table, rows) in before {
            if DROPPED.contains(&table.as_str()) {
                continue;
            }
            let now = after.get(now_named(&table));
            let now = now.unwrap_or_else(|| panic!("{table} of {released} is gone"));
            for row in rows {
                let is_there = now.iter().any(|found| has_all_of(found, &row));
                assert!(
                    is_there || names_dropped(&row),
                    "{released}: {table} had {row} and has {now:?}"
                );
            }
        }
    }
}

/// Where the database has those of another version, they are replaced, by one of the servers that start at once.
#[tokio::test]
async fn functions_are_those_of_the_files() {
    let options = fresh_database().await;
    let mut owner = PgConnection::connect_with(&options).await.unwrap();
    let own =
        "SELECT proname::text FROM pg_proc WHERE proowner = 'keepsake_owner'::regrole ORDER BY 1";
    let mut in_files = Vec::new();
    for entry in fs::read_dir("migrations/functions").unwrap() {
        let sql = fs::read_to_string(entry.unwrap().path()).unwrap();
        let found = sql.split("CREATE OR REPLACE FUNCTION ").skip(1);
        in_files.extend(found.map(|rest| rest.split('(').next().unwrap().to_owned()));
    }
    in_files.sort_unstable();
    assert_eq!(owner.sql(own).values::<String>().await, in_files);

    let other = "CREATE OR REPLACE FUNCTION is_over(valid_until timestamptz, at timestamptz) RETURNS boolean LANGUAGE sql AS 'SELECT true'";
    owner.sql(other).run_all().await;
    let is_other = "SELECT is_over('2026-12-01', '2026-11-01')";
    prepare(&options).await.unwrap();
    assert!(owner.sql(is_other).value::<bool>().await);
    owner.sql("COMMENT ON FUNCTION current_user_id() IS 'of another version'").run_all().await;
    let (one, two) = tokio::join!(prepare(&options), prepare(&options));
    one.and(two).unwrap();
    assert!(!owner.sql(is_other).value::<bool>().await);
}

/// Columns of what a process had in hand, which no newer one goes on with.
const REMOVED: &str = "enriched_at faded_at evaluation_tokens summary_enabled lease_until \
     started_at truncated content_hash content_tsv bits theme_id item_type item_live_until \
     item_created_at";

/// Tables of what the server does no more.
pub const DROPPED: [&str; 3] = ["evaluations", "evaluation_requests", "evaluation_questions"];

/// The line of `account_tables` of one of these.
pub fn names_dropped(row: &Value) -> bool {
    row["name"].as_str().is_some_and(|name| DROPPED.contains(&name))
}

/// Tables and columns that have another name now.
const RENAMED: [(&str, &str); 2] =
    [("memory_item_embeddings", "memory_embeddings"), ("item_id", "source_id")];

pub fn now_named(name: &str) -> &str {
    let renamed = RENAMED.iter().find(|(before, _)| *before == name);
    renamed.map_or(name, |(_, now)| now)
}

/// New columns may have come.
pub fn has_all_of(found: &Value, row: &Value) -> bool {
    row.as_object().unwrap().iter().all(|(name, value)| {
        let now = found.get(name).or_else(|| found.get(now_named(name)));
        let is_removed = now.is_none() && REMOVED.split(' ').any(|removed| removed == name);
        let is_renamed = || {
            let before = value.as_str().map(now_named);
            before.is_some() && now.and_then(Value::as_str) == before
        };
        is_removed || now == Some(value) || is_renamed()
    })
}

/// Databases hold the checksums of the migrations that made them: a server refuses to start where one has changed.
#[test]
fn released_migrations_are_as_they_were_and_new_ones_come_after_them() {
    let mut released = RELEASED.lines();
    for migration in MIGRATIONS.iter() {
        let Some(line) = released.next() else { break };
        let (checksum, path) = line.split_once("  ").unwrap();
        let starts = format!("migrations/{}_", migration.version);
        assert!(
            path.starts_with(&starts),
            "{path} was released: nothing may come before it, and it may not go"
        );
        let now = migration.checksum.iter().fold(String::new(), |mut hex, b| {
            write!(hex, "{b:02x}").unwrap();
            hex
        });
        assert_eq!(now, checksum, "{path} was released and may not change");
    }
    assert_eq!(released.next(), None, "was released and is gone");
}
