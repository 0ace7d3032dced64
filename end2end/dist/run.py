#!/usr/bin/env python3
"""The release archive, unpacked and run without a network, and the database role of docker-compose.yml.

    end2end/dist/run.py [--root DIR] [ARCHIVE]

ARCHIVE is by default the one that `make dist` made. DIR is the root of an empty system, such as
`debootstrap --variant=minbase` makes; without it the archive runs in a folder of this system. As root, the server
gets a network of its own in which nothing but loopback exists.
"""

import argparse
import asyncio
import contextlib
import json
import os
import pwd
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import urllib.request
from pathlib import Path

REPO = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(REPO / "tools"), str(REPO / "end2end/reliability")]

from common import fail, is_root, say  # noqa: E402
from place import Cluster, Server, folder  # noqa: E402
from with_postgres import free_port  # noqa: E402

READY_PATIENCE_SECONDS = 60
ARCHIVE_BYTES_MAX = 150_000_000
ALONE = "KEEPSAKE_DIST_ALONE"
PASSWORD = "a long password"


def main():
    arguments = argparse.ArgumentParser(description="Runs the release archive without a network.")
    arguments.add_argument("archive", nargs="?", type=Path)
    arguments.add_argument("--root", type=Path, metavar="DIR")
    given = arguments.parse_args()
    leave_the_network()
    archive = given.archive or newest_archive()
    if archive.stat().st_size > ARCHIVE_BYTES_MAX:
        fail(f"{archive} is larger than {ARCHIVE_BYTES_MAX / 1e6:.0f} MB")
    with unpacked(archive, given.root) as release:
        say(f"{archive.name}: {archive.stat().st_size / 1e6:.0f} MB; {release.run('--version')}")
        release.start()
        first = release.ready()
        try_agent(release)
        try_pages(release)
        release.stop()
        release.start()
        say(f"ready after {first:.1f} s the first time, {release.ready():.1f} s the second")
        release.stop()
        try_role(release)
    say("the release works")


def leave_the_network():
    if os.environ.get(ALONE):
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        return
    if not (is_root() and shutil.which("unshare") and shutil.which("ip")):
        say("not root, or without `unshare` and `ip`: the release runs with this machine's network")
        return
    alone = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
    os.execvpe(alone[0], [*alone, sys.executable, *sys.argv], {**os.environ, ALONE: "1"})


def newest_archive():
    archives = sorted((REPO / "target/dist").glob("keepsake-*.tar.gz"), key=lambda path: path.stat().st_mtime)
    if not archives:
        fail("there is no archive: run `make dist`, or name one")
    return archives[-1]


@contextlib.contextmanager
def unpacked(archive, root):
    place = Path(tempfile.mkdtemp(prefix="keepsake-release-", dir=root / "tmp" if root else "/tmp"))
    place.chmod(0o755)
    release = Release(place, root)
    try:
        with tarfile.open(archive) as tar:
            tar.extractall(place, filter="data")
        release.find_program()
        yield release
    finally:
        release.stop()
        shutil.rmtree(place, ignore_errors=True)


class Release:
    """The unpacked archive and its server, as a user that is not root."""

    def __init__(self, place, root):
        self.place, self.root = place, root
        self.user = pwd.getpwnam("nobody") if is_root() else None
        self.data = place / "data"
        self.data.mkdir(mode=0o700)
        if self.user:
            os.chown(self.data, self.user.pw_uid, self.user.pw_gid)
        self.port = free_port()
        self.process = None
        self.program = None

    def find_program(self):
        (found,) = self.place.glob("keepsake-*/keepsake")
        self.program = found

    def inside(self, path):
        """The path as the server sees it."""
        return f"/{path.relative_to(self.root)}" if self.root else str(path)

    def command(self, *arguments):
        command = [self.inside(self.program), *arguments]
        if self.user:
            who = f"--userspec={self.user.pw_uid}:{self.user.pw_gid}"
            command = ["chroot", who, str(self.root or "/"), *command]
        env = {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "KEEPSAKE_DATA_DIR": self.inside(self.data),
               "KEEPSAKE_LISTEN": f"127.0.0.1:{self.port}", "KEEPSAKE_LOG": "warn"}
        return {"args": command, "env": env, "cwd": "/"}

    def run(self, *arguments, **more):
        done = subprocess.run(**self.command(*arguments), capture_output=True, text=True, **more)
        if done.returncode:
            fail(f"`keepsake {' '.join(arguments)}`: {done.stderr.strip()}")
        return done.stdout.strip()

    def start(self):
        if self.root and not (self.root / "proc/self").exists():
            subprocess.run(["mount", "-t", "proc", "proc", self.root / "proc"], check=True)
        self.process = subprocess.Popen(**self.command("serve"))

    def stop(self):
        if self.process is None:
            return
        self.process.terminate()
        code = self.process.wait(60)
        self.process = None
        if code:
            fail(f"the server ended with {code}")

    def ready(self):
        began = time.monotonic()
        while time.monotonic() - began < READY_PATIENCE_SECONDS:
            if self.process.poll() is not None:
                fail(f"the server ended with {self.process.returncode}")
            with contextlib.suppress(OSError):
                self.get("/readyz")
                return time.monotonic() - began
            time.sleep(0.02)
        fail(f"the server was not ready after {READY_PATIENCE_SECONDS} s")

    def get(self, path):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=10) as answer:
            return answer.read()

    def tool(self, token, name, **given):
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        url = f"http://127.0.0.1:{self.port}/api/v1/tools/{name}"
        with urllib.request.urlopen(urllib.request.Request(url, json.dumps(given).encode(), headers), timeout=10) as answer:
            return json.load(answer)


def try_agent(release):
    """A memory is found by what it means, so the embedding model is there."""
    release.run("user", "create", "--email", "anna@example.com", "--password-stdin", input=PASSWORD + "\n")
    token = release.run("token", "create", "--email", "anna@example.com", "--agent", "one")
    added = release.tool(token, "memory_add", type="preference", content="Anna takes her tea without sugar.")
    deadline = time.monotonic() + READY_PATIENCE_SECONDS
    while True:
        found = release.tool(token, "memory_search", query="which hot drink does she like")
        if found["degraded"] is None and [hit["id"] for hit in found["results"]] == [added["id"]]:
            return
        if time.monotonic() > deadline:
            fail(f"the memory was not found by its meaning: {found}")
        time.sleep(0.1)


def try_pages(release):
    if b"<form" not in release.get("/login"):
        fail("/login has no form")
    for name in ("keepsake.css", "keepsake.js", "keepsake.wasm"):
        if not release.get(f"/pkg/{name}"):
            fail(f"/pkg/{name} is empty")


def try_role(release):
    """As docker-compose.yml has it: the server connects as a role that is no superuser."""
    with folder() as home:
        cluster = Cluster(home)
        cluster.start()
        try:
            script = REPO / "dist/postgres-role.sql"
            env = {**os.environ, "KEEPSAKE_DB_PASSWORD": "letters and digits"}
            psql = [cluster.bin / "psql", "--quiet", "--set=ON_ERROR_STOP=1", f"--file={script}", cluster.url()]
            wait_for(cluster)
            subprocess.run(psql, env=env, check=True)
            os.environ["KEEPSAKE_BIN"] = str(release.program)
            url = f"postgres://keepsake:letters%20and%20digits@127.0.0.1:{cluster.port}/keepsake"
            server = Server(home, url)
            server.start()
            try:
                asyncio.run(server.ready())
                server.make_user("anna@example.com")
            finally:
                server.stop()
        finally:
            cluster.stop()


def wait_for(cluster):
    ask = [cluster.bin / "pg_isready", "--quiet", "--host=127.0.0.1", f"--port={cluster.port}"]
    deadline = time.monotonic() + READY_PATIENCE_SECONDS
    while subprocess.run(ask).returncode and time.monotonic() < deadline:
        time.sleep(0.1)


if __name__ == "__main__":
    main()
