"""Chroma's server over its own client: one collection, the user in the metadata."""
import os
import uuid

from embedding import Embedding
from peer import HERE, Peer as AnyPeer, environment
from with_postgres import free_port


class Peer(AnyPeer):
    title = "Chroma, one collection"
    adds_a_second = 300
    has_collection_each = False
    client_variables = {"ANONYMIZED_TELEMETRY": "False"}

    def python(self):
        return environment("peers-chroma", HERE / "requirements/chroma.txt")

    def start(self, users):
        port = free_port()
        command = [self.python(), self.python().parent / "chroma", "run", "--path", self.folder / "data", "--host", "127.0.0.1", "--port", str(port)]
        self.launch(command, f"http://127.0.0.1:{port}/api/v2/heartbeat", {**os.environ, **self.client_variables})
        return {"port": port, "embedder": self.embedder_url, "has_collection_each": self.has_collection_each}

    def version(self):
        return self.installed("chromadb")


class Client:
    def __init__(self, settings):
        import chromadb
        self.server = chromadb.HttpClient(host="127.0.0.1", port=settings["port"])
        self.has_collection_each = settings["has_collection_each"]
        self.embed = Embedding(settings["embedder"])
        self.collections = {}

    def add(self, user, text):
        self.add_many(user, [text])

    def add_many(self, user, texts):
        self.collection(user).add(ids=[str(uuid.uuid4()) for _ in texts], documents=texts, embeddings=self.embed(texts), metadatas=[{"user": user} for _ in texts])

    def search(self, user, query, limit):
        where = None if self.has_collection_each else {"user": user}
        return self.collection(user).query(query_embeddings=self.embed([query]), n_results=limit, where=where, include=["documents"])["documents"][0]

    def collection(self, user):
        name = f"user-{user}" if self.has_collection_each else "memories"
        if name not in self.collections:
            self.collections[name] = self.server.get_or_create_collection(name, embedding_function=None)
        return self.collections[name]
