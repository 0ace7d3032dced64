#!/usr/bin/env python3
"""Whether search by meaning finds what an exact search would, and how fast.

    tools/with_postgres.py python3 bench/recall.py LOCOMO10.json MODEL_FOLDER [--hnsw]

Users of 100, 1,000, 10,000 and 100,000 items among 100 others of 300. Vectors are MiniLM's
of LoCoMo's turns, observations and summaries (10,332 distinct texts); past those, mixtures
of two with a little noise. Asks through search::search (bench/ask.rs) as keepsake_app under
row security, and compares with fp32 cosine in numpy. --hnsw makes the indexes that an admin
could, and asks again. Needs `cargo build --example ask`, numpy, psycopg, tokenizers and safetensors.
"""
import json
import os
import random
import statistics
import struct
import subprocess
import sys
import time

import numpy as np
import psycopg

from minilm import MiniLM
from locomo import read
from quality import cached
from run import REPO
from statement import execute, prepare

SIZES = {1: 100, 2: 1_000, 3: 10_000, 4: 100_000, **{user: 300 for user in range(5, 105)}}
WORDS = [f"{a}{b}" for a in ("ba", "co", "di", "fu", "ge", "lo", "mi", "pa") for b in
         ("ker", "lan", "mor", "nit", "pol", "ras", "ston", "tev", "vin", "zel", "dak", "rum")]
dice = np.random.default_rng(7)


class Ask:
    """The product's own search, in a process beside us."""

    def __init__(self, url):
        binary = os.environ.get("KEEPSAKE_ASK", str(REPO / "target/debug/examples/ask"))
        self.process = subprocess.Popen([binary], env={**os.environ, "KEEPSAKE_DATABASE_URL": url}, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __call__(self, **asked):
        print(json.dumps(asked), file=self.process.stdin, flush=True)
        return json.loads(self.process.stdout.readline())


def main(locomo, model_folder, with_hnsw):
    samples = json.load(open(locomo))
    turns, questions = read(samples, [])
    more = [text for sample in samples for session in sample["observation"].values()
            for said in session.values() for text, *_ in said]
    more += [text for sample in samples for summary in sample["session_summary"].values() for text in summary.split(". ")]
    model = MiniLM(model_folder)
    base = np.unique(np.vstack([cached(model, [turn[-1] for turn in turns]), cached(model, more)]), axis=0)
    asked = cached(model, [question.text for question in questions])
    dice.shuffle(base)
    url = os.environ["KEEPSAKE_TEST_DATABASE_URL"]
    ask = Ask(url)
    ask(words="")
    vectors = {user: grown(base, size) for user, size in SIZES.items()}
    probe = base[0]
    assert "".join(f"{byte:08b}" for byte in bits(probe[None])[0]) == ask(bits=probe.tolist()), "the rotation is another"
    with psycopg.connect(url, autocommit=True) as db:
        ids = load(db, vectors)
        measure(ask, db, url, vectors, ids, asked)
        if with_hnsw:
            db.execute("SET maintenance_work_mem = '1GB'")
            for index in ("bits bit_hamming_ops", "(embedding::halfvec(384)) halfvec_cosine_ops"):
                start = time.perf_counter()
                db.execute(f"CREATE INDEX ON memory_embeddings USING hnsw ({index})")
                print(f"hnsw ({index}): made in {time.perf_counter() - start:.0f} s", flush=True)
            db.execute("ANALYZE memory_embeddings")
            measure(ask, db, url, vectors, ids, asked)


def grown(base, size):
    """Rows of `base`, and past them mixtures of two."""
    count = max(0, size - len(base))
    one, other = (base[dice.integers(0, len(base), count)] for _ in range(2))
    share = dice.uniform(0.2, 0.5, (count, 1))
    mixed = (1 - share) * one + share * other + dice.normal(0, 0.01, (count, base.shape[1]))
    rows = base[dice.permutation(len(base))[:size]]
    return np.vstack([rows, mixed / np.linalg.norm(mixed, axis=1, keepdims=True)]).astype(np.float32)


def bits(vectors):
    """As src/embedding/vector.rs: signs after a fixed random rotation."""
    state, mask, flips = 0x9E3779B97F4A7C15, (1 << 64) - 1, []
    for _ in range(1024):
        state = (state + 0x9E3779B97F4A7C15) & mask
        z = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        flips.append(1.0 if (z ^ (z >> 31)) >> 63 == 0 else -1.0)
    turned = np.zeros((len(vectors), 1024), np.float32)
    turned[:, :vectors.shape[1]] = vectors
    turned *= np.array(flips, np.float32)
    half = 1
    while half < 1024:
        pairs = turned.reshape(len(turned), -1, 2, half)
        turned = np.stack([pairs[:, :, 0] + pairs[:, :, 1], pairs[:, :, 0] - pairs[:, :, 1]], 2).reshape(len(turned), 1024)
        half *= 2
    return np.packbits(turned > 0, axis=1)


def common_words(count):
    return [WORDS[min(int(random.expovariate(1 / 18)), len(WORDS) - 1)] for _ in range(count)]


def rare_word(n):
    return "q" + "".join(chr(ord("a") + int(digit)) for digit in f"{n:06}")


def load(db, vectors):
    """Users' rows lie mixed, as when they are added over time. Returns {user: ids}."""
    random.seed(7)
    db.execute("SET session_replication_role = replica; SET synchronous_commit = on")  # vacuum sees what is on disk
    for user in SIZES:
        db.execute("INSERT INTO users (id, email, password_hash, role, created_at, updated_at) OVERRIDING SYSTEM VALUE "
                   "VALUES (%s, %s, '', 'member', now(), now())", (user, f"u{user}@example.com"))
        db.execute("INSERT INTO memory_themes (user_id, id, slug, display_name, created_at, updated_at) "
                   "OVERRIDING SYSTEM VALUE VALUES (%s, 1, 'general', 'general', now(), now())", (user,))
        make_space(db, user)
    order = sorted(((n + random.random()) / size, user, n) for user, size in SIZES.items() for n in range(size))
    ids = {user: np.zeros(size, int) for user, size in SIZES.items()}
    at = lambda n: struct.pack(">q", 800_000_000_000_000 + n * 1_000_000)
    number = lambda n: struct.pack(">q", n)
    never = number(2**63 - 1)  # as PostgreSQL writes a timestamp that never comes
    with db.cursor().copy("COPY memory_items (user_id, id, theme_id, type, content, content_hash, source, created_at, updated_at, "
                          "content_tsv) FROM STDIN") as copy:
        for n, (_, user, row) in enumerate(order, 1):
            words = [rare_word(row), *common_words(random.randrange(10, 40))]
            places = {word: ",".join(str(p) for p, w in enumerate(words, 2) if w == word) for word in words}
            ids[user][row] = n
            when = f"2025-01-{1 + n // 86_400:02} {n // 3_600 % 24:02}:{n // 60 % 60:02}:{n % 60:02}+00"
            copy.write_row((user, n, 1, "fact", " ".join(words), n.to_bytes(32, "big"), "agent", when, when,
                            " ".join(f"'{word}':{place}" for word, place in places.items())))
    signs = {user: bits(rows) for user, rows in vectors.items()}
    with db.cursor().copy("COPY memory_embeddings (user_id, space_id, source_id, state, theme_id, item_type, item_live_until, "
                          "item_created_at, bits, embedding, updated_at) FROM STDIN (FORMAT BINARY)") as copy:
        copy.write(b"PGCOPY\n\xff\r\n\0" + bytes(8))
        for n, (_, user, row) in enumerate(order, 1):
            half = vectors[user][row].astype(">f2")
            fields = [number(user), number(1), number(n), b"ready", number(1), b"fact", never, at(n),
                      struct.pack(">i", 1024) + signs[user][row].tobytes(), struct.pack(">hh", len(half), 0) + half.tobytes(), at(n)]
            copy.write(struct.pack(">h", len(fields)) + b"".join(struct.pack(">i", len(f)) + f for f in fields))
        copy.write(struct.pack(">h", -1))
    db.execute("VACUUM ANALYZE memory_items, memory_embeddings")
    return ids


def make_space(db, user):
    """Number 1, of 384 dimensions, serving."""
    db.execute("INSERT INTO embedding_spaces (user_id, id, provider_type, endpoint, model, query_prefix, document_prefix, dimensions, state, created_at) "
               "OVERRIDING SYSTEM VALUE VALUES (%s, 1, 'openai', '', 'm', '', '', 384, 'active', now())", (user,))


def measure(ask, db, url, vectors, ids, asked):
    print(f"load {os.getloadavg()[0]:.1f}; times in SQL are p50 of the wall clock / of the backend's own CPU, ms", flush=True)
    for user in (1, 2, 3, 4):
        recall = []
        for vector in asked[::len(asked) // 100]:
            answer = ask(user=user, space=1, query="?", vector=vector.tolist())  # no word: by meaning alone
            exact = ids[user][np.argsort(-(vectors[user] @ vector), kind="stable")[:10]]
            recall.append(len({hit[0] for hit in answer["hits"][:10]} & set(exact.tolist())) / 10)
        line = f"{len(ids[user]):7} items  recall@10 {statistics.mean(recall):.4f} (worst {min(recall):.1f})"
        with psycopg.connect(url, autocommit=True) as app:
            line += "".join(timed(app, user, name, words, asked) for name, words in (
                ("meaning alone", lambda: []), ("no word matches", lambda: ["xyzzyq"]),
                ("1 rare word", lambda: [rare_word(random.randrange(len(ids[user])))]),
                ("2 common", lambda: common_words(2)), ("5 common", lambda: common_words(5))))
        print(line, flush=True)


def timed(app, user, name, words, asked):
    """The product's statement, prepared, as the role and under the policies of a request."""
    app.execute(f"DEALLOCATE ALL; SET ROLE keepsake_app; SET jit = off; SET keepsake.user_id = {user}")
    app.execute(prepare())
    cpu = lambda: int(open(f"/proc/{app.info.backend_pid}/schedstat").read().split()[0]) / 1e6
    wall, own = [], []
    for vector in asked[:30]:
        query = words()
        sign = "".join(f"{byte:08b}" for byte in bits(vector[None])[0])
        half = "[" + ",".join(f"{x:.6g}" for x in vector) + "]"
        statement = execute(user, query, query if "xyzzyq" in query else [], 1, sign, half)
        started, before = time.perf_counter(), cpu()
        app.execute(statement).fetchall()
        wall.append((time.perf_counter() - started) * 1e3)
        own.append(cpu() - before)
    return f"  {name} {statistics.median(wall):.1f}/{statistics.median(own):.1f}"


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2], "--hnsw" in sys.argv)
