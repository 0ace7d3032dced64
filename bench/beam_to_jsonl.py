#!/usr/bin/env python3
"""BEAM's chats of 128K tokens in the form of `keepsake eval` (docs/evaluation.md), on standard output: one group a chat
of a user with an assistant, one item a message with whose word it is, the questions that one message or a few answer,
and those that nothing answers ("abstention").

    (a checkout of mohammadtavakoli78/BEAM)
    python3 bench/beam_to_jsonl.py BEAM/chats/100K odd|even > beam.jsonl && keepsake eval beam.jsonl

Everything is chosen on the odd chats and held on the even ones. The data set's card says CC BY-SA: never committed.
"""
import json
import sys
from pathlib import Path

CATEGORIES = ["information_extraction", "knowledge_update", "temporal_reasoning", "multi_session_reasoning",
              "contradiction_resolution", "preference_following"]
# An item has no more; two pastes are longer.
CHARS_MAX = 20_000
WORD = {"user": "user", "assistant": "agent"}


def main(chats, half):
    for chat in range(1, 21):
        if chat % 2 == (half == "odd"):
            convert(Path(chats) / str(chat))


def convert(chat):
    group = chat.name
    batches = json.loads((chat / "chat.json").read_text())
    messages = [message for batch in batches for turn in batch["turns"] for message in turn]
    for message in messages:
        # "->-> 1,1" is a note of how it was made.
        content = message["content"].split("->->")[0].strip()[:CHARS_MAX]
        if content:
            show(group, id=str(message["id"]), content=content, trust=WORD[message["role"]])
    known = {str(message["id"]) for message in messages}
    questions = json.loads((chat / "probing_questions" / "probing_questions.json").read_text())
    for category in CATEGORIES:
        for question in questions[category]:
            evidence = sorted({str(n) for n in numbers(question["source_chat_ids"])} & known, key=int)
            if evidence:
                show(group, question=question["question"], evidence=evidence, category=category)
    for question in questions["abstention"]:
        show(group, question=question["question"], evidence=[])


def numbers(sources):
    """Those of messages, however they are listed."""
    if isinstance(sources, int):
        return [sources]
    parts = sources.values() if isinstance(sources, dict) else sources
    return [number for part in parts for number in numbers(part)]


def show(group, **line):
    print(json.dumps({"group": group, **line}))


if __name__ == "__main__":
    main(*sys.argv[1:])
