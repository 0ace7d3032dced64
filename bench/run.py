#!/usr/bin/env python3
"""How fast one user's memory is over HTTP: adds 10,000 items, then searches among them.

Starts the release server on a database of its own (KEEPSAKE_TEST_DATABASE_URL, from
tools/with_postgres.py), with one client on one kept-alive connection, and prints p50 and p95.
"""
import contextlib
import functools
import http.client
import json
import os
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path

REPO = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPO / "tools"))

import server  # noqa: E402
from common import program  # noqa: E402, F401
from with_postgres import free_port  # noqa: E402, F401

ITEMS = 10_000
SEARCHES = 300
WORDS = [f"{a}{b}" for a in ("ba", "co", "di", "fu", "ge", "lo", "mi", "pa") for b in
         ("ker", "lan", "mor", "nit", "pol", "ras", "ston", "tev", "vin", "zel", "dak", "rum")]


def main():
    random.seed(7)
    with keepsake() as started:
        measure("add", ITEMS, lambda n: started.call("memory_add", item(n)))
        for name, query in (("search, 2 words", lambda: " ".join(common_words(2))),
                            ("search, 5 words", lambda: " ".join(common_words(5))),
                            ("search, 1 rare word", lambda: rare_word(random.randrange(ITEMS))),
                            ("newest", lambda: "*")):
            measure(name, SEARCHES, lambda n: started.call("memory_search", {"query": query()}))


@contextlib.contextmanager
def keepsake(**variables):
    """The release server, and one kept-alive connection of its agent."""
    os.environ["KEEPSAKE_BIN"] = str(program("release"))
    with tempfile.TemporaryDirectory() as home, server.keepsake(home, **variables) as started:
        connection = http.client.HTTPConnection("127.0.0.1", started.port)
        started.call = functools.partial(call, connection, token=started.token)
        yield started


def common_words(count):
    """Few words come often and many seldom, as in real text."""
    return [WORDS[min(int(random.expovariate(1 / 18)), len(WORDS) - 1)] for _ in range(count)]


def rare_word(n):
    """Of item n alone; letters only, since `ticket17` would be found by `ticket` too, and no vowel, so that it has no other stem."""
    return "q" + "".join("bcdfghjkmn"[int(digit)] for digit in f"{n:06}")


def item(n):
    return {"type": "fact", "theme": f"theme-{n % 20}",
            "content": rare_word(n) + " " + " ".join(common_words(random.randrange(10, 40)))}


def call(connection, tool, body, token):
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    connection.request("POST", f"/api/v1/tools/{tool}", json.dumps(body), headers)
    response = connection.getresponse()
    answer = response.read()
    assert response.status == 200, answer
    return json.loads(answer)


def measure(name, count, ask):
    times = []
    for n in range(count):
        start = time.perf_counter()
        ask(n)
        times.append((time.perf_counter() - start) * 1e3)
    cuts = statistics.quantiles(times, n=20)
    print(f"{name:20} n={count:6}  p50 {cuts[9]:6.2f} ms  p95 {cuts[18]:6.2f} ms", flush=True)
    return cuts[9], cuts[18]


if __name__ == "__main__":
    main()
