#!/usr/bin/env python3
"""LoCoMo in the form of `keepsake eval` (docs/evaluation.md), on standard output: one group a conversation,
one item a turn ("Caroline: …") with the time of its session, the questions of categories 1 to 4 with corrected evidence,
asked a day after the last session, and those of category 5, which nothing answers.

    python3 bench/locomo_to_jsonl.py LOCOMO10.json ERRORS.json [FIRST-LAST] > locomo.jsonl && keepsake eval locomo.jsonl

`1-5` takes the conversations on which everything is chosen, `6-10` those on which it is held.
"""
import json
import sys
from datetime import datetime, timedelta, timezone

from locomo import read

TURN_APART = timedelta(seconds=20)


def main(locomo, errors, part="1-10"):
    first, last = map(int, part.split("-"))
    wanted = range(first - 1, last)
    samples = json.load(open(locomo))
    turns, questions = read(samples, json.load(open(errors)))
    said = {n: times(samples[n]["conversation"]) for n in wanted}
    asked_at = {n: (max(of.values()) + timedelta(days=1)).isoformat() for n, of in said.items()}
    for conversation, turn, text in turns:
        if conversation in wanted:
            print(json.dumps({"group": str(conversation), "id": turn, "content": text, "at": said[conversation][turn].isoformat()}))
    for conversation, evidence, question, category in questions:
        if conversation in wanted:
            ask(conversation, question, sorted(evidence), f"category {category}", asked_at)
    for conversation in wanted:
        for qa in samples[conversation]["qa"]:
            if qa["category"] == 5:
                ask(conversation, qa["question"], [], None, asked_at)


def times(conversation):
    """Of each turn: that of its session, and a little more for each before it."""
    at = {}
    for key, session in conversation.items():
        if isinstance(session, list):
            begins = datetime.strptime(conversation[f"{key}_date_time"], "%I:%M %p on %d %B, %Y").replace(tzinfo=timezone.utc)
            at.update({turn["dia_id"]: begins + n * TURN_APART for n, turn in enumerate(session)})
    return at


def ask(conversation, question, evidence, category, asked_at):
    asked = {"question": question, "evidence": evidence, "at": asked_at[conversation]}
    if category:
        asked["category"] = category
    print(json.dumps({"group": str(conversation), **asked}))


if __name__ == "__main__":
    main(*sys.argv[1:])
