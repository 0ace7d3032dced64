#!/usr/bin/env python3
"""A Keepsake server for a test or a benchmark: on the throwaway database (KEEPSAKE_TEST_DATABASE_URL, from
tools/with_postgres.py), on a free port of loopback.

    tools/with_postgres.py tools/server.py COMMAND [ARGUMENT …]

runs the command beside a server that all of its tests share, each with users of its own: it has the builtin
model, the pages' files and a folder of backups. The command finds its address in KEEPSAKE_TEST_URL and its data
folder in KEEPSAKE_TEST_DATA_DIR; where these are given already, the command uses that server.
"""

import contextlib
import http.cookiejar
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import time
import types
import urllib.parse
import urllib.request

from common import REPO, fail, program, say
from with_postgres import free_port, run, stop_on_signals

EMAIL, PASSWORD = "anna@example.com", "a long password"
START_TIMEOUT_SECONDS = 60


@contextlib.contextmanager
def keepsake(home, **variables):
    """The shared server, or where there is none one for this test, which then has no builtin model: its data folder
    is its own, below `home`. KEEPSAKE_BIN names the program (target/debug/keepsake). Yields the address, a user and
    its agent's token, and `run` for further commands of the program."""
    is_shared = "KEEPSAKE_TEST_URL" in os.environ
    with joined() if is_shared else started(f"{home}/data", **variables) as server:
        server.email, server.password = f"{secrets.token_hex(4)}@example.com" if is_shared else EMAIL, PASSWORD
        if server.email not in server.run("user", "list"):
            server.run("user", "create", "--email", server.email, "--password-stdin", input=f"{PASSWORD}\n")
        server.token = server.run("token", "create", "--email", server.email, "--agent", "tests")
        if is_shared:
            # What these tests look for is found by its words alone, as where there is no builtin model.
            Browser(server).post("/settings/embeddings", action="disable")
        yield server


@contextlib.contextmanager
def joined():
    yield commands(os.environ["KEEPSAKE_TEST_URL"], os.environ["KEEPSAKE_TEST_DATA_DIR"])


@contextlib.contextmanager
def started(data_dir, **variables):
    server = commands(f"http://127.0.0.1:{free_port()}", data_dir, **variables)
    server.process = subprocess.Popen([server.binary, "serve"], env=server.variables)
    try:
        wait_until_ready(server.process, server.url)
        yield server
        if server.process.poll() is not None:
            say(f"the server ended by itself, exit code {server.process.returncode}")
    finally:
        server.process.send_signal(signal.SIGTERM)
        server.process.wait()


def commands(url, data_dir, **variables):
    """A server at this address, whether it runs or not: its program, and what its commands need."""
    binary = str(program("debug"))
    if not os.path.exists(binary):
        fail(f"{binary} is missing: build it, or set KEEPSAKE_BIN")
    port = urllib.parse.urlsplit(url).port
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("KEEPSAKE_")}
    env = {**inherited, "KEEPSAKE_DATABASE_URL": os.environ["KEEPSAKE_TEST_DATABASE_URL"], "KEEPSAKE_LISTEN": f"127.0.0.1:{port}",
           "KEEPSAKE_DATA_DIR": data_dir, "KEEPSAKE_LOG": "error", **variables}

    def run_command(*arguments, **more):
        return subprocess.run([binary, *arguments], env=env, check=True, text=True, stdout=subprocess.PIPE, **more).stdout.strip()

    return types.SimpleNamespace(url=url, port=port, binary=binary, env=inherited, variables=env, run=run_command)


def wait_until_ready(process, url):
    deadline = time.monotonic() + START_TIMEOUT_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        with contextlib.suppress(OSError):  # refused, or 503
            urllib.request.urlopen(f"{url}/readyz", timeout=2)
            return
        time.sleep(0.1)
    fail("the server did not become ready")


class Browser:
    """The pages, as a browser without JavaScript that is signed in."""

    def __init__(self, server):
        self.url, self.origin = server.url, "/".join(server.url.split("/")[:3])
        self.opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))
        self.post("/login", email=server.email, password=server.password)

    def get(self, path):
        return self.opener.open(self.url + path).read().decode()

    def post(self, path, **fields):
        request = urllib.request.Request(self.url + path, urllib.parse.urlencode(fields, doseq=True).encode(), {"Origin": self.origin})
        return self.opener.open(request).read().decode()


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        sys.exit(__doc__)
    stop_on_signals()
    if "KEEPSAKE_TEST_URL" in os.environ:
        sys.exit(run(sys.argv[1:]))
    with tempfile.TemporaryDirectory(prefix="keepsake-server-") as data_dir:
        os.symlink(REPO / "data/runtime", f"{data_dir}/runtime")
        shared = {"KEEPSAKE_SITE_DIR": str(REPO / "target/site"), "KEEPSAKE_BACKUP_DIR": f"{data_dir}/backups", "KEEPSAKE_STOP_GRACE_SECONDS": "0"}
        with started(data_dir, **shared) as server:
            exit_code = run(sys.argv[1:], {**os.environ, "KEEPSAKE_TEST_URL": server.url, "KEEPSAKE_TEST_DATA_DIR": data_dir})
    sys.exit(exit_code)
