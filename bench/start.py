#!/usr/bin/env python3
"""The server alone: its resident memory without and with the builtin model, at rest and after work, and how long
it takes from its start to /readyz on an existing database.

    python3 tools/with_postgres.py python3 bench/start.py

Memory is that of all its processes (VmRSS), PostgreSQL's apart. Needs `make build`.
"""
import contextlib
import http.client
import itertools
import os
import random
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from clients import ask, rest
from results import Progress, record, spread
from run import REPO, common_words, free_port, item, keepsake
from sql import sql

STARTS = 5
ITEMS = int(os.environ.get("ITEMS", "500"))
SEARCHES = 500
START_TIMEOUT_SECONDS = 60


def main():
    random.seed(7)
    progress = Progress([("memory without the model", 6), ("memory with the builtin model", 12 + ITEMS / 60), (f"{STARTS} starts", 2 * STARTS)])
    with tempfile.TemporaryDirectory() as home:
        progress.step()
        without = memory_of(f"{home}/data")
        progress.step()
        with_model = memory_of(REPO / "data")
        progress.step()
        starts = [seconds_to_readyz(folder) for _ in range(STARTS) for folder in (f"{home}/data", REPO / "data")]
        record("start", {"items": ITEMS, "memory_mib": {"without the builtin model": without, "with the builtin model": with_model},
                         "seconds_to_readyz": {"without the builtin model": spread(starts[::2]), "with the builtin model": spread(starts[1::2])}})
    progress.end()


def memory_of(data_dir):
    """MiB at rest, and after adds (with vectors, where there is a model) and searches by 8 clients."""
    has_model = any(Path(data_dir).glob("runtime/model-*"))
    with keepsake(KEEPSAKE_DATA_DIR=str(data_dir)) as server:
        at_rest = resident_mib(os.getpid(), server.binary)
        for n in range(ITEMS):
            server.call("memory_add", {**item(n), "content": f"{' '.join(common_words(20))} {random.getrandbits(60)}"})
        while has_model and int(sql("SELECT count(*) FROM memory_embeddings WHERE state = 'pending'")):
            time.sleep(0.2)
        queries = [rest(server.token, "memory_search", {"query": " ".join(common_words(2))}) for _ in range(20)]
        ask(server.port, itertools.cycle(queries), clients=8, count=SEARCHES)
        return {"at rest": at_rest, "after work": resident_mib(os.getpid(), server.binary)}


def resident_mib(parent, binary):
    """Of the children of `parent` that run `binary`, and of theirs."""
    children = [int(pid) for task in Path(f"/proc/{parent}/task").iterdir() for pid in (task / "children").read_text().split()]
    ours = [pid for pid in children if os.path.samefile(f"/proc/{pid}/exe", binary)]
    kib = sum(int(line.split()[1]) for pid in ours for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmRSS"))
    return round(kib / 1024 + sum(resident_mib(pid, binary) for pid in ours), 1)


def seconds_to_readyz(folder):
    port = free_port()
    env = {**os.environ, "KEEPSAKE_DATABASE_URL": os.environ["KEEPSAKE_TEST_DATABASE_URL"], "KEEPSAKE_LISTEN": f"127.0.0.1:{port}",
           "KEEPSAKE_DATA_DIR": str(folder), "KEEPSAKE_LOG": "error"}
    started = time.perf_counter()
    process = subprocess.Popen([REPO / os.environ["KEEPSAKE_BIN"], "serve"], env=env)
    try:
        while not is_ready(port):
            assert process.poll() is None and time.perf_counter() < started + START_TIMEOUT_SECONDS, "the server did not become ready"
            time.sleep(0.005)
        return time.perf_counter() - started
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


def is_ready(port):
    with contextlib.suppress(OSError, http.client.HTTPException), contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=2)) as connection:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == 200
    return False


if __name__ == "__main__":
    main()
