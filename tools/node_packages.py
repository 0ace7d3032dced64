#!/usr/bin/env python3
"""Installs what a folder's package-lock.json names, in `node_modules` beside it; once a machine, for all clones.

    tools/node_packages.py FOLDER …

Packages' own install scripts do not run: none of ours needs them, and they would fetch from elsewhere.
"""

import shutil
import subprocess
import sys
from pathlib import Path

import cache
from common import REPO, fail, sha256_of

INSTALL = ["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"]


def install(folder):
    if not (shutil.which("node") and shutil.which("npm")):
        fail("Node is missing: run `apt-get install nodejs npm` as root (or what your system has for it), then again")
    packages, lock = folder / "node_modules", sha256_of(folder / "package-lock.json")[:16]
    installed = packages / ".keepsake-lock"
    if not (installed.is_file() and installed.read_text() == lock):
        shutil.rmtree(packages, ignore_errors=True)

    def make(fresh):
        staging = fresh.with_name("npm")
        staging.mkdir()
        for name in ("package.json", "package-lock.json"):
            shutil.copy(folder / name, staging / name)
        if subprocess.run(INSTALL, cwd=staging).returncode:
            fail(f"npm could not install what {folder / 'package-lock.json'} names")
        (staging / "node_modules/.keepsake-lock").write_text(lock)
        (staging / "node_modules").rename(fresh)

    cache.kept(packages, f"node_{folder.name}-{lock}", make)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        install(REPO / name)
