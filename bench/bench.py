#!/usr/bin/env python3
"""What `make bench` runs: searches, growth and quality among others, each on a throwaway PostgreSQL of its own, and then
RESULTS.md of what they wrote down. 45 minutes at most on two cores; nothing else should run meanwhile.

    python3 bench/bench.py [PART …]          all parts, or those named: searches, adds, drain, fair, start, growth, languages, quality, ablation

LOCOMO and ERRORS name LoCoMo's files for quality and ablation, which are left out without them (bench/quality.py says where
they come from). BENCH_RESULTS is another folder for what is measured; sizes are settings of each script.
"""
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import results

sys.path.insert(0, str(results.REPO / "tools"))
from python_env import environment  # noqa: E402

BENCH = Path(__file__).resolve().parent
# What runs, and how many seconds it takes on the machine of RESULTS.md: for the progress bar.
PARTS = {"searches": ("searches.py", 220), "adds": ("adds.py", 90), "drain": ("vectors.py", 120), "fair": ("fair.py", 150), "start": ("start.py", 40),
         "growth": ("growth.py", 600), "languages": ("languages.py", 80), "quality": ("quality.py", 200), "ablation": ("ablation.py", 330)}
# These need LoCoMo's files.
OF_LOCOMO = {"quality", "ablation"}


def main(wanted):
    if unknown := set(wanted) - set(PARTS):
        sys.exit(f"✗ PART takes {', '.join(PARTS)}, and not {', '.join(sorted(unknown))}")
    python = environment("bench", BENCH / "requirements.txt")
    subprocess.run([sys.executable, results.REPO / "tools/fetch_model.py", "--english"], check=True)
    locomo = [os.path.abspath(os.environ[name]) for name in ("LOCOMO", "ERRORS") if os.environ.get(name)]
    names = [name for name in wanted or PARTS if name not in OF_LOCOMO or len(locomo) == 2]
    begun, failed = time.time(), []
    for n, name in enumerate(names):
        script, _ = PARTS[name]
        expected = [PARTS[other][1] for other in names]
        part = {"part": f"{name} ({n + 1} of {len(names)}), ", "started": begun, "before": sum(expected[:n]), "after": sum(expected[n + 1:])}
        command = [sys.executable, results.REPO / "tools/with_postgres.py", python, BENCH / script, *(locomo if name in OF_LOCOMO else [])]
        if subprocess.run(command, env={**os.environ, "BENCH_PART": json.dumps(part)}, stdout=subprocess.DEVNULL).returncode:
            failed.append(name)
    subprocess.run([sys.executable, BENCH / "report.py"], check=True)
    if failed:
        sys.exit(f"✗ these did not end well, and RESULTS.md says of them what it said before: {', '.join(failed)}")


if __name__ == "__main__":
    main(sys.argv[1:])
