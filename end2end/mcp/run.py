#!/usr/bin/env python3
"""MCP through clients that nobody here wrote: the official TypeScript and Python SDKs and the
inspector, against one server, each in several versions of the protocol; and the stdio bridge.

Run as `python3 tools/with_postgres.py python3 end2end/mcp/run.py`, after `cargo build`.
"""
import contextlib
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPO = HERE.parent.parent
sys.path.insert(0, str(REPO / "tools"))

from common import fail, say  # noqa: E402
from venv import environment  # noqa: E402
from with_postgres import free_port  # noqa: E402

KEEPSAKE = (REPO / os.environ.get("KEEPSAKE_BIN", "target/debug/keepsake")).resolve()
EMAIL = "mcp@example.com"
START_TIMEOUT_SECONDS = 60


def main():
    python = environment("mcp", HERE / "requirements.txt")
    has_node = install_node_packages()
    with tempfile.TemporaryDirectory() as home, keepsake(home) as env:
        results = [subprocess.run([python, HERE / "client.py"], cwd=HERE, env=env).returncode]
        if has_node:
            results.append(subprocess.run(["node", HERE / "client.mjs"], cwd=HERE, env=env).returncode)
    if any(results):
        sys.exit(1)


def install_node_packages():
    if not (shutil.which("node") and shutil.which("npm")):
        say("!! THE TYPESCRIPT CLIENTS AND THE INSPECTOR WERE SKIPPED: run `apt-get install nodejs npm` as root")
        return False
    installed, wanted = HERE / "node_modules/.package-lock.json", HERE / "package-lock.json"
    if not installed.exists() or installed.stat().st_mtime < wanted.stat().st_mtime:
        # Without scripts: the inspector's would install what its pages need.
        command = ["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"]
        if subprocess.run(command, cwd=HERE).returncode:
            fail("npm could not install what end2end/mcp/package-lock.json names")
    return True


@contextlib.contextmanager
def keepsake(home):
    """A server with one user and two of its tokens; yields what clients are to know."""
    url = f"http://127.0.0.1:{free_port()}"
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("KEEPSAKE_")}
    env = {**inherited, "KEEPSAKE_DATABASE_URL": os.environ["KEEPSAKE_TEST_DATABASE_URL"], "KEEPSAKE_DATA_DIR": f"{home}/data",
           "KEEPSAKE_LISTEN": url.removeprefix("http://"), "KEEPSAKE_LOG": "warn"}

    def run(*arguments, **more):
        return subprocess.run([KEEPSAKE, *arguments], env=env, check=True, text=True, stdout=subprocess.PIPE, **more).stdout.strip()

    run("user", "create", "--email", EMAIL, "--password-stdin", input=f"{secrets.token_hex()}\n")
    token = run("token", "create", "--email", EMAIL, "--agent", "clients")
    reader = run("token", "create", "--email", EMAIL, "--agent", "reader", "--scope", "memory:read")
    process = subprocess.Popen([KEEPSAKE, "serve"], env=env)
    try:
        wait_until_ready(process, url)
        # A home of their own: the inspector keeps files there.
        yield {**inherited, "HOME": home, "KEEPSAKE_BIN": str(KEEPSAKE), "KEEPSAKE_URL": url, "TOKEN": token, "READER": reader}
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


def wait_until_ready(process, url):
    deadline = time.monotonic() + START_TIMEOUT_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        with contextlib.suppress(urllib.error.URLError, ConnectionError):
            urllib.request.urlopen(f"{url}/readyz", timeout=2)
            return
        time.sleep(0.05)
    fail("the server did not become ready")


if __name__ == "__main__":
    main()
