//! The invariants of `src/lib.rs` that can be read off the code and the catalogue.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use sqlx::Row;

use crate::support::Sql as _;
use crate::support::TestApp;

/// Files of `src`, less the tests, with their text; those of the domain by their names below `src/core`.
fn sources() -> Vec<(String, String)> {
    let mut all = texts_below("src", ".rs");
    all.retain(|(name, _)| !name.starts_with("tests/"));
    for (name, _) in &mut all {
        *name = name.strip_prefix("core/").unwrap_or(name).to_owned();
    }
    all
}

/// Files below this folder whose names end so, with their text; not what npm installed.
fn texts_below(folder: &str, end: &str) -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut found = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path: PathBuf = entry.unwrap().path();
            let name = path.strip_prefix(&root).unwrap().to_string_lossy().into_owned();
            if path.is_dir() && !name.ends_with("node_modules") {
                folders.push(path);
            } else if name.ends_with(end) {
                found.push((name, fs::read_to_string(path).unwrap()));
            }
        }
    }
    found
}

/// The code of a file, less its unit tests and its comments.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]").next().unwrap();
    text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

#[test]
fn sql_stands_only_in_files_named_store() {
    for (name, text) in sources() {
        let code = code(&text);
        let has_sql = ["sqlx::query", "sqlx::raw_sql", "query_as!", "query_scalar"]
            .iter()
            .any(|s| code.contains(s));
        assert!(!has_sql || name.ends_with("store.rs"), "{name}");
    }
}

/// Where rows of these tables are made.
const MADE_BY: [(&str, &[&str]); 8] = [
    ("memory_items", &["memories/write/store.rs"]),
    ("memory_changes", &["memories/write/store.rs"]),
    ("memory_passages", &["memories/write/store.rs", "memories/passages/store.rs"]),
    (
        "memory_embeddings",
        &["memories/write/store.rs", "memories/passages/store.rs", "embedding/store.rs"],
    ),
    ("entities", &["memories/mentions/store.rs", "entities/store.rs", "entities/decide/store.rs"]),
    ("entity_mentions", &["memories/mentions/store.rs"]),
    ("entity_relations", &["entities/relations/store.rs"]),
    (
        "memory_item_events",
        &[
            "memories/write/store.rs",
            "memories/store.rs",
            "memories/add/store.rs",
            "memories/manage/store.rs",
        ],
    ),
];

#[test]
fn a_memory_has_one_writer() {
    for (name, text) in sources() {
        let flat = code(&text).split_whitespace().collect::<Vec<_>>().join(" ");
        for (table, files) in MADE_BY {
            let makes_rows = flat.contains(&format!("INSERT INTO {table} "));
            assert!(!makes_rows || files.contains(&name.as_str()), "{name} makes rows of {table}");
            assert!(makes_rows || !files.contains(&name.as_str()), "{name} makes none of {table}");
        }
    }
}

/// Tables that several modules write, each with its modules. Every other table has one.
const WRITTEN_BY_SEVERAL: [(&str, &[&str]); 9] = [
    ("activity", &["activity", "memories"]),
    ("agents", &["accounts", "export"]),
    ("entities", &["consolidation", "entities", "memories"]),
    ("entity_names", &["entities", "memories"]),
    ("memory_embeddings", &["embedding", "memories"]),
    ("memory_items", &["documents", "export", "memories", "sessions"]),
    ("memory_origins", &["consolidation", "export"]),
    ("memory_themes", &["export", "memories"]),
    ("users", &["accounts", "activity", "sessions"]),
];

/// A table is written in one folder of `src`, so that what keeps it true stands together.
#[tokio::test]
async fn a_table_is_written_by_one_module() {
    let app = TestApp::start().await;
    let tables: Vec<String> =
        app.sql("SELECT tablename::text FROM pg_tables WHERE schemaname = 'public'").values().await;
    let mut writers: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for (name, text) in sources() {
        let flat = code(&text).split_whitespace().collect::<Vec<_>>().join(" ");
        for rest in ["INSERT INTO ", "UPDATE ", "DELETE FROM "]
            .iter()
            .flat_map(|verb| flat.split(verb).skip(1))
        {
            let is_name = |c: char| c == '_' || c.is_ascii_lowercase();
            let table = rest.split(|c| !is_name(c)).next().unwrap_or_default();
            if let Some(table) = tables.iter().find(|known| *known == table) {
                let module = name.split('/').next().unwrap_or(&name);
                writers.entry(table).or_default().insert(module.to_owned());
            }
        }
    }
    assert!(writers.len() > 50, "{writers:?}");
    for (table, modules) in writers {
        let modules: Vec<&str> = modules.iter().map(String::as_str).collect();
        match WRITTEN_BY_SEVERAL.iter().find(|(name, _)| *name == table) {
            Some((_, listed)) => assert_eq!(modules, *listed, "{table}: see WRITTEN_BY_SEVERAL"),
            None => assert_eq!(modules.len(), 1, "{table} is written by {modules:?}"),
        }
    }
}

/// Who reads them beside `memories` itself: whoever changes what these tables hold looks here. (But for `whole_memory`, which
/// leaves nothing out for an agent's scope, no views: the compiler, which checks each query against the schema, takes every
/// column of a view for one that may be NULL.)
const READ_BY: [(&str, &[&str]); 6] = [
    (
        "whole_memory",
        &[
            "embedding/overview/store.rs",
            "embedding/store.rs",
            "search/reader/store.rs",
            "sessions/store.rs",
        ],
    ),
    ("whole_documents", &["documents/store.rs"]),
    (
        "memory_items",
        &[
            "accounts/agents/store.rs",
            "accounts/teams/store.rs",
            "activity/store.rs",
            "consolidation/dreaming/store.rs",
            "consolidation/enrichment/store.rs",
            "consolidation/episodes/store.rs",
            "consolidation/lineage/store.rs",
            "consolidation/reflection/store.rs",
            "consolidation/store.rs",
            "consolidation/summary/store.rs",
            "documents/store.rs",
            "embedding/drain/store.rs",
            "embedding/overview/store.rs",
            "embedding/system/store.rs",
            "entities/graph/store.rs",
            "entities/relations/store.rs",
            "entities/store.rs",
            "entities/upkeep/store.rs",
            "erasure/store.rs",
            "erasure/about/store.rs",
            "evaluation/store.rs",
            "export/import/store.rs",
            "export/episodes/store.rs",
            "export/origins/store.rs",
            "export/store.rs",
            "recall/store.rs",
            "search/store.rs",
            "sessions/given/store.rs",
            "sessions/turns/store.rs",
        ],
    ),
    (
        "memory_passages",
        &[
            "embedding/drain/store.rs",
            "embedding/overview/store.rs",
            "embedding/store.rs",
            "erasure/store.rs",
            "search/reader/store.rs",
        ],
    ),
    (
        "memory_embeddings",
        &[
            "embedding/drain/store.rs",
            "embedding/overview/store.rs",
            "embedding/store.rs",
            "embedding/system/store.rs",
            "erasure/store.rs",
            "evaluation/store.rs",
            "search/reader/store.rs",
            "search/store.rs",
        ],
    ),
    ("memory_changes", &["search/reader/store.rs"]),
];

#[test]
fn who_reads_memories_is_listed() {
    for (name, text) in sources() {
        let flat = code(&text).split_whitespace().collect::<Vec<_>>().join(" ");
        for (table, files) in READ_BY {
            let reads = ["FROM", "JOIN"].iter().any(|word| {
                let named = format!("{word} {table}");
                let mut after = flat.split(&named).skip(1);
                after.any(|rest| !rest.starts_with(|c: char| c == '_' || c.is_alphanumeric()))
            });
            let is_listed = files.contains(&name.as_str()) || name.starts_with("memories/");
            assert!(!reads || is_listed, "{name} reads {table}");
            let is_out_of_date = files.contains(&name.as_str()) && !reads;
            assert!(!is_out_of_date, "{name} does not read {table}");
        }
    }
}

#[test]
fn every_function_of_a_store_takes_a_connection_first() {
    for (name, text) in sources().into_iter().filter(|(name, _)| name.ends_with("store.rs")) {
        let flat = code(&text).split_whitespace().collect::<Vec<_>>().join(" ");
        for signature in flat.split("pub async fn ").skip(1) {
            let arguments = signature.split_once('(').unwrap().1.trim_start();
            let shown: String = signature.chars().take(40).collect();
            assert!(arguments.starts_with("conn: &mut PgConnection"), "{name}: {shown}");
        }
    }
}

#[test]
fn the_environment_is_read_in_config_alone() {
    for (name, text) in sources() {
        let reads = code(&text).contains("env::var");
        assert!(!reads || name == "config/environment.rs", "{name}");
    }
}

#[test]
fn only_tests_hash_passwords_at_another_cost() {
    for (name, text) in sources().into_iter().filter(|(name, _)| name != "accounts/mod.rs") {
        assert!(!code(&text).contains("with_hash_cost"), "{name}");
    }
}

#[test]
fn time_comes_from_the_clock() {
    for (name, text) in sources() {
        let code = code(&text);
        let asks = code.contains("now_utc()") || code.contains("SystemTime::now");
        assert!(!asks || name == "clock.rs", "{name}");
        assert!(
            !(name.ends_with("store.rs") && code.contains("now()")),
            "{name} asks PostgreSQL for the time"
        );
    }
}

/// From the roof down; each may know those of the floors below, never those above or beside it.
const HOUSE: [&[&str]; 29] = [
    &[
        "main",
        "background",
        "bridge",
        "eval",
        "migrate",
        "rebuild",
        "secret",
        "serve",
        "snapshot",
        "telemetry",
        "terminal",
        "transfer",
    ],
    &["wiring"],
    &["web"],
    &["edge"],
    &["jobs"],
    &["tools"],
    &["services"],
    &["backup"],
    &["evaluation", "recall"],
    &["containment", "erasure", "export"],
    &["consolidation"],
    &["sessions"],
    &["documents", "entities"],
    &["search"],
    &["webhooks"],
    &["memories"],
    &["languages"],
    &["activity"],
    &["embedding"],
    &["quota"],
    &["providers"],
    &["redaction"],
    &["accounts"],
    &["replay"],
    &["queue"],
    &["db", "postgres"],
    &["config"],
    &["clock", "encoder", "input", "json", "metrics", "panics", "seal"],
    &["texts"],
];

#[test]
fn no_arrow_points_back_up_the_house() {
    let floor_of = |module: &str| HOUSE.iter().position(|floor| floor.contains(&module));
    for (name, text) in sources() {
        let own = name.split(['/', '.']).next().unwrap();
        if own == "lib" {
            continue;
        }
        let own_floor = floor_of(own).unwrap_or_else(|| panic!("{name} has no place in the house"));
        for used in code(&text).split("crate::").skip(1) {
            let module: String =
                used.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            let Some(floor) = floor_of(&module) else {
                continue;
            };
            let is_below = floor > own_floor || module == own;
            assert!(is_below, "{name} uses {module}");
        }
    }
}

#[test]
fn the_domain_names_no_web_framework() {
    for (name, text) in sources() {
        let is_edge =
            ["edge/", "web/", "serve.rs", "wiring.rs", "main.rs", "lib.rs", "telemetry.rs"]
                .iter()
                .any(|e| name.starts_with(e));
        let code = code(&text);
        let named =
            ["axum", "leptos", "tower_sessions::", "http::"].iter().find(|c| code.contains(**c));
        assert!(is_edge || named.is_none(), "{name} names {named:?}");
    }
}

/// What the islands need of the server, they ask it by its addresses.
#[test]
fn nothing_of_the_server_reaches_the_browser() {
    let manifest = fs::read_to_string("app/Cargo.toml").unwrap();
    let dependencies = manifest.split_once("[dependencies]").unwrap().1;
    for server_only in ["axum", "tokio", "sqlx", "keepsake-core", "keepsake-edge"] {
        let line = dependencies.lines().find(|line| line.starts_with(&format!("{server_only} =")));
        assert!(line.is_some_and(|line| line.contains("optional = true")), "{server_only}");
    }
}

/// Whoever searches for a type's name finds that type; `encoder` is a crate of its own.
#[test]
fn a_type_name_stands_once() {
    let mut homes: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (file, text) in sources() {
        for line in text.lines().filter(|_| !file.starts_with("encoder/")) {
            // An enum of `labels!` is indented.
            let line = line.strip_prefix("    ").filter(|l| l.contains("enum ")).unwrap_or(line);
            let mut words = line.split(' ').skip_while(|word| word.starts_with("pub"));
            let is_type = ["struct", "enum", "trait", "type"].contains(&words.next().unwrap_or(""));
            if let (true, Some(rest)) = (is_type, words.next()) {
                let name = rest.split(|c: char| !c.is_alphanumeric()).next();
                let home = homes.entry(name.unwrap_or(rest).to_owned()).or_default();
                home.push(file.clone());
            }
        }
    }
    assert!(homes.len() > 500, "{}", homes.len());
    homes.retain(|_, files| files.len() > 1);
    assert!(homes.is_empty(), "{homes:#?}");
}

#[test]
fn files_open_with_what_they_are_for_and_stay_readable() {
    for (name, text) in sources() {
        assert!(text.starts_with("//!"), "{name} does not say what it is for");
        let lines = text.lines().count();
        assert!(lines <= 560, "{name} has {lines} lines: split it");
    }
}

/// Every landing pays for these. A change that raises one says why in its commit.
const TESTS_ON_OWN_SERVERS_MAX: usize = 903;
const SERVERS_OF_SPECS_MAX: usize = 1;
const BROWSERS_MAX: usize = 2;
const LINES_OF_TESTS_MAX: usize = 49_650;

#[test]
fn what_all_tests_cost_together_stays_below_its_ceilings() {
    let tests = texts_below("src/tests", ".rs");
    let lines: usize = tests.iter().map(|(_, text)| text.lines().count()).sum();
    let count_in = |text: &str| {
        text.matches("#[tokio::test").count() - text.matches("support::shared\")]").count()
    };
    let on_own: usize = tests.iter().map(|(_, text)| count_in(text)).sum();
    let specs = texts_below("end2end", ".mjs");
    let count = |word: &str, end: &str| -> usize {
        let counted = specs.iter().filter(|(name, _)| name.ends_with(end));
        counted.map(|(_, text)| text.matches(word).count()).sum()
    };
    let found = [
        ("lines of src/tests", lines, LINES_OF_TESTS_MAX),
        ("tests that share no server", on_own, TESTS_ON_OWN_SERVERS_MAX),
        ("servers that specs start", count("startServer(", ".spec.mjs"), SERVERS_OF_SPECS_MAX),
        ("browsers that start", count("chromium.launch", ".mjs"), BROWSERS_MAX),
    ];
    for (what, found, max) in found {
        assert!(found > 0 && found <= max, "{what}: {found}, at most {max}");
    }
}

#[test]
fn nothing_names_a_registry_host() {
    // In two halves, so that this file does not name them either.
    let hosts = [
        "crates.".to_owned() + "io/",
        "pypi.".to_owned() + "org",
        "npmjs.".to_owned() + "org",
        "deb.".to_owned() + "debian.org",
    ];
    for folder in ["tools", "end2end", "end2end/openapi", "docs", ".ci"] {
        let Ok(entries) = fs::read_dir(folder) else {
            continue;
        };
        for entry in entries.flatten().filter(|e| e.path().is_file()) {
            let text = fs::read_to_string(entry.path()).unwrap_or_default();
            let named = hosts.iter().find(|host| text.contains(host.as_str()));
            assert!(named.is_none(), "{:?} names {named:?}", entry.path());
        }
    }
}

/// Every table the app role may touch, with its columns in keys and its policies.
#[tokio::test]
async fn every_tenant_table_carries_user_id_in_its_keys_and_has_a_forced_policy() {
    let app = TestApp::start().await;
    let mut conn = app.superuser().await;
    let tables = sqlx::query(
        "SELECT c.oid::regclass::text AS name, c.oid AS oid, c.relrowsecurity AND c.relforcerowsecurity AS forced,
                has_any_column_privilege('keepsake_app', c.oid, 'SELECT, INSERT, UPDATE')
                    OR has_table_privilege('keepsake_app', c.oid, 'DELETE') AS used_by_app,
                EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'user_id'
                        AND NOT a.attisdropped) AS has_user
         FROM pg_class c
         WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')
           AND c.relname <> '_sqlx_migrations'",
    )
    .fetch_all(&mut conn)
    .await
    .unwrap();
    assert!(tables.len() >= 7);
    for table in tables {
        let name: String = table.get("name");
        let used_by_app: bool = table.get("used_by_app");
        assert!(table.get::<bool, _>("forced"), "{name}: row security is not forced");
        // `users` is the tenant itself; what the app role cannot touch holds no tenant's data.
        // A team is of its leader's user and of its members': the policy names both (src/tests/teams/).
        let is_of_two = ["team_members", "team_invitations"].contains(&name.as_str());
        if !used_by_app || name == "users" || is_of_two {
            continue;
        }
        assert!(table.get::<bool, _>("has_user"), "{name} has no user_id");
        let oid: sqlx::postgres::types::Oid = table.get("oid");
        let keys = sqlx::query(
            "SELECT i.indexrelid::regclass::text AS index,
                    i.indkey[0] = a.attnum AS starts_with_user
             FROM pg_index i
             JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attname = 'user_id'
             WHERE i.indrelid = $1 AND i.indisunique",
        )
        .bind(oid)
        .fetch_all(&mut conn)
        .await
        .unwrap();
        assert!(!keys.is_empty(), "{name} has no key");
        for key in keys {
            let index: String = key.get("index");
            assert!(key.get::<bool, _>("starts_with_user"), "{index} does not start with user_id");
        }
        let foreign: Vec<String> = conn.sql("SELECT conname::text FROM pg_constraint k
             WHERE k.conrelid = $1 AND k.contype = 'f' AND k.conkey[1] <>
                   (SELECT attnum FROM pg_attribute WHERE attrelid = k.conrelid AND attname = 'user_id')").bind(oid).values().await;
        assert!(foreign.is_empty(), "{name}: foreign keys without user_id: {foreign:?}");
        let policies: Vec<String> = conn.sql("SELECT policyname::text FROM pg_policies
             WHERE tablename = $1 AND 'keepsake_app' = ANY (roles) AND qual LIKE '%current_user_id()%'").bind(&name).values().await;
        assert_eq!(policies, ["tenant"], "{name}");
    }
}

#[tokio::test]
async fn the_app_role_owns_nothing_and_bypasses_nothing() {
    let app = TestApp::start().await;
    let row = sqlx::query(
        "SELECT (SELECT count(*) FROM pg_class WHERE relowner = r.oid) AS owned,
                r.rolsuper OR r.rolbypassrls OR r.rolcreaterole OR r.rolcreatedb AS powerful
         FROM pg_roles r WHERE r.rolname = 'keepsake_app'",
    )
    .fetch_one(&mut app.superuser().await)
    .await
    .unwrap();
    assert_eq!((row.get::<i64, _>("owned"), row.get::<bool, _>("powerful")), (0, false));
}
