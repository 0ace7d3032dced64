#!/usr/bin/env python3
"""The floor of a search: `memory_search` over HTTP and MCP beside the product's own statement, prepared, in
pgbench, with the same words, as the same role under the same policies.

    python3 tools/with_postgres.py python3 bench/floor.py [--rate 25]

First in turn, each asking again at once, at 1, 2 and 8 clients, three rounds. Then both at the same time at one
pace (--rate, one client each), so that an hour or a second in which the machine is slow is slow for both, and
neither has all of its caches warm. Query vectors come from the cache, as they do for a query that is asked
again: the provider's time is not the server's. Needs `make build`. ITEMS and SECONDS_A_TURN are settings.
"""
import argparse
import itertools
import os
import random
import statistics
from concurrent.futures import ThreadPoolExecutor

from clients import ask, in_turn, mcp, rest
from pgbench import pgbench
from results import Progress, record, spread
from run import common_words, rare_word
from sql import sql
from statement import execute, prepare
from vectors import filled

ITEMS = int(os.environ.get("ITEMS", "10000"))
SECONDS = float(os.environ.get("SECONDS_A_TURN", "5"))
CLIENTS = (1, 2, 8)
ROUNDS = 3
QUERIES = 20
PACED_SEARCHES = 200
FEW = min(1_000, ITEMS)
KINDS = {"1 rare word": lambda: [rare_word(random.randrange(FEW))], "1 rare, 1 common": lambda: [rare_word(random.randrange(FEW)), *common_words(1)],
         "2 common words": lambda: common_words(2)}


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--rate", type=float, default=25, help="searches a second, of each at the same time")
    rate = options.parse_args().rate
    random.seed(7)
    progress = Progress([("adding the items that are searched", ITEMS / 300)] + [(f"searching, {count} clients", 3 * SECONDS) for _ in range(ROUNDS) for count in CLIENTS]
                        + [(f"at one pace: {kind}", PACED_SEARCHES / rate + 1) for kind in KINDS for _ in range(ROUNDS)])
    progress.step()
    with filled(ITEMS) as server:
        queries = {kind: [words() for _ in range(QUERIES)] for kind, words in KINDS.items()}
        for query in itertools.chain(*queries.values()):  # the vectors into the cache
            server.call("memory_search", {"query": " ".join(query)})
        fast = as_fast_as_they_can(server, [*itertools.chain(*queries.values())], progress)
        record("floor", {"items": ITEMS, "in_turn": fast, "rate": rate, "at_one_pace": at_one_pace(server, queries, rate, progress)})
    progress.end()


def as_fast_as_they_can(server, queries, progress):
    doors = {"floor": lambda clients: pgbench(prepare(), statements(queries), clients, int(SECONDS) or 1),
             "HTTP": lambda clients: ask(server.port, requests(rest, server, queries), clients, SECONDS),
             "MCP": lambda clients: ask(server.port, requests(mcp, server, queries), clients, SECONDS)}
    return in_turn(doors, CLIENTS, ROUNDS, progress)


def at_one_pace(server, queries, rate, progress):
    """{kind: p50 of both, and how much more HTTP takes, in every round}."""
    seen = {}
    for kind, some in queries.items():
        rounds = []
        for _ in range(ROUNDS):
            progress.step()
            with ThreadPoolExecutor() as beside:
                floor = beside.submit(pgbench, prepare(), statements(some), count=PACED_SEARCHES, rate=rate)
                over_http, _ = ask(server.port, requests(rest, server, some), count=PACED_SEARCHES, rate=rate)
                rounds.append((statistics.median(over_http), statistics.median(floor.result()[0])))
        seen[kind] = {"HTTP": spread([http for http, _ in rounds]), "floor": spread([floor for _, floor in rounds]),
                      "more_ms": spread([http - floor for http, floor in rounds])}
    return seen


def requests(door, server, queries):
    return itertools.cycle([door(server.token, "memory_search", {"query": " ".join(query)}) for query in queries])


def statements(queries):
    vectors = [row.split("|") for row in sql(f"SELECT space_id, bits, embedding FROM memory_item_embeddings WHERE state = 'ready' LIMIT {len(queries)}").splitlines()]
    return [[execute(1, query, query[:1], *vector)] for query, vector in zip(queries, vectors)]


if __name__ == "__main__":
    main()
