"""LangGraph's PostgresStore with an index by a callable; a user is a namespace, a client a process with its own connection."""
import http.client
import json
import uuid
from urllib.parse import urlsplit

from database import OnPostgres
from peer import DIMENSIONS


class Peer(OnPostgres):
    title = "LangGraph PostgresStore"
    adds_a_second = 110

    def start(self, users):
        return {"url": self.url, "embedder": self.embedder_url}

    def fresh(self):
        super().fresh()
        import subprocess
        subprocess.run([self.python(), "-c", SETUP, self.url, str(DIMENSIONS)], check=True)

    def version(self):
        return self.installed("langgraph-checkpoint-postgres")


SETUP = """
import sys
from langgraph.store.postgres import PostgresStore
with PostgresStore.from_conn_string(sys.argv[1], index={"dims": int(sys.argv[2]), "embed": lambda texts: [], "fields": ["text"]}) as store:
    store.setup()
"""


class Client:
    def __init__(self, settings):
        from langgraph.store.postgres import PostgresStore
        self.embedder = http.client.HTTPConnection(urlsplit(settings["embedder"]).netloc)
        self.opened = PostgresStore.from_conn_string(settings["url"], index={"dims": DIMENSIONS, "embed": self.embed, "fields": ["text"]})
        self.store = self.opened.__enter__()

    def add(self, user, text):
        self.store.put(("users", f"u{user}"), str(uuid.uuid4()), {"text": text})

    def search(self, user, query, limit):
        return [found.value["text"] for found in self.store.search(("users", f"u{user}"), query=query, limit=limit)]

    def embed(self, texts):
        try:
            self.embedder.request("POST", "/v1/embeddings", json.dumps({"model": "bag-of-words", "input": list(texts)}), {"Content-Type": "application/json"})
            return [row["embedding"] for row in json.loads(self.embedder.getresponse().read())["data"]]
        except (OSError, http.client.HTTPException):
            self.embedder.close()  # the next call connects anew
            raise

    def stop(self):
        self.opened.__exit__(None, None, None)
