"""The build of the tests, for tools/with_postgres.py: lints, the check of the queries and the tests share one compile,
and dependencies come from the user's cache folder where this machine has compiled them before."""

import filecmp
import hashlib
import os
import subprocess
from pathlib import Path

from common import LINTS_AS_ERRORS, REPO, TARGET, fail
from dependencies import digest_of, keep, seed

TEMPLATE = "keepsake_template"
COMMITTED = REPO / ".sqlx"
SEEN = TARGET / "sqlx"
CRATE_ROOT = REPO / "src/core/lib.rs"
# The schema and the committed queries that were compared last: the compiler looks at neither.
CHECKED = TARGET / "sqlx-checked"
# All CA certificates of the machine, where Debian and others have them.
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
# As `make_roles` of src/core/db/store.rs has them, and the migrator's own table.
SETUP = """
DO $$ DECLARE name text; BEGIN
    FOREACH name IN ARRAY ARRAY['keepsake_owner', 'keepsake_app', 'keepsake_system'] LOOP
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name) THEN EXECUTE format('CREATE ROLE %I NOLOGIN', name); END IF;
    END LOOP;
END $$;
CREATE EXTENSION vector; CREATE EXTENSION hstore; CREATE EXTENSION btree_gin; CREATE EXTENSION btree_gist;
GRANT USAGE, CREATE ON SCHEMA public TO keepsake_owner;
SET ROLE keepsake_owner;
CREATE TABLE _sqlx_migrations (version bigint PRIMARY KEY, description text NOT NULL,
    installed_on timestamptz NOT NULL DEFAULT now(), success boolean NOT NULL, checksum bytea NOT NULL, execution_time bigint NOT NULL);
"""


def run_cargo(command, env, run):
    """Runs cargo beside the PostgreSQL of with_postgres.py; returns its exit code."""
    seed("debug", TARGET / "debug")
    env = with_template(env)
    schema = digest_of([REPO / "migrations", COMMITTED])
    if not (CHECKED.is_file() and CHECKED.read_text() == schema):
        os.utime(CRATE_ROOT)  # so that the queries are asked again
    code = run([*command[:1], *with_one_certificate(), *command[1:]], env)
    if code == 0:
        if names := differing():
            fail(f".sqlx is out of date ({', '.join(names)}): run `make sqlx` and commit .sqlx.")
        CHECKED.write_text(schema)
        if command[:2] == ["cargo", "test"]:
            keep("debug", TARGET / "debug", ["cargo", "test", "--workspace", "--no-run"], env)
    return code


def with_one_certificate():
    """Lets the tests trust a single CA: no test needs more, and each HTTP client reads all of them, unoptimised."""
    if not CERTIFICATES.is_file():
        return []
    end = "-----END CERTIFICATE-----\n"
    one = TARGET / "one-certificate.pem"
    one.parent.mkdir(parents=True, exist_ok=True)
    one.write_text(CERTIFICATES.read_text().partition(end)[0] + end)
    settings = [f'SSL_CERT_FILE.value="{one}"', "SSL_CERT_FILE.force=true", 'SSL_CERT_DIR.value=""', "SSL_CERT_DIR.force=true"]
    return [word for setting in settings for word in ("--config", f"env.{setting}")]


def with_template(env):
    """Makes the database that tests copy and queries are checked against. Returns the environment of the build."""
    server = env["KEEPSAKE_TEST_DATABASE_URL"].rpartition("/")[0]
    make_template(server, env["KEEPSAKE_TEST_PSQL"])
    return {
        **env,
        "RUSTC_WORKSPACE_WRAPPER": str(REPO / "tools/rustc_wrapper.sh"),
        "CLIPPY_ARGS": LINTS_AS_ERRORS,
        "KEEPSAKE_SQLX_URL": f"{server}/{TEMPLATE}",
        "KEEPSAKE_SQLX_DIR": str(SEEN),
    }


def make_template(server, psql):
    """The migrations, with the rows by which the program knows them."""

    def ask(database, *what):
        quiet = {**os.environ, "PGOPTIONS": "-c client_min_messages=warning"}
        done = subprocess.run([psql, f"{server}/{database}", "-qXAt", "-v", "ON_ERROR_STOP=1", *what], env=quiet, stdout=subprocess.PIPE, text=True)
        if done.returncode:
            fail("the migrations do not apply: see psql's words above.")
        return done.stdout.strip()

    migrations = digest_of([REPO / "migrations"])
    if ask("postgres", "-c", f"SELECT shobj_description(oid, 'pg_database') FROM pg_database WHERE datname = '{TEMPLATE}'") == migrations:
        return
    files = sorted(path for path in (REPO / "migrations").glob("*.sql") if not path.name.endswith(".down.sql"))
    rows = []
    for path in files:
        version, _, description = path.stem.partition("_")
        checksum = hashlib.sha384(path.read_bytes()).hexdigest()
        rows.append(f"({version}, '{description.replace('_', ' ')}', true, '\\x{checksum}', 0)")
    note = f"INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) VALUES {', '.join(rows)}"
    ask("postgres", "-c", f"DROP DATABASE IF EXISTS {TEMPLATE}", "-c", f"CREATE DATABASE {TEMPLATE}")
    functions = sorted((REPO / "migrations/functions").glob("*.sql"))
    ask(TEMPLATE, "-c", SETUP, *[word for path in files + functions for word in ("-f", str(path))], "-c", note)
    ask("postgres", "-c", f"COMMENT ON DATABASE {TEMPLATE} IS '{migrations}'")


def differing():
    """The queries of which the compiler saw another form than is committed; none where it looked at none."""
    if not SEEN.is_dir():
        return []
    names = sorted({path.name for folder in (SEEN, COMMITTED) for path in folder.glob("query-*.json")})
    same, _different, _missing = filecmp.cmpfiles(SEEN, COMMITTED, names, shallow=False)
    return [name for name in names if name not in same]
