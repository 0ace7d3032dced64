#!/usr/bin/env python3
"""What turns cost a search: one user's 10,000 memories alone, with 50,000 turns beside them, and 60,000 memories.

    tools/with_postgres.py python3 bench/turns.py

`memory_search` over HTTP, p50 in ms, the queries' vectors known. Needs `make build` and what bench/requirements.txt names.
"""
import itertools
import os
import random
import statistics

from clients import ask, rest
from fill import memories
from run import common_words, rare_word

MEMORIES, TURNS, ASKED = 10_000, 50_000, 40
TYPES = ["preference", "fact", "instruction", "summary", "other"]
KINDS = {"meaning alone": lambda user: "?", "1 rare word": lambda user: rare_word(user.first + random.randrange(user.size)),
         "2 common": lambda user: " ".join(common_words(2)), "5 common": lambda user: " ".join(common_words(5)), "no word matches": lambda user: "xyzzyq"}


def main():
    random.seed(7)
    with memories() as made:
        alone, both, many = made.of(MEMORIES), made.of(MEMORIES + TURNS, memory_each=1 + TURNS // MEMORIES), made.of(MEMORIES + TURNS)
        print(f"load {os.getloadavg()[0]:.1f}", flush=True)
        for name, user, types in (("memories alone", alone, []), ("with turns", both, []), ("with turns, left out", both, TYPES), ("as many memories", many, [])):
            print(f"{name:22}" + "".join(f"  {kind} {p50(made.server, user, query, types):.1f}" for kind, query in KINDS.items()), flush=True)


def p50(server, user, query, types):
    requests = [rest(user.token, "memory_search", {"query": query(user), **({"types": types} if types else {})}) for _ in range(ASKED)]
    ask(server.port, iter(requests), count=ASKED)  # the vectors into the cache
    return statistics.median(ask(server.port, itertools.cycle(requests), count=5 * ASKED)[0])


if __name__ == "__main__":
    main()
