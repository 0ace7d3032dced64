"""LangGraph's PostgresStore with an index by a callable; a user is a namespace, a client a process with its own connection."""
import subprocess
import uuid

from database import OnPostgres
from embedding import Embedding
from peer import DIMENSIONS


class Peer(OnPostgres):
    title = "LangGraph PostgresStore"
    adds_a_second = 110

    def start(self, users):
        return {"url": self.url, "embedder": self.embedder_url}

    def fresh(self):
        super().fresh()
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
        self.opened = PostgresStore.from_conn_string(settings["url"], index={"dims": DIMENSIONS, "embed": Embedding(settings["embedder"]), "fields": ["text"]})
        self.store = self.opened.__enter__()

    def add(self, user, text):
        self.store.put(("users", f"u{user}"), str(uuid.uuid4()), {"text": text})

    def search(self, user, query, limit):
        return [found.value["text"] for found in self.store.search(("users", f"u{user}"), query=query, limit=limit)]

    def stop(self):
        self.opened.__exit__(None, None, None)
