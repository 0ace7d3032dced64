#!/usr/bin/env python3
"""What recall hands out, and what of it is wanted: LoCoMo without a judge, beside "always the first five of a search".

    tools/with_postgres.py python3 bench/recalled.py LOCOMO10.json ERRORS.json

Memories are kinds.py's short facts. Asked are, of each conversation: its questions (wanted are the facts noted from the
evidence), its adversarial questions (what they ask was never said, or of somebody else), 100 questions about other
conversations, and 100 things said in them that ask nothing. A fact that answers too and was noted from another turn
counts as unwanted, so that precision is a lower bound. Needs numpy and `make build`.
"""
import json
import random
import re
import statistics
import sys
import time
from typing import NamedTuple

from kinds import short_facts
from locomo import read
from quality import load, new_user
from run import REPO, keepsake

KINDS = ("questions", "adversarial", "elsewhere", "small talk")


class Asked(NamedTuple):
    kind: str
    conversation: int
    text: str
    evidence: set


def main(locomo, errors):
    samples = json.load(open(locomo))
    items, questions, _ = short_facts(samples, read(samples, json.load(open(errors)))[1])
    noted, asks = noted_from(samples), all_asked(samples, questions)
    with keepsake(KEEPSAKE_DATA_DIR=str(REPO / "data")) as server:
        tokens = [new_user(server, f"recall{n}@example.com") for n in range(len(samples))]
        names = load(server, tokens, items)
        server.call.args[0].close()  # The server may have closed it meanwhile.
        wanted = lambda one, found: any(noted[name] & one.evidence for name in names[one.conversation, found])
        for part, conversations in (("conversations 6 to 10", range(5, 10)), ("all", range(10))):
            print(f"\n{part}\n{'':28}" + "".join(f"{column:>12}" for column in ("with any", "items", "tokens", "wanted", "found", "p50 ms")))
            of_part = [one for one in asks if one.conversation in conversations]
            for how in ("recall", "first five"):
                table(how, of_part, [hand_out(server, tokens, one, how) for one in of_part], wanted)


def noted_from(samples):
    """The turns that a fact was noted from."""
    return {(n, m): set(re.findall(r"D\d+:\d+", str(turns))) for n, sample in enumerate(samples)
            for m, (_, turns) in enumerate(fact for session in sample["observation"].values() for facts in session.values() for fact in facts)}


def all_asked(samples, questions):
    choose, asks = random.Random(3), [Asked("questions", q.conversation, q.text, q.evidence) for q in questions]
    for n, sample in enumerate(samples):
        asks += [Asked("adversarial", n, qa["question"], set()) for qa in sample["qa"] if qa["category"] == 5]
        others = [q.text for q in questions if q.conversation != n]
        asks += [Asked("elsewhere", n, text, set()) for text in choose.sample(others, 100)]
        said = [turn["text"] for m, other in enumerate(samples) if m != n for session in other["conversation"].values() if isinstance(session, list)
                for turn in session if 12 < len(turn["text"]) < 90 and "?" not in turn["text"]]
        asks += [Asked("small talk", n, text, set()) for text in choose.sample(said, 100)]
    return asks


def hand_out(server, tokens, one, how):
    """Ids, tokens of the section, milliseconds."""
    token, began = tokens[one.conversation], time.perf_counter()
    if how == "recall":
        answer = server.call("memory_recall", {"message": one.text}, token=token)
        return [item["id"] for item in answer["items"]], answer["tokens"], (time.perf_counter() - began) * 1e3
    answer = server.call("memory_search", {"query": one.text, "limit": 5}, token=token)["results"]
    # As recall writes them: some 14 tokens beside the words.
    return [hit["id"] for hit in answer], sum(14 + len(hit["content_snippet"]) / 4 for hit in answer), (time.perf_counter() - began) * 1e3


def table(how, asks, handed, wanted):
    for kind in KINDS:
        of = [(one, ids, tokens, took) for one, (ids, tokens, took) in zip(asks, handed) if one.kind == kind]
        items = [wanted(one, found) for one, ids, *_ in of for found in ids]
        hits = sum(any(wanted(one, found) for found in ids) for one, ids, *_ in of)
        row = (f"{100 * sum(bool(ids) for _, ids, *_ in of) / len(of):.0f} %", f"{len(items) / len(of):.2f}", f"{sum(tokens for *_, tokens, _ in of) / len(of):.0f}",
               f"{100 * sum(items) / max(1, len(items)):.0f} %", f"{100 * hits / len(of):.0f} %", f"{statistics.median(took for *_, took in of):.1f}")
        print(f"{how:12}{kind:16}" + "".join(f"{cell:>12}" for cell in row), flush=True)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
