#!/usr/bin/env python3
"""Coverage-guided fuzzing of the parsers (src/tests/fuzz/targets.rs), with libFuzzer.

    tools/fuzz.py                  every target for 600 seconds
    tools/fuzz.py --seconds N      for N seconds each
    tools/fuzz.py query slug       these targets alone

Needs no nightly compiler and no cargo-fuzz: our own crates are compiled with
coverage, their dependencies are those of the ordinary tests. What is learnt
stays in target/fuzz/corpus; an input that fails is named and kept beside it.
"""

import argparse
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from common import REPO, TARGET, fail, say

WORK = REPO / "target/fuzz"
TARGETS = REPO / "src/tests/fuzz/targets.rs"
# What cargo-fuzz passes, less the sanitizer: our crates deny unsafe code, and a
# panic, an overflow or a failed assertion needs none to be seen.
COVERAGE = [
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Ccodegen-units=1",
    "-Copt-level=1",
    "-Cdebug-assertions=on",
    "-Coverflow-checks=on",
]
INPUT_BYTES_MAX = 4_096
# No input may take longer, nor more memory.
INPUT_SECONDS_MAX = 10
MEMORY_MB_MAX = 2_048


def targets():
    """Name and seeds of each, as they stand in the source."""
    text = TARGETS.read_text()
    names = re.findall(r'Target \{ name: "(\w+)"', text)
    return names or fail(f"no target found in {TARGETS}")


def build():
    """Cargo keeps what a workspace wrapper compiles apart from the ordinary build."""
    WORK.mkdir(parents=True, exist_ok=True)
    wrapper = WORK / "rustc-with-coverage"
    flags = " ".join(COVERAGE)
    # Macros run inside the compiler, where nobody counts.
    wrapper.write_text(
        '#!/bin/sh\ncase " $* " in *" proc-macro "*|*" --crate-name build_script_build "*|*" -vV "*|*" --print"*) exec "$@";; esac\n'
        f'exec "$@" {flags}\n'
    )
    wrapper.chmod(0o755)
    env = dict(os.environ, RUSTC_WORKSPACE_WRAPPER=str(wrapper))
    command = ["cargo", "build", "--example", "fuzz", "--features", "fuzz"]
    subprocess.run(command, cwd=REPO, env=env, check=True)
    return TARGET / "debug/examples/fuzz"


def run(program, name, seconds):
    """One target: its last figures, and the input that fails, if any."""
    corpus, found = WORK / "corpus" / name, WORK / "found" / name
    for folder in (corpus, found):
        folder.mkdir(parents=True, exist_ok=True)
    write_seeds(name, corpus)
    command = [
        str(program),
        str(corpus),
        f"-max_total_time={seconds}",
        f"-max_len={INPUT_BYTES_MAX}",
        f"-timeout={INPUT_SECONDS_MAX}",
        f"-rss_limit_mb={MEMORY_MB_MAX}",
        f"-artifact_prefix={found}/",
        "-print_final_stats=1",
        "-verbosity=1",
    ]
    env = dict(os.environ, KEEPSAKE_FUZZ=name)
    done = subprocess.run(command, env=env, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL)
    (WORK / f"{name}.log").write_text(done.stderr)
    figure = lambda stat: int((re.findall(rf"stat::{stat}:\s+(\d+)", done.stderr) or ["0"])[-1])
    coverage = (re.findall(r" cov: (\d+) ", done.stderr) or ["0"])[-1]
    runs = figure("number_of_executed_units")
    say(f"{name}: {runs:,} inputs in {seconds} s, {coverage} edges reached, {figure('new_units_added')} inputs learnt")
    if done.returncode:
        print(done.stderr[-4_000:], file=sys.stderr)
        return f"{name} fails: the input is in {found}, the whole story in {WORK / (name + '.log')}"
    if int(coverage) < 50:
        return f"{name}: only {coverage} edges were reached: was it built with coverage?"
    return None


def write_seeds(name, corpus):
    text = TARGETS.read_text().split(f'name: "{name}"')[1].split("] }")[0].split("seeds: &[")[1]
    literals = re.findall(r'r#"(.*?)"#|"((?:[^"\\]|\\.)*)"', text)
    for n, (raw, escaped) in enumerate(literals):
        (corpus / f"seed-{n}").write_text(raw or escaped)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="target", help="all, when none is named")
    parser.add_argument("--seconds", type=int, default=600, help="for each target (600)")
    parser.add_argument("--at-once", type=int, default=2, help="targets at once (2)")
    asked = parser.parse_args()
    known = targets()
    for name in asked.names:
        name in known or fail(f"there is no target {name}; there are {', '.join(known)}")
    program = build()
    with ThreadPoolExecutor(asked.at_once) as pool:
        ran = pool.map(lambda name: run(program, name, asked.seconds), asked.names or known)
        problems = [problem for problem in ran if problem]
    if problems:
        fail("\n".join(problems))


if __name__ == "__main__":
    main()
