#!/usr/bin/env python3
"""A Python environment of its own for a test that needs packages, made once.

    tools/python_env.py NAME REQUIREMENTS      prints the environment's python

REQUIREMENTS pins every package (`pip freeze`); the environment lives in
data/runtime/venv-NAME and is made anew when that file has changed.
"""

import shutil
import subprocess
import sys
from pathlib import Path

from common import REPO, apt_install, can_apt, fail, say, sha256_of


def environment(name, requirements):
    """The path of the environment's python."""
    home = REPO / f"data/runtime/venv-{name}"
    stamp = home / "requirements.sha256"
    wanted = sha256_of(requirements)
    if not (stamp.is_file() and stamp.read_text() == wanted):
        make(home, requirements)
        stamp.write_text(wanted)
    return home / "bin/python"


def make(home, requirements):
    say(f"making {home.relative_to(REPO)} …")
    shutil.rmtree(home, ignore_errors=True)
    home.parent.mkdir(parents=True, exist_ok=True)
    if not made(home) and not (can_apt() and apt_install("python3-venv") and made(home)):
        fail("python3 cannot make environments: run `apt-get install python3-venv` as root (or what your system has for it), then again")
    command = [home / "bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", requirements]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode:
        shutil.rmtree(home, ignore_errors=True)
        fail(f"pip could not install what {requirements} names: {done.stderr.strip()}")


def made(home):
    return subprocess.run([sys.executable, "-m", "venv", "--clear", home], capture_output=True).returncode == 0


if __name__ == "__main__":
    print(environment(sys.argv[1], Path(sys.argv[2]).resolve()))
