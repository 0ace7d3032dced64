#!/usr/bin/env python3
"""How search grows: with one user's items, with all items in the database, with themes; and a rebuild under search
load. `memory_search` over HTTP beside the same statement in pgbench, in short turns, one client: this machine's speed
swings by a third within a minute, and the two turns of a pair see much the same of it.

    tools/with_postgres.py python3 bench/growth.py

Sizes are settings: OF_ONE_USER, OF_ALL, THEMES and REBUILT (numbers with commas), SECONDS_A_TURN. Rows are written
by SQL and not through the API, which would take half an hour for a million: words as in recall.py, vectors are
MiniLM's of tools/demo/memories.jsonl and mixtures of two of those. The secondary indexes are made after each fill,
and vacuum has been there. recall@10 is that of a search by meaning alone, through the API, against exact cosine.
Needs `make build` and what bench/requirements.txt names.
"""
import contextlib
import itertools
import json
import os
import random
import statistics
import struct
import threading
import time
from types import SimpleNamespace

import numpy as np
import psycopg

import vectors
from clients import ask, rest
from minilm import MiniLM
from pgbench import pgbench
from quality import cached
from recall import bits, common_words, grown, rare_word
from results import Progress, percentile, record, spread
from run import REPO, free_port, keepsake
from sql import URL, sql, vacuum
from statement import prepare, searches

sizes = lambda name, usual: [int(size) for size in os.environ.get(name, usual).replace("_", "").split(",")]
OF_ONE_USER, OF_ALL = sizes("OF_ONE_USER", "100,1_000,10_000,100_000"), sizes("OF_ALL", "1_000,10_000,100_000,1_000_000")
THEMES, REBUILT = sizes("THEMES", "1,100,10_000"), sizes("REBUILT", "10_000,100_000")
SECONDS = float(os.environ.get("SECONDS_A_TURN", "1"))
ITEMS_OF_OTHERS = 1_000
ITEMS_IN_THEMES = min(10_000, max(OF_ONE_USER))
ROUNDS = 15
QUERIES = 21
RECALL_QUERIES = 50
PROVIDER_CALL_SECONDS = 0.020  # for 32 texts: faster than a model, so that the server is what is measured
JANUARY_2026_US = 9_497 * 86_400 * 1_000_000  # as PostgreSQL writes it: since 2000
TABLES = ("memory_items", "memory_embeddings")
TEXTS = 2_000
BASE_TEXTS = 200
FILL_PER_SECOND = 5_000  # for the progress bar


class Provider(vectors.Provider):
    """Knows the vectors of the queries; other texts get any."""
    known = {}

    def vector_of(self, text, n):
        return self.known.get(text, self.vectors[n])


def main():
    if unknown := set(REBUILT) - set(OF_ONE_USER):
        raise SystemExit(f"✗ REBUILT takes sizes that OF_ONE_USER has ({', '.join(map(str, OF_ONE_USER))}), and not {', '.join(map(str, sorted(unknown)))}")
    random.seed(7)
    texts = [json.loads(line)["content"] for line in open(REPO / "tools/demo/memories.jsonl")]
    base = cached(MiniLM(REPO / "data/runtime/model-all-minilm-l6-v2"), texts[:BASE_TEXTS])
    progress, figures = Progress(plan()), {"items_of_others": ITEMS_OF_OTHERS, "items_in_themes": ITEMS_IN_THEMES, "all_items": [], "one_user": [], "themes": [], "rebuild": []}
    vectors.CALL_SECONDS, provider_port = PROVIDER_CALL_SECONDS, free_port()
    vectors.start_provider(provider_port, Provider)
    with keepsake(KEEPSAKE_LLAMACPP_URL=f"http://127.0.0.1:{provider_port}") as server, psycopg.connect(URL, autocommit=True) as db:
        server.provider_port = provider_port
        made = Memories(server, db, base)
        watched = made.of(ITEMS_OF_OTHERS)
        for total in sorted(OF_ALL):
            if total == max(OF_ALL):  # the one user's curve is taken in a database of the size before
                figures.update(one_user(made, progress))
            progress.step()
            made.others_until(total)
            progress.step()
            figures["all_items"].append({"items": made.count, **searched(server, watched)})
        figures["database_bytes"] = int(sql("SELECT pg_database_size(current_database())"))
    record("growth", figures)
    progress.end()


def plan():
    turn, fill, before = 2 * ROUNDS * SECONDS, sum(OF_ONE_USER) + len(THEMES) * ITEMS_IN_THEMES, 0
    for total in sorted(OF_ALL):
        if total == max(OF_ALL):
            yield "filling: one user's items, and themes", fill / FILL_PER_SECOND
            yield from ((f"searching among {size:,} items of one user", turn + 5) for size in sorted(OF_ONE_USER))
            yield from ((f"searching {ITEMS_IN_THEMES:,} items in {count:,} themes", 3 * turn / 2) for count in sorted(THEMES))
            yield from ((f"rebuilding {size:,} items while they are searched", size / 1_000) for size in sorted(REBUILT))
            before += fill
        yield f"filling: {total:,} items in all", max(0, total - before) / FILL_PER_SECOND
        yield f"searching 1,000 items among {total:,}", turn
        before = max(before, total)


def one_user(made, progress):
    """Among memories of 100 to 100,000 items, and in 1 to 10,000 themes; then the rebuilds."""
    progress.step()
    users = {size: made.of(size, fill=False) for size in sorted(OF_ONE_USER)}
    in_themes = {count: made.of(ITEMS_IN_THEMES, count, fill=False) for count in sorted(THEMES)}
    made.fill([*users.values(), *in_themes.values()])
    figures = {"one_user": [], "themes": [], "rebuild": [], "items_beside": made.count}
    for size, user in users.items():
        progress.step()
        figures["one_user"].append({"items": size, **searched(made.server, user), "recall_at_10": recall(made.server, user)})
    for count, user in in_themes.items():
        progress.step()
        rest_of = lambda tool, body: [rest(user.token, tool, {**body, "theme": f"theme-{random.randrange(count)}"} if body else {}) for _ in range(QUERIES)]
        in_one = in_rounds(made.server, rest_of("memory_search", {"query": " ".join(common_words(2))}))
        listed = in_rounds(made.server, rest_of("memory_list_themes", {}))
        figures["themes"].append({"themes": count, **searched(made.server, user), "in_one_theme": in_one, "list_themes": listed})
    for size in sorted(REBUILT):
        progress.step()
        figures["rebuild"].append({"items": size, **rebuilt_under_load(made.server, users[size])})
    return figures


class Memories:
    """Writes users and their items past the API."""

    def __init__(self, server, db, base):
        self.server, self.db, self.base, self.count, self.users = server, db, base, 0, 0
        pool = grown(base, 10_000)
        self.halves, self.signs = halves(pool), [row.tobytes() for row in bits(pool)]
        self.tails = [tail(common_words(random.randrange(10, 40))) for _ in range(TEXTS)]
        db.execute("SET session_replication_role = replica; SET maintenance_work_mem = '1GB'")

    def of(self, size, themes=20, fill=True):
        """A user who can be asked, whose first item came through the API and made the space."""
        email = f"growth{self.users}@example.com"
        self.users += 1
        self.server.run("user", "create", "--email", email, "--password-stdin", input="a long password\n")
        token = self.server.run("token", "create", "--email", email, "--agent", "bench")
        self.server.call("memory_add", {"type": "fact", "theme": "theme-0", "content": "first"}, token=token)
        user = SimpleNamespace(id=int(sql(f"SELECT id FROM users WHERE email = '{email}'")), email=email, token=token, size=size, themes=themes)
        while not int(sql(f"SELECT count(*) FROM memory_embeddings WHERE state = 'ready' AND user_id = {user.id}")):
            time.sleep(0.1)
        for table in (*TABLES, "memory_themes"):
            self.db.execute(f"DELETE FROM {table} WHERE user_id = %s", (user.id,))
        user.vectors = grown(self.base, size)
        if fill:
            self.fill([user])
        return user

    def others_until(self, total):
        """Users who are never asked."""
        others = []
        while self.count + sum(user.size for user in others) < total:
            self.users += 1
            others.append(SimpleNamespace(id=1_000_000 + self.users, size=ITEMS_OF_OTHERS, themes=20, vectors=None))
        for user in others:
            self.db.execute("INSERT INTO users (id, email, password_hash, role, created_at, updated_at) OVERRIDING SYSTEM VALUE "
                            "VALUES (%s, %s, '', 'member', now(), now())", (user.id, f"other{user.id}@example.com"))
        self.fill(others)

    def fill(self, users):
        """Their rows lie mixed, as when they are added over time."""
        order = sorted(((n + random.random()) / user.size, user.id, n) for user in users for n in range(user.size))
        by_id = {user.id: user for user in users}
        for user in users:
            user.first, user.space = self.count, int(sql(f"SELECT coalesce(max(id), 1) FROM embedding_spaces WHERE user_id = {user.id}"))
            if user.vectors is not None:
                user.halves, user.signs = halves(user.vectors), [row.tobytes() for row in bits(user.vectors)]
            self.db.execute("INSERT INTO memory_themes (user_id, id, slug, display_name, created_at, updated_at) OVERRIDING SYSTEM VALUE "
                            "SELECT %s, 1000 + n, 'theme-' || n, 'theme-' || n, now(), now() FROM generate_series(0, %s) n", (user.id, user.themes - 1))
            self.count += user.size
        with self.without_indexes():
            self.copy_items(order, by_id)
            self.copy_vectors(order, by_id)
        vacuum()

    def copy_items(self, order, by_id):
        with self.db.cursor().copy("COPY memory_items (user_id, id, theme_id, type, content, content_hash, source, created_at, updated_at, "
                                   "content_tsv) FROM STDIN") as copy:
            for at, id, n in order:
                number, (text, places) = by_id[id].first + n, random.choice(self.tails)
                rare, when = rare_word(number), moment(at)
                copy.write_row((id, 1_000_000 + number, 1_000 + n % by_id[id].themes, "fact", f"{rare} {text}", number.to_bytes(32, "big"),
                                "agent", when, when, f"'{rare}':2 {places}"))

    def copy_vectors(self, order, by_id):
        never, number = struct.pack(">q", 2**63 - 1), lambda n: struct.pack(">q", n)  # never: as PostgreSQL writes such a timestamp
        with self.db.cursor().copy("COPY memory_embeddings (user_id, space_id, source_id, state, theme_id, item_type, item_live_until, "
                                   "item_created_at, bits, embedding, updated_at) FROM STDIN (FORMAT BINARY)") as copy:
            copy.write(b"PGCOPY\n\xff\r\n\0" + bytes(8))
            for at, id, n in order:
                user, when = by_id[id], number(JANUARY_2026_US + int(at * 1e6) * 1_000_000)
                if user.vectors is None:
                    place = random.randrange(len(self.signs))
                    signs, half = self.signs[place], self.halves[place]
                else:
                    signs, half = user.signs[n], user.halves[n]
                fields = [number(id), number(user.space), number(1_000_000 + user.first + n), b"ready", number(1_000 + n % user.themes), b"fact", never,
                          when, struct.pack(">i", 1024) + signs, half, when]
                copy.write(struct.pack(">h", len(fields)) + b"".join(struct.pack(">i", len(f)) + f for f in fields))
            copy.write(struct.pack(">h", -1))

    @contextlib.contextmanager
    def without_indexes(self):
        """Making them anew is several times faster than writing into them."""
        made = self.db.execute("SELECT indexrelid::regclass::text, pg_get_indexdef(indexrelid) FROM pg_index "
                               "WHERE indrelid = ANY (%s::regclass[]) AND NOT indisprimary", (list(TABLES),)).fetchall()
        for name, _ in made:
            self.db.execute(f"DROP INDEX {name}")
        yield
        for _, definition in made:
            self.db.execute(definition)


def tail(words):
    """Common words with their places, behind an item's rare word."""
    places = {word: ",".join(str(place) for place, other in enumerate(words, 3) if other == word) for word in words}
    return " ".join(words), " ".join(f"'{word}':{place}" for word, place in places.items())


def halves(pool):
    """As pgvector's halfvec is sent."""
    head = struct.pack(">hh", pool.shape[1], 0)
    return [head + row.tobytes() for row in pool.astype(">f2")]


def moment(at):
    second = int(at * 1e6)
    return f"2026-01-{1 + second // 86_400:02} {second // 3_600 % 24:02}:{second // 60 % 60:02}:{second % 60:02}+00"


def queries_of(user):
    rare = lambda: rare_word(user.first + random.randrange(user.size))
    kinds = (lambda: [rare()], lambda: [rare(), *common_words(1)], lambda: common_words(2))
    return [kind() for kind in kinds * (QUERIES // len(kinds))]


def searched(server, user):
    """p50 and p95 of both, over the same words, and how much more HTTP takes in each round: {HTTP, floor: {p50_ms, p95_ms}, more_ms}."""
    queries = queries_of(user)
    requests = [rest(user.token, "memory_search", {"query": " ".join(query)}) for query in queries]
    ask(server.port, iter(requests * 2), count=len(queries))  # the vectors into the cache
    transactions = [[search] for search in searches(queries, user.id)]
    doors = {"HTTP": lambda: ask(server.port, itertools.cycle(requests), seconds=SECONDS)[0],
             "floor": lambda: pgbench(prepare(), transactions, seconds=int(SECONDS) or 1, user=user.id)[0]}
    seen = {door: [] for door in doors}
    for _ in range(ROUNDS):
        for door, run in random.sample(list(doors.items()), len(doors)):
            seen[door].append(run())
    figures = {door: {"p50_ms": spread(map(statistics.median, rounds)), "p95_ms": spread(percentile(took, 95) for took in rounds)} for door, rounds in seen.items()}
    return {**figures, "more_ms": spread(statistics.median(http) - statistics.median(floor) for http, floor in zip(seen["HTTP"], seen["floor"]))}


def in_rounds(server, requests):
    ask(server.port, iter(requests * 2), count=len(requests))
    return {"p50_ms": spread(statistics.median(ask(server.port, itertools.cycle(requests), seconds=SECONDS / 2)[0]) for _ in range(ROUNDS))}


def recall(server, user):
    """Of the ten nearest, which share a search by meaning alone finds. No word of these queries matches."""
    shares = []
    for n in range(RECALL_QUERIES):
        text, vector = f"xyzzyq{n}", grown(user.vectors[:2_000], 1 + min(2_000, user.size))[-1]
        Provider.known[text] = json.dumps([round(float(x), 6) for x in vector])
        found = server.call("memory_search", {"query": text}, token=user.token)["results"]
        exact = np.argsort(-(user.vectors @ vector), kind="stable")[:10] + user.first + 1_000_000
        shares.append(len({hit["id"] for hit in found} & set(exact.tolist())) / 10)
    return {"mean": round(statistics.mean(shares), 4), "worst": min(shares)}


def rebuilt_under_load(server, user):
    """All vectors of a user made anew, by a provider that is faster than any model, while one client searches."""
    requests = itertools.cycle([rest(user.token, "memory_search", {"query": " ".join(query)}) for query in queries_of(user)])
    idle, _ = ask(server.port, requests, seconds=4 * SECONDS)
    bare = vectors.bare_client(server.provider_port)
    vectors.Provider.calls.clear()
    rebuild = threading.Thread(target=lambda: server.run("rebuild", "--email", user.email))
    rebuild.start()
    busy = []
    while rebuild.is_alive():
        busy += ask(server.port, requests, seconds=0.5)[0]
    return {"items_per_second": round(vectors.throughput(vectors.Provider.calls)), "bare_per_second": round(bare), "searches": len(busy),
            "idle_p50_ms": round(statistics.median(idle), 3), "idle_p95_ms": round(percentile(idle, 95), 3),
            "rebuilding_p50_ms": round(statistics.median(busy), 3), "rebuilding_p95_ms": round(percentile(busy, 95), 3)}


if __name__ == "__main__":
    main()
