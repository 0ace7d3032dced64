#!/usr/bin/env python3
"""How fast one user's memory is over HTTP: adds 10,000 items, then searches among them.

Starts the release server on a database of its own (KEEPSAKE_TEST_DATABASE_URL, from
tools/with_postgres.py), with one client on one kept-alive connection, and prints p50 and p95.
"""
import contextlib
import functools
import http.client
import json
import os
import random
import signal
import socket
import statistics
import subprocess
import tempfile
import time
import types
from pathlib import Path

REPO = Path(__file__).resolve().parent.parent
KEEPSAKE = os.environ.get("KEEPSAKE_BIN", str(REPO / "target/release/keepsake"))
ITEMS = 10_000
SEARCHES = 300
EMAIL = "bench@example.com"
WORDS = [f"{a}{b}" for a in ("ba", "co", "di", "fu", "ge", "lo", "mi", "pa") for b in
         ("ker", "lan", "mor", "nit", "pol", "ras", "ston", "tev", "vin", "zel", "dak", "rum")]


def main():
    random.seed(7)
    with keepsake() as server:
        measure("add", ITEMS, lambda n: server.call("memory_add", item(n)))
        for name, query in (("search, 2 words", lambda: " ".join(common_words(2))),
                            ("search, 5 words", lambda: " ".join(common_words(5))),
                            ("search, 1 rare word", lambda: rare_word(random.randrange(ITEMS))),
                            ("newest", lambda: "*")):
            measure(name, SEARCHES, lambda n: server.call("memory_search", {"query": query()}))


@contextlib.contextmanager
def keepsake(**variables):
    """A server on the throwaway database, with one user and one kept-alive connection of its agent.
    In a data folder of its own there is no builtin model: what is measured is the server."""
    port = free_port()
    env = {**os.environ, "KEEPSAKE_DATABASE_URL": os.environ["KEEPSAKE_TEST_DATABASE_URL"],
           "KEEPSAKE_LISTEN": f"127.0.0.1:{port}", "KEEPSAKE_DATA_DIR": tempfile.mkdtemp(), "KEEPSAKE_LOG": "error", **variables}

    def run(*arguments, **more):
        return subprocess.run([KEEPSAKE, *arguments], env=env, check=True, text=True, stdout=subprocess.PIPE, **more).stdout.strip()

    run("user", "create", "--email", EMAIL, "--password-stdin", input="a long password\n")
    token = run("token", "create", "--email", EMAIL, "--agent", "bench")
    process = subprocess.Popen([KEEPSAKE, "serve"], env=env)
    try:
        wait_until_ready(port)
        connection = http.client.HTTPConnection("127.0.0.1", port)
        yield types.SimpleNamespace(call=functools.partial(call, connection, token), run=run, port=port, token=token)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def common_words(count):
    """Few words come often and many seldom, as in real text."""
    return [WORDS[min(int(random.expovariate(1 / 18)), len(WORDS) - 1)] for _ in range(count)]


def rare_word(n):
    """Of item n alone; letters only, since `ticket17` would be found by `ticket` too."""
    return "q" + "".join(chr(ord("a") + int(digit)) for digit in f"{n:05}")


def item(n):
    return {"type": "fact", "theme": f"theme-{n % 20}",
            "content": rare_word(n) + " " + " ".join(common_words(random.randrange(10, 40)))}


def call(connection, token, tool, body):
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    connection.request("POST", f"/api/v1/tools/{tool}", json.dumps(body), headers)
    response = connection.getresponse()
    answer = response.read()
    assert response.status == 200, answer


def measure(name, count, ask):
    times = []
    for n in range(count):
        start = time.perf_counter()
        ask(n)
        times.append((time.perf_counter() - start) * 1e3)
    cuts = statistics.quantiles(times, n=20)
    print(f"{name:20} n={count:6}  p50 {cuts[9]:6.2f} ms  p95 {cuts[18]:6.2f} ms", flush=True)


def wait_until_ready(port):
    for _ in range(300):
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
            connection.request("GET", "/readyz")
            if connection.getresponse().status == 200:
                return
        except OSError:
            pass
        time.sleep(0.1)
    raise SystemExit("the server did not become ready")


if __name__ == "__main__":
    main()
