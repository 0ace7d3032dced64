#!/usr/bin/env python3
"""The floor: `memory_search` over HTTP beside the product's own statement, prepared, in pgbench, with
the same words, as the same role under the same policies; three rounds, one client each.

With `--rate` both are asked at the same time at that pace, so that an hour or a second in which the machine
is slow is slow for both. Without it they take turns, each asking again at once, with all of its caches warm.

Run as `python3 tools/with_postgres.py python3 bench/floor.py` after `make build`. Query vectors come
from the cache, as they do for a query that is asked again: the provider's time is not the server's.
"""
import argparse
import json
import os
import random
import socket
import statistics
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from run import common_words, rare_word
from sql import PG_BIN, URL, sql
from statement import execute, prepare
from vectors import filled

ITEMS = 10_000
ROUNDS = 3
QUERIES = 20
SEARCHES = 400
KINDS = {"1 rare word": lambda: [rare_word(random.randrange(1_000))], "1 rare, 1 common": lambda: [rare_word(random.randrange(1_000)), *common_words(1)],
         "2 common words": lambda: common_words(2)}


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--rate", type=float, help="searches a second, of each at the same time")
    rate = options.parse_args().rate
    random.seed(7)
    with filled(ITEMS) as server:
        for name, words in KINDS.items():
            queries = [words() for _ in range(QUERIES)]
            for query in queries:  # the vectors into the cache
                server.call("memory_search", {"query": " ".join(query)})
            for _ in range(ROUNDS):
                if rate:
                    with ThreadPoolExecutor() as beside:
                        floor = beside.submit(lambda: list(in_pgbench(queries, rate)))
                        http_ms, floor_ms = statistics.median(over_http(server, queries, rate)), statistics.median(floor.result())
                else:
                    http_ms, floor_ms = statistics.median(over_http(server, queries)), statistics.median(in_pgbench(queries))
                print(f"{ITEMS:6} items  {name:18} HTTP p50 {http_ms:6.2f} ms   pgbench p50 {floor_ms:6.2f} ms   +{http_ms - floor_ms:.2f} ms", flush=True)


def over_http(server, queries, rate=None):
    """Ready-made requests over a bare socket: what a client does to write and read HTTP is not the server's time."""
    with socket.create_connection(("127.0.0.1", server.port)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        requests = [request(server.token, {"query": " ".join(query)}) for query in queries]
        begun = time.perf_counter()
        for n in range(SEARCHES):
            if rate:
                time.sleep(max(0, begun + n / rate - time.perf_counter()))
            start = time.perf_counter()
            connection.sendall(requests[n % QUERIES])
            head, _, body = connection.recv(1 << 20).partition(b"\r\n\r\n")
            length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
            while len(body) < length:
                body += connection.recv(1 << 20)
            yield (time.perf_counter() - start) * 1e3
            assert head.startswith(b"HTTP/1.1 200"), head


def request(token, body):
    body = json.dumps(body)
    return (f"POST /api/v1/tools/memory_search HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}").encode()


def in_pgbench(queries, rate=None):
    """Each query a script; pgbench logs what each transaction took, in µs, and how late it began."""
    vectors = [row.split("|") for row in sql(f"SELECT space_id, bits, embedding FROM memory_item_embeddings WHERE state = 'ready' LIMIT {QUERIES}").splitlines()]
    with tempfile.TemporaryDirectory() as folder:
        scripts = []
        for n, query in enumerate(queries):
            space, bits, half = vectors[n]
            path = Path(folder) / f"{n}.sql"
            path.write_text(f"\\if :is_new\n{prepare()};\n\\set is_new 0\n\\endif\n"
                            f"BEGIN;\nSET LOCAL keepsake.user_id = 1;\n{execute(1, query, query[:1], space, bits, half)};\nCOMMIT;\n")
            scripts += ["-f", path]
        options = {**os.environ, "PGOPTIONS": "-c role=keepsake_app -c jit=off -c plan_cache_mode=force_generic_plan"}
        command = [PG_BIN / "pgbench", "-n", "-c", "1", "-t", str(SEARCHES), "-D", "is_new=1", "-l", f"--log-prefix={folder}/log", *(["-R", str(rate)] if rate else []), *scripts, URL]
        done = subprocess.run(command, env=options, text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        if done.returncode:
            raise SystemExit(f"pgbench failed: {done.stderr[-400:]}")
        for log in Path(folder).glob("log*"):
            for line in log.read_text().splitlines():
                took, late = int(line.split()[2]), int(line.split()[6]) if rate else 0
                yield (took - late) / 1e3


if __name__ == "__main__":
    main()
