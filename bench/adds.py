#!/usr/bin/env python3
"""The floor of an add: `memory_add` over HTTP beside the statements that it sends, prepared, in pgbench: the user's
revision, the question whether the token holds, then the item with its passage, its event, its pending vector and the record of the call, and the push to
the queue, in one transaction an add. In turn, at 1 and 8 clients, three rounds. The server writes together what comes together from one
user, so that at 8 clients it may pass this floor.

    python3 tools/with_postgres.py python3 bench/adds.py

In these rounds the provider is dead, so that nothing else runs: its vectors wait. Then it comes, works off
what waits, and the server alone is asked once more while vectors are made. fsync is off on both sides.
Needs `make build`. SECONDS_A_TURN is a setting.
"""
import base64
import datetime
import json
import os
import random
import re
import time

from clients import ask, in_turn, rest
from pgbench import pgbench
from results import Progress, record
from run import REPO, common_words, free_port, item, keepsake
from sql import sql
from vectors import start_provider

SECONDS = float(os.environ.get("SECONDS_A_TURN", "4"))
CLIENTS = (1, 8)
ROUNDS = 3
SCRIPTS = 50
FIRST_ITEMS = 1_000
STATEMENTS = {"add": ("src/core/memories/write/store.rs", "insert"), "push": ("src/core/queue/store.rs", "push")}


def main():
    random.seed(7)
    # As src/core/db/actor.rs begins a write on behalf of a token.
    first = [*source_of("src/core/db/store.rs", "raising_revision").replace("{id}", "1").split(";"), "SELECT require_token(1, 1, now())", "SELECT require_team_writes()"]
    progress = Progress([("adding the first items", FIRST_ITEMS / 300)] + [(f"adding, clients: {clients}", 2 * SECONDS) for _ in range(ROUNDS) for clients in CLIENTS]
                        + [("adding while vectors are made", SECONDS)] * (ROUNDS * len(CLIENTS)))
    provider_port = free_port()
    with keepsake(KEEPSAKE_LLAMACPP_URL=f"http://127.0.0.1:{provider_port}") as server:
        progress.step()
        for n in range(FIRST_ITEMS):
            server.call("memory_add", item(n))
        time.sleep(1)  # the first job has made the space
        doors = {"floor": lambda clients: pgbench(";\n".join(f"PREPARE {name} AS {source_of(*where)}" for name, where in STATEMENTS.items()),
                                                  [statements() for _ in range(SCRIPTS)], clients, int(SECONDS) or 1, first),
                 "HTTP": lambda clients: ask(server.port, requests(server), clients, SECONDS)}
        provider_dead = in_turn(doors, CLIENTS, ROUNDS, progress)
        start_provider(provider_port)
        vectors_made = in_turn({"HTTP": doors["HTTP"]}, CLIENTS, ROUNDS, progress)
        still_waiting = int(sql("SELECT count(*) FROM memory_embeddings WHERE state = 'pending'"))
        record("adds", {"in_turn": provider_dead, "while_vectors_are_made": vectors_made, "still_waiting": still_waiting})
    progress.end()


def source_of(path, function):
    """The SQL in a function of src/: its first string that begins as a statement does."""
    body = (REPO / path).read_text().split(f"fn {function}(")[1]
    statement = re.search(r'r#"((?:WITH|INSERT|SELECT) .*?)"#|"((?:WITH|INSERT|SELECT) [^"]*)"', body, re.DOTALL)
    return re.sub(r'AS "(\w+)[!?]"', r"AS x_\1", statement[1] or statement[2])


def words(unique):
    return [unique, *common_words(random.randrange(10, 40))]


def requests(server):
    """Made before the clock runs: each once, of a text of its own."""
    return iter([rest(server.token, "memory_add", {"type": "fact", "theme": f"theme-{random.randrange(20)}",
                                                   "content": " ".join(words(f"r{random.getrandbits(60)}"))}) for _ in range(int(SECONDS * 4_000))])


def statements():
    """The transaction of an add; pgbench writes another number for `:n` each time."""
    some = words("p:n")
    content = " ".join(some)
    now = datetime.datetime.now(datetime.timezone.utc).isoformat()
    passage = {"n": 0, "start": 0, "length": len(content), "hash": base64.b64encode(random.randbytes(16)).decode(),
               "terms": base64.b64encode(random.randbytes(5 * len(set(some)))).decode()}
    source = {"n": 0, "slug": f"theme-{random.randrange(20)}", "agent_id": 1, "type": "fact", "content": content, "content_hash": "HASH", "tags": [],
              "status": "active", "source": "agent", "trust": "agent", "confidence": 70, "protected": False, "locked": False, "is_uncompared": True, "created_at": now, "updated_at": now,
              "passages": [passage], "events": [{"agent_id": 1, "event": "added", "at": now}],
              "call": {"at": now, "tool": "memory_add", "duration_us": 900}}
    return [f"EXECUTE add (1, replace($q${json.dumps([source])}$q$, 'HASH', encode(sha256(':n'), 'base64')), now(), 'ok')", "EXECUTE push (1, 'embed', 30, now())"]


if __name__ == "__main__":
    main()
