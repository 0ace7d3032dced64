"""LoCoMo as the benchmarks read it: its turns, and the questions of categories 1 to 4 with corrected evidence."""
import re
from typing import NamedTuple


class Question(NamedTuple):
    conversation: int
    evidence: set
    text: str
    category: int


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
                questions.append(Question(n, evidence, qa["question"], qa["category"]))
    return turns, questions
