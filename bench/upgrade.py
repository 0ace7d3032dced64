#!/usr/bin/env python3
"""The data of 0.2.0 with 10,000 memories, taken over by this version: how long until the multilingual model's vectors serve,
what serves meanwhile, and what a search costs before, meanwhile and afterwards.

    python3 tools/with_postgres.py python3 bench/upgrade.py

The memories are those of tools/demo, numbered, beside what src/tests/reliability/released/0.2.0.tar has. First the English
model makes their vectors, postponed by an admin; then the same data with these vectors is taken over. Needs `make build` and
`python3 tools/fetch_model.py --english`.
"""
import contextlib
import http.client
import itertools
import json
import os
import signal
import statistics
import subprocess
import tarfile
import tempfile
import time
from collections import Counter
from pathlib import Path
from urllib.parse import urlsplit

from run import REPO, call, free_port, program
from sql import PG_BIN, URL

ITEMS = int(os.environ.get("ITEMS", "10000"))
SEARCHES = 200
PAUSE_SECONDS = 0.2
FIRST_ID = 1_000_000
RELEASED = REPO / "src/tests/reliability/released/0.2.0"
BINARY = program("release")
ENGLISH, MULTILINGUAL = "all-MiniLM-L6-v2", "multilingual-e5-small"
TEXTS = [json.loads(line)["content"] for line in open(REPO / "tools/demo/memories.jsonl")]
numbers = itertools.count()


def main():
    figures = {"items": ITEMS}
    with tempfile.TemporaryDirectory() as home:
        home = Path(home)
        with tarfile.open(f"{RELEASED}.tar") as tar:
            tar.extract("database.dump", home, filter="data")
        (home / "data").mkdir()
        (home / "data/runtime").symlink_to(REPO / "data/runtime")
        program_of(URL, home, "migrate")  # the roles
        old = restored(home, "postponed")
        filled(old, home, "pending")
        program_of(old, home, "migrate")
        sql(old, f"UPDATE system_settings SET builtin_model = '{ENGLISH}'")
        with served(old, home) as ask:
            figures["English, made"] = until(lambda: is_quiet(old), ask)
            figures["English, idle"] = told([ask() for _ in range(SEARCHES)])
        kept = f"COPY (SELECT source_id, embedding, token_signs FROM memory_embeddings WHERE source_id >= {FIRST_ID} AND state = 'ready' AND passage = 0) TO STDOUT"
        (home / "vectors").write_text(sql(old, kept))
        new = restored(home, "upgraded")
        filled(new, home, "ready")
        with served(new, home) as ask:
            figures["multilingual, made"] = until(lambda: is_quiet(new) and serves(new, MULTILINGUAL), ask)
            figures["multilingual, idle"] = told([ask() for _ in range(SEARCHES)])
    print(json.dumps(figures, indent=1))


def restored(home, name):
    """The backup's database, as 0.2.0 left it."""
    sql(URL, f"CREATE DATABASE {name}")
    url = urlsplit(URL)._replace(path=f"/{name}").geturl()
    subprocess.run([PG_BIN / "pg_restore", "-d", url, home / "database.dump"], check=True)
    return url


def filled(url, home, state):
    """Anna's memories, without vectors or with those of `vectors`."""
    rows = [f"{FIRST_ID + n}\t{quoted(f'{TEXTS[n % len(TEXTS)]} ({n})')}" for n in range(ITEMS)]
    (home / "rows").write_text("\n".join(rows) + "\n")
    vectors = "" if state == "pending" else f"\\copy vectors FROM '{home}/vectors'"
    sql(url, f"""
SET session_replication_role = replica;
CREATE TEMP TABLE rows (id bigint, content text);
CREATE TEMP TABLE vectors (id bigint, embedding halfvec, token_signs bytea);
\\copy rows FROM '{home}/rows'
{vectors}
INSERT INTO memory_items (user_id, id, theme_id, agent_id, type, content, content_hash, source, confidence, created_at, updated_at, live_from)
    SELECT 1, r.id, 1, 1, 'fact', r.content, sha256(convert_to(r.content, 'UTF8')), 'agent', 70, now(), now(), now() FROM rows r;
INSERT INTO memory_passages (user_id, source_id, n, start, length, content_hash, terms)
    SELECT 1, id, 0, 0, octet_length(content), substr(sha256(convert_to(content, 'UTF8')), 1, 16), '' FROM rows;
INSERT INTO memory_embeddings (user_id, space_id, source_id, state, embedding, token_signs, updated_at, is_turn)
    SELECT 1, 1, r.id, CASE WHEN v.id IS NULL THEN 'pending' ELSE 'ready' END, v.embedding, v.token_signs, now(), false FROM rows r LEFT JOIN vectors v USING (id);
SELECT setval('memory_source_ids', {FIRST_ID + ITEMS});
ANALYZE;""")


def quoted(text):
    return text.replace("\\", "\\\\").replace("\t", " ").replace("\n", "\\n")


def sql(url, statements):
    done = subprocess.run([PG_BIN / "psql", "-XAtq", "-v", "ON_ERROR_STOP=1", url], input=statements, check=True, text=True, stdout=subprocess.PIPE)
    return done.stdout


def program_of(url, home, *arguments, **variables):
    env = {**os.environ, "KEEPSAKE_DATABASE_URL": url, "KEEPSAKE_DATA_DIR": str(home / "data"), "KEEPSAKE_LOG": "error", **variables}
    return subprocess.run([BINARY, *arguments], env=env, check=True) if arguments[0] != "serve" else subprocess.Popen([BINARY, *arguments], env=env)


@contextlib.contextmanager
def served(url, home):
    """Yields a search with a question that was not asked before: its milliseconds and its mode."""
    port, token = free_port(), json.loads(Path(f"{RELEASED}.json").read_text())["anna"]
    server = program_of(url, home, "serve", KEEPSAKE_LISTEN=f"127.0.0.1:{port}")
    connection = http.client.HTTPConnection("127.0.0.1", port)
    try:
        while not is_ready(port):
            assert server.poll() is None, "the server ended"
            time.sleep(0.02)

        def ask():
            query = f"{TEXTS[next(numbers) % len(TEXTS)][:60]} {next(numbers)}"
            begun = time.perf_counter()
            answer = call(connection, "memory_search", {"query": query}, token)
            return (time.perf_counter() - begun) * 1e3, answer["mode"]
        yield ask
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait()


def is_ready(port):
    with contextlib.suppress(OSError, http.client.HTTPException):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
        connection.request("GET", "/readyz")
        return connection.getresponse().status == 200


def is_quiet(url):
    return sql(url, """SELECT NOT EXISTS (SELECT FROM memory_embeddings e JOIN embedding_spaces s ON s.id = e.space_id WHERE e.state = 'pending' AND s.state <> 'retired')
        AND NOT EXISTS (SELECT FROM memory_passages_due)""").strip() == "t"


def serves(url, model):
    return sql(url, f"SELECT model = '{model}' FROM embedding_spaces WHERE user_id = 1 AND state = 'active'").strip() == "t"


def until(is_done, ask):
    """Seconds, and what the searches meanwhile were."""
    begun, searches = time.monotonic(), []
    while not is_done():
        searches.append(ask())
        time.sleep(PAUSE_SECONDS)
    return {"seconds": round(time.monotonic() - begun), **told(searches)}


def told(searches):
    cuts = statistics.quantiles([ms for ms, _ in searches], n=20)
    return {"p50 ms": round(cuts[9], 1), "p95 ms": round(cuts[18], 1), "modes": Counter(mode for _, mode in searches)}


if __name__ == "__main__":
    main()
