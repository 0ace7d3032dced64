#!/usr/bin/env python3
"""Whether search by meaning finds what an exact search would.

    tools/with_postgres.py python3 bench/recall.py LOCOMO10.json MODEL_FOLDER

Users of 100, 1,000, 10,000 and 100,000 items among 100 others of 300. Vectors are MiniLM's of LoCoMo's turns,
observations and summaries (10,332 distinct texts); past those, mixtures of two with a little noise. Asks the product's
own search (bench/ask.rs) with LoCoMo's questions and no word, and compares with fp32 cosine in numpy.
Needs `cargo build --example ask`, numpy, psycopg, tokenizers and safetensors.
"""
import base64
import json
import os
import random
import statistics
import subprocess
import sys

import numpy as np
import psycopg

from fill import copy, dice, grown, halves, learn_stems, text
from locomo import read
from minilm import MiniLM, cached
from run import REPO
from sql import URL

ASKED = (1, 2, 3, 4)
SIZES = dict(zip(ASKED, (100, 1_000, 10_000, 100_000))) | {user: 300 for user in range(5, 105)}
QUERIES = 150


class Ask:
    """The product's own search, in a process beside us."""

    def __init__(self):
        binary = os.environ.get("KEEPSAKE_ASK", str(REPO / "target/debug/examples/ask"))
        self.process = subprocess.Popen([binary], env={**os.environ, "KEEPSAKE_DATABASE_URL": URL}, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __call__(self, **asked):
        print(json.dumps(asked), file=self.process.stdin, flush=True)
        return json.loads(self.process.stdout.readline())


def main(locomo, model_folder):
    random.seed(7)
    samples = json.load(open(locomo))
    turns, questions = read(samples, [])
    more = [noted for sample in samples for session in sample["observation"].values()
            for said in session.values() for noted, *_ in said]
    more += [summary for sample in samples for whole in sample["session_summary"].values() for summary in whole.split(". ")]
    model = MiniLM(model_folder)
    base = np.unique(np.vstack([cached(model, [turn[-1] for turn in turns]), cached(model, more)]), axis=0)
    asked = cached(model, [question.text for question in questions])[::len(questions) // QUERIES]
    dice.shuffle(base)
    ask = Ask()
    learn_stems(lambda text: base64.b64decode(ask(terms=text)))
    vectors = {user: grown(base, size) for user, size in SIZES.items()}
    with psycopg.connect(URL, autocommit=True) as db:
        ids = load(db, vectors)
    for user in ASKED:
        shares = [share(ask, user, vectors[user], ids[user], vector) for vector in asked]
        print(f"{len(ids[user]):7} items  recall@10 {statistics.mean(shares):.4f} (worst {min(shares):.1f} of {len(shares)})", flush=True)


def load(db, vectors):
    """Users' rows lie mixed, as when they are added over time. Returns {user: ids}."""
    db.execute("SET session_replication_role = replica")
    for user in SIZES:
        db.execute("INSERT INTO users (id, email, password_hash, role, created_at, updated_at) OVERRIDING SYSTEM VALUE "
                   "VALUES (%s, %s, '', 'member', now(), now())", (user, f"u{user}@example.com"))
        db.execute("INSERT INTO memory_themes (user_id, id, slug, display_name, created_at, updated_at) "
                   "OVERRIDING SYSTEM VALUE VALUES (%s, 1, 'general', 'general', now(), now())", (user,))
        db.execute("INSERT INTO embedding_spaces (user_id, id, provider_type, endpoint, model, query_prefix, document_prefix, dimensions, state, created_at) "
                   "OVERRIDING SYSTEM VALUE VALUES (%s, 1, 'openai', '', 'm', '', '', 384, 'active', now())", (user,))
    order = sorted(((n + random.random()) / size, user, n) for user, size in SIZES.items() for n in range(size))
    sent = {user: halves(rows) for user, rows in vectors.items()}
    copy(db, lambda: ((user, 1, id, 1, text(id), id, sent[user][n]) for id, (_, user, n) in enumerate(order, 1)))
    db.execute("VACUUM ANALYZE")
    ids = {user: np.zeros(size, int) for user, size in SIZES.items()}
    for id, (_, user, n) in enumerate(order, 1):
        ids[user][n] = id
    return ids


def share(ask, user, vectors, ids, vector):
    """Of the ten nearest, how many the search finds among its first ten."""
    answer = ask(user=user, space=1, query="?", vector=vector.tolist())
    exact = ids[np.argsort(-(vectors @ vector), kind="stable")[:10]]
    return len(set(answer["hits"][:10]) & set(exact.tolist())) / 10


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
