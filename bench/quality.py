#!/usr/bin/env python3
"""Whether search finds the evidence: LoCoMo, without a judge (FACTS).

    tools/with_postgres.py python3 bench/quality.py LOCOMO10.json ERRORS.json MODEL_FOLDER

One item a turn ("Caroline: …"), one user a conversation, the question as query, categories 1 to 4 with
the corrected evidence. LOCOMO10.json is data/locomo10.json of snap-research/locomo,
ERRORS.json is errors.json of dial481/locomo-audit (both CC BY-NC: never commit them),
MODEL_FOLDER holds all-MiniLM-L6-v2 for the vector arm alone. All else is the product through its API:
memory_add and memory_search of a server with the builtin model, and of one without it for the words
alone. Needs numpy, tokenizers and safetensors, and `make build`.
"""
import hashlib
import json
import os
import re
import sys
import time
from pathlib import Path

import numpy as np

from minilm import MiniLM
from run import REPO, keepsake
from sql import sql

PASSWORD = "a long password\n"


def main(locomo, errors, model_folder):
    turns, questions = read(json.load(open(locomo)), json.load(open(errors)))
    print(f"{len(turns)} turns, {len(questions)} questions", flush=True)
    model = MiniLM(model_folder)
    turn_vectors, question_vectors = (cached(model, [row[-1] for row in rows]) for rows in (turns, questions))
    print(f"{'':24}any@5  any@10 any@50 rec@10 nDCG@10")
    report = lambda name, find: print(f"{name:24}" + score(questions, find), flush=True)
    report("vector arm alone", lambda n: nearest(turns, turn_vectors, question_vectors[n], questions[n][0]))
    with keepsake(KEEPSAKE_DATA_DIR=str(REPO / "data")) as server:
        tokens = [new_user(server, f"locomo{n}@example.com") for n in range(turns[-1][0] + 1)]
        ids = load(server, tokens, turns)
        report("hybrid, 70/30", lambda n: asked(server, tokens, ids, questions[n], "hybrid"))
    with keepsake() as server:
        report("lexical arm alone", lambda n: asked(server, tokens, ids, questions[n], "fts"))


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


def new_user(server, email):
    server.run("user", "create", "--email", email, "--password-stdin", input=PASSWORD)
    return server.run("token", "create", "--email", email, "--agent", "bench")


def load(server, tokens, turns):
    """Adds every turn and waits for its vector. Returns {(conversation, item id): the turns of this text}."""
    ids = {}
    for n, turn, text in turns:
        added = server.call("memory_add", {"type": "other", "content": text}, token=tokens[n])
        ids.setdefault((n, added["id"]), []).append(turn)
    while int(sql("SELECT count(*) FROM memory_item_embeddings WHERE state = 'pending'")):
        time.sleep(1)
    return ids


def nearest(turns, vectors, query, conversation):
    mine = [i for i, turn in enumerate(turns) if turn[0] == conversation]
    return [turns[mine[i]][1] for i in np.argsort(-(vectors[mine] @ query), kind="stable")[:50]]


def asked(server, tokens, ids, question, mode):
    answer = server.call("memory_search", {"query": question[2], "limit": 50}, token=tokens[question[0]])
    assert answer["mode"] == mode, answer["degraded"]
    return [turn for hit in answer["results"] for turn in ids[question[0], hit["id"]]]


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
