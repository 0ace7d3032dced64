//! Backups that this server has not made, or that hold more than rows: what is refused, and what its statements may do.

use std::collections::BTreeSet;
use std::fs;
use std::process::Output;

use keepsake::seal::Sealer;
use serde_json::json;
use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection, PgConnection};

use super::{SECRET_KEY, new_backup, restore, rows, run, taken_out, words, written, written_by};
use crate::server::Home;
use crate::support::Sql as _;
use crate::support::{TestApp, Wish, database_url, fresh_database};

const OTHER_KEY: &str = "0808080808080808080808080808080808080808080808080808080808080808";

/// `keepsake restore` with these settings of the secret key.
fn restore_with(options: &PgConnectOptions, args: &[&str], keys: &[(&str, &str)]) -> Output {
    let home = Home::new();
    let mut command = home.command(&[&["restore"], args].concat());
    command.env("KEEPSAKE_DATABASE_URL", database_url(options));
    let done = command.envs(keys.iter().copied()).output().unwrap();
    let made_key = home.folder.path().join("secret-key").exists();
    assert!(!made_key || keys.is_empty() && done.status.success(), "a key was made");
    done
}

#[tokio::test]
async fn a_file_that_this_server_has_not_signed_is_refused_and_taken_by_wish_alone() {
    let (app, anna) = TestApp::start_for("anna").await;
    anna.add("Anna rows.").await;
    let (folder, good) = new_backup(&app).await;
    let (manifest, dump) = taken_out(&good);
    let file = |name: &str| folder.path().join(name);
    let mut of_020 = manifest.clone();
    of_020["format"] = json!(1);
    written_by(None, &file("of-0.2.0"), &of_020, &dump);
    written_by(Some(&Sealer::new(&[8; 32])), &file("elsewhere"), &manifest, &dump);
    // Its checksums are right, and its signature is that of the good one.
    let mut rows_of_it = manifest.clone();
    rows_of_it["rows"]["public.users"] = json!(7);
    written(&file("changed"), &rows_of_it, &dump);
    let mut bytes = fs::read(file("changed")).unwrap();
    let mac_at =
        |bytes: &[u8]| bytes.len() - bytes.iter().rev().position(|b| *b != 0).unwrap() - 80;
    let good_bytes = fs::read(&good).unwrap();
    // The good one's ends with a newline.
    let (from, to) = (mac_at(&good_bytes) - 1, mac_at(&bytes));
    bytes[to..to + 80].copy_from_slice(&good_bytes[from..from + 80]);
    fs::write(file("changed"), bytes).unwrap();

    let there = fresh_database().await;
    let empty = rows(&there).await;
    let (good, of_020) = (good.to_str().unwrap(), file("of-0.2.0"));
    let of_020 = of_020.to_str().unwrap();
    let (elsewhere, changed) = (file("elsewhere"), file("changed"));
    let ours = ("KEEPSAKE_SECRET_KEY", SECRET_KEY);
    let other = ("KEEPSAKE_SECRET_KEY", OTHER_KEY);
    for (name, keys, sentence) in [
        (of_020, &[ours][..], "is not signed, as all backups of version 0.2.0"),
        (elsewhere.to_str().unwrap(), &[ours], "was signed with another secret key"),
        (good, &[other], "was signed with another secret key"),
        (changed.to_str().unwrap(), &[ours], "was changed after it was made"),
        (good, &[], "there is no secret key to check the backup with"),
    ] {
        let done = restore_with(&there, &[name], keys);
        let said = words(&done);
        assert_eq!(done.status.code(), Some(1), "{name}: {said}");
        assert!(said.contains(sentence) && said.contains("--unsigned"), "{name}: {said}");
        assert_eq!(rows(&there).await, empty, "{name}");
    }
    // A key from before a rotation, and the wish, which says what it risks.
    let old = ("KEEPSAKE_SECRET_KEYS_OLD", SECRET_KEY);
    for (args, keys, risk) in [
        (&[good][..], &[other, old][..], ""),
        (&[of_020, "--unsigned"], &[ours], "whoever could write"),
        (&[good, "--unsigned"], &[], "whoever could write"),
    ] {
        let there = fresh_database().await;
        let done = restore_with(&there, args, keys);
        let said = words(&done);
        assert!(done.status.success() && said.contains(risk), "{args:?}: {said}");
        assert_eq!(said.contains("whoever"), !risk.is_empty(), "{said}");
        assert_eq!(rows(&there).await["memory_items"], 1, "{args:?}");
    }
    // Without the key nothing is made either.
    let home = Home::new();
    let mut command = home.command(&["backup", file("new").to_str().unwrap()]);
    let done = command.env("KEEPSAKE_DATABASE_URL", database_url(&app.options)).output().unwrap();
    assert!(words(&done).contains("no secret key to sign the backup with"), "{}", words(&done));
}

/// Puts a statement in the place of the one that loads the users.
fn with_statement(dump: &[u8], statement: &str) -> Vec<u8> {
    let begin = b"COPY public.users (";
    let at = dump.windows(begin.len()).position(|bytes| bytes == begin).unwrap();
    let end = at + dump[at..].iter().position(|byte| *byte == b';').unwrap();
    let mut forged = dump.to_vec();
    forged[at..end].fill(b' ');
    forged[at..at + statement.len()].copy_from_slice(statement.as_bytes());
    forged
}

#[tokio::test]
async fn a_statement_in_a_dump_has_no_right_but_to_add_rows() {
    let backups = tempfile::tempdir().unwrap();
    let backup_dir = Some(backups.path().to_owned());
    let app = TestApp::start_as(Wish { backup_dir, ..Wish::default() }).await;
    let anna = app.user("anna").await;
    app.make_admin(&anna).await;
    let (folder, good) = new_backup(&app).await;
    let (manifest, dump) = taken_out(&good);
    // PostgreSQL may be another user's.
    let marked = tempfile::tempdir().unwrap();
    fs::set_permissions(marked.path(), std::os::unix::fs::PermissionsExt::from_mode(0o777))
        .unwrap();
    let mark = marked.path().join("m");
    let touch = format!("COPY public.users FROM PROGRAM 'touch {}'", mark.display());
    app.sql(touch.replacen("public.users", "backup_state", 1)).run_all().await;
    assert!(mark.exists(), "a superuser may");
    fs::remove_file(&mark).unwrap();

    let (there, file) = (fresh_database().await, folder.path().join("forged.tar"));
    let empty = rows(&there).await;
    for (statement, refusal) in [
        (&*touch, "external program"),
        ("RESET ROLE; CREATE TABLE public.evil ()", "permission denied for schema public"),
        ("SET ROLE keepsake_owner", "permission denied to set role"),
        ("ALTER TABLE public.users DISABLE ROW LEVEL SECURITY", "must be owner of table users"),
        ("CREATE ROLE evil SUPERUSER", "permission denied to create role"),
    ] {
        written(&file, &manifest, &with_statement(&dump, statement));
        let said = words(&restore(&there, &file));
        assert!(said.contains(refusal), "{statement}: {said}");
        assert_eq!(rows(&there).await, empty, "{statement}");
    }
    assert!(!mark.exists(), "a program ran");
    assert_eq!(app.count("pg_roles WHERE rolname LIKE '%\\_load'").await, 0, "a role is left");

    // *Verify now*: with our signature its statements have no rights; without, it is not loaded, and the list says so.
    let name = "keepsake-2999-12-31T000000Z.tar";
    let forged = with_statement(&dump, &touch);
    let mut newest = manifest.clone();
    newest["made_at"] = json!("2999-12-31T00:00:00Z");
    for (by, problem) in [
        (Some(super::sealer()), "external program"),
        (None, "signed"),
        (Some(Sealer::new(&[8; 32])), "was signed with another secret key"),
    ] {
        let is_ours = problem.starts_with("external");
        written_by(by.as_ref(), &backups.path().join(name), &newest, &forged);
        if by.is_none() {
            newest["format"] = json!(1);
            written_by(None, &backups.path().join(name), &newest, &forged);
        }
        app.sql("DELETE FROM backups").run_all().await;
        app.run_job("backup").await;
        let listed = async || -> Option<String> {
            let of = "SELECT coalesce(verify_problem, '') FROM backups WHERE name = $1";
            app.sql(of).bind(name).maybe_value().await
        };
        assert_eq!(listed().await.unwrap().contains(problem), !is_ours);
        keepsake::backup::ask_to_verify(&app.db, app.embeddings.now()).await.unwrap();
        app.run_job("backup").await;
        let said = listed().await.unwrap();
        assert!(said.contains(problem), "{said}");
    }
    assert!(!mark.exists(), "a program ran");
}

#[tokio::test]
async fn of_a_file_only_rows_are_loaded_and_what_is_not_ours_is_named() {
    let (app, anna) = TestApp::start_for("anna").await;
    anna.add("Anna rows.").await;
    app.sql(
        "CREATE FUNCTION evil() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS 'BEGIN RETURN NEW; END';
         CREATE FUNCTION evil_event() RETURNS event_trigger LANGUAGE plpgsql AS 'BEGIN END';
         CREATE TRIGGER evil BEFORE INSERT ON users FOR EACH ROW EXECUTE FUNCTION evil();
         CREATE EVENT TRIGGER evil_here ON ddl_command_start WHEN TAG IN ('CREATE SERVER') EXECUTE FUNCTION evil_event();
         CREATE VIEW evil_view AS SELECT * FROM users;
         CREATE POLICY evil ON users TO PUBLIC USING (true);
         CREATE RULE evil AS ON DELETE TO users DO ALSO NOTHING;
         CREATE OPERATOR public.### (LEFTARG = int, RIGHTARG = int, FUNCTION = int4pl);
         CREATE SCHEMA evil; CREATE TABLE evil.rows (n int); INSERT INTO evil.rows VALUES (1);
         CREATE INDEX evil ON users (lower(email));
         ALTER TABLE users ALTER COLUMN memory_enabled SET DEFAULT random() > 0.5;
         ALTER TABLE users DROP CONSTRAINT users_email_key CASCADE;
         CREATE OR REPLACE FUNCTION note_erasure(what text, object_id bigint, with_memories boolean, at timestamptz)
         RETURNS void LANGUAGE sql SECURITY DEFINER AS 'SELECT';
         GRANT ALL ON users TO PUBLIC;
         SELECT lo_from_bytea(0, 'evil')",
    )
    .run_all()
    .await;
    let (_folder, file) = new_backup(&app).await;
    let (there, ours) = (fresh_database().await, fresh_database().await);
    let done = restore(&there, &file);
    let said = words(&done);
    assert!(done.status.success(), "{said}");
    for name in ["FUNCTION public evil()", "evil_event()", "SCHEMA - evil", "VIEW public evil_view"]
    {
        assert!(said.contains("left out") && said.contains(name), "{name}: {said}");
    }
    assert_eq!(rows(&there).await["memory_items"], 1);
    let ours = catalogue(&ours).await;
    let difference = async |there| {
        let there = catalogue(there).await;
        there.symmetric_difference(&ours).cloned().collect::<Vec<String>>()
    };
    assert_eq!(difference(&there).await, Vec::<String>::new());
    assert!(difference(&app.options).await.len() > 15);
    let path = file.to_str().unwrap();
    let there = fresh_database().await;
    assert!(run(&there, &["restore", path, "--unsigned"]).status.success());
    assert_eq!(difference(&there).await, Vec::<String>::new());
}

/// Whatever PostgreSQL could run, and who may what.
async fn catalogue(options: &PgConnectOptions) -> BTreeSet<String> {
    let mut conn = PgConnection::connect_with(options).await.unwrap();
    let all = "SELECT 'function ' || p.oid::regprocedure || md5(p.prosrc) || p.prosecdef || p.proowner::regrole || coalesce(p.proacl::text, '')
                   FROM pg_proc p WHERE p.pronamespace = 'public'::regnamespace
         UNION ALL SELECT 'trigger ' || tgname || tgrelid::regclass FROM pg_trigger WHERE NOT tgisinternal
         UNION ALL SELECT 'event trigger ' || evtname FROM pg_event_trigger
         UNION ALL SELECT 'policy ' || polname || polrelid::regclass || pg_get_expr(polqual, polrelid) FROM pg_policy
         UNION ALL SELECT 'rule ' || pg_get_ruledef(oid) FROM pg_rewrite WHERE ev_class >= 16384
         UNION ALL SELECT 'operator ' || oid::regoperator FROM pg_operator WHERE oprnamespace = 'public'::regnamespace
         UNION ALL SELECT 'schema ' || nspname FROM pg_namespace WHERE nspname NOT LIKE 'pg\\_%'
         UNION ALL SELECT 'default ' || adrelid::regclass || attname || pg_get_expr(adbin, adrelid)
                   FROM pg_attrdef JOIN pg_attribute ON attrelid = adrelid AND attnum = adnum
         UNION ALL SELECT 'constraint ' || conrelid::regclass || conname || pg_get_constraintdef(oid)
                   FROM pg_constraint WHERE connamespace = 'public'::regnamespace
         UNION ALL SELECT 'table ' || oid::regclass || relkind::text || relowner::regrole || relrowsecurity || relforcerowsecurity
                          || array(SELECT unnest(coalesce(relacl, acldefault(CASE relkind WHEN 'S' THEN 's' ELSE 'r' END::\"char\", relowner)))::text
                                   ORDER BY 1)::text
                   FROM pg_class WHERE relnamespace = 'public'::regnamespace
         UNION ALL SELECT 'index ' || pg_get_indexdef(indexrelid) FROM pg_index WHERE indexrelid >= 16384 AND indrelid::regclass::text NOT LIKE 'pg\\_%'
         UNION ALL SELECT 'large object ' || oid FROM pg_largeobject_metadata
         UNION ALL SELECT 'migration ' || version || encode(checksum, 'hex') FROM _sqlx_migrations";
    let listed: Vec<String> = conn.sql(all).values().await;
    conn.close().await.unwrap();
    listed.into_iter().collect()
}
