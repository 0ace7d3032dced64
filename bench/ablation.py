#!/usr/bin/env python3
"""What each ingredient of the ranking is worth: `keepsake eval` with all of them, and without each.

    python3 tools/with_postgres.py python3 bench/ablation.py LOCOMO10.json ERRORS.json

LoCoMo's conversations 6 to 10, one item a turn (bench/locomo_to_jsonl.py; where the files come from: bench/quality.py), by the
builtin model. Each run adds and embeds the turns again, since the program erases them. Needs `make build`.
"""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from results import Progress, record
from run import REPO, program

INGREDIENTS = ("late", "neighbours", "speakers", "time", "spread", "trust", "late,neighbours,speakers,time,spread,trust")
BINARY = program("release")


def main(locomo, errors):
    command = [sys.executable, REPO / "bench/locomo_to_jsonl.py", locomo, errors, "6-10"]
    data = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
    variants = {"all": [], **{names: ["--without", names] for names in INGREDIENTS}}
    progress, figures = Progress([(f"without {name}", 40) for name in variants]), {}
    with tempfile.TemporaryDirectory() as home:
        (Path(home) / "runtime").symlink_to(REPO / "data/runtime")
        for name, arguments in variants.items():
            progress.step()
            env = {**os.environ, "KEEPSAKE_DATA_DIR": home, "KEEPSAKE_LOG": "error"}
            done = subprocess.run([BINARY, "eval", "--json", *arguments, "-"], input=data, stdout=subprocess.PIPE, env=env, check=True)
            report = json.loads(done.stdout)
            figures[name] = report["arms"]
            print(name, report["arms"]["as search answers"], flush=True)
            record("ablation", {"items": report["items"], "arms": figures})  # a run that is broken off keeps what it has


if __name__ == "__main__":
    main(*sys.argv[1:])
