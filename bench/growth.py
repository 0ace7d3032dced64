#!/usr/bin/env python3
"""How search grows: with one user's items, with all items in the database, with themes; and a rebuild under search
load. `memory_search` over HTTP, one client, in short rounds.

    python3 tools/with_postgres.py python3 bench/growth.py

Sizes are settings: OF_ONE_USER, OF_ALL, THEMES and REBUILT (numbers with commas), SECONDS_A_TURN. Rows are written
by SQL (fill.py). recall@10 is that of a search by meaning alone, through the API, against exact cosine.
Needs `make build` and what bench/requirements.txt names.
"""
import itertools
import json
import os
import random
import statistics
import threading

import numpy as np

import vectors
from clients import ask, rest
from fill import ITEMS_OF_OTHERS, grown, memories, queries_of
from results import Progress, percentile, record, spread
from run import common_words
from sql import sql

sizes = lambda name, usual: [int(size) for size in os.environ.get(name, usual).replace("_", "").split(",")]
OF_ONE_USER, OF_ALL = sizes("OF_ONE_USER", "100,1_000,10_000,100_000"), sizes("OF_ALL", "1_000,10_000,100_000,1_000_000")
THEMES, REBUILT = sizes("THEMES", "1,100,10_000"), sizes("REBUILT", "10_000,100_000")
SECONDS = float(os.environ.get("SECONDS_A_TURN", "1"))
ITEMS_IN_THEMES = min(10_000, max(OF_ONE_USER))
ROUNDS = 15
QUERIES = 21
RECALL_QUERIES = 100
PROVIDER_CALL_SECONDS = 0.020  # for 32 texts: faster than a model, so that the server is what is measured
FILL_PER_SECOND = 5_000  # for the progress bar


class Provider(vectors.Provider):
    """Knows the vectors of the queries; other texts get any."""
    known = {}

    def vector_of(self, text, n):
        return self.known.get(text, self.vectors[n])


def main():
    if unknown := set(REBUILT) - set(OF_ONE_USER):
        raise SystemExit(f"✗ REBUILT takes sizes that OF_ONE_USER has ({', '.join(map(str, OF_ONE_USER))}), and not {', '.join(map(str, sorted(unknown)))}")
    random.seed(7)
    progress, figures = Progress(plan()), {"items_of_others": ITEMS_OF_OTHERS, "items_in_themes": ITEMS_IN_THEMES, "all_items": [], "one_user": [], "themes": [], "rebuild": []}
    vectors.CALL_SECONDS = PROVIDER_CALL_SECONDS
    with memories(Provider) as made:
        watched = made.of(ITEMS_OF_OTHERS)
        for total in sorted(OF_ALL):
            if total == max(OF_ALL):  # the one user's curve is taken in a database of the size before
                figures.update(one_user(made, progress))
            progress.step()
            made.others_until(total)
            progress.step()
            figures["all_items"].append({"items": made.count, **searched(made.server, watched)})
        figures["database_bytes"] = int(sql("SELECT pg_database_size(current_database())"))
    record("growth", figures)
    progress.end()


def plan():
    turn, fill, before = ROUNDS * SECONDS, sum(OF_ONE_USER) + len(THEMES) * ITEMS_IN_THEMES, 0
    for total in sorted(OF_ALL):
        if total == max(OF_ALL):
            yield "filling: one user's items, and themes", fill / FILL_PER_SECOND
            yield from ((f"searching among {size:,} items of one user", turn + 5) for size in sorted(OF_ONE_USER))
            yield from ((f"searching {ITEMS_IN_THEMES:,} items in {count:,} themes", 2 * turn) for count in sorted(THEMES))
            yield from ((f"rebuilding {size:,} items while they are searched", size / 1_000) for size in sorted(REBUILT))
            before += fill
        yield f"filling: {total:,} items in all", max(0, total - before) / FILL_PER_SECOND
        yield f"searching 1,000 items among {total:,}", turn
        before = max(before, total)


def one_user(made, progress):
    """Among memories of 100 to 100,000 items, and in 1 to 10,000 themes; then the rebuilds."""
    progress.step()
    users = {size: made.of(size, fill=False) for size in sorted(OF_ONE_USER)}
    in_themes = {count: made.of(ITEMS_IN_THEMES, count, fill=False) for count in sorted(THEMES)}
    made.fill([*users.values(), *in_themes.values()])
    figures = {"one_user": [], "themes": [], "rebuild": [], "items_beside": made.count}
    for size, user in users.items():
        progress.step()
        figures["one_user"].append({"items": size, **searched(made.server, user), "recall_at_10": recall(made.server, user)})
    for count, user in in_themes.items():
        progress.step()
        rest_of = lambda tool, body: [rest(user.token, tool, {**body, "theme": f"theme-{random.randrange(count)}"} if body else {}) for _ in range(QUERIES)]
        in_one = in_rounds(made.server, rest_of("memory_search", {"query": " ".join(common_words(2))}))
        listed = in_rounds(made.server, rest_of("memory_list_themes", {}))
        figures["themes"].append({"themes": count, **searched(made.server, user), "in_one_theme": in_one, "list_themes": listed})
    for size in sorted(REBUILT):
        progress.step()
        figures["rebuild"].append({"items": size, **rebuilt_under_load(made.server, users[size])})
    return figures


def searched(server, user):
    requests = [rest(user.token, "memory_search", {"query": query}) for query in queries_of(user, QUERIES)]
    ask(server.port, iter(requests * 2), count=len(requests))  # the vectors into the cache
    rounds = [ask(server.port, itertools.cycle(requests), seconds=SECONDS)[0] for _ in range(ROUNDS)]
    return {"HTTP": {"p50_ms": spread(map(statistics.median, rounds)), "p95_ms": spread(percentile(took, 95) for took in rounds)}}


def in_rounds(server, requests):
    ask(server.port, iter(requests * 2), count=len(requests))
    return {"p50_ms": spread(statistics.median(ask(server.port, itertools.cycle(requests), seconds=SECONDS / 2)[0]) for _ in range(ROUNDS))}


def recall(server, user):
    """Of the ten nearest, which share a search by meaning alone finds. No word of these queries matches."""
    shares = []
    for n in range(RECALL_QUERIES):
        text, vector = f"xyzzyq{n}", grown(user.vectors[:2_000], 1 + min(2_000, user.size))[-1]
        Provider.known[text] = json.dumps([round(float(x), 6) for x in vector])
        found = server.call("memory_search", {"query": text}, token=user.token)["results"]
        exact = np.argsort(-(user.vectors @ vector), kind="stable")[:10] + user.first
        shares.append(len({hit["id"] for hit in found} & set(exact.tolist())) / 10)
    return {"mean": round(statistics.mean(shares), 4), "worst": min(shares)}


def rebuilt_under_load(server, user):
    """All vectors of a user made anew, by a provider that is faster than any model, while one client searches."""
    requests = itertools.cycle([rest(user.token, "memory_search", {"query": query}) for query in queries_of(user, QUERIES)])
    idle, _ = ask(server.port, requests, seconds=4 * SECONDS)
    bare = vectors.bare_client(server.provider_port)
    vectors.Provider.calls.clear()
    rebuild = threading.Thread(target=lambda: server.run("rebuild", "--email", user.email))
    rebuild.start()
    busy = []
    while rebuild.is_alive():
        busy += ask(server.port, requests, seconds=0.5)[0]
    return {"items_per_second": round(vectors.throughput(vectors.Provider.calls)), "bare_per_second": round(bare), "searches": len(busy),
            "idle_p50_ms": round(statistics.median(idle), 3), "idle_p95_ms": round(percentile(idle, 95), 3),
            "rebuilding_p50_ms": round(statistics.median(busy), 3), "rebuilding_p95_ms": round(percentile(busy, 95), 3)}


if __name__ == "__main__":
    main()
