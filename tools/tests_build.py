"""The build of the tests, for tools/with_postgres.py: lints, the check of the queries and the tests share one compile,
and dependencies come from the user's cache folder where this machine has compiled them before."""

import filecmp
import hashlib
import os
import subprocess

from common import LINTS_AS_ERRORS, REPO, TARGET, fail
from dependencies import digest_of, keep, seed

TEMPLATE = "keepsake_template"
COMMITTED = REPO / ".sqlx"
SEEN = TARGET / "sqlx"
CRATE_ROOT = REPO / "src/lib.rs"
# The schema and the committed queries that were compared last: the compiler looks at neither.
CHECKED = TARGET / "sqlx-checked"
# As `make_roles` of src/db/store.rs has them, and the migrator's own table.
SETUP = """
CREATE ROLE keepsake_owner NOLOGIN; CREATE ROLE keepsake_app NOLOGIN; CREATE ROLE keepsake_system NOLOGIN;
CREATE EXTENSION vector; CREATE EXTENSION hstore; CREATE EXTENSION btree_gin; CREATE EXTENSION btree_gist;
GRANT USAGE, CREATE ON SCHEMA public TO keepsake_owner;
SET ROLE keepsake_owner;
CREATE TABLE _sqlx_migrations (version bigint PRIMARY KEY, description text NOT NULL,
    installed_on timestamptz NOT NULL DEFAULT now(), success boolean NOT NULL, checksum bytea NOT NULL, execution_time bigint NOT NULL);
"""


def run_cargo(command, url, bin_dir, run):
    """Runs cargo beside this PostgreSQL; returns its exit code."""
    seed("debug", TARGET / "debug")
    make_template(url, bin_dir / "psql")
    schema = digest_of([REPO / "migrations", COMMITTED])
    if not (CHECKED.is_file() and CHECKED.read_text() == schema):
        os.utime(CRATE_ROOT)  # so that the queries are asked again
    env = environment(url)
    code = run(command, env)
    if code == 0:
        if names := differing():
            fail(f".sqlx is out of date ({', '.join(names)}): run `make sqlx` and commit .sqlx.")
        CHECKED.write_text(schema)
        if command[:2] == ["cargo", "test"]:
            keep("debug", TARGET / "debug", ["cargo", "test", "--workspace", "--no-run"], env)
    return code


def environment(url):
    return {
        **os.environ,
        "KEEPSAKE_TEST_DATABASE_URL": url,
        "RUSTC_WORKSPACE_WRAPPER": str(REPO / "tools/rustc_wrapper.sh"),
        "CLIPPY_ARGS": LINTS_AS_ERRORS,
        "KEEPSAKE_SQLX_URL": url.rpartition("/")[0] + f"/{TEMPLATE}",
        "KEEPSAKE_SQLX_DIR": str(SEEN),
    }


def make_template(url, psql):
    """The database that tests copy: the migrations, with the rows by which the program knows them."""

    def apply(database, *what):
        quiet = {**os.environ, "PGOPTIONS": "-c client_min_messages=warning"}
        command = [psql, url.rpartition("/")[0] + f"/{database}", "-qX", "-v", "ON_ERROR_STOP=1", *what]
        if subprocess.run(command, env=quiet).returncode:
            fail("the migrations do not apply: see psql's words above.")

    files = sorted(path for path in (REPO / "migrations").glob("*.sql") if not path.name.endswith(".down.sql"))
    rows = []
    for path in files:
        version, _, description = path.stem.partition("_")
        checksum = hashlib.sha384(path.read_bytes()).hexdigest()
        rows.append(f"({version}, '{description.replace('_', ' ')}', true, '\\x{checksum}', 0)")
    note = f"INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) VALUES {', '.join(rows)}"
    apply("postgres", "-c", f"DROP DATABASE IF EXISTS {TEMPLATE}", "-c", f"CREATE DATABASE {TEMPLATE}")
    apply(TEMPLATE, "-c", SETUP, *[word for path in files for word in ("-f", str(path))], "-c", note)


def differing():
    """The queries of which the compiler saw another form than is committed; none where it looked at none."""
    if not SEEN.is_dir():
        return []
    names = sorted({path.name for folder in (SEEN, COMMITTED) for path in folder.glob("query-*.json")})
    same, _different, _missing = filecmp.cmpfiles(SEEN, COMMITTED, names, shallow=False)
    return [name for name in names if name not in same]
