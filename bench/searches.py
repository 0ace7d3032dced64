#!/usr/bin/env python3
"""Searches of one user's memories, which the server holds in RAM, beside `memory_get`, which reads one row.

    python3 tools/with_postgres.py python3 bench/searches.py [ITEMS …]      1,000, 10,000 and 100,000 where none is named

One release server; of each size a user, whose rows are written by SQL (fill.py), and 21 queries whose vectors are
known. One client asks by HTTP and by MCP and gets, in turn; then 8 clients search, and get; *first* is a search that has
to read the whole memory from the database. The server's memory is that with the users before. Needs `make build` and
what bench/requirements.txt names. SECONDS_A_TURN is a setting.
"""
import itertools
import os
import random
import statistics
import sys
import urllib.request

from clients import ask, mcp, rest
from fill import memories, queries_of, tell
from results import Progress, percentile, record, shown, spread

SECONDS = float(os.environ.get("SECONDS_A_TURN", "5"))
SIZES = (1_000, 10_000, 100_000)
CLIENTS = 8
ROUNDS = 3
QUERIES = 21
COLUMNS = {"items": lambda of: f"{of['items']:,}", "first ms": lambda of: shown(of["first_ms"], 0),
           **{f"search {part} ms": lambda of, part=part: shown(of["search"][part], 2) for part in ("p50", "p95", "p99")},
           "MCP p50": lambda of: shown(of["MCP"]["p50"], 2), "get p50": lambda of: shown(of["get"]["p50"], 2),
           "searches/s at 8": lambda of: shown(of["at_8"]["search"]["per_second"], 0), "p99 ms": lambda of: shown(of["at_8"]["search"]["p99"]),
           "gets/s at 8": lambda of: shown(of["at_8"]["get"]["per_second"], 0), "gets' p99 ms": lambda of: shown(of["at_8"]["get"]["p99"]),
           "bytes an item": lambda of: f"{of['index_bytes'] / of['items']:,.0f}", "MiB resident": lambda of: f"{of['resident_bytes'] / 2**20:,.0f}"}


def main(sizes):
    random.seed(7)
    progress, rows = Progress([(f"searching {size:,} items", 7 * ROUNDS * SECONDS / 2 + size / 2_000) for size in sizes]), []
    print(" | ".join(COLUMNS), flush=True)
    with memories() as made:
        for size in sizes:
            progress.step()
            rows.append(measured(made, made.of(size)))
            print(" | ".join(shown_as(rows[-1]) for shown_as in COLUMNS.values()), flush=True)
    record("searches", {"sizes": rows})
    progress.end()


def measured(made, user):
    port, queries, before = made.server.port, queries_of(user, QUERIES), gauge(made.server, "keepsake_index_bytes")
    for query in queries:  # the vectors into the cache
        assert made.server.call("memory_search", {"query": query}, token=user.token)["mode"] == "hybrid"
    figures = {"items": user.size, "index_bytes": gauge(made.server, "keepsake_index_bytes") - before}
    searches = [{"query": query} for query in queries]
    items = [{"item_id": user.first + random.randrange(user.size)} for _ in queries]
    calls = {name: [door(user.token, tool, body) for body in bodies] for name, door, tool, bodies in
             (("search", rest, "memory_search", searches), ("MCP", mcp, "memory_search", searches), ("get", rest, "memory_get", items))}
    in_turn = [call for three in zip(*calls.values()) for call in three]
    rounds = [ask(port, itertools.cycle(in_turn), seconds=3 * SECONDS / 2)[0] for _ in range(ROUNDS)]
    for n, name in enumerate(calls):
        figures[name] = percentiles([took[n::len(calls)] for took in rounds])
    figures["at_8"] = {name: at_once(port, calls[name]) for name in ("search", "get")}
    figures["resident_bytes"] = gauge(made.server, "process_resident_memory_bytes")
    return figures | {"first_ms": spread(first_ms(made, port, user, calls["search"]) for _ in range(ROUNDS))}


def first_ms(made, port, user, requests):
    tell(made.db, [user.id])
    return ask(port, iter(requests), count=1)[0][0]


def at_once(port, requests):
    rounds = [ask(port, itertools.cycle(requests), CLIENTS, SECONDS) for _ in range(ROUNDS)]
    return percentiles([took for took, _ in rounds]) | {"per_second": spread(rate for _, rate in rounds)}


def percentiles(rounds):
    return {"p50": spread(map(statistics.median, rounds)), "p95": spread(percentile(took, 95) for took in rounds), "p99": spread(percentile(took, 99) for took in rounds)}


def gauge(server, name):
    lines = urllib.request.urlopen(f"{server.url}/metrics").read().decode().splitlines()
    return float(next(line.split()[1] for line in lines if line.startswith(f"{name} ")))


if __name__ == "__main__":
    main([int(size.replace("_", "")) for size in sys.argv[1:]] or SIZES)
