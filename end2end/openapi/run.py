#!/usr/bin/env python3
"""Holds the server to its OpenAPI document, with tools that nobody here wrote.

    tools/with_postgres.py end2end/openapi/run.py [--requests N] [ARGUMENT of schemathesis …]

schemathesis makes N requests or more out of the document, following its links:
no 5xx, no status, header or body that is not documented, nothing accepted that
the document forbids. openapi-python-client makes a client of it, and the client
adds and finds an item. KEEPSAKE_BIN names the server (target/debug/keepsake).
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPO = HERE.parent.parent
sys.path.insert(0, str(REPO / "tools"))

from common import fail, say  # noqa: E402
from python_env import environment  # noqa: E402
from server import keepsake  # noqa: E402

REQUESTS = 500
# As measured: what comes whatever is asked for, and with each example more, over all operations.
REQUESTS_FIXED, REQUESTS_PER_EXAMPLE = 300, 11


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=REQUESTS)
    arguments, more = parser.parse_known_args()
    python = environment("openapi", HERE / "requirements.txt")
    with tempfile.TemporaryDirectory() as folder, keepsake(folder) as server:
        service_token = server.run("token", "create", "--service", "schemathesis")
        with ThreadPoolExecutor() as side_by_side:
            of_agent = side_by_side.submit(schemathesis, python.parent, server.url, server.token, arguments.requests, more, "an agent")
            as_customer = [*more, "--header", "Keepsake-User: customer-7"]
            of_service = side_by_side.submit(schemathesis, python.parent, server.url, service_token, REQUESTS, as_customer, "a service", FOR_SERVICE_TOKEN="1")
            generated_client(python.parent, server.url, server.token, folder)
            for run in (of_agent, of_service):
                run.result()


def schemathesis(bin_dir, url, token, requests, more, whose, **variables):
    start = time.monotonic()
    examples = max(1, -(-(requests - REQUESTS_FIXED) // REQUESTS_PER_EXAMPLE))
    command = [bin_dir / "schemathesis", "--config-file", HERE / "schemathesis.toml", "run"]
    command += [f"{url}/api/v1/openapi.json", "--header", f"Authorization: Bearer {token}"]
    command += ["--checks", "all", "--max-examples", str(examples), "--seed", "1"]
    # That it throws away most of what it makes for a path (one in twenty runs) says nothing of the server.
    command += ["--suppress-health-check", "filter_too_much", "--generation-database", "none", "--no-color", *more]
    env = {**os.environ, "SCHEMATHESIS_HOOKS": str(HERE / "hooks.py"), **variables}
    with tempfile.TemporaryDirectory() as folder:  # it leaves files where it runs
        done = subprocess.run(command, cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    generated = re.search(r"(\d+) generated", done.stdout)
    if done.returncode or not generated:
        fail(f"schemathesis, with the token of {whose}, found something:\n{done.stdout}")
    if int(generated[1]) < requests:
        fail(f"schemathesis made {generated[1]} requests of {requests}: lower REQUESTS_PER_EXAMPLE")
    if "covered" not in done.stdout:
        fail(f"schemathesis followed no links:\n{done.stdout}")
    say(f"schemathesis, with the token of {whose}: {generated[1]} requests in {time.monotonic() - start:.0f} s, each answered as the document says")


def generated_client(bin_dir, url, token, folder):
    client = Path(folder) / "keepsake_client"
    path = {**os.environ, "PATH": f"{bin_dir}:{os.environ['PATH']}"}
    generate = [bin_dir / "openapi-python-client", "generate", "--url", f"{url}/api/v1/openapi.json"]
    generate += ["--meta", "none", "--output-path", client, "--fail-on-warning"]
    for command in (generate, [bin_dir / "python", "-m", "compileall", "-q", client]):
        done = subprocess.run(command, env=path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            fail(f"the client of openapi-python-client: {done.stdout}")
    use = [bin_dir / "python", HERE / "use_client.py"]
    env = {**os.environ, "PYTHONPATH": folder, "KEEPSAKE_URL": url, "KEEPSAKE_TOKEN": token}
    if subprocess.run(use, env=env).returncode:
        fail("the generated client did not work")
    say("openapi-python-client: a client was made, and it added, found, read and was refused")


if __name__ == "__main__":
    main()
