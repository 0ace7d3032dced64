#!/usr/bin/env python3
"""Whether a question in one language finds a note in another, and the same content in two languages: `keepsake eval`.

    python3 tools/with_postgres.py python3 bench/languages.py [EVENTS-EN.jsonl EVENTS-ZH.jsonl]

The notes and questions are those of bench/data/across.jsonl: 60 notes in English, each asked for in ten languages. The events
are those of MADial-Bench (hejunqing/MADial-Bench, MIT) in the form of `keepsake eval`. Needs `make build`.
"""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from results import Progress, record
from run import REPO, program

DATA = REPO / "bench/data/across.jsonl"
BINARY = program("release")
MEASURES = ("any@1", "any@10", "nDCG@10")


def main(*events):
    progress, figures = Progress([("questions in ten languages", 60), *[(Path(path).stem, 20) for path in events]]), {}
    progress.step()
    figures["across"] = {language: told(of) for language, of in evaluated(across())["categories"].items()}
    record("languages", figures)
    for path in events:
        progress.step()
        arms = evaluated(Path(path).read_text())["arms"]
        figures.setdefault("same", {})[Path(path).stem] = {arm: told(of) for arm, of in arms.items()}
        record("languages", figures)  # a run that is broken off keeps what it has
    print(json.dumps(figures, indent=1))
    progress.end()


def across():
    """A data set with an account a language."""
    rows = [json.loads(line) for line in DATA.read_text().splitlines()]
    for language in rows[0]["questions"]:
        for n, row in enumerate(rows):
            yield json.dumps({"group": language, "id": str(n), "content": row["note"]})
        for n, row in enumerate(rows):
            yield json.dumps({"group": language, "question": row["questions"][language], "evidence": [str(n)], "category": language})


def evaluated(data):
    data = data if isinstance(data, str) else "\n".join(data)
    with tempfile.TemporaryDirectory() as home:
        (Path(home) / "runtime").symlink_to(REPO / "data/runtime")
        env = {**os.environ, "KEEPSAKE_DATA_DIR": home, "KEEPSAKE_LOG": "error"}
        done = subprocess.run([BINARY, "eval", "--json", "-"], input=data, text=True, stdout=subprocess.PIPE, env=env, check=True)
    return json.loads(done.stdout)


def told(of):
    return {measure: round(100 * of[measure], 1) for measure in MEASURES}


if __name__ == "__main__":
    main(*sys.argv[1:])
