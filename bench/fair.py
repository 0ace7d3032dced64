#!/usr/bin/env python3
"""How long a newcomer's memories wait for their vectors while others have much to do: twenty users'
sessions of 300 long messages each wait for the builtin model, then somebody new adds 10 memories, and
then 401 more.

Run as `python3 tools/with_postgres.py python3 bench/fair.py` after `make build`; some two minutes, since
what the twenty wait for is not waited for.
"""
import http.client
import json
import os
import random
import time

from locomo_sessions import new_user
from results import REPO, record
from run import common_words, item, keepsake
from sql import sql

USERS = int(os.environ.get("USERS", "20"))
MESSAGES = 300
FEW, MANY = 10, 401
MESSAGE_CHARS = 950
PATIENCE_SECONDS = 600


def main():
    random.seed(7)
    with keepsake(KEEPSAKE_DATA_DIR=str(REPO / "data")) as server:
        for n in range(USERS):
            hand_over(server.port, new_user(server, f"user{n}@example.com"))
        wait_until(lambda: pending() >= USERS * MESSAGES * 0.9)
        waiting = pending()
        few = ready_after(server, range(FEW))
        many = ready_after(server, range(FEW, FEW + MANY))
        left = pending()
    print(f"{waiting} texts of {USERS} users waited: a newcomer's {FEW} memories had their vectors after {few:.1f} s, "
          f"{MANY} more after {many:.1f} s; then {left} of the others' still waited")
    record("fair", {"users": USERS, "messages_a_user": MESSAGES, "waiting": waiting, "left": left,
                    "few": FEW, "few_seconds": round(few, 2), "many": MANY, "many_seconds": round(many, 2)})


def hand_over(port, token):
    """One session of long messages, completed."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    messages = [{"id": str(n), "role": "user", "content": " ".join(common_words(200))[:MESSAGE_CHARS]} for n in range(MESSAGES)]
    for door, body in [*(("messages", {"messages": messages[at:at + 50]}) for at in range(0, MESSAGES, 50)), ("complete", {})]:
        connection.request("POST", f"/api/v1/sessions/long/{door}", json.dumps(body), headers)
        response = connection.getresponse()
        answer = response.read()
        assert response.status == 200, answer


def ready_after(server, numbers):
    """Seconds from the first of these adds until the newcomer's vectors are all ready."""
    began = time.perf_counter()
    for n in numbers:
        server.call("memory_add", item(n))
    wait_until(lambda: server.call("memory_stats", {})["vectors"]["pending"] == 0)
    return time.perf_counter() - began


def pending():
    return int(sql("SELECT count(*) FROM memory_embeddings WHERE state = 'pending'"))


def wait_until(is_so):
    began = time.perf_counter()
    while not is_so():
        assert time.perf_counter() - began < PATIENCE_SECONDS, f"{pending()} texts wait"
        time.sleep(0.1)


if __name__ == "__main__":
    main()
