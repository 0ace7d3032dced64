#!/usr/bin/env python3
"""Makes src/core/providers/e5_means.bin: the means of multilingual-e5-small's vectors (384 32-bit floats) and token vectors
(384 more), which the builtin model subtracts, since all its vectors point into nearly the same direction. Over the memories
and questions of src/tests/behaviour/cases, which are of 16 languages, each with both prefixes. Run once.

    python3 bench/centre.py
"""
import subprocess
import sys
import tomllib
from pathlib import Path

REPO = Path(__file__).resolve().parent.parent
CASES = REPO / "src/tests/behaviour/cases"
MODEL = REPO / "data/runtime/model-multilingual-e5-small/e5-small-q4.bin"
MEANS = REPO / "src/core/providers/e5_means.bin"
PREFIXES = "query: ", "passage: "


def texts():
    for path in sorted(CASES.glob("*.toml")):
        for group in tomllib.loads(path.read_text())["group"]:
            for memory in group["memories"].values():
                yield memory if isinstance(memory, str) else memory["content"]
            yield from (case["ask"] for case in group["cases"])


def main():
    lines = [prefix + " ".join(text.split()) for text in texts() for prefix in PREFIXES]
    command = ["cargo", "run", "--quiet", "--release", "-p", "encoder", "--example", "centre", "--", str(MODEL), str(MEANS)]
    sys.exit(subprocess.run(command, cwd=REPO, input="\n".join(lines), text=True).returncode)


if __name__ == "__main__":
    main()
