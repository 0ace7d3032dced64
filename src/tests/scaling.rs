//! What docs/scaling.md says is so: every tenant table can be distributed by its user, the tables that are not are those that
//! it lists, nothing in the schema or in a statement is what Citus refuses, and the metrics that it names exist.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use keepsake::db::citus::NOT_DISTRIBUTED;

use crate::support::TestApp;

/// Whole on every node, since tenants' tables refer to them; as docs/scaling.md has them.
const REFERENCE: [(&str, &str); 2] = [
    ("operators", "the foreign key of `users` refers to it"),
    (
        "users",
        "the e-mail address and the operator's external id are unique over all users, which one shard cannot check",
    ),
];

/// On the coordinator alone, and why.
const LOCAL: [(&str, &str); 21] = [
    ("_sqlx_migrations", "the list of applied migrations"),
    ("account_tables", "the list of tables that an erasure deletes from"),
    ("admin_events", "belongs to no user, and is kept when a user is erased"),
    ("allowed_endpoints", "set by an admin for all users"),
    ("backups", "the list of files in the backup folder"),
    ("backup_state", "one row: what an admin asked for"),
    ("endpoint_dialects", "belongs to no user: endpoints, by a hash of their addresses"),
    ("erasure_notes", "waits for the file beside the backups, after its user is erased too"),
    ("erasure_receipts", "is kept when its user is erased, and is found by its own id"),
    ("invitations", "found by the hash of the link, before the user exists"),
    ("oauth_clients", "belongs to no user: it is there before any has allowed it"),
    ("service_tokens", "belongs to an operator, and is found by the token's hash"),
    ("system_chat_provider", "set by an admin for all users"),
    ("system_providers", "set by an admin for all users"),
    ("job_queue", "one statement claims the rows of all users"),
    ("job_runs", "written in the queue's transaction, and read for all users together"),
    ("job_settings", "set by an admin for all users"),
    ("system_settings", "set by an admin for all users"),
    ("team_invitations", "found by the hash of the link, by any user who has it"),
    ("team_members", "belongs to two users, and is read by either"),
    ("web_sessions", "found by the hash of the cookie, before the user is known"),
];

/// What `keepsake migrate --citus` replaces before it distributes the tables (src/core/db/citus/store.rs).
const FOREIGN_KEYS_REPLACED: [&str; 1] = ["memory_items_session_id_fkey"];

fn doc() -> String {
    fs::read_to_string("docs/scaling.md").unwrap()
}

/// The table under a heading: what stands in its first two columns.
fn rows_under(doc: &str, heading: &str) -> BTreeSet<(String, String)> {
    let section = doc.split(heading).nth(1).unwrap();
    let lines = section.split("\n#").next().unwrap().lines();
    let rows = lines.filter(|line| line.starts_with("| `")).map(|line| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        (cells[1].trim_matches('`').to_owned(), cells[2].to_owned())
    });
    rows.collect()
}

fn listed(tables: &[(&str, &str)]) -> BTreeSet<(String, String)> {
    let own = |(name, why): &(&str, &str)| ((*name).to_owned(), (*why).to_owned());
    tables.iter().map(own).collect()
}

/// All tables but those of [`REFERENCE`] and [`LOCAL`].
async fn tenant_tables(app: &TestApp) -> BTreeSet<String> {
    let tables: Vec<(String, bool)> = app.sql("SELECT c.relname::text,
                EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'user_id'
                        AND NOT a.attisdropped AND a.attnotnull AND a.atttypid = 'bigint'::regtype)
                AND EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.oid AND i.indisprimary)
         FROM pg_class c
         WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition").rows().await;
    let mut elsewhere: BTreeSet<&str> = REFERENCE.iter().chain(&LOCAL).map(|(t, _)| *t).collect();
    let mut tenants = BTreeSet::new();
    for (table, has_user) in tables {
        if elsewhere.remove(table.as_str()) {
            continue;
        }
        assert!(
            has_user,
            "{table} has no primary key, or no user_id that is bigint NOT NULL: it belongs to REFERENCE or LOCAL, here and in docs/scaling.md"
        );
        tenants.insert(table);
    }
    assert!(elsewhere.is_empty(), "no tables any more: {elsewhere:?}");
    tenants
}

#[tokio::test]
async fn every_unique_or_foreign_key_has_its_user_or_is_of_a_reference_table() {
    let app = TestApp::start().await;
    let tenants = tenant_tables(&app).await;
    // Columns that an index only carries along (INCLUDE) do not count.
    let without_user: Vec<(String, String)> = app.sql("SELECT c.relname::text, i.indexrelid::regclass::text
         FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
         WHERE c.relnamespace = 'public'::regnamespace AND (i.indisunique OR i.indisexclusion)
           AND NOT EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'user_id'
                           AND a.attnum = ANY ((i.indkey::int2[])[0:i.indnkeyatts - 1]))").rows().await;
    for (table, index) in without_user {
        assert!(!tenants.contains(&table), "{index} has no user_id");
    }
    let is_reference = |table: &str| REFERENCE.iter().any(|(name, _)| *name == table);
    let mut refused = BTreeSet::new();
    // Whether `user_id` is among the columns, and in the same place on the other side; n, d: SET NULL, SET DEFAULT;
    // c: CASCADE, of which an update would move the row.
    let keys = "SELECT k.conname::text, f.relname::text, t.relname::text, stands.here IS NOT NULL,
                       stands.here IS NOT DISTINCT FROM stands.there,
                       k.confdeltype IN ('n', 'd') OR k.confupdtype IN ('n', 'd', 'c')
         FROM pg_constraint k
         JOIN pg_class f ON f.oid = k.conrelid
         JOIN pg_class t ON t.oid = k.confrelid
         CROSS JOIN LATERAL (SELECT
             array_position(k.conkey, (SELECT attnum FROM pg_attribute
                 WHERE attrelid = k.conrelid AND attname = 'user_id')) AS here,
             array_position(k.confkey, (SELECT attnum FROM pg_attribute
                 WHERE attrelid = k.confrelid AND attname = 'user_id')) AS there) stands
         WHERE k.contype = 'f' AND f.relnamespace = 'public'::regnamespace
         ORDER BY k.conname";
    let keys = app.sql(keys).rows::<(String, String, String, bool, bool, bool)>().await;
    for (name, from, to, has_user, is_same_place, is_refused) in keys {
        let is_inside = tenants.contains(&to);
        if !tenants.contains(&from) {
            assert!(!is_inside, "{name} leads from {from} to a tenant table, which is in parts");
            continue;
        }
        assert!(has_user, "{name} has no user_id");
        assert!(is_inside || is_reference(&to), "{name} leads to {to}");
        assert!(!is_inside || is_same_place, "{name}: user_id stands elsewhere on the other side");
        if is_refused {
            refused.insert(name);
        }
    }
    assert_eq!(refused, BTreeSet::from(FOREIGN_KEYS_REPLACED.map(str::to_owned)));
    let code = fs::read_to_string("src/core/db/citus/store.rs").unwrap();
    for name in FOREIGN_KEYS_REPLACED {
        assert!(code.contains(&format!("DROP CONSTRAINT {name}")), "{name}");
    }
}

#[tokio::test]
async fn nothing_else_that_citus_refuses_is_in_the_schema() {
    let app = TestApp::start().await;
    for (what, query) in [
        (
            "a trigger",
            "SELECT t.tgname::text FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
             WHERE c.relnamespace = 'public'::regnamespace AND NOT t.tgisinternal
               AND t.tgname NOT LIKE 'truncate_trigger_%' AND t.tgname NOT LIKE 'citus_%'",
        ),
        // `migrate --citus` knows these two kinds, and what they are for.
        (
            "a policy that asks another table",
            r"SELECT tablename || ': ' || policyname FROM pg_policies
              WHERE schemaname = 'public' AND policyname NOT IN ('scope', 'team')
                AND regexp_replace(concat(qual, with_check), '\( SELECT (\w+)\(\) AS \w+\)', '', 'g') ~* '\mselect\M'",
        ),
        // Numbers come from sequences of Citus' own making: of identity columns, and of bigint alone.
        (
            "a number of another sequence",
            "SELECT c.relname || '.' || a.attname
             FROM pg_class c
             JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
             LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
             WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')
               AND (a.attidentity <> '' AND a.atttypid <> 'bigint'::regtype
                    OR a.attgenerated = '' AND pg_get_expr(d.adbin, d.adrelid) LIKE '%nextval%')",
        ),
        // A ctid is a row's place in its part of a table: in another part it is another's row.
        (
            "a function that names a row by its place alone: say whose rows, too",
            r"SELECT proname::text FROM pg_proc
              WHERE pronamespace = 'public'::regnamespace AND prosrc ~* '\mwhere\s+ctid\M'",
        ),
    ] {
        let found: Vec<String> = app.sql(query).values().await;
        assert_eq!(found, [] as [&str; 0], "{what}");
    }
}

/// And [`tenant_tables`] holds the lists against the tables that there are.
#[test]
fn the_tables_that_are_not_distributed_are_those_of_the_document() {
    let doc = doc();
    assert_eq!(rows_under(&doc, "### Whole on every node"), listed(&REFERENCE));
    assert_eq!(rows_under(&doc, "### What stays on the coordinator"), listed(&LOCAL));
    let named = REFERENCE.iter().chain(&LOCAL).map(|(table, _)| *table);
    assert_eq!(named.collect::<BTreeSet<_>>(), NOT_DISTRIBUTED.into_iter().collect());
}

/// Files of SQL, below this folder.
fn stores(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("tests") {
            stores(&path, found);
        } else if path.ends_with("store.rs") {
            found.push(path);
        }
    }
}

/// From `INSERT` to the end of its statement, or of its part of one.
fn statement(text: &str) -> &str {
    let mut depth = 0;
    let end = text.find(|c| {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        depth < 0 || depth == 0 && c == '"'
    });
    &text[..end.unwrap_or(text.len())]
}

/// Citus copies the rows of such a statement, which row security refuses, unless it has to tell something of them.
#[tokio::test]
async fn an_insert_of_a_select_returns_something_or_looks_for_conflicts() {
    let app = TestApp::start().await;
    let tenants = tenant_tables(&app).await;
    let mut files = Vec::new();
    stores(Path::new("src"), &mut files);
    let mut seen = 0;
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        for (at, _) in text.match_indices("INSERT INTO ") {
            let insert = statement(&text[at..]);
            let table = insert.split_whitespace().nth(2).unwrap();
            let is_select = insert.contains("SELECT") && !insert.contains("VALUES (");
            if !tenants.contains(table) || !is_select {
                continue;
            }
            seen += 1;
            let is_fine = insert.contains("RETURNING") || insert.contains("ON CONFLICT");
            assert!(is_fine, "{}: add RETURNING user_id to: {insert}", file.display());
        }
    }
    assert!(seen > 30, "{seen}");
}

#[test]
fn the_metrics_that_the_document_names_exist() {
    let code = fs::read_to_string("src/core/metrics.rs").unwrap()
        + &fs::read_to_string("src/web/metrics.rs").unwrap();
    let doc = doc();
    let section = doc.split("## What breaks first").nth(1).unwrap();
    let names = section.split("`keepsake_").skip(1);
    let names: BTreeSet<&str> =
        names.map(|rest| rest.split(['`', '{', ' ']).next().unwrap()).collect();
    assert!(names.len() > 5, "{names:?}");
    for name in names {
        let ends = ["_count", "_bucket", "_sum", "_total"];
        let family = ends.iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
        assert!(code.contains(&format!("\"{family}\"")), "there is no {name}");
    }
}
