"""Hindsight's server without a language model (LLM_PROVIDER=none: texts are kept as they are) and without a reranker
(`rrf`), over REST; a user is a bank. Adds wait until they can be found, as its API does unless asked for `async`."""
import http.client
import json
import os
import time

from database import OnPostgres, connect
from peer import HERE, bench_python, environment
from with_postgres import free_port


class Peer(OnPostgres):
    title = "Hindsight"
    later_title = "Hindsight, asynchronous adds"
    note = "leaves out what is less near than a cosine of 0.3, unless words or links find it (its own setting, as it comes): among few items that is some of the ten."
    adds_a_second = 100
    adds_by_one_a_second = 10

    def python(self):
        own_python()
        return bench_python()

    def fresh(self):
        super().fresh()
        with connect(self.url) as db:
            db.execute("CREATE EXTENSION vector")

    def start(self, users):
        port = free_port()
        mine = {"DATABASE_URL": self.url, "HOST": "127.0.0.1", "PORT": str(port), "LOG_LEVEL": "warning", "LLM_PROVIDER": "none", "RERANKER_PROVIDER": "rrf",
                "EMBEDDINGS_PROVIDER": "openai", "EMBEDDINGS_OPENAI_BASE_URL": self.embedder_url, "EMBEDDINGS_OPENAI_API_KEY": "none", "EMBEDDINGS_OPENAI_MODEL": "bag-of-words"}
        env = {**os.environ, **{f"HINDSIGHT_API_{name}": value for name, value in mine.items()}}
        self.launch([own_python(), own_python().parent / "hindsight-api"], f"http://127.0.0.1:{port}/health", env)
        return {"port": port}

    def settle(self):
        """An asynchronous add is an operation that its worker takes up, and may give up: then its items are not there."""
        with connect(self.url) as db:
            while db.execute("SELECT EXISTS (SELECT FROM async_operations WHERE status IN ('pending', 'processing'))").fetchone()[0]:
                time.sleep(0.05)
            if given_up := db.execute("SELECT operation_type, status, error_message FROM async_operations WHERE status <> 'completed'").fetchall():
                raise RuntimeError(f"{len(given_up)} operations did not end well, the first: {' '.join(map(str, given_up[0]))[:300]}")

    def version(self):
        return self.installed("hindsight-api-slim", own_python())


def own_python():
    return environment("peers-hindsight", HERE / "requirements/hindsight.txt")


IDLE_SECONDS = 2  # its server closes a connection on which nothing came for five


class Client:
    def __init__(self, settings):
        self.connection = http.client.HTTPConnection("127.0.0.1", settings["port"], timeout=120)
        self.called = time.monotonic()

    def add(self, user, text):
        self.add_many(user, [text])

    def add_later(self, user, text):
        self.add_many(user, [text], is_later=True)

    def add_many(self, user, texts, is_later=False):
        self.call(f"/v1/default/banks/u{user}/memories", {"items": [{"content": text} for text in texts], "async": is_later})

    def search(self, user, query, limit):
        """It takes a limit of tokens, not of memories: its own, of which we take the first."""
        return [found["text"] for found in self.call(f"/v1/default/banks/u{user}/memories/recall", {"query": query})["results"][:limit]]

    def call(self, path, body):
        if time.monotonic() - self.called > IDLE_SECONDS:
            self.connection.close()
        try:
            self.connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
            response = self.connection.getresponse()
            answer = response.read()
        except (OSError, http.client.HTTPException):
            self.connection.close()
            raise
        finally:
            self.called = time.monotonic()
        if response.status != 200:
            raise RuntimeError(f"HTTP {response.status}: {answer.decode()}")
        return json.loads(answer)
