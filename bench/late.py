#!/usr/bin/env python3
"""What late interaction costs a search, by the builtin model's own vectors.

    python3 tools/with_postgres.py python3 bench/late.py [ITEMS]      10,000 where none is named

One release server, one user whose items (two sentences of tools/demo/memories.jsonl and a number) come through the API and
are embedded; then searches of five of their words by one client, in turns of which every other has no late interaction (the
user's space is said to be short of signs, as it is while they are made): queries whose vectors are known, and new ones. Needs
`make build`. ROUNDS and SEARCHES are settings.
"""
import itertools
import json
import os
import random
import statistics
import sys
import time

from results import percentile, record, spread
from run import REPO, keepsake
from sql import sql

ROUNDS = int(os.environ.get("ROUNDS", "6"))
SEARCHES = int(os.environ.get("SEARCHES", "200"))
SENTENCES = [json.loads(line)["content"] for line in open(REPO / "tools/demo/memories.jsonl")]
SWITCHED = {"with": "all", "without": "some"}


def main(items):
    random.seed(7)
    with keepsake(KEEPSAKE_DATA_DIR=str(REPO / "data")) as server:
        began = time.perf_counter()
        for n in range(items):
            server.call("memory_add", {"type": "fact", "theme": f"theme-{n % 20}", "content": f"{n}: {' '.join(random.sample(SENTENCES, 2))}"})
        while int(sql("SELECT count(*) FROM memory_embeddings WHERE state <> 'ready'")) or sql("SELECT token_signs FROM embedding_spaces") != "all":
            server.call("memory_stats", {})  # a connection on which nothing is asked is closed
            time.sleep(0.5)
        print(f"{items:,} items added and embedded in {time.perf_counter() - began:.0f} s; bytes of signs each: {sql('SELECT avg(length(token_signs))::int FROM memory_embeddings')}", flush=True)
        numbers = itertools.count()
        some_words = lambda: " ".join(random.sample(words := random.choice(SENTENCES).split(), min(5, len(words))))
        known = [some_words() for _ in range(20)]
        asked = {"known": lambda n: known[n % len(known)], "new": lambda n: f"{some_words()} {next(numbers)}"}
        figures = {}
        for kind, query in asked.items():
            took = {name: [] for name in SWITCHED}
            for _ in range(ROUNDS):
                for name in SWITCHED:
                    switch(server, name)
                    took[name].append([timed(server, query(n)) for n in range(SEARCHES)])
            figures[kind] = {name: {"p50": spread(map(statistics.median, rounds)), "p95": spread(percentile(of, 95) for of in rounds)} for name, rounds in took.items()}
            pairs = zip(took["with"], took["without"])
            figures[kind]["ratio of p50"] = spread(statistics.median(a) / statistics.median(b) for a, b in pairs)
            print(kind, figures[kind], flush=True)
        record("late", {"items": items, "searches": figures})


def switch(server, name):
    sql(f"UPDATE embedding_spaces SET token_signs = '{SWITCHED[name]}'")
    answer = server.call("memory_search", {"query": "a word", "explain": True})
    assert (answer["results"][0]["explain"]["late"] is not None) == (name == "with"), answer["results"][0]


def timed(server, query):
    began = time.perf_counter()
    server.call("memory_search", {"query": query})
    return (time.perf_counter() - began) * 1e3


if __name__ == "__main__":
    main(int(sys.argv[1].replace("_", "")) if sys.argv[1:] else 10_000)
