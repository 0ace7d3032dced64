#!/usr/bin/env python3
"""A guard against getting slower that a busy machine cannot mislead: it counts, and compares with bench/guard.json.

    python3 tools/with_postgres.py python3 bench/guard.py [--renew]

Over a fixed set of items: the statements and bytes that one `memory_search`, one after an add, and one `memory_add`
exchange with PostgreSQL (counted by a relay between them), and how many times `memory_get` a search takes, with a
bound that only a blunder reaches. More than the baseline by TOLERANCE fails; one statement more fails, also of a search
in a theme beside one without. Each run also counts searches that read the whole memory anew, and fails if that would
pass. `--renew` writes the baseline. Needs `make build`.
"""
import contextlib
import itertools
import json
import random
import socket
import statistics
import struct
import sys
import threading
import time
from pathlib import Path
from urllib.parse import urlsplit

import vectors
from clients import ask, rest
from run import common_words, free_port, item, keepsake
from sql import URL, sql

BASELINE = Path(__file__).resolve().parent / "guard.json"
ITEMS = 3_000
ASKED = 40  # calls whose messages are counted
SEARCHES = 300
TOLERANCE = 0.10
RATIO_MAX = 8.0
ANEW = "UPDATE memory_revisions SET revision = revision + 1, told_from = revision + 1"


def main(renew):
    random.seed(7)
    vectors.CALL_SECONDS = 0.004
    relay, provider_port = Relay(), free_port()
    with keepsake(KEEPSAKE_LLAMACPP_URL=f"http://127.0.0.1:{provider_port}", KEEPSAKE_DATABASE_URL=relay.url) as server:
        for n in range(ITEMS):
            server.call("memory_add", item(n))
        # While no provider answers, a job waits: an add that finds none pushes one, which is three statements more.
        added = ITEMS + 2 * ASKED
        adds = [rest(server.token, "memory_add", item(n)) for n in range(ITEMS, added)]
        seen = named("memory_add", relay.of_each(server.port, adds[:ASKED]))
        vectors.start_provider(provider_port)
        server.run("rebuild", "--email", server.email)
        words = {"query": " ".join(common_words(5))}
        search = rest(server.token, "memory_search", words)
        found = server.call("memory_search", {"query": "*"})["results"][0]["id"]
        ask(server.port, iter([search] * 10), count=10)  # the vector into the cache, the statements prepared
        seen |= named("memory_search", relay.of_each(server.port, [search] * ASKED))
        in_theme = rest(server.token, "memory_search", {**words, "theme": "theme-7"})
        in_theme = relay.of_each(server.port, [in_theme] * ASKED)["statements"]
        worse = named("memory_search", relay.of_each(server.port, [search] * 5, lambda _: sql(ANEW)))
        ratio = of_get(server, search, rest(server.token, "memory_get", {"item_id": found}))
        seen |= named("memory_search after an add", relay.of_each(server.port, [search] * ASKED, lambda n: ask(server.port, iter([adds[ASKED + n]]), count=1)))
    if renew:
        BASELINE.write_text(json.dumps(seen, indent=1) + "\n")
    judge(seen, worse, ratio, in_theme, json.loads(BASELINE.read_text()))


def named(call, figures):
    return {f"{call}, {name}": figure for name, figure in figures.items()}


def judge(seen, worse, ratio, in_theme, baseline):
    lost = exceeded(seen, baseline)
    is_more = in_theme > seen["memory_search, statements"]
    for name, figure in seen.items():
        print(f"{'✗' if name in lost else '✓'} {name:44} {figure:>9,}   baseline {baseline.get(name, 0):>9,}   {figure / baseline.get(name, figure):.2f}")
    print(f"{'✗' if is_more else '✓'} a search in a theme takes {in_theme} statements, no more than one without")
    print(f"{'✓' if ratio <= RATIO_MAX else '✗'} a search's p50 is {ratio:.2f} times memory_get's, at most {RATIO_MAX:g}")
    caught = exceeded(worse, baseline)
    print(f"{'✓' if caught else '✗'} searches that read all anew are caught: {', '.join(f'{name} {worse[name] / baseline[name]:.1f} times' for name in caught)}")
    if lost or is_more or ratio > RATIO_MAX or not caught:
        sys.exit("✗ more is done for a search or an add than bench/guard.json says; where that is meant, `bench/guard.py --renew` and say why in the commit")


def exceeded(seen, baseline):
    """Names whose figure is above the baseline: of statements by any, of the rest by the tolerance."""
    most = lambda name: baseline[name] * (1 if name.endswith("statements") else 1 + TOLERANCE)
    return [name for name, figure in seen.items() if name not in baseline or figure > most(name)]


def of_get(server, search, get):
    """Both in turn."""
    took, _ = ask(server.port, itertools.cycle([search, get]), count=2 * SEARCHES)
    return statistics.median(took[::2]) / statistics.median(took[1::2])


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

    def of_each(self, port, requests, before=lambda n: None):
        """Statements (simple or executed), bytes to and from PostgreSQL, while one call is answered: the least of all
        calls, since what goes on beside them only adds. `before` each is not counted."""
        counted = []
        for n, request in enumerate(requests):
            before(n)
            begun = time.perf_counter()
            ask(port, iter([request]), count=1)
            ended = time.perf_counter()
            sent = [(kind, size) for at, kind, size in self.sent if begun <= at <= ended]
            counted.append((sum(1 for kind, _ in sent if kind in "QE"), sum(size for _, size in sent), sum(size for at, size in self.got if begun <= at <= ended)))
            time.sleep(0.02)
        return dict(zip(("statements", "bytes sent", "bytes received"), (min(column) for column in zip(*counted))))


if __name__ == "__main__":
    main("--renew" in sys.argv)
