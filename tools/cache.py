"""What a machine keeps for all clones of Keepsake, in the user's cache folder: what was fetched, and compiled
dependencies. A clone gets links to it, never the folder itself, so that no two clones wait for each other."""

import contextlib
import os
import shutil
import tempfile
from pathlib import Path

HOME = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "keepsake"
# Of each kind: what is used now, and what was used before.
KEPT = 2
# Cargo writes into small files in place; into libraries and programs nothing does.
LINKED_FROM_BYTES = 64 * 1024


def kept(place, name, make):
    """Puts at `place` what this machine keeps under this name, a kind and a version with "-" between them.
    `make(folder)` makes it where this machine keeps none yet."""
    if place.exists():
        return
    copy = HOME / name
    if not is_writable():
        return make_in_whole(place, make)
    if not copy.exists():
        make_in_whole(copy, make)
    os.utime(copy)
    remove_old(name.rpartition("-")[0])
    make_in_whole(place, lambda folder: link_tree(copy, folder))


def is_writable():
    """Whether this user has a cache folder; if not, each clone has what it uses."""
    with contextlib.suppress(OSError):
        HOME.mkdir(parents=True, exist_ok=True)
        return os.access(HOME, os.W_OK)
    return False


def make_in_whole(place, make):
    """`make(folder)` makes it beside its place, where it appears when it is complete."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{place.name}-", dir=place.parent) as staging:
        folder = Path(staging) / "made"
        make(folder)
        try:
            folder.rename(place)
        except OSError:  # somebody else was quicker
            if not place.is_dir():
                raise


def link_tree(source, target):
    """A copy of the folder with the files' times, whose large files are the same on disk."""
    target.mkdir(parents=True, exist_ok=True)
    shutil.copytree(source, target, symlinks=True, copy_function=link, dirs_exist_ok=True)


def link(source, target):
    if os.stat(source).st_size >= LINKED_FROM_BYTES:
        try:
            return os.link(source, target)
        except OSError:
            pass  # on another disk
    shutil.copy2(source, target)


def newest(kind, home=HOME):
    """What is kept of this kind, most recently used first."""
    found = [path for path in home.glob(f"{kind}-*") if path.is_dir()]
    return sorted(found, key=lambda path: path.stat().st_mtime, reverse=True)


def remove_old(kind, home=HOME):
    for path in newest(kind, home)[KEPT:]:
        shutil.rmtree(path, ignore_errors=True)
