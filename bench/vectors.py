#!/usr/bin/env python3
"""The life of vectors under load: adding while the provider is dead, the drain against a bare client
of the same provider, and search while everything is rebuilt.

Run as `python3 tools/with_postgres.py python3 bench/vectors.py` after `make build`. The provider is a
stand-in on loopback that takes 40 ms a call of up to 32 texts (a small model on a CPU) and speaks
OpenAI's form; every figure that is compared comes from one run, one after the other, three times.
"""
import http.client
import http.server
import json
import os
import random
import signal
import subprocess
import tempfile
import threading
import time

from run import KEEPSAKE, call, common_words, free_port, item, measure, wait_until_ready

ITEMS = 6_000
SEARCHES = 250
ROUNDS = 3
BATCH = 32
CALL_SECONDS = 0.040
WIDTH = 384


class Provider(http.server.BaseHTTPRequestHandler):
    """Sleeps, then answers vectors that were written before the clock ran."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1  # one write an answer: two would wait for each other on loopback
    vectors = [json.dumps([round(random.Random(n * 1000 + i).gauss(0, 1), 5) for i in range(WIDTH)]) for n in range(BATCH)]
    calls = []

    def do_POST(self):
        texts = json.loads(self.rfile.read(int(self.headers["content-length"])))["input"]
        began = time.perf_counter()
        time.sleep(CALL_SECONDS * max(len(texts), 2) / BATCH)
        rows = ",".join(f'{{"index":{n},"embedding":{self.vectors[n]}}}' for n in range(len(texts)))
        body = f'{{"object":"list","model":"stand-in","data":[{rows}]}}'.encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        if len(texts) > 1:
            Provider.calls.append((began, time.perf_counter(), len(texts)))

    def log_message(self, *_):
        pass


def main():
    random.seed(7)
    provider_port, port = free_port(), free_port()
    env = {**os.environ, "KEEPSAKE_DATABASE_URL": os.environ["KEEPSAKE_TEST_DATABASE_URL"],
           "KEEPSAKE_LISTEN": f"127.0.0.1:{port}", "KEEPSAKE_DATA_DIR": tempfile.mkdtemp(), "KEEPSAKE_LOG": "error",
           "KEEPSAKE_LLAMACPP_URL": f"http://127.0.0.1:{provider_port}"}
    run = lambda *args, **more: subprocess.run([KEEPSAKE, *args], env=env, check=True, text=True,
                                               stdout=subprocess.PIPE, **more).stdout.strip()
    run("user", "create", "--email", "bench@example.com", "--password-stdin", input="a long password\n")
    token = run("token", "create", "--email", "bench@example.com", "--agent", "bench")
    server = subprocess.Popen([KEEPSAKE, "serve"], env=env)
    try:
        wait_until_ready(port)
        connection = http.client.HTTPConnection("127.0.0.1", port)
        measure("add, provider dead", ITEMS, lambda n: call(connection, token, "memory_add", item(n)))
        provider = http.server.ThreadingHTTPServer(("127.0.0.1", provider_port), Provider)
        threading.Thread(target=provider.serve_forever, daemon=True).start()
        run("rebuild", "--email", "bench@example.com")
        for _ in range(ROUNDS):
            bare = bare_client(provider_port)
            Provider.calls.clear()
            run("rebuild", "--email", "bench@example.com")
            drained = throughput(Provider.calls)
            print(f"bare client {bare:6.0f} texts/s   drain {drained:6.0f} texts/s   ratio {drained / bare:.3f}", flush=True)
            search = lambda n: call(connection, token, "memory_search", {"query": " ".join(common_words(3)) + f" {n}"})
            measure("search, idle", SEARCHES, search)
            rebuild = threading.Thread(target=run, args=("rebuild", "--email", "bench@example.com"))
            rebuild.start()
            time.sleep(0.7)
            measure("search, rebuilding", SEARCHES, search)
            print("  the rebuild was still on" if rebuild.is_alive() else "  THE REBUILD ENDED BEFORE", flush=True)
            rebuild.join()
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait()


def bare_client(port):
    connection = http.client.HTTPConnection("127.0.0.1", port)
    Provider.calls.clear()
    for _ in range(40):
        texts = [item(n)["content"] for n in range(BATCH)]
        connection.request("POST", "/v1/embeddings", json.dumps({"input": texts, "model": ""}), {"content-type": "application/json"})
        json.loads(connection.getresponse().read())
    return throughput(Provider.calls)


def throughput(calls):
    return sum(texts for _, _, texts in calls) / (calls[-1][1] - calls[0][0])


if __name__ == "__main__":
    main()
