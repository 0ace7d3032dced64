#!/usr/bin/env python3
"""Makes a release for this platform: the program (link-time optimised), the pages' files, PostgreSQL, the
embedding model, and the licences of all of it.

    tools/dist.py                   target/dist/keepsake-VERSION-PLATFORM.tar.gz and its .sha256
    tools/dist.py --folder DIR      the same as a folder, for a container image
    tools/dist.py --version         prints version and commit

The archive has the date of the commit and no names of users, so that two builds of one commit differ only
where the compiler does.
"""

import argparse
import gzip
import json
import os
import platform
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

import fetch_model
import fetch_postgres
from common import REPO, TARGET, fail, say, sha256_of

DIST = REPO / "target/dist"
# Below DIST and not below the data folder: a release has no other PostgreSQL than this version's.
RUNTIME = DIST / "runtime"
LICENCE_NAMES = re.compile(r"^(licen[cs]e|copying|copyright|notice|unlicense)", re.IGNORECASE)
DOCUMENTS = ("README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE")
SERVICES = {"Linux": "keepsake.service", "Darwin": "keepsake.plist"}


def main():
    arguments = argparse.ArgumentParser(description="Makes a release archive for this platform.")
    arguments.add_argument("--folder", type=Path, metavar="DIR", help="a folder instead of an archive")
    arguments.add_argument("--version", action="store_true", help="print version and commit")
    given = arguments.parse_args()
    if given.version:
        print(full_version())
        return
    folder = given.folder
    RUNTIME.mkdir(parents=True, exist_ok=True)
    fetch_postgres.fetch(RUNTIME)
    why_not = fetch_model.fetch(RUNTIME)
    if why_not:
        fail(f"a release has the embedding model, which could not be fetched: {why_not}")
    islands()
    program = build()
    name = f"keepsake-{version()}-{platform.machine()}-{platform.system().lower()}"
    tree = folder or DIST / name
    fill(tree, program)
    if folder:
        say(f"the release is in {folder}, {megabytes(size_of(folder))}")
    else:
        pack(tree, name)


def islands():
    subprocess.run(["python3", str(REPO / "tools/wasm.py")], check=True)
    if not (REPO / "target/site/pkg/keepsake.wasm").is_file():
        fail("a release has the islands, which could not be built: see above")


def build():
    """Compiles the program; returns its path."""
    env = {**os.environ, "KEEPSAKE_VERSION": full_version(), "SQLX_OFFLINE": "true"}
    command = ["cargo", "build", "--locked", "--profile", "dist", "--bin", "keepsake"]
    subprocess.run(command, cwd=REPO, env=env, check=True)
    return TARGET / "dist/keepsake"


def version():
    manifest = (REPO / "Cargo.toml").read_text()
    return re.search(r'^version = "(.*)"$', manifest, re.MULTILINE).group(1)


def git(*command):
    done = subprocess.run(["git", *command], cwd=REPO, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else ""


def full_version():
    """Such as "0.2.0 (aab77a3, 2026-11-27)"; in a container build, KEEPSAKE_VERSION says it."""
    commit = git("log", "-1", "--format=%h, %cs")
    return os.environ.get("KEEPSAKE_VERSION") or (f"{version()} ({commit})" if commit else version())


def fill(tree, program):
    shutil.rmtree(tree, ignore_errors=True)
    (tree / "runtime").mkdir(parents=True)
    shutil.copy2(program, tree / "keepsake")
    shutil.copytree(REPO / "target/site", tree / "site")
    for name in (f"postgresql-{fetch_postgres.VERSION}", fetch_model.MULTILINGUAL.into):
        shutil.copytree(RUNTIME / name, tree / "runtime" / name)
    for name in DOCUMENTS:
        shutil.copy2(REPO / name, tree / name)
    shutil.copytree(REPO / "docs", tree / "docs")
    (tree / "dist").mkdir()
    shutil.copy2(REPO / "dist/postgres-role.sql", tree / "dist/postgres-role.sql")
    service = SERVICES.get(platform.system())
    if service:
        shutil.copy2(REPO / "dist" / service, tree / service)
    (tree / "LICENSES-OF-OTHERS.txt").write_text(licences())


def licences():
    """The licences of the packages that are compiled in; those of PostgreSQL and the model lie beside them."""
    host = subprocess.run(["rustc", "-vV"], capture_output=True, text=True, check=True).stdout
    host = re.search(r"^host: (.*)$", host, re.MULTILINE).group(1)
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--filter-platform", host]
    metadata = json.loads(subprocess.run(command, cwd=REPO, capture_output=True, check=True).stdout)
    compiled_in = reached(metadata)
    of_text = {}
    for package in sorted(metadata["packages"], key=lambda p: (p["name"], p["version"])):
        if package["id"] not in compiled_in or package["source"] is None:
            continue
        label = f"{package['name']} {package['version']} ({package['license'] or 'see below'})"
        texts = licence_texts(Path(package["manifest_path"]).parent)
        for text in texts or [f"Licensed under {package['license']}. {package.get('repository') or ''}"]:
            of_text.setdefault(text.strip(), []).append(label)
    parts = ["Keepsake contains the work of others, under these licences. Those of PostgreSQL and pgvector are in\n"
             "runtime/postgresql-*/*.dist-info/licenses; that of the embedding model in\n"
             "runtime/model-*/LICENSE.\n"]
    line = "=" * 100
    parts += [f"{line}\n{chr(10).join(labels)}\n{line}\n\n{text}\n" for text, labels in of_text.items()]
    return "\n".join(parts)


def reached(metadata):
    """Ids of the packages that the program is linked with: normal dependencies, from its own package on."""
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    found, waiting = set(), [metadata["resolve"]["root"]]
    while waiting:
        at = waiting.pop()
        if at in found:
            continue
        found.add(at)
        for dependency in nodes[at]["deps"]:
            if any(kind["kind"] is None for kind in dependency["dep_kinds"]):
                waiting.append(dependency["pkg"])
    return found


def licence_texts(folder):
    files = sorted(p for p in folder.iterdir() if p.is_file() and LICENCE_NAMES.match(p.name))
    return [file.read_text(errors="replace") for file in files]


def pack(tree, name):
    archive = DIST / f"{name}.tar.gz"
    top = Path(name)
    made_at = int(git("log", "-1", "--format=%ct") or 0)

    def without_names(entry):
        entry.uid = entry.gid = 0
        entry.uname = entry.gname = ""
        entry.mtime = made_at
        return entry

    with open(archive, "wb") as file, gzip.GzipFile("", "wb", 9, file, made_at) as packed:
        with tarfile.open(fileobj=packed, mode="w") as tar:
            for path in sorted([tree, *tree.rglob("*")]):
                tar.add(path, top / path.relative_to(tree), recursive=False, filter=without_names)
    digest = sha256_of(archive)
    archive.with_name(f"{archive.name}.sha256").write_text(f"{digest}  {archive.name}\n")
    say(f"{archive}: {megabytes(archive.stat().st_size)}, unpacked {megabytes(size_of(tree))}")


def size_of(folder):
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


def megabytes(size):
    return f"{size / 1_000_000:.0f} MB"


if __name__ == "__main__":
    main()
