"""The floor: what one would write by hand. One table, the user's rows by their key, halfvec in the row, exact."""
import json

from database import OnPostgres, connect
from embedding import Embedding
from peer import DIMENSIONS, bench_python


class Peer(OnPostgres):
    title = "raw SQL, exact"
    adds_a_second = 500

    def python(self):
        return bench_python()

    def fresh(self):
        super().fresh()
        with connect(self.url) as db:
            db.execute("CREATE EXTENSION vector")
            db.execute(f"CREATE TABLE items (user_id bigint, id bigint GENERATED ALWAYS AS IDENTITY, content text NOT NULL, "
                       f"embedding halfvec({DIMENSIONS}) NOT NULL, PRIMARY KEY (user_id, id))")
            db.execute("ALTER TABLE items ALTER embedding SET STORAGE PLAIN")

    def start(self, users):
        return {"url": self.url, "embedder": self.embedder_url}

    def version(self):
        with connect(self.url) as db:
            return db.execute("SELECT 'pgvector ' || extversion FROM pg_extension WHERE extname = 'vector'").fetchone()[0]


class Client:
    def __init__(self, settings):
        import psycopg
        self.db = psycopg.connect(settings["url"], autocommit=True, prepare_threshold=0)
        self.embed = Embedding(settings["embedder"])

    def add(self, user, text):
        self.db.execute("INSERT INTO items (user_id, content, embedding) VALUES (%s, %s, %s::halfvec)", (user, text, self.vector(text)))

    def search(self, user, query, limit):
        found = self.db.execute("SELECT content FROM items WHERE user_id = %s ORDER BY embedding <=> %s::halfvec LIMIT %s", (user, self.vector(query), limit))
        return [row[0] for row in found]

    def vector(self, text):
        return json.dumps(self.embed([text])[0])
