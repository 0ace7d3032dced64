#!/usr/bin/env python3
"""A read replica, for docs/scaling.md: whether a standby answers the product's search as the primary does, how far it
lags behind an add, what a search costs there, and what a server says that is pointed at it. Needs psycopg.

    python3 tools/with_postgres.py python3 bench/standby.py     after `make build`; half a minute

Both run on this machine, so that the lag is that of replication alone, without a network.
"""
import contextlib
import os
import random
import re
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import psycopg

import results
from pgbench import SESSION
from run import common_words, free_port, item
from scaling import TICK_MS, children, postmaster_of_the_primary, stat, ticks
from sql import PG_BIN, URL, sql
from statement import execute, prepare
from vectors import filled
from with_postgres import as_user, unprivileged_user

ITEMS = 2_000
QUERIES = 20
SEARCHES = 200
ADDS = 100
START_TIMEOUT_SECONDS = 30


def main():
    random.seed(7)
    # As in production: what an add has answered is in the log that is sent, and not there some 200 ms later.
    sql("ALTER DATABASE postgres SET synchronous_commit = on")
    with filled(ITEMS) as server, standby() as (replica, postmaster):
        queries = [common_words(2) for _ in range(QUERIES)]
        figures = {"answers_differ": differ(queries, replica),
                   "core_ms": {"primary": cost(queries, URL, postmaster_of_the_primary()), "standby": cost(queries, replica, postmaster)}}
        with psycopg.connect(replica, autocommit=True) as watching:
            lags = [lag_ms(server, watching, n) for n in range(ADDS)]
        figures |= {"lag_ms": {"p50": round(statistics.median(lags), 1), "max": round(max(lags), 1)}, "a_server_on_it": start_on(server, replica)}
    for name, figure in figures.items():
        print(f"{name:16} {figure}", flush=True)
    results.record("standby", figures)


@contextlib.contextmanager
def standby():
    """A streaming copy of the throwaway database; yields its URL and its postmaster."""
    owner = unprivileged_user()
    with tempfile.TemporaryDirectory(dir="/tmp", ignore_cleanup_errors=True) as home:
        if owner:
            os.chown(home, owner.pw_uid, owner.pw_gid)
        subprocess.run([PG_BIN / "pg_basebackup", "-D", f"{home}/data", "-R", "-c", "fast", "-d", URL], check=True, **as_user(owner, home))
        port = free_port()
        command = [PG_BIN / "postgres", "-D", f"{home}/data", f"-cport={port}", "-clisten_addresses=127.0.0.1", "-cunix_socket_directories=", "-cmax_connections=200"]
        with open(f"{home}/log", "w") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log, **as_user(owner, home))
        try:
            deadline = time.monotonic() + START_TIMEOUT_SECONDS
            while "ready to accept read-only connections" not in Path(home, "log").read_text():
                assert process.poll() is None and time.monotonic() < deadline, Path(home, "log").read_text()
                time.sleep(0.05)
            yield re.sub(r":\d+/", f":{port}/", URL), process.pid
        finally:
            process.terminate()
            process.wait()


def statements(queries):
    """As a request runs them: in a transaction that knows its user, as the role under row security."""
    vectors = [row.split("|") for row in sql(f"SELECT space_id, bits, embedding FROM memory_embeddings WHERE state = 'ready' ORDER BY source_id LIMIT {QUERIES}").splitlines()]
    for words, (space, bits, half) in zip(queries, vectors):
        yield f"BEGIN; SET LOCAL keepsake.user_id = 1; {execute(1, words, words[:1], space, bits, half)}; COMMIT;"


def psql(url, script):
    command = [PG_BIN / "psql", "-XAtq", "-v", "ON_ERROR_STOP=1", url]
    return subprocess.run(command, check=True, text=True, input=script, stdout=subprocess.PIPE, env={**os.environ, **SESSION}).stdout


def differ(queries, replica):
    caught_up(replica)
    script = prepare() + ";\n" + "\n".join(statements(queries))
    here, there = (sorted(psql(url, script).splitlines()) for url in (URL, replica))
    assert len(here) > QUERIES, "nothing was found"
    return here != there


def cost(queries, url, postmaster):
    """Core ms of one search there: what many cost more than none."""
    rounds = "\n".join(list(statements(queries)) * (SEARCHES // QUERIES))
    none, many = (spent(postmaster, lambda: psql(url, f"{prepare()};\n{script}")) for script in ("", rounds))
    return round((many - none) * TICK_MS / SEARCHES, 2)


def spent(postmaster, work):
    """Ticks of the postmaster and all of its processes; the time of one that has ended is its parent's."""
    now = lambda: sum(ticks(pid) for pid in children(postmaster)) + sum(map(int, stat(postmaster)[11:15]))
    before = now()
    work()
    time.sleep(0.5)  # psql's backend ends a moment after psql
    return now() - before


def caught_up(replica):
    end = sql("SELECT pg_current_wal_lsn()")
    while psql(replica, f"SELECT pg_last_wal_replay_lsn() >= '{end}'").strip() != "t":
        time.sleep(0.05)


def lag_ms(server, watching, n):
    """From the answer of an add until the standby shows the row."""
    added = server.call("memory_add", {**item(n), "content": f"lagging {n}"})["id"]
    start = time.perf_counter()
    while not watching.execute("SELECT 1 FROM memory_items WHERE user_id = 1 AND id = %s", (added,)).fetchone():
        pass
    return (time.perf_counter() - start) * 1e3


def start_on(server, replica):
    """The last line of a server that is pointed at the standby."""
    with tempfile.TemporaryDirectory() as home:
        env = {**server.env, "KEEPSAKE_DATABASE_URL": replica, "KEEPSAKE_DATA_DIR": home, "KEEPSAKE_LISTEN": f"127.0.0.1:{free_port()}", "KEEPSAKE_LOG": "error"}
        done = subprocess.run([server.binary, "serve"], env=env, text=True, stderr=subprocess.PIPE, timeout=START_TIMEOUT_SECONDS)
    return f"exit {done.returncode}: {done.stderr.strip().splitlines()[-1]}"


if __name__ == "__main__":
    main()
