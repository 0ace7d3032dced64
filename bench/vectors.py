#!/usr/bin/env python3
"""The life of vectors under load: adding while the provider is dead, the drain against a bare client
of the same provider, and search while everything is rebuilt.

Run as `python3 tools/with_postgres.py python3 bench/vectors.py` after `make build`. The provider is a
stand-in on loopback that takes 40 ms a call of up to 32 texts (a small model on a CPU) and speaks
OpenAI's form; every figure that is compared comes from one run, one after the other, three times.
"""
import contextlib
import http.client
import http.server
import json
import os
import random
import threading
import time

from results import Progress, record, spread
from run import common_words, free_port, item, keepsake, measure
from sql import sql

ITEMS = int(os.environ.get("ITEMS", "6000"))
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
        rows = ",".join(f'{{"index":{n},"embedding":{self.vector_of(text, n)}}}' for n, text in enumerate(texts))
        body = f'{{"object":"list","model":"stand-in","data":[{rows}]}}'.encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        if len(texts) > 1:
            Provider.calls.append((began, time.perf_counter(), len(texts)))

    def vector_of(self, _text, n):
        return self.vectors[n]

    def log_message(self, *_):
        pass


def main():
    random.seed(7)
    provider_port = free_port()
    progress = Progress([("adding while the provider is dead", ITEMS / 300), ("the first drain", ITEMS / 700)] + [("the drain beside a bare client, searches beside both", ITEMS / 250)] * ROUNDS)
    with keepsake(KEEPSAKE_LLAMACPP_URL=f"http://127.0.0.1:{provider_port}") as server:
        progress.step()
        added = measure("add, provider dead", ITEMS, lambda n: server.call("memory_add", item(n)))
        progress.step()
        start_provider(provider_port)
        rebuild = lambda: server.run("rebuild", "--email", server.email)
        search = lambda n: server.call("memory_search", {"query": " ".join(common_words(3)) + f" {n}"})
        rebuild()
        rounds = []
        for _ in range(ROUNDS):
            progress.step()
            bare = bare_client(provider_port)
            Provider.calls.clear()
            rebuild()
            drained = throughput(Provider.calls)
            print(f"bare client {bare:6.0f} texts/s   drain {drained:6.0f} texts/s   ratio {drained / bare:.3f}", flush=True)
            idle = measure("search, idle", SEARCHES, search)
            rebuilding = threading.Thread(target=rebuild)
            rebuilding.start()
            time.sleep(0.7)
            busy = measure("search, rebuilding", SEARCHES, search)
            was_on = rebuilding.is_alive()
            print("  the rebuild was still on" if was_on else "  THE REBUILD ENDED BEFORE", flush=True)
            rebuilding.join()
            rounds.append((bare, drained, drained / bare, *idle, *busy, busy[1] / idle[1], was_on))
    names = ("bare_per_second", "drain_per_second", "drain_of_bare", "idle_p50_ms", "idle_p95_ms", "rebuilding_p50_ms", "rebuilding_p95_ms", "rebuilding_p95_of_idle")
    *figures, was_on = zip(*rounds)
    record("drain", {"items": ITEMS, "add_provider_dead_ms": added, "rebuild_outlasted_the_searches": all(was_on), **{name: spread(values) for name, values in zip(names, figures)}})
    progress.end()


@contextlib.contextmanager
def filled(items):
    """A server with so many items of one user and all their vectors, vacuumed."""
    provider_port = free_port()
    start_provider(provider_port)
    with keepsake(KEEPSAKE_LLAMACPP_URL=f"http://127.0.0.1:{provider_port}") as server:
        for n in range(items):
            server.call("memory_add", item(n))
        while int(sql("SELECT count(*) FROM memory_embeddings WHERE state = 'pending'")):
            time.sleep(0.5)
        sql("VACUUM ANALYZE")
        yield server


def start_provider(port, kind=Provider):
    provider = http.server.ThreadingHTTPServer(("127.0.0.1", port), kind)
    threading.Thread(target=provider.serve_forever, daemon=True).start()


def bare_client(port):
    connection = http.client.HTTPConnection("127.0.0.1", port)
    Provider.calls.clear()
    bodies = [json.dumps({"input": [item(n)["content"] for n in range(BATCH)], "model": ""}) for _ in range(40)]
    for body in bodies:
        connection.request("POST", "/v1/embeddings", body, {"content-type": "application/json"})
        json.loads(connection.getresponse().read())
    return throughput(Provider.calls)


def throughput(calls):
    return sum(texts for _, _, texts in calls) / (calls[-1][1] - calls[0][0])


if __name__ == "__main__":
    main()
