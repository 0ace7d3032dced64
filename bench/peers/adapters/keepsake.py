"""Keepsake itself, over REST: memory_add and memory_search, whole and hybrid, with activity recorded."""
import contextlib
import http.client
import json
import os
import subprocess
import time

from common import program
from database import OnPostgres, connect
from peer import REPO, bench_python
from server import keepsake

PASSWORD = "a long password\n"
MOST_RESULTS = 50


class Peer(OnPostgres):
    title = "Keepsake"
    adds_a_second = 700
    is_found_at_once = False

    def python(self):
        return bench_python()

    def start(self, users):
        os.environ["KEEPSAKE_BIN"] = str(program("release"))
        self.running = contextlib.ExitStack()
        with variable("KEEPSAKE_TEST_DATABASE_URL", self.url):
            self.server = self.running.enter_context(keepsake(self.folder, KEEPSAKE_LLAMACPP_URL=self.embedder_url.removesuffix("/v1")))
        self.process = self.server.process
        kept = self.folder / "tokens.json"
        if not kept.is_file():
            kept.write_text(json.dumps([self.new_user(n) for n in range(users)]))
        return {"port": self.server.port, "tokens": json.loads(kept.read_text())}

    def new_user(self, n):
        email = f"peer{n}@example.com"
        self.server.run("user", "create", "--email", email, "--password-stdin", input=PASSWORD)
        return self.server.run("token", "create", "--email", email, "--agent", "bench")

    def settle(self):
        """An add is answered before its vector is made."""
        with connect(self.url) as db:
            while db.execute("SELECT count(*) FROM memory_embeddings WHERE state = 'pending'").fetchone()[0]:
                time.sleep(0.1)

    def stop(self):
        if self.process:
            self.process = None
            self.running.close()

    def version(self):
        return subprocess.run([REPO / os.environ["KEEPSAKE_BIN"], "--version"], check=True, text=True, stdout=subprocess.PIPE).stdout.split()[-1]


class Client:
    def __init__(self, settings):
        self.connection = http.client.HTTPConnection("127.0.0.1", settings["port"])
        self.tokens = settings["tokens"]
        self.texts = {}  # of what this client added: an answer quotes long items in part

    def add(self, user, text):
        added = self.call(user, "memory_add", {"type": "fact", "content": text})
        self.texts[user, added["id"]] = text

    def search(self, user, query, limit, **more):
        answer = self.call(user, "memory_search", {"query": query, "limit": limit, **more})
        return [self.text(user, hit) for hit in answer["results"]]

    def nearest(self, user, query, limit):
        """The order of its vectors alone, out of the longest answer it gives: what was found by words does not count."""
        hits = self.call(user, "memory_search", {"query": query, "limit": MOST_RESULTS, "explain": True})["results"]
        near = sorted((hit for hit in hits if hit["signals"]["semantic"]), key=lambda hit: hit["explain"]["distance"])
        return [self.text(user, hit) for hit in near[:limit]]

    def text(self, user, hit):
        return self.texts.get((user, hit["id"]), hit["content_snippet"])

    def call(self, user, tool, body):
        headers = {"Authorization": f"Bearer {self.tokens[user]}", "Content-Type": "application/json"}
        self.connection.request("POST", f"/api/v1/tools/{tool}", json.dumps(body), headers)
        response = self.connection.getresponse()
        answer = response.read()
        if response.status != 200:
            raise RuntimeError(answer.decode())
        return json.loads(answer)


@contextlib.contextmanager
def variable(name, value):
    before = os.environ[name]
    os.environ[name] = value
    try:
        yield
    finally:
        os.environ[name] = before
