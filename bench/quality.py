#!/usr/bin/env python3
"""Whether search finds the evidence: LoCoMo, without a judge (FACTS).

    tools/with_postgres.py python3 bench/quality.py LOCOMO10.json ERRORS.json MODEL_FOLDER

One item a turn ("Caroline: …"), one user a conversation, the question as query, categories 1 to 4 with
the corrected evidence. LOCOMO10.json is data/locomo10.json of snap-research/locomo,
ERRORS.json is errors.json of dial481/locomo-audit (both CC BY-NC: never commit them),
MODEL_FOLDER holds all-MiniLM-L6-v2. Asks through search::search (bench/ask.rs, built first
with `cargo build --example ask`). Needs numpy, psycopg, tokenizers and safetensors.
"""
import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import psycopg

from minilm import MiniLM

REPO = Path(__file__).resolve().parent.parent


class Ask:
    """The product's own search, in a process beside us."""

    def __init__(self, url):
        binary = os.environ.get("KEEPSAKE_ASK", str(REPO / "target/debug/examples/ask"))
        self.process = subprocess.Popen([binary], env={**os.environ, "KEEPSAKE_DATABASE_URL": url}, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __call__(self, **asked):
        print(json.dumps(asked), file=self.process.stdin, flush=True)
        return json.loads(self.process.stdout.readline())


def main(locomo, errors, model_folder):
    turns, questions = read(json.load(open(locomo)), json.load(open(errors)))
    print(f"{len(turns)} turns, {len(questions)} questions", flush=True)
    model = MiniLM(model_folder)
    turn_vectors, question_vectors = (cached(model, [row[-1] for row in rows]) for rows in (turns, questions))
    url = os.environ["KEEPSAKE_TEST_DATABASE_URL"]
    ask = Ask(url)
    ask(words="")  # the schema is there once it answers
    ids = load(url, ask, turns, turn_vectors)
    print(f"{'':24}any@5  any@10 any@50 rec@10 nDCG@10")
    for name, find in (
        ("vector arm alone", lambda n: nearest(turns, turn_vectors, question_vectors[n], questions[n][0])),
        ("lexical arm alone", lambda n: asked(ask, ids, questions[n], None)),
        ("hybrid, 70/30", lambda n: asked(ask, ids, questions[n], question_vectors[n])),
    ):
        print(f"{name:24}" + score(questions, find), flush=True)


def read(conversations, errors):
    corrected = {error["question_id"]: error["correct_evidence"] for error in errors if error.get("correct_evidence")}
    turns, questions = [], []
    for n, sample in enumerate(conversations):
        known = set()
        for key, session in sample["conversation"].items():
            if isinstance(session, list):
                for turn in session:
                    turns.append((n, turn["dia_id"], f"{turn['speaker']}: {turn['text']}"))
                    known.add(turn["dia_id"])
        for m, qa in enumerate(sample["qa"]):
            evidence = corrected.get(f"locomo_{n}_qa{m}", qa.get("evidence", []))
            evidence = {turn for text in evidence for turn in re.findall(r"D\d+:\d+", text)} & known
            if qa["category"] in (1, 2, 3, 4) and evidence:
                questions.append((n, evidence, qa["question"]))
    return turns, questions


def cached(model, texts):
    """Embedding takes two minutes: once a set of texts."""
    name = hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]
    path = Path(os.environ.get("TMPDIR", "/tmp")) / f"keepsake-minilm-{name}.npy"
    if not path.is_file():
        np.save(path, model.embed(texts))
    return np.load(path)


def load(url, ask, turns, vectors):
    """Users and spaces are numbered as the conversations are, from 1. Returns {item id: turn}."""
    with psycopg.connect(url) as db:
        for n in sorted({turn[0] for turn in turns}):
            db.execute("INSERT INTO users (id, email, password_hash, role, created_at, updated_at) OVERRIDING SYSTEM VALUE "
                       "VALUES (%s, %s, '', 'member', now(), now())", (n + 1, f"locomo{n}@example.com"))
            db.execute("INSERT INTO memory_themes (user_id, id, slug, display_name, created_at, updated_at) "
                       "OVERRIDING SYSTEM VALUE VALUES (%s, 1, 'general', 'general', now(), now())", (n + 1,))
            db.execute("INSERT INTO embedding_spaces (user_id, id, provider_type, endpoint, model, query_prefix, document_prefix, "
                       "state, created_at) OVERRIDING SYSTEM VALUE VALUES (%s, 1, 'builtin', '', 'minilm', '', '', 'active', now())", (n + 1,))
        for id, ((n, _, text), vector) in enumerate(zip(turns, vectors), 1):
            db.execute("INSERT INTO memory_items (user_id, id, theme_id, type, content, content_hash, source, created_at, updated_at, "
                       "content_tsv) OVERRIDING SYSTEM VALUE VALUES (%s, %s, 1, 'other', %s, sha256(%s::text::bytea), 'agent', "
                       "now() + %s * interval '1 second', now(), %s)", (n + 1, id, text, id, id, ask(words=text)))
            half = "[" + ",".join(f"{x:.6g}" for x in vector) + ",0" * (1024 - len(vector)) + "]"
            db.execute("INSERT INTO memory_item_embeddings (user_id, space_id, item_id, state, theme_id, item_type, item_status, "
                       "item_created_at, content_hash, bits, embedding, updated_at) VALUES (%s, 1, %s, 'ready', 1, 'other', 'active', "
                       "now() + %s * interval '1 second', '', %s::bit(1024), %s::halfvec, now())",
                       (n + 1, id, id, ask(bits=vector.tolist()), half))
    return {id: turn[1] for id, turn in enumerate(turns, 1)}


def nearest(turns, vectors, query, conversation):
    mine = [i for i, turn in enumerate(turns) if turn[0] == conversation]
    return [turns[mine[i]][1] for i in np.argsort(-(vectors[mine] @ query), kind="stable")[:50]]


def asked(ask, ids, question, vector):
    answer = ask(user=question[0] + 1, space=1, query=question[2], vector=None if vector is None else vector.tolist())
    return [ids[hit[0]] for hit in answer["hits"]]


def score(questions, find):
    sums = np.zeros(5)
    for n, (_, evidence, _) in enumerate(questions):
        found = find(n)
        any_at = [float(bool(evidence & set(found[:k]))) for k in (5, 10, 50)]
        gain = sum(1 / np.log2(rank + 2) for rank, turn in enumerate(found[:10]) if turn in evidence)
        ideal = sum(1 / np.log2(rank + 2) for rank in range(min(10, len(evidence))))
        sums += [*any_at, len(evidence & set(found[:10])) / len(evidence), gain / ideal]
    return "  ".join(f"{value:5.1f}" for value in 100 * sums / len(questions))


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
