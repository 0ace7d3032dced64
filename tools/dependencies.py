"""Compiled dependencies, kept in the user's cache folder: a clone in another folder compiles the workspace's own crates
and nothing else. What is kept is named by all that decides how it is compiled."""

import hashlib
import json
import os
import re
import subprocess

import cache
from common import REPO, say

# What decides how the workspace's dependencies are compiled, with the toolchain and the flags.
INPUTS = [REPO / path for path in ("Cargo.lock", "Cargo.toml", "app/Cargo.toml", "src/core/Cargo.toml", "src/edge/Cargo.toml", "src/encoder/Cargo.toml", ".cargo/config.toml")]


def name_of(kind, inputs, rustc):
    """Of a build's dependencies: its kind, and a hash of all that decides how they are compiled."""
    version = subprocess.run([rustc, "-vV"], capture_output=True, text=True, cwd=REPO).stdout
    flags = [f"{name}={value}" for name, value in sorted(os.environ.items()) if name in ("RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS") or name.startswith("CARGO_PROFILE_")]
    digest = hashlib.sha256("\0".join([version, *flags, digest_of(inputs)]).encode())
    return f"{kind}-{digest.hexdigest()[:16]}"


def seed(kind, target, inputs=INPUTS, rustc="rustc"):
    """Gives a target folder that has no dependencies yet those that this machine has compiled: the same, or else the
    last ones, of which cargo takes what fits."""
    if any(target.rglob(".fingerprint")):
        return
    kept = cache.newest(f"deps-{kind}")
    same = cache.HOME / f"deps-{name_of(kind, inputs, rustc)}"
    source = same if same in kept else next(iter(kept), None)
    if source:
        say(f"compiled dependencies ({kind}): taken from {source}")
        cache.link_tree(source, target)
        os.utime(source)


def keep(kind, target, build, env, inputs=INPUTS, rustc="rustc"):
    """Keeps the dependencies of a build that has just succeeded, for other clones."""
    place = cache.HOME / f"deps-{name_of(kind, inputs, rustc)}"
    if place.exists():
        return
    done = subprocess.run([*build, "--message-format=json"], cwd=REPO, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    units = set()
    for line in done.stdout.splitlines():
        told = json.loads(line) if line.startswith("{") else {}
        if not told.get("package_id", "path+").startswith("path+"):
            for path in [*told.get("filenames", []), told.get("out_dir", "")]:
                units.update(re.findall(r"-([0-9a-f]{16})\b", path))
    if done.returncode or not units:
        return say(f"compiled dependencies ({kind}): not kept, cargo does not say which they are")

    def copy(folder):
        for fingerprints in target.rglob(".fingerprint"):
            for part in (".fingerprint", "build", "deps"):
                for path in (fingerprints.parent / part).iterdir():
                    if units.intersection(re.findall(r"-([0-9a-f]{16})\b", path.name)):
                        to = folder / path.relative_to(target)
                        to.parent.mkdir(parents=True, exist_ok=True)
                        cache.link_tree(path, to) if path.is_dir() else cache.link(path, to)

    try:
        cache.make_in_whole(place, copy)
        cache.remove_old(f"deps-{kind}")
    except OSError as error:
        say(f"compiled dependencies ({kind}): not kept ({error})")


def digest_of(roots):
    digest = hashlib.sha256()
    for root in roots:
        for path in sorted(p for p in (root.rglob("*") if root.is_dir() else [root]) if p.is_file()):
            digest.update(f"{path.relative_to(REPO)}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()
