"""A Keepsake server for a test or a benchmark: on the throwaway database (KEEPSAKE_TEST_DATABASE_URL, from
tools/with_postgres.py), on a free port of loopback, with one user, an agent and its token."""

import contextlib
import os
import signal
import subprocess
import time
import types
import urllib.request

from common import REPO, fail
from with_postgres import free_port

EMAIL, PASSWORD = "anna@example.com", "a long password"
START_TIMEOUT_SECONDS = 60


@contextlib.contextmanager
def keepsake(home, **variables):
    """KEEPSAKE_BIN names the program (target/debug/keepsake). In a data folder of its own, below `home`, there
    is no builtin model. Yields the address, the token, and `run` for further commands of the program."""
    binary = str(REPO / os.environ.get("KEEPSAKE_BIN", "target/debug/keepsake"))
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("KEEPSAKE_")}
    env = {**inherited, "KEEPSAKE_DATABASE_URL": os.environ["KEEPSAKE_TEST_DATABASE_URL"], "KEEPSAKE_LISTEN": f"127.0.0.1:{port}",
           "KEEPSAKE_DATA_DIR": f"{home}/data", "KEEPSAKE_LOG": "error", **variables}

    def run(*arguments, **more):
        return subprocess.run([binary, *arguments], env=env, check=True, text=True, stdout=subprocess.PIPE, **more).stdout.strip()

    if EMAIL not in run("user", "list"):
        run("user", "create", "--email", EMAIL, "--password-stdin", input=f"{PASSWORD}\n")
    token = run("token", "create", "--email", EMAIL, "--agent", "tests")
    process = subprocess.Popen([binary, "serve"], env=env)
    try:
        wait_until_ready(process, url)
        yield types.SimpleNamespace(url=url, port=port, token=token, email=EMAIL, password=PASSWORD, binary=binary, env=inherited, run=run, process=process)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


def wait_until_ready(process, url):
    deadline = time.monotonic() + START_TIMEOUT_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        with contextlib.suppress(OSError):  # refused, or 503
            urllib.request.urlopen(f"{url}/readyz", timeout=2)
            return
        time.sleep(0.1)
    fail("the server did not become ready")
