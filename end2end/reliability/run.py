#!/usr/bin/env python3
"""All of the series that docs/reliability.md tells of, one after the other.

    end2end/reliability/run.py            as long as the page says (some 30 minutes; release binary)
    end2end/reliability/run.py --short    the same questions in three or four minutes, times not judged

KEEPSAKE_BIN names the program (target/release/keepsake). What each found is kept in target/reliability/.
"""

import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
FOUND = HERE.parent.parent / "target/reliability"
SERIES = ("kills", "load", "providers", "sessions", "at_once", "recovery", "hostile", "poison", "frozen")


def main():
    FOUND.mkdir(parents=True, exist_ok=True)
    failed = []
    for name in SERIES:
        began = time.monotonic()
        print(f"\n-- {name}", flush=True)
        command = [sys.executable, HERE / f"{name}.py", "--json", FOUND / f"{name}.json", *sys.argv[1:]]
        if subprocess.run(command, stdin=subprocess.DEVNULL).returncode:
            failed.append(name)
        print(f"-- {name}: {time.monotonic() - began:.0f} s", flush=True)
    if failed:
        sys.exit(f"✗ {', '.join(failed)}")


if __name__ == "__main__":
    if sys.argv[1:] not in ([], ["--short"]):
        sys.exit(__doc__)
    main()
