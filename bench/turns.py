#!/usr/bin/env python3
"""What turns cost a search: one user's 10,000 memories alone, with 50,000 turns beside them, and 60,000 memories.

    tools/with_postgres.py python3 bench/turns.py

The product's statement in SQL as keepsake_app under row security, prepared, texts and vectors as in recall.py
(vectors are mixtures of 500 random ones); p50 of the wall clock / of the backend's own CPU, in ms. Needs
`make build` (or KEEPSAKE_BIN), numpy and psycopg.
"""
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import psycopg

from recall import bits, common_words, make_space, rare_word
from run import REPO
from statement import execute, prepare

MEMORIES, TURNS, ASKED = 10_000, 50_000, 40
dice = np.random.default_rng(7)


def main():
    random.seed(7)
    url = os.environ["KEEPSAKE_TEST_DATABASE_URL"]
    with tempfile.TemporaryDirectory() as home:
        binary = str(REPO / os.environ.get("KEEPSAKE_BIN", "target/release/keepsake"))
        subprocess.run([binary, "migrate"], check=True, env={**os.environ, "KEEPSAKE_DATABASE_URL": url, "KEEPSAKE_DATA_DIR": home})
    with psycopg.connect(url, autocommit=True) as db, psycopg.connect(url, autocommit=True) as app:
        for user, memories, turns in ((1, MEMORIES, 0), (2, MEMORIES, TURNS), (3, MEMORIES + TURNS, 0)):
            load(db, user, memories, turns)
        db.execute("VACUUM ANALYZE memory_items, memory_embeddings")
        print(f"load {os.getloadavg()[0]:.1f}", flush=True)
        for user, name in ((1, "memories alone"), (2, "with turns"), (2, "with turns, left out"), (3, "as many memories")):
            print(f"{name:22}" + measured(app, user, not name.endswith("out")), flush=True)
        if "--plan" in sys.argv:
            print("\n".join(row[0] for row in app.execute("EXPLAIN (ANALYZE, BUFFERS) " + asked(2, common_words(2), [], True))))


def load(db, user, memories, turns):
    db.execute("SET session_replication_role = replica")
    db.execute("INSERT INTO users (id, email, password_hash, role, created_at, updated_at) OVERRIDING SYSTEM VALUE "
               "VALUES (%s, %s, '', 'member', now(), now())", (user, f"u{user}@example.com"))
    db.execute("INSERT INTO memory_themes (user_id, id, slug, display_name, created_at, updated_at) "
               "OVERRIDING SYSTEM VALUE VALUES (%s, 1, 'general', 'general', now(), now())", (user,))
    make_space(db, user)
    base = dice.normal(0, 1, (500, 384))
    kinds = [False] * memories + [True] * turns
    random.shuffle(kinds)
    with db.cursor().copy("COPY memory_items (user_id, id, theme_id, type, content, content_hash, source, created_at, updated_at, "
                          "turn_session_id, turn_position, turn_part, content_tsv) FROM STDIN") as copy:
        for n, is_turn in enumerate(kinds):
            words = [rare_word(n), *common_words(random.randrange(10, 40))]
            places = {word: ",".join(str(p) for p, w in enumerate(words, 2) if w == word) for word in words}
            when = f"2025-01-{1 + n // 86_400:02} {n // 3_600 % 24:02}:{n // 60 % 60:02}:{n % 60:02}+00"
            place = (1, n, 1) if is_turn else (None, None, None)
            copy.write_row((user, 1_000_000 * user + n, None if is_turn else 1, "turn" if is_turn else "fact", " ".join(words),
                            n.to_bytes(32, "big"), "agent", when, when, *place,
                            " ".join(f"'{word}':{place}" for word, place in places.items())))
    with db.cursor().copy("COPY memory_embeddings (user_id, space_id, source_id, state, theme_id, item_type, item_live_until, "
                          "item_created_at, bits, embedding, updated_at) FROM STDIN") as copy:
        for start in range(0, len(kinds), 2_000):
            some = kinds[start:start + 2_000]
            vectors = grown(base, len(some))
            for n, (is_turn, sign, vector) in enumerate(zip(some, bits(vectors), vectors), start):
                copy.write_row((user, 1, 1_000_000 * user + n, "ready", None if is_turn else 1, "turn" if is_turn else "fact", "infinity",
                                "2025-01-01", "".join(f"{byte:08b}" for byte in sign), half(vector), "2025-01-01"))


def grown(base, count):
    mixed = base[dice.integers(0, 500, count)] + base[dice.integers(0, 500, count)] + dice.normal(0, 0.3, (count, 384))
    return (mixed / np.linalg.norm(mixed, axis=1, keepdims=True)).astype(np.float32)


def half(vector):
    return "[" + ",".join(f"{x:.4g}" for x in vector) + "]"


def asked(user, words, fragments, with_turns):
    vector = grown(dice.normal(0, 1, (500, 384)), 1)
    sign = "".join(f"{byte:08b}" for byte in bits(vector)[0])
    statement = execute(user, words, fragments, 1, sign, half(vector[0]))
    return statement if with_turns else statement.replace("{false,true}", "{false}")


def measured(app, user, with_turns):
    app.execute(f"DEALLOCATE ALL; SET ROLE keepsake_app; SET jit = off; SET keepsake.user_id = {user}")
    app.execute(prepare())
    cpu = lambda: int(open(f"/proc/{app.info.backend_pid}/schedstat").read().split()[0]) / 1e6
    line = ""
    for name, words in (("meaning alone", lambda: []), ("1 rare word", lambda: [rare_word(random.randrange(MEMORIES))]),
                        ("2 common", lambda: common_words(2)), ("5 common", lambda: common_words(5)), ("no word matches", lambda: ["xyzzyq"])):
        wall, own = [], []
        for _ in range(ASKED):
            query = words()
            statement = asked(user, query, query if "xyzzyq" in query else [], with_turns)
            started, before = time.perf_counter(), cpu()
            app.execute(statement).fetchall()
            wall.append((time.perf_counter() - started) * 1e3)
            own.append(cpu() - before)
        line += f"  {name} {statistics.median(wall):.1f}/{statistics.median(own):.1f}"
    return line


if __name__ == "__main__":
    main()
