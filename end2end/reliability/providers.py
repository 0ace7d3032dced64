#!/usr/bin/env python3
"""A provider that is dead, slow (30 s an answer), flapping or answering garbage, under load: adds and searches
go on, in time and without an error, and what could not be embedded meanwhile is once the provider is well.

    end2end/reliability/providers.py [--seconds 60] [--json FILE] | --short

Each state lasts so many seconds. Every query is a new one, so that no search is answered from a vector that
is known. Needs the release binary (`make build`).
"""

import argparse
import asyncio
import collections
import json
import random
import sys
import time
from pathlib import Path

from place import PASSWORD, Embedded, Server, fail, folder, percentile, sql, table
from stand_in import StandIn
from wire import Agent, Lost, Person

USERS = 4
CLIENTS = 12
PAUSE_SECONDS = 0.25
MIX = {"memory_search": 60, "memory_add": 35, "memory_get": 5}
ITEMS_AT_FIRST = 40
STATES = ("good", "dead", "slow", "flapping", "garbage")
ADD_P95_MS = 10
SEARCH_MAX_MS = 1600
# The longest that a provider is left alone without its asking is five minutes.
RECOVERY_PATIENCE_SECONDS = 400
WORDS = "amber bridge cedar delta ember fjord garden harbour island juniper kettle lantern meadow nickel orchard pepper quarry river saddle timber".split()


class Bad:
    def __init__(self):
        self.took = collections.defaultdict(list)
        self.modes = collections.Counter()
        self.reasons = collections.Counter()
        self.errors = collections.Counter()


async def client(server, user, chance, state, ends):
    agent = Agent(server.port, user["token"])
    await asyncio.sleep(chance.random() * PAUSE_SECONDS)
    while time.monotonic() < ends:
        tool = chance.choices(list(MIX), list(MIX.values()))[0]
        words = " ".join(chance.choices(WORDS, k=4))
        arguments = {
            "memory_search": {"query": f"{words} {chance.randrange(10**6)}"},
            "memory_add": {"type": "fact", "content": f"{words} {chance.randrange(10**9)}"},
            "memory_get": {"item_id": user["items"][0]},
        }[tool]
        began = time.perf_counter()
        try:
            status, answer = await agent.tool(tool, arguments)
        except Lost as lost:
            status, answer = str(lost), {}
        state.took[tool].append((time.perf_counter() - began) * 1e3)
        if status != 200:
            state.errors[f"{tool}: {status} {answer.get('code')}"] += 1
        elif tool == "memory_search":
            # Of memories that wait for their vectors `degraded` tells, too.
            state.modes["degraded" if answer["mode"] == "fts" else "whole"] += 1
            if answer["degraded"]:
                state.reasons[answer["degraded"]] += 1
            elif answer["mode"] == "fts":
                state.errors["a search by words alone does not say so"] += 1
        await asyncio.sleep(chance.expovariate(1 / PAUSE_SECONDS))


async def measure(server, postgres, stand_in, seconds):
    users = []
    for number in range(USERS):
        email = f"user{number}@example.com"
        user = {"token": server.make_user(email, "--admin"), "items": []}
        user["person"] = Person(server.port, email, PASSWORD)
        await confirm(user, stand_in)
        agent = Agent(server.port, user["token"])
        for n in range(ITEMS_AT_FIRST):
            _, answer = await agent.tool("memory_add", {"type": "fact", "content": f"{WORDS[n % len(WORDS)]} {n}"})
            user["items"].append(answer["id"])
        users.append(user)
    await until_embedded(postgres, 60)
    states = {}
    for name in STATES:
        state = states[name] = Bad()
        # Whoever saves the settings wants the endpoint asked again: each state begins with a closed breaker.
        for user in users:
            await confirm(user, stand_in)
        if name == "dead":
            await stand_in.stop()
        else:
            if stand_in.is_stopped:
                await stand_in.start()
            stand_in.behaviour = name
        ends = time.monotonic() + seconds
        await asyncio.gather(*(client(server, users[n % USERS], random.Random(f"{name}/{n}"), state, ends) for n in range(CLIENTS)))
        print(f"{name}: {sum(map(len, state.took.values()))} requests; {dict(state.reasons)}", file=sys.stderr, flush=True)
    stand_in.behaviour = "good"
    waiting = pending(postgres)
    recovered = await until_embedded(postgres, RECOVERY_PATIENCE_SECONDS)
    errors = int(sql(postgres.bin, postgres.url(), "SELECT count(*) FROM memory_embeddings WHERE state = 'error'")[0][0])
    return states, waiting, recovered, errors


async def confirm(user, stand_in):
    fields = {"action": "confirm", "own_enabled": "1", "provider_type": "openai", "url": stand_in.url, "model": "east"}
    status, _ = await user["person"].post("/settings/embeddings", fields)
    if status not in (200, 303):
        fail(f"the settings were answered with {status}")


def pending(postgres):
    return int(sql(postgres.bin, postgres.url(), "SELECT count(*) FROM memory_embeddings WHERE state = 'pending'")[0][0])


async def until_embedded(postgres, patience):
    began = time.monotonic()
    while pending(postgres):
        if time.monotonic() - began > patience:
            fail(f"{pending(postgres)} memories still wait for their vectors after {patience} s")
        await asyncio.sleep(0.3)
    return time.monotonic() - began


async def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--seconds", type=float, default=60)
    arguments.add_argument("--json")
    arguments.add_argument("--short", action="store_true", help="5 s each, and times are not judged")
    given = arguments.parse_args()
    if given.short:
        given.seconds = 5
    with folder() as home:
        stand_in = StandIn(delay_ms=5)
        await stand_in.start()
        server = Server(home)
        postgres = Embedded(server.data)
        server.start()
        await server.ready()
        try:
            states, waiting, recovered, errors = await measure(server, postgres, stand_in, given.seconds)
        finally:
            server.stop()
            await stand_in.stop()
    rows = [["provider", "adds", "add p95, ms", "searches", "search p50, ms", "search max, ms", "degraded", "errors"]]
    bad = []
    for name, state in states.items():
        adds, searches = state.took["memory_add"], state.took["memory_search"]
        rows.append([name, len(adds), f"{percentile(adds, 0.95):.1f}", len(searches), f"{percentile(searches, 0.5):.1f}",
                     f"{max(searches):.0f}", state.modes["degraded"], sum(state.errors.values())])
        bad += [f"{name}: {count} × {what}" for what, count in state.errors.items()]
        if not given.short and percentile(adds, 0.95) > ADD_P95_MS:
            bad.append(f"{name}: add p95 is over {ADD_P95_MS} ms")
        if not given.short and max(searches) > SEARCH_MAX_MS:
            bad.append(f"{name}: a search took longer than {SEARCH_MAX_MS} ms")
        if name in ("dead", "slow", "garbage") and state.modes["whole"]:
            bad.append(f"{name}: {state.modes['whole']} searches had a vector of the provider")
        if name == "good" and state.modes["degraded"]:
            bad.append(f"good: {state.modes['degraded']} searches went by words alone")
    if errors:
        bad.append(f"{errors} memories were given up, though nothing is wrong with them")
    print(table(rows))
    print(f"\nOf {waiting} memories that waited at the end all had their vectors {recovered:.0f} s after the provider was well; {errors} were given up.")
    if given.json:
        figures = [dict(zip(rows[0], row)) for row in rows[1:]]
        Path(given.json).write_text(json.dumps({"states": figures, "waited": waiting, "recovered_s": round(recovered), "given_up": errors}, indent=1))
    for sentence in bad:
        print(sentence, file=sys.stderr)
    if bad:
        fail("a provider's failure was felt")


if __name__ == "__main__":
    asyncio.run(main())
