#!/usr/bin/env python3
"""Whether search finds other things than conversations, at each balance: short facts, bare and labelled, and long texts.

    tools/with_postgres.py python3 bench/kinds.py LOCOMO10.json ERRORS.json [CRATES_FOLDER]

Short facts: what LoCoMo's authors noted of each session ("observation"), as memories, and quality.py's questions.
Labelled facts: the same with a label before each ("Decision: "), as some agents write, which looks like a speaker.
Long texts: doc comments of the crates in CRATES_FOLDER (~/.cargo/registry/src/*): the first paragraph is the
question, the rest of at least 600 characters, without code, is the memory. Ten users, no crate in two of them.
Asked is the product through its API with the builtin model. Needs numpy and `make build`.
"""
import json
import random
import re
import sys
from pathlib import Path

from locomo import Question, read
from quality import BALANCES, PRINTED, asked, load, new_user, scores
from run import REPO, keepsake

LABELS = ("Fact", "Note", "Decision", "Preference")
LONG_CHARS = (600, 4_000)
TEXTS_A_CRATE, TEXTS_A_USER, QUESTIONS_A_USER = 120, 150, 100
CODE = re.compile(r"```.*?```", re.DOTALL)


def main(locomo, errors, crates=None):
    samples = json.load(open(locomo))
    facts, questions, told = short_facts(samples, read(samples, json.load(open(errors)))[1])
    kinds = {"short facts": (facts, questions, told), "labelled facts": (labelled(facts), questions, told),
             "long texts": long_texts(Path(crates) if crates else next(Path.home().glob(".cargo/registry/src/*")))}
    for kind, (items, questions, evidence) in kinds.items():
        print(f"{kind}: {len(items)} items, {len(questions)} questions\n{'':36}" + "  ".join(f"{name:>8}" for name in PRINTED), flush=True)
        with keepsake(KEEPSAKE_DATA_DIR=str(REPO / "data")) as server:
            tokens = [new_user(server, f"{kind.split()[0]}{n}@example.com") for n in range(10)]
            ids = load(server, tokens, items)
            for name, balance in BALANCES.items():
                found = [asked(server, tokens, ids, question, "hybrid", balance) for question in questions]
                of = scores(questions, [evidence(question, names) for question, names in zip(questions, found)])["1-10"]["all"]
                print(f"{name:36}" + "  ".join(f"{of[measure]:8.1f}" for measure in PRINTED), flush=True)


def short_facts(samples, questions):
    """A fact stands for the turns that it was noted from."""
    items, turns = [], {}
    for n, sample in enumerate(samples):
        facts = [fact for session in sample["observation"].values() for facts in session.values() for fact in facts]
        for m, (text, noted_from) in enumerate(facts):
            items.append((n, (n, m), text))
            turns[n, m] = set(re.findall(r"D\d+:\d+", str(noted_from)))
    told = lambda question, facts: [next(iter(turns[fact] & question.evidence), fact) for fact in facts]
    return items, questions, told


def labelled(facts):
    return [(user, name, f"{random.Random(str(name)).choice(LABELS)}: {text}") for user, name, text in facts]


def long_texts(folder):
    crates = {}
    for path in sorted(folder.glob("*/src/**/*.rs")):
        crate = path.relative_to(folder).parts[0].rsplit("-", 1)[0]
        for comment in re.findall(r"(?:^[ \t]*///[^\n]*\n)+", path.read_text(errors="ignore"), re.MULTILINE):
            text = CODE.sub("", re.sub(r"^[ \t]*/// ?", "", comment, flags=re.MULTILINE))
            first, _, rest = text.partition("\n\n")
            first, rest = " ".join(first.split()), rest.strip()
            if 25 < len(first) < 160 and len(rest) >= LONG_CHARS[0]:
                crates.setdefault(crate, {})[first] = rest[:LONG_CHARS[1]]
    users, seen = [[] for _ in range(10)], set()
    for crate in sorted(crates, key=lambda crate: (-len(crates[crate]), crate)):
        smallest = min(users, key=len)
        for first, rest in list(crates[crate].items())[:TEXTS_A_CRATE]:
            if not {first, rest} & seen:
                seen |= {first, rest}
                smallest.append((first, rest))
    items, questions = [], []
    for n, texts in enumerate(users):
        texts = texts[:TEXTS_A_USER]
        items += [(n, (n, m), rest) for m, (_, rest) in enumerate(texts)]
        chosen = random.Random(n).sample(range(len(texts)), min(QUESTIONS_A_USER, len(texts)))
        questions += [Question(n, {(n, m)}, texts[m][0], 1) for m in chosen]
    return items, questions, lambda question, names: names


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    main(*sys.argv[1:])
