#!/usr/bin/env python3
"""Renews `.sqlx/`, what the compiler knows of our SQL without a database, from a throwaway PostgreSQL with our
migrations. `make test` fails while it is out of date."""

import contextlib
import os
import shutil

from common import fail, replace_dir, say
from tests_build import COMMITTED, CRATE_ROOT, SEEN, differing, with_template
from with_postgres import run, stop_on_signals, throwaway_postgres


def main():
    with throwaway_postgres() as (url, bin_dir):
        env = with_template({**os.environ, "KEEPSAKE_TEST_DATABASE_URL": url, "KEEPSAKE_TEST_PSQL": str(bin_dir / "psql")})
        say("asking PostgreSQL about every query …")
        with looking_changed(CRATE_ROOT):
            if run(["cargo", "check", "--quiet", "--workspace", "--lib"], env):
                fail("the queries do not compile against the migrations: see cargo's words above.")
    changed = differing()
    if changed:
        fresh = COMMITTED.with_name(".sqlx.fresh")
        shutil.copytree(SEEN, fresh, dirs_exist_ok=True)
        replace_dir(fresh, COMMITTED)
    say(f".sqlx: {len(list(COMMITTED.glob('*.json')))} queries, {len(changed)} changed")


@contextlib.contextmanager
def looking_changed(path):
    """Cargo compiles again what is younger than its last build. The old age is put
    back afterwards, so that the next ordinary build has nothing to do."""
    before = path.stat()
    os.utime(path)
    try:
        yield
    finally:
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


if __name__ == "__main__":
    stop_on_signals()
    main()
