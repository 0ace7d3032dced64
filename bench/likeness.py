#!/usr/bin/env python3
"""How near two statements about one person lie to each other by the builtin model: those that say the same in
other words, those that contradict each other, and those that have nothing to do with each other. The threshold
of src/core/consolidation/keep.rs is read off its table.

Run as `python3 tools/with_postgres.py python3 bench/likeness.py` after `make build`. Each first statement is
added to a theme of its own; the second asks for it, and the answer's parts of the score give the distance.
"""
import functools
import http.client
import os
import tempfile
import time
from pathlib import Path

from run import REPO, call, program, server
from sql import sql

SAME = [
    ("Lives in Graz", "The user's home is in Graz"),
    ("Prefers dark mode", "Likes dark themes in every application"),
    ("Is allergic to peanuts", "Has a peanut allergy"),
    ("Works as a nurse", "The user's profession is nursing"),
    ("Drinks oolong in the afternoon", "In the afternoon the user has oolong tea"),
    ("Has two cats", "Owns a pair of cats"),
    ("Uses Helix as the editor", "Edits text with Helix"),
    ("Speaks German natively", "German is the user's mother tongue"),
    ("Wants short answers", "Prefers brief replies"),
    ("Is married to Peter", "Peter is the user's husband"),
    ("Runs Debian on the laptop", "The laptop's operating system is Debian"),
    ("Deploys on Fridays", "Usually ships releases on Friday"),
    ("Is vegetarian", "Does not eat meat"),
    ("Was born in Budapest", "Budapest is the user's birthplace"),
    ("Learns Japanese", "Is studying the Japanese language"),
    ("Indents with tabs", "Uses tabs for indentation"),
    ("Plays the cello", "Is a cellist"),
    ("Writes most code in Rust", "Rust is the language the user mostly programs in"),
    ("Gets up at six", "Wakes at 6 in the morning"),
    ("Commutes by bicycle", "Cycles to work"),
    ("Prefers the metric system", "Likes measures in metric units"),
    ("Is building a memory server", "Works on a server for memories"),
    ("Dislikes phone calls", "Hates being called on the phone"),
    ("Lives with her sister", "Shares a home with her sister"),
]
CONTRADICTING = [
    ("Lives in Graz", "Lives in Vienna"),
    ("Prefers dark mode", "Prefers light mode"),
    ("Works as a nurse", "Works as a teacher"),
    ("Has two cats", "Has no pets"),
    ("Uses Helix as the editor", "Uses Emacs as the editor"),
    ("Wants short answers", "Wants long, detailed answers"),
    ("Is married to Peter", "Is single"),
    ("Runs Debian on the laptop", "Runs Windows on the laptop"),
    ("Deploys on Fridays", "Never deploys on Fridays"),
    ("Is vegetarian", "Eats meat every day"),
    ("Was born in Budapest", "Was born in Prague"),
    ("Indents with tabs", "Indents with spaces"),
    ("Plays the cello", "Plays no instrument"),
    ("Gets up at six", "Sleeps until noon"),
    ("Commutes by bicycle", "Commutes by train"),
    ("Likes coffee", "Does not like coffee"),
    ("The office is in Graz", "The office is in Vienna"),
    ("Lives with her sister", "Lives alone"),
    ("Prefers tea over coffee", "Prefers coffee over tea"),
    ("Wants to be called Anna", "Wants to be called Mrs Kovács"),
]
UNRELATED = [
    ("Lives in Graz", "Prefers dark mode"),
    ("Works as a nurse", "Has two cats"),
    ("Uses Helix as the editor", "Plays the cello"),
    ("Wants short answers", "Is allergic to peanuts"),
    ("Runs Debian on the laptop", "Deploys on Fridays"),
    ("Is vegetarian", "Gets up at six"),
    ("Was born in Budapest", "Indents with tabs"),
    ("Speaks German natively", "Learns Japanese"),
    ("Drinks oolong in the afternoon", "Is married to Peter"),
    ("Commutes by bicycle", "Writes most code in Rust"),
    ("Has two cats", "Lives with her sister"),
    ("Prefers the metric system", "Dislikes phone calls"),
    ("Likes coffee", "Drinks oolong in the afternoon"),
    ("Uses a mechanical keyboard", "Uses Helix as the editor"),
    ("Is building a memory server", "Runs Debian on the laptop"),
    ("Works from home on Mondays", "Deploys on Fridays"),
    ("Plays the cello", "Listens to podcasts"),
    ("Wants to be called Anna", "Is married to Peter"),
    ("Lives in Graz", "The office is in Vienna"),
    ("Prefers short meetings", "Wants short answers"),
]


def distance(server, query, theme):
    """Asked again where the model was busy and words answered alone."""
    while True:
        found = server.call("memory_search", {"query": query, "theme": theme, "explain": True})["results"]
        if found and found[0]["explain"]["distance"] is not None:
            return found[0]["explain"]["distance"]
        time.sleep(0.2)


def main():
    os.environ["KEEPSAKE_BIN"] = str(program("release"))
    with tempfile.TemporaryDirectory() as home:
        # Where the builtin model is.
        data = Path(home) / "data"
        data.mkdir()
        (data / "runtime").symlink_to(REPO / "data/runtime")
        with server.keepsake(home) as started:
            started.call = functools.partial(call, http.client.HTTPConnection("127.0.0.1", started.port), token=started.token)
            table(started)


def table(server):
    kinds = {"same": SAME, "contradicting": CONTRADICTING, "unrelated": UNRELATED}
    pairs = [(kind, *pair) for kind, pairs in kinds.items() for pair in pairs]
    for n, (_, older, _) in enumerate(pairs):
        server.call("memory_add", {"type": "fact", "theme": f"pair-{n}", "content": older})
    while int(sql("SELECT count(*) FROM memory_embeddings WHERE state = 'pending'")):
        time.sleep(0.2)
    cosines = {kind: [] for kind in kinds}
    for n, (kind, _, newer) in enumerate(pairs):
        cosines[kind].append(1 - distance(server, newer, f"pair-{n}"))
    print("| from this cosine on | " + " | ".join(f"{kind} ({len(values)})" for kind, values in cosines.items()) + " |")
    print("|---|" + "---|" * len(cosines))
    for percent in range(40, 100, 5):
        shares = (f"{sum(c >= percent / 100 for c in values)}" for values in cosines.values())
        print(f"| 0.{percent} | " + " | ".join(shares) + " |")


if __name__ == "__main__":
    main()
