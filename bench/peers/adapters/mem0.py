"""mem0 as a library, without a language model: infer=False, pgvector. A client is a process with its own connections."""
import json
import os
import subprocess

from database import OnPostgres
from peer import DIMENSIONS, PYTHONPATH


class Peer(OnPostgres):
    title = "mem0"
    adds_a_second = 90
    client_variables = {"MEM0_TELEMETRY": "False"}

    def start(self, users):
        return {"url": self.url, "embedder": self.embedder_url, "folder": str(self.folder)}

    def fresh(self):
        super().fresh()
        # It makes its table at the first add, which two clients at once do not survive.
        settings = json.dumps(self.start(0))
        code = "import json, sys; from adapters.mem0 import Client; Client(json.loads(sys.argv[1])).memory.vector_store._ensure_collection()"
        subprocess.run([self.python(), "-c", code, settings], check=True, env={**os.environ, **self.client_variables, "PYTHONPATH": PYTHONPATH, "MEM0_DIR": str(self.folder)})

    def version(self):
        return self.installed("mem0ai")


class Client:
    def __init__(self, settings):
        os.environ["MEM0_DIR"] = settings["folder"]
        from mem0 import Memory
        openai = {"api_key": "none", "openai_base_url": settings["embedder"]}
        self.memory = Memory.from_config({
            "vector_store": {"provider": "pgvector", "config": {"connection_string": settings["url"], "collection_name": "memories", "embedding_model_dims": DIMENSIONS}},
            "embedder": {"provider": "openai", "config": {**openai, "model": "bag-of-words"}},
            "llm": {"provider": "openai", "config": openai},  # never asked
            "history_db_path": f"{settings['folder']}/history-{os.getpid()}.db"})

    def add(self, user, text):
        self.memory.add(text, user_id=f"u{user}", infer=False)

    def search(self, user, query, limit):
        return [found["memory"] for found in self.memory.search(query, top_k=limit, filters={"user_id": f"u{user}"})["results"]]
