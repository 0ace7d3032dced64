#!/usr/bin/env python3
"""LoCoMo in the form of `keepsake eval` (docs/evaluation.md), on standard output: one group a conversation,
one item a turn ("Caroline: …"), the questions of categories 1 to 4 with corrected evidence.

    python3 bench/locomo_to_jsonl.py LOCOMO10.json ERRORS.json > locomo.jsonl && keepsake eval locomo.jsonl
"""
import json
import sys

from locomo import read


def main(locomo, errors):
    turns, questions = read(json.load(open(locomo)), json.load(open(errors)))
    for conversation, turn, text in turns:
        print(json.dumps({"group": str(conversation), "id": turn, "content": text}))
    for conversation, evidence, question, category in questions:
        asked = {"question": question, "evidence": sorted(evidence), "category": f"category {category}"}
        print(json.dumps({"group": str(conversation), **asked}))


if __name__ == "__main__":
    main(*sys.argv[1:])
