#!/usr/bin/env python3
"""Renews `.sqlx/`, what the compiler knows of our SQL without a database.

    tools/sqlx.py            asks a throwaway PostgreSQL with our migrations, and replaces .sqlx/
    tools/sqlx.py --check    the same, but only compares, and fails where something differs
"""

import contextlib
import filecmp
import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from common import REPO, fail, replace_dir, say
from with_postgres import run, stop_on_signals, throwaway_postgres

COMMITTED = REPO / ".sqlx"
INPUTS = ("src", "app/src", "migrations", ".sqlx", "Cargo.lock", "Cargo.toml", "tools/sqlx.py")
SCRATCH = REPO / "target/sqlx"
STAMP = SCRATCH / "checked"
CRATE_ROOT = REPO / "src/lib.rs"
SETUP = """
CREATE ROLE keepsake_owner NOLOGIN; CREATE ROLE keepsake_app NOLOGIN; CREATE ROLE keepsake_system NOLOGIN;
CREATE EXTENSION vector; CREATE EXTENSION hstore; CREATE EXTENSION btree_gin; CREATE EXTENSION btree_gist;
CREATE TABLE _sqlx_migrations (version bigint, success boolean); -- the migrator's own, as far as ours name it
"""
# Only our own crates may see the database: a dependency with queries of its own
# would ask it too, and not find its tables. Cargo keeps what is built with such
# a wrapper apart from the ordinary build, and shares all dependencies with it.
WRAPPER = """#!/bin/sh
export DATABASE_URL="$KEEPSAKE_SQLX_URL" SQLX_OFFLINE=false SQLX_OFFLINE_DIR="$KEEPSAKE_SQLX_DIR"
exec "$@"
"""


def main(check):
    inputs = fingerprint()
    if check and STAMP.is_file() and STAMP.read_text() == inputs:
        return say(".sqlx is up to date (nothing has changed since it was checked)")
    SCRATCH.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="fresh-", dir=SCRATCH) as fresh:
        with throwaway_postgres() as (url, bin_dir):
            migrate(url, bin_dir / "psql")
            say("asking PostgreSQL about every query …")
            if compile_against(url, fresh):
                fail("the queries do not compile against the migrations: see cargo's words above.")
        differing = differences(Path(fresh), COMMITTED)
        if check and differing:
            fail(f".sqlx is out of date ({', '.join(differing)}): run `python3 tools/sqlx.py` and commit .sqlx.")
        if differing:
            os.chmod(fresh, 0o755)
            replace_dir(fresh, COMMITTED)
            Path(fresh).mkdir()  # for its cleanup
    STAMP.write_text(fingerprint())
    say(f".sqlx: {len(list(COMMITTED.glob('*.json')))} queries, {len(differing)} changed")


def fingerprint():
    digest = hashlib.sha256()
    for name in INPUTS:
        root = REPO / name
        for path in sorted(p for p in (root.rglob("*") if root.is_dir() else [root]) if p.is_file()):
            digest.update(f"{path.relative_to(REPO)}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()


def migrate(url, psql):
    def apply(*what):
        quiet = {**os.environ, "PGOPTIONS": "-c client_min_messages=warning"}
        done = subprocess.run([psql, url, "-qX", "-v", "ON_ERROR_STOP=1", *what], env=quiet)
        if done.returncode:
            fail(f"this does not apply: {what[-1].strip()}")

    apply("-c", SETUP)
    files = sorted(path for path in (REPO / "migrations").glob("*.sql") if not path.name.endswith(".down.sql"))
    say(f"applying {len(files)} migrations …")
    for path in files:
        alone = path.read_text().startswith("-- no-transaction")
        apply(*([] if alone else ["--single-transaction"]), "-f", str(path))


def compile_against(url, fresh):
    wrapper = SCRATCH / "rustc"
    if not wrapper.is_file() or wrapper.read_text() != WRAPPER:
        wrapper.write_text(WRAPPER)
        wrapper.chmod(0o755)
    env = {
        **os.environ,
        "RUSTC_WORKSPACE_WRAPPER": str(wrapper),
        "KEEPSAKE_SQLX_URL": url,
        "KEEPSAKE_SQLX_DIR": fresh,
    }
    with looking_changed(CRATE_ROOT):
        # The macros stand in the library alone, and the whole workspace has the features of the other steps.
        return run(["cargo", "check", "--quiet", "--workspace", "--lib"], env)


@contextlib.contextmanager
def looking_changed(path):
    """Cargo compiles anew what is younger than its last build. The old age is put
    back afterwards, so that the next ordinary build has nothing to do."""
    before = path.stat()
    os.utime(path)
    try:
        yield
    finally:
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def differences(one, other):
    """The names of the files that are not the same in both folders."""
    names = sorted({path.name for folder in (one, other) for path in folder.glob("query-*.json")})
    same, _different, _missing = filecmp.cmpfiles(one, other, names, shallow=False)
    return [name for name in names if name not in same]


if __name__ == "__main__":
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit(__doc__)
    stop_on_signals()
    os.chdir(REPO)
    main(check="--check" in sys.argv)
