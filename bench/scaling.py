#!/usr/bin/env python3
"""What one machine costs, for docs/scaling.md: a server's memory and connections, an item's bytes on disk table by table
and index by index, and the core time that an add, a vector and a search take in the server and in PostgreSQL.

    python3 tools/with_postgres.py python3 bench/scaling.py     after `make build`; some three minutes

One user of 10,000 memories and ten of 1,000, added over HTTP, with vectors from a stand-in on loopback (bench/vectors.py).
Core time is what the kernel charged to the processes: on a busy machine it is stretched too, but less than the clock.
"""
import contextlib
import functools
import http.client
import http.server
import os
import random
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import results
from run import call, common_words, free_port, item, keepsake
from sql import URL, sql
from vectors import Provider

LARGE, SMALL, SMALL_USERS = 10_000, 1_000, 10
CLIENTS = 8
QUERIES, SEARCHES = 20, 400
NEW_QUERIES = 200
TICK_MS = 1e3 / os.sysconf("SC_CLK_TCK")
PRIVATE = ("Private_Clean", "Private_Dirty")
# What an item is in: each table's rows, what of them lies out of line, and each index.
PARTS = """SELECT c.relname, 'rows', pg_relation_size(c.oid) FROM pg_class c WHERE c.oid = ANY ($1)
           UNION ALL SELECT c.relname, 'out of line', pg_total_relation_size(c.reltoastrelid) FROM pg_class c WHERE c.oid = ANY ($1) AND c.reltoastrelid <> 0
           UNION ALL SELECT c.relname, i.indexrelid::regclass::text, pg_relation_size(i.indexrelid)
                     FROM pg_class c JOIN pg_index i ON i.indrelid = c.oid WHERE c.oid = ANY ($1) ORDER BY 1, 3 DESC"""
TABLES = ("memory_items", "memory_item_events", "memory_passages", "memory_changes", "activity", "memory_embeddings")


class Gated(Provider):
    """Answers nothing while items are added: what an add costs is not mixed with what a vector costs."""

    gate = threading.Event()
    gate.set()

    def do_POST(self):
        self.gate.wait()
        with contextlib.suppress(OSError):  # who asked has given up meanwhile
            super().do_POST()


def main():
    random.seed(7)
    figures = {"builtin": with_builtin_model()}
    provider_port = free_port()
    threading.Thread(target=http.server.ThreadingHTTPServer(("127.0.0.1", provider_port), Gated).serve_forever, daemon=True).start()
    started = time.perf_counter()
    with keepsake(KEEPSAKE_LLAMACPP_URL=f"http://127.0.0.1:{provider_port}") as server:
        figures["start_seconds"] = round(time.perf_counter() - started, 2)
        watch = Watch(server.port)
        figures["memory_at_start_mb"] = watch.server_mb()
        users = [(token_of(server, f"user{n}@example.com"), LARGE if n == 0 else SMALL) for n in range(1 + SMALL_USERS)]
        begin(server.port, users)
        figures["add"] = watch.cost(lambda: add_all(server.port, users))
        figures["vectors"] = watch.cost(make_vectors)
        sql("VACUUM ANALYZE")
        figures["disk"] = bytes_an_item(sum(1 + items for _, items in users))
        for token, items in users[:2]:
            client, queries = connect(server.port, token), [" ".join(common_words(2)) for _ in range(QUERIES)]
            know(client, queries)
            figures[f"search_{items}"] = watch.cost(lambda: search_all(client, queries))
        figures |= {"memory_after_mb": watch.server_mb(), "connections": connections(), "backend_mb": watch.backend_mb()}
    show(figures)
    results.record("scaling", figures)


class Watch:
    """Core time and memory of the server that listens on a port, and of PostgreSQL."""

    def __init__(self, port):
        self.server = listener(port)
        self.postmaster = postmaster_of_the_primary()

    def cost(self, work):
        """How many a second, and core ms each, of what `work` says it did."""
        server, postgres, start = ticks(self.server), self.postgres_ticks(), time.perf_counter()
        written = sql("SELECT pg_current_wal_lsn()")
        done = work()
        seconds = time.perf_counter() - start
        wal = int(sql(f"SELECT pg_current_wal_lsn() - '{written}'"))
        each = lambda spent: round(spent * TICK_MS / done, 3)
        return {"done": done, "a_second": round(done / seconds, 1), "server_core_ms": each(ticks(self.server) - server),
                "postgres_core_ms": each(self.postgres_ticks() - postgres), "wal_bytes": round(wal / done)}

    def postgres_ticks(self):
        """Of those that have ended, too."""
        return sum(ticks(pid) for pid in children(self.postmaster)) + sum(map(int, stat(self.postmaster)[11:15]))

    def server_mb(self):
        return memory_mb(f"/proc/{self.server}/status", ("VmRSS",))

    def backend_mb(self):
        """Of the connections that searched: what is theirs alone, so without PostgreSQL's shared buffers."""
        pids = sql("SELECT pid FROM pg_stat_activity WHERE application_name = 'keepsake_app'").split()
        return sorted(memory_mb(f"/proc/{pid}/smaps_rollup", PRIVATE) for pid in pids)


def with_builtin_model():
    """The server's memory with the builtin model, and what a query that it has not seen yet costs."""
    sql("CREATE DATABASE builtin")  # of its own: where memories are, another provider would have to be confirmed
    with tempfile.TemporaryDirectory() as home:
        Path(home, "runtime").symlink_to(results.REPO / "data/runtime")
        with keepsake(KEEPSAKE_DATA_DIR=home, KEEPSAKE_DATABASE_URL=f"{URL.rpartition('/')[0]}/builtin") as server:
            server.call("memory_add", item(0))
            know(server.call, ["warm"])
            watch = Watch(server.port)
            query = lambda n: server.call("memory_search", {"query": " ".join(common_words(6)) + f" {n}"})["mode"]
            cost = watch.cost(lambda: sum(query(n) == "hybrid" for n in range(NEW_QUERIES)))
            return cost | {"memory_mb": watch.server_mb()}


def token_of(server, email):
    server.run("user", "create", "--email", email, "--password-stdin", input="a long password\n")
    return server.run("token", "create", "--email", email, "--agent", "bench")


def connect(port, token):
    return functools.partial(call, http.client.HTTPConnection("127.0.0.1", port), token=token)


def begin(port, users):
    """A first item of each, so that all have a space in which the others will wait."""
    for token, _ in users:
        connect(port, token)("memory_add", {"type": "fact", "content": "first"})
    while sql("SELECT count(*) FROM memory_embeddings WHERE state = 'ready'") != str(len(users)):
        time.sleep(0.2)
    Gated.gate.clear()


def add_all(port, users):
    """By eight clients; users' items mixed, as when they are added over time."""
    adds = [(token, item(n)) for token, items in users for n in range(items)]
    random.shuffle(adds)

    def add(some):
        clients = {token: connect(port, token) for token, _ in users}
        for token, body in some:
            clients[token]("memory_add", body)

    with ThreadPoolExecutor(CLIENTS) as pool:
        list(pool.map(add, [adds[n::CLIENTS] for n in range(CLIENTS)]))
    return len(adds)


def make_vectors():
    pending = "SELECT count(*) FROM memory_embeddings WHERE state = 'pending'"
    first = int(sql(pending))
    Gated.gate.set()
    while int(sql(pending)):
        time.sleep(0.5)
    return first


def know(client, queries):
    """Their vectors into the server's cache; at first it may leave a provider alone that was silent so long."""
    for query in queries:
        while client("memory_search", {"query": query})["mode"] != "hybrid":
            time.sleep(1)


def search_all(client, queries):
    for n in range(SEARCHES):
        client("memory_search", {"query": queries[n % QUERIES]})
    return SEARCHES


def bytes_an_item(items):
    oids = ",".join(f"'{table}'::regclass" for table in TABLES)
    found = [line.split("|") for line in sql(PARTS.replace("$1", f"ARRAY[{oids}]")).splitlines()]
    parts = {f"{table}: {part}": round(int(size) / items, 1) for table, part, size in found}
    texts = sql("SELECT round(avg(length)), round(avg(octet_length(terms))) FROM memory_passages").split("|")
    return {"items": items, "characters": int(texts[0]), "terms_bytes": int(texts[1]), "bytes": parts}


def connections():
    rows = sql("SELECT application_name, count(*) FROM pg_stat_activity WHERE application_name LIKE 'keepsake%' GROUP BY 1")
    return {role: int(count) for role, count in (row.split("|") for row in rows.splitlines())}


def postmaster_of_the_primary():
    return int(Path(sql("SHOW data_directory"), "postmaster.pid").read_text().split()[0])


def listener(port):
    """The process that listens there, by the socket in /proc."""
    lines = Path("/proc/net/tcp").read_text().splitlines()[1:]
    inode = next(line.split()[9] for line in lines if line.split()[1].endswith(f":{port:04X}") and line.split()[3] == "0A")
    for link in Path("/proc").glob("[0-9]*/fd/*"):
        with contextlib.suppress(OSError):  # it has closed meanwhile
            if os.readlink(link) == f"socket:[{inode}]":
                return int(link.parts[2])
    raise SystemExit("nobody listens")


def stat(pid):
    """From the third field on: the name before it may hold anything."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def ticks(pid):
    try:
        return sum(map(int, stat(pid)[11:13]))
    except OSError:  # it has ended: its parent has its time now
        return 0


def children(parent):
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            if int(stat(entry.name)[1]) == parent:
                yield int(entry.name)


def memory_mb(path, names):
    lines = Path(path).read_text().splitlines()
    return round(sum(int(line.split()[1]) for line in lines if line.split(":")[0] in names) / 1e3 * 1.024, 1)


def show(figures):
    for name, figure in figures.items():
        if name != "disk":
            print(f"{name:20} {figure}")
    disk = figures["disk"]
    print(f"{disk['items']} items, {disk['characters']} characters and {disk['terms_bytes']} bytes of terms each; bytes an item:")
    for part, size in disk["bytes"].items():
        print(f"{size:10.1f}  {part}")
    for table in TABLES:
        print(f"{sum(size for part, size in disk['bytes'].items() if part.startswith(table + ':')):10.1f}  {table} in all")


if __name__ == "__main__":
    main()
