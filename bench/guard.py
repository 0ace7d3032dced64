#!/usr/bin/env python3
"""A guard against getting slower that a busy machine cannot mislead: it counts, and compares with bench/guard.json.

    python3 tools/with_postgres.py python3 bench/guard.py [--renew]

Over a fixed set of items: the buffers that the search statement touches and the rows that its plan handles (EXPLAIN
ANALYZE, as the role and under the policies of a request), the messages and bytes that one `memory_search` and one
`memory_add` exchange with PostgreSQL (counted by a relay between them), and by how much HTTP is slower than the
statement alone, with a bound that only a blunder reaches. More than the baseline by TOLERANCE fails; one statement
more fails. Each run also measures a copy of the statement that was made worse, and fails if that would pass.
`--renew` writes the baseline. Needs `make build`.
"""
import contextlib
import itertools
import json
import os
import random
import socket
import statistics
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path
from urllib.parse import urlsplit

import vectors
from clients import ask, rest
from pgbench import SESSION, pgbench
from run import common_words, free_port, item, keepsake, rare_word
from sql import PG_BIN, URL, sql, vacuum
from statement import prepare, searches

BASELINE = Path(__file__).resolve().parent / "guard.json"
ITEMS = 3_000
QUERIES = 6  # of each kind
ASKED = 40  # calls whose messages are counted
SEARCHES = 150
TOLERANCE = 0.10  # rows lie a little differently each time, and so do a word's places
RATIO_MAX = 3.0
WORSE = ("LIMIT $14::bigint + t.items / $15::bigint", "LIMIT t.items")  # ranks every row exactly


def main(renew):
    random.seed(7)
    vectors.CALL_SECONDS = 0.004
    relay, provider_port = Relay(), free_port()
    with keepsake(KEEPSAKE_LLAMACPP_URL=f"http://127.0.0.1:{provider_port}", KEEPSAKE_DATABASE_URL=relay.url) as server:
        for n in range(ITEMS):
            server.call("memory_add", item(n))
        # While no provider answers, a job waits: an add that finds none pushes one, which is three statements more.
        adds = [rest(server.token, "memory_add", item(ITEMS + n)) for n in range(ASKED)]
        seen = {f"memory_add, {name}": figure for name, figure in relay.of_each(server.port, adds).items()}
        vectors.start_provider(provider_port)
        server.run("rebuild", "--email", server.email)
        settle()
        kinds = {"1 rare word": lambda: [rare_word(random.randrange(ITEMS))], "2 common words": lambda: common_words(2), "5 common words": lambda: common_words(5)}
        queries = {kind: [words() for _ in range(QUERIES)] for kind, words in kinds.items()}
        seen |= {f"search, {kind}, {name}": figure for kind, some in queries.items() for name, figure in plan(prepare(), some).items()}
        worse = {f"search, {kind}, {name}": figure for kind, some in queries.items() for name, figure in plan(prepare().replace(*WORSE), some).items()}
        requests = [rest(server.token, "memory_search", {"query": " ".join(query)}) for query in itertools.chain(*queries.values())]
        ask(server.port, iter(requests * 2), count=len(requests))  # the vectors into the cache, the statements prepared
        seen |= {f"memory_search, {name}": figure for name, figure in relay.of_each(server.port, requests[-1:] * ASKED).items()}
        ratio = over_http(server, requests, [*itertools.chain(*queries.values())])
    if renew:
        BASELINE.write_text(json.dumps(seen, indent=1) + "\n")
    judge(seen, worse, ratio, json.loads(BASELINE.read_text()))


def settle():
    """Rows as close together as they can lie."""
    sql("DELETE FROM memory_embeddings e USING embedding_spaces s WHERE s.user_id = e.user_id AND s.id = e.space_id AND s.state <> 'active'")
    sql("VACUUM FULL memory_items, memory_embeddings")
    vacuum(marked=1)


def judge(seen, worse, ratio, baseline):
    lost = exceeded(seen, baseline)
    for name, figure in seen.items():
        print(f"{'✗' if name in lost else '✓'} {name:44} {figure:>9,}   baseline {baseline.get(name, 0):>9,}   {figure / baseline.get(name, figure):.2f}")
    print(f"{'✓' if ratio <= RATIO_MAX else '✗'} HTTP's p50 is {ratio:.2f} times the statement's, at most {RATIO_MAX:g}")
    caught = exceeded({**seen, **worse}, baseline)
    print(f"{'✓' if caught else '✗'} a worse copy of the statement is caught: {', '.join(f'{name} {worse[name] / baseline[name]:.1f} times' for name in caught if name in worse)}")
    if lost or ratio > RATIO_MAX or not caught:
        sys.exit("✗ more is done for a search or an add than bench/guard.json says; where that is meant, `bench/guard.py --renew` and say why in the commit")


def exceeded(seen, baseline):
    """Names whose figure is above the baseline: of statements by any, of the rest by the tolerance."""
    most = lambda name: baseline[name] * (1 if name.endswith("statements") else 1 + TOLERANCE)
    return [name for name, figure in seen.items() if name not in baseline or figure > most(name)]


def plan(prepared, queries):
    """Buffers and rows of the statement over these queries, after one round that warms caches and sets hint bits."""
    executes = searches(queries)
    script = ["SET keepsake.user_id = 1", prepared]
    script += [f"EXPLAIN (ANALYZE, TIMING OFF, BUFFERS, FORMAT JSON) {one}" for one in executes * 2]
    done = subprocess.run([PG_BIN / "psql", "-XAtq", "-v", "ON_ERROR_STOP=1", URL], env={**os.environ, **SESSION}, input=";\n".join(script) + ";\n", check=True, text=True, stdout=subprocess.PIPE)
    plans, decoder, rest_of = [], json.JSONDecoder(), done.stdout.strip()
    while rest_of:
        found, end = decoder.raw_decode(rest_of)
        plans.append(found[0]["Plan"])
        rest_of = rest_of[end:].strip()
    plans = plans[len(executes):]
    return {"buffers": sum(top["Shared Hit Blocks"] + top["Shared Read Blocks"] for top in plans), "rows": sum(rows(top) for top in plans)}


def rows(node):
    """That it gave or threw away, with those of all nodes below."""
    own = node["Actual Rows"] + sum(node.get(f"Rows Removed by {why}", 0) for why in ("Filter", "Index Recheck", "Join Filter"))
    return round(own * node["Actual Loops"]) + sum(rows(below) for below in node.get("Plans", []))


def over_http(server, requests, queries):
    transactions = [[search] for search in searches(queries)]
    rounds = []
    for _ in range(3):
        http = statistics.median(ask(server.port, itertools.cycle(requests), count=SEARCHES)[0])
        rounds.append(http / statistics.median(pgbench(prepare(), transactions, count=SEARCHES)[0]))
    return min(rounds)


class Relay:
    """Between the server and PostgreSQL: passes all on, and writes down every message that goes to PostgreSQL."""

    def __init__(self):
        self.target, self.sent, self.got = urlsplit(URL), [], []
        door = socket.create_server(("127.0.0.1", 0))
        self.url = URL.replace(f":{self.target.port}/", f":{door.getsockname()[1]}/")
        threading.Thread(target=self.serve, args=(door,), daemon=True).start()

    def serve(self, door):
        while True:
            client, _ = door.accept()
            server = socket.create_connection((self.target.hostname, self.target.port))
            for one in (client, server):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self.pass_on, args=(client, server, self.read_messages()), daemon=True).start()
            threading.Thread(target=self.pass_on, args=(server, client, self.count_bytes()), daemon=True).start()

    @staticmethod
    def pass_on(source, target, seen):
        next(seen)
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                seen.send(data)
                target.sendall(data)
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_WR)

    def count_bytes(self):
        while True:
            data = yield
            self.got.append((time.perf_counter(), len(data)))

    def read_messages(self):
        """What begins a connection has no type: a request for TLS, and then the parameters."""
        waiting, is_begun = b"", False
        while True:
            waiting += yield
            while len(waiting) >= (5 if is_begun else 8):
                kind, size = (waiting[:1].decode(), 1 + struct.unpack(">i", waiting[1:5])[0]) if is_begun else ("", struct.unpack(">i", waiting[:4])[0])
                if len(waiting) < size:
                    break
                is_begun = is_begun or waiting[4:8] != struct.pack(">i", 80877103)  # SSLRequest
                self.sent.append((time.perf_counter(), kind, size))
                waiting = waiting[size:]

    def of_each(self, port, requests):
        """Statements (simple or executed), bytes to and from PostgreSQL, while one call is answered: the least of all
        calls, since what goes on beside them only adds."""
        counted = []
        for request in requests:
            begun = time.perf_counter()
            ask(port, iter([request]), count=1)
            ended = time.perf_counter()
            sent = [(kind, size) for at, kind, size in self.sent if begun <= at <= ended]
            counted.append((sum(1 for kind, _ in sent if kind in "QE"), sum(size for _, size in sent), sum(size for at, size in self.got if begun <= at <= ended)))
            time.sleep(0.02)
        return dict(zip(("statements", "bytes sent", "bytes received"), (min(column) for column in zip(*counted))))


if __name__ == "__main__":
    main("--renew" in sys.argv)
