#!/usr/bin/env python3
"""A Python environment of its own for a test that needs packages, made once a machine.

    tools/python_env.py NAME REQUIREMENTS      prints the environment's python

REQUIREMENTS pins every package (`pip freeze`). The environment lies in the user's cache folder, since it cannot be moved.
"""

import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path

import cache
from common import REPO, apt_install, can_apt, fail, say, sha256_of


def environment(name, requirements):
    """The path of the environment's python."""
    homes = cache.HOME if cache.is_writable() else REPO / "data/runtime"
    homes.mkdir(parents=True, exist_ok=True)
    home = homes / f"venv_{name}-{sha256_of(requirements)[:16]}"
    with open(homes / f"venv_{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (home / "complete").is_file():
            make(home, requirements)
            (home / "complete").touch()
        os.utime(home)
        cache.remove_old(f"venv_{name}", homes)
    return home / "bin/python"


def make(home, requirements):
    say(f"making {home} …")
    shutil.rmtree(home, ignore_errors=True)
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
