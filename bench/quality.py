#!/usr/bin/env python3
"""Whether search finds the evidence: LoCoMo, without a judge (FACTS).

    tools/with_postgres.py python3 bench/quality.py LOCOMO10.json ERRORS.json

One item a turn ("Caroline: …"), one user a conversation, the question as query, categories 1 to 4 with
the corrected evidence. LOCOMO10.json is data/locomo10.json of snap-research/locomo,
ERRORS.json is errors.json of dial481/locomo-audit (both CC BY-NC: never commit them). Asked are the product
through its API (memory_add and memory_search of a server with the builtin model, and of one without it for the
words alone), and a plain BM25 library with English stems and stop words. What meaning alone finds is in ablation.py. Needs `make build` and what bench/requirements.txt names.
"""
import json
import os
import sys
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np

from locomo import read
from results import Progress, record
from run import REPO, keepsake
from sql import sql

PASSWORD = "a long password\n"
FOUND_MAX = 50
MEASURES = ("any@5", "any@10", "any@50", "share@5", "share@10", "all@10", "ndcg@10", "mrr")
PRINTED = ("any@5", "any@10", "any@50", "share@10", "ndcg@10")
BALANCES = {"70/30, as the product answers": "meaning", "50/50, balance even": "even", "30/70, balance words": "words"}
PARTS = {"1-5": range(0, 5), "6-10": range(5, 10), "1-10": range(0, 10)}


def main(locomo, errors):
    turns, questions = read(json.load(open(locomo)), json.load(open(errors)))
    print(f"{len(turns)} turns, {len(questions)} questions", flush=True)
    steps = (("turns added, their vectors made", 70), ("asking: hybrid", 25), ("asking: words alone", 20), ("BM25", 10))
    progress, found = Progress(steps), {}
    progress.step()
    with keepsake(KEEPSAKE_DATA_DIR=str(REPO / "data")) as server:
        tokens = [new_user(server, f"locomo{n}@example.com") for n in range(turns[-1][0] + 1)]
        ids = load(server, tokens, turns)
        server.call.args[0].close()  # The server may have closed it meanwhile.
        progress.step()
        for name, balance in BALANCES.items():
            found[name] = [asked(server, tokens, ids, question, "hybrid", balance) for question in questions]
    progress.step()
    with keepsake() as server:
        found["lexical arm alone"] = [asked(server, tokens, ids, question, "fts") for question in questions]
    progress.step()
    found["BM25 library, stems and stop words"] = bm25(turns, questions)
    figures = {name: scores(questions, lists) for name, lists in found.items()}
    print(f"{'':36}" + "  ".join(f"{name:>8}" for name in PRINTED))
    for name, of in figures.items():
        print(f"{name:36}" + "  ".join(f"{of['1-10']['all'][measure]:8.1f}" for measure in PRINTED), flush=True)
    record("quality", {"turns": len(turns), "found_max": FOUND_MAX, "questions": counts(questions), "methods": figures},
           {package: version(package) for package in ("bm25s", "PyStemmer")})
    progress.end()


def new_user(server, email):
    server.run("user", "create", "--email", email, "--password-stdin", input=PASSWORD)
    return server.run("token", "create", "--email", email, "--agent", "bench")


def load(server, tokens, turns):
    """Adds every turn and waits for its vector. Returns {(conversation, item id): the turns of this text}."""
    ids = {}
    for n, turn, text in turns:
        added = server.call("memory_add", {"type": "other", "content": text}, token=tokens[n])
        ids.setdefault((n, added["id"]), []).append(turn)
    while int(sql("SELECT count(*) FROM memory_embeddings WHERE state = 'pending'")):
        time.sleep(1)
    return ids


def asked(server, tokens, ids, question, mode, balance="meaning"):
    asks = {"query": question.text, "limit": FOUND_MAX, "balance": balance}
    # Asked again where the builtin model was late, as it is beside compilers.
    for _ in range(5):
        answer = server.call("memory_search", asks, token=tokens[question.conversation])
        if answer["mode"] == mode:
            break
    assert answer["mode"] == mode, answer["degraded"]
    return [turn for hit in answer["results"] for turn in ids[question.conversation, hit["id"]]]


def bm25(turns, questions):
    """An index for each conversation, with the library's defaults. Others use this module without the library."""
    import bm25s
    import Stemmer
    stemmer = Stemmer.Stemmer("english")
    tokens = lambda texts: bm25s.tokenize(texts, stopwords="en", stemmer=stemmer, show_progress=False)
    indexes = {}
    for conversation in {turn[0] for turn in turns}:
        mine = [turn for turn in turns if turn[0] == conversation]
        indexes[conversation] = [turn[1] for turn in mine], bm25s.BM25()
        indexes[conversation][1].index(tokens([turn[-1] for turn in mine]), show_progress=False)

    def best(question):
        names, index = indexes[question.conversation]
        places, scores = index.retrieve(tokens(question.text), k=min(FOUND_MAX, len(names)), show_progress=False)
        return [names[place] for place, score in zip(places[0], scores[0]) if score > 0]
    return [best(question) for question in questions]


def scores(questions, found):
    """In percent: {conversations: {"all" or a category: {measure: mean}}}."""
    rows = [(question, measured(question.evidence, of)) for question, of in zip(questions, found)]
    categories = ("all", *sorted({question.category for question in questions}))
    means = lambda some: {name: round(100 * float(np.mean(column)), 2) for name, column in zip(MEASURES, zip(*some))}
    return {part: {category: means([row for question, row in rows if question.conversation in conversations and category in ("all", question.category)])
                   for category in categories} for part, conversations in PARTS.items()}


def counts(questions):
    return {part: {category: sum(1 for question in questions if question.conversation in conversations and category in ("all", question.category))
                   for category in ("all", *sorted({question.category for question in questions}))} for part, conversations in PARTS.items()}


def measured(evidence, found):
    """As MEASURES names them, each 0 to 1."""
    shares = {k: len(evidence & set(found[:k])) / len(evidence) for k in (5, 10, 50)}
    gain = sum(1 / np.log2(rank + 2) for rank, turn in enumerate(found[:10]) if turn in evidence)
    ideal = sum(1 / np.log2(rank + 2) for rank in range(min(10, len(evidence))))
    first = next((1 / rank for rank, turn in enumerate(found, 1) if turn in evidence), 0)
    return (*(float(share > 0) for share in shares.values()), shares[5], shares[10], float(shares[10] == 1), gain / ideal, first)


def score(questions, find):
    """A line of what PRINTED names; `find` takes a question's number."""
    rows = np.array([measured(question.evidence, find(n)) for n, question in enumerate(questions)])
    return "  ".join(f"{100 * rows[:, MEASURES.index(name)].mean():5.1f}" for name in PRINTED)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
