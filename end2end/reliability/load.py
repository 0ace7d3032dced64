#!/usr/bin/env python3
"""A mixed load for minutes: no errors, no deadlock that escapes, no growth of memory, and short waits.

    end2end/reliability/load.py [--minutes 10] [--clients 50] [--pause-ms 1000] [--items 300] [--json FILE] | --short

So many clients, each an agent with a token and a connection of its own, ten users' altogether: searches 70 %,
adds 20 %, reads of an item or of the themes 8 %, archives 2 %; one client in five speaks MCP, the others
REST. Each asks, waits for the answer, and pauses (exponentially distributed, as independent agents do);
--pause-ms 0 asks again at once, to see what the machine gives. The server is the release binary with what it
brings: its own PostgreSQL and the builtin model, so that vectors of queries and of memories are computed on
the same cores as all else, this driver included. Needs `make build`.
"""

import argparse
import asyncio
import collections
import contextlib
import json
import os
import random
import re
import statistics
import sys
import time
from pathlib import Path

from place import REPO, Embedded, Server, fail, family, folder, percentile, sql, table
from wire import Agent, Lost

USERS = 10
MIX = {"search": 70, "add": 20, "get": 4, "themes": 4, "archive": 2}
TOOLS = {"search": "memory_search", "add": "memory_add", "get": "memory_get", "themes": "memory_list_themes", "archive": "memory_archive"}
MCP_EVERY = 5
# A part of what is asked has been asked lately, as agents do: its vector is known.
ASKED_AGAIN = 0.2
SEARCH_P99_MS = 250
ADD_P99_MS = 100
GROWTH_KB_A_MINUTE = 1024
# The allocator's and the caches' first minutes; of a short run its first third.
SETTLED_AFTER_MINUTES = 3
EMBED_PATIENCE_SECONDS = 900


class Words:
    """Sentences in the words of tools/demo, as often as they stand there."""

    def __init__(self):
        text = " ".join(json.loads(line)["content"] for path in sorted((REPO / "tools/demo").glob("*.jsonl"))
                        for line in path.read_text().splitlines() if line.strip().startswith("{"))
        self.words = re.findall(r"[A-Za-z]{2,}", text)

    def sentence(self, chance, shortest, longest):
        """Runs of real text, joined."""
        wanted, words = chance.randint(shortest, longest), []
        while len(words) < wanted:
            start = chance.randrange(len(self.words) - 8)
            words += self.words[start:start + chance.randint(3, 8)]
        return " ".join(words[:wanted])


class Client:
    def __init__(self, load, user, number):
        self.load, self.user = load, user
        self.chance = random.Random(f"{load.seed}/{number}")
        agent = Agent(load.server.port, user.tokens[number % len(user.tokens)])
        self.tool = agent.tool_by_mcp if number % MCP_EVERY == 0 else agent.tool
        self.lately = collections.deque(maxlen=20)

    async def work(self, ends):
        operations, weights = list(MIX), list(MIX.values())
        # Not all at once.
        await asyncio.sleep(self.chance.random() * max(self.load.pause, 0.2))
        while time.monotonic() < ends:
            operation = self.chance.choices(operations, weights)[0]
            arguments = getattr(self, operation)()
            if arguments is None:
                continue
            began = time.perf_counter()
            try:
                status, answer = await self.tool(TOOLS[operation], arguments)
            except Lost as lost:
                status, answer = f"lost {lost}", {}
            self.load.note(operation, status, answer, (time.perf_counter() - began) * 1e3)
            if status == 200 and operation == "add":
                self.user.items.append(answer["id"])
            if self.load.pause:
                await asyncio.sleep(self.chance.expovariate(1 / self.load.pause))

    def search(self):
        if self.lately and self.chance.random() < ASKED_AGAIN:
            return {"query": self.chance.choice(self.lately)}
        query = self.load.words.sentence(self.chance, 2, 9)
        self.lately.append(query)
        return {"query": query}

    def add(self):
        return self.load.item(self.chance)

    def get(self):
        return {"item_id": self.chance.choice(self.user.items)}

    def themes(self):
        return {}

    def archive(self):
        if len(self.user.items) < 10:
            return None
        return {"item_id": self.user.items.pop(self.chance.randrange(len(self.user.items)))}


class User:
    def __init__(self, server, number, agents):
        email = f"user{number}@example.com"
        self.tokens = [server.make_user(email), *(server.token(email, f"agent{n}") for n in range(1, agents))]
        self.items = []


class Load:
    def __init__(self, server, given):
        self.server, self.seed, self.pause = server, given.seed, given.pause_ms / 1e3
        self.words = Words()
        self.number = 0
        self.took = collections.defaultdict(list)
        self.errors = collections.Counter()
        self.degraded = collections.Counter()
        self.resident = []

    def item(self, chance):
        self.number += 1
        return {"type": "fact", "theme": f"theme-{chance.randrange(12)}", "content": f"{self.words.sentence(chance, 6, 40)} {self.number}"}

    def note(self, operation, status, answer, took_ms):
        self.took[operation].append(took_ms)
        if status != 200:
            self.errors[f"{operation}: {status} {answer.get('code', '') or json.dumps(answer)[:200]}"] += 1
        # Of memories that wait for their vectors `degraded` tells, too.
        elif operation == "search" and answer["mode"] == "fts":
            self.degraded[answer["degraded"]] += 1

    async def fill(self, users, items):
        chance = random.Random(self.seed)

        async def of(user):
            agent = Agent(self.server.port, user.tokens[0])
            for _ in range(items):
                status, answer = await agent.tool("memory_add", self.item(chance))
                if status != 200:
                    fail(f"filling: {status} {answer}")
                user.items.append(answer["id"])
        await asyncio.gather(*(of(user) for user in users))

    async def watch(self, ends):
        began = time.monotonic()
        while time.monotonic() < ends:
            indexes = await asyncio.to_thread(self.server.gauge, "keepsake_index_bytes")
            self.resident.append(((time.monotonic() - began) / 60, self.server.resident_kb(), indexes / 1024))
            await asyncio.sleep(5)

    def growth_kb_a_minute(self, minutes):
        """Of the server's memory, and of the indexes of what is stored."""
        after = min(SETTLED_AFTER_MINUTES, minutes / 3)
        at, resident, indexes = zip(*(each for each in self.resident if each[0] >= after))
        return [statistics.linear_regression(at, kb).slope for kb in (resident, indexes)]


async def embedded(postgres):
    """Waits until every memory has its vector."""
    began = time.monotonic()
    while time.monotonic() - began < EMBED_PATIENCE_SECONDS:
        pending = int(sql(postgres.bin, postgres.url(), "SELECT count(*) FROM memory_embeddings WHERE state = 'pending'")[0][0])
        if pending == 0:
            return time.monotonic() - began
        print(f"\r{pending} memories wait for their vectors ", end="", file=sys.stderr, flush=True)
        await asyncio.sleep(1)
    fail("the builtin model did not come to an end")


def cpu_seconds(pids):
    ticks = 0
    for pid in pids:
        with contextlib.suppress(OSError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def deadlocks(postgres):
    return int(sql(postgres.bin, postgres.url(), "SELECT sum(deadlocks) FROM pg_stat_database")[0][0])


async def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--minutes", type=float, default=10)
    arguments.add_argument("--clients", type=int, default=50)
    arguments.add_argument("--pause-ms", type=float, default=1000)
    arguments.add_argument("--items", type=int, default=300, help="memories of each user before it begins")
    arguments.add_argument("--seed", type=int, default=7)
    arguments.add_argument("--json")
    arguments.add_argument("--short", action="store_true", help="20 s, and times and growth are not judged")
    given = arguments.parse_args()
    if given.short:
        given.minutes, given.items = 1 / 3, 30
    with folder() as home:
        server = Server(home, KEEPSAKE_LOG="info")
        postgres = Embedded(server.data)
        server.start()
        await server.ready()
        try:
            figures = await measure(server, postgres, given)
        finally:
            server.stop()
    print(table([["", ""], *figures["shown"].items()]))
    if given.json:
        Path(given.json).write_text(json.dumps(figures, indent=1))
    for sentence in figures["bad"]:
        print(sentence, file=sys.stderr)
    if figures["bad"]:
        fail("the load found what must not be")


async def measure(server, postgres, given):
    load = Load(server, given)
    users = [User(server, number, max(1, given.clients // USERS)) for number in range(USERS)]
    await load.fill(users, given.items)
    filled = await embedded(postgres)
    print(f"\nfilled; vectors after {filled:.0f} s more", file=sys.stderr)
    # Vacuum sees what was filled in, as it would have in a server that has lived for a while.
    await asyncio.sleep(min(20, given.minutes * 10))
    before = deadlocks(postgres)
    mother = postgres.postmaster()
    cpu = cpu_seconds([server.process.pid]), cpu_seconds(family(mother)), time.process_time()
    began = time.monotonic()
    ends = began + given.minutes * 60
    clients = [Client(load, users[number % USERS], number // USERS) for number in range(given.clients)]
    await asyncio.gather(load.watch(ends), *(client.work(ends) for client in clients))
    took = time.monotonic() - began
    spent = cpu_seconds([server.process.pid]) - cpu[0], cpu_seconds(family(mother)) - cpu[1], time.process_time() - cpu[2]
    requests = sum(len(each) for each in load.took.values())
    growth, of_indexes = load.growth_kb_a_minute(given.minutes)
    found_deadlocks = deadlocks(postgres) - before
    log = server.log.read_text()
    shown = {
        "clients, pause, minutes": f"{given.clients}, {given.pause_ms:g} ms, {given.minutes:g}",
        "memories at first": USERS * given.items,
        "requests": f"{requests}, {requests / took:.1f} a second",
        "cores used: server, PostgreSQL, driver": ", ".join(f"{seconds / took:.2f}" for seconds in spent),
    }
    for operation, each in load.took.items():
        p50, p95, p99 = (percentile(each, share) for share in (0.5, 0.95, 0.99))
        shown[f"{operation} ({len(each)}), ms"] = f"p50 {p50:.1f}, p95 {p95:.1f}, p99 {p99:.1f}, max {max(each):.0f}"
    shown |= {
        "errors": sum(load.errors.values()),
        "searches by words alone": f"{sum(load.degraded.values())} of {len(load.took['search'])}",
        "deadlocks in PostgreSQL": found_deadlocks,
        "server's memory, MB": f"{load.resident[0][1] / 1024:.0f} at first, {load.resident[-1][1] / 1024:.0f} at last, at most {max(each[1] for each in load.resident) / 1024:.0f}",
        "growth of it, MB a minute": f"{growth / 1024:.2f}, of which the indexes {of_indexes / 1024:.2f}",
        "memories that wait for vectors at the end": sql(postgres.bin, postgres.url(), "SELECT count(*) FROM memory_embeddings WHERE state = 'pending'")[0][0],
    }
    bad = [f"{count} × {what}" for what, count in load.errors.items()]
    bad += [line for line in log.splitlines() if "panicked" in line or "deadlock" in line]
    if not given.short and percentile(load.took["search"], 0.99) > SEARCH_P99_MS:
        bad.append(f"search p99 is over {SEARCH_P99_MS} ms")
    if not given.short and percentile(load.took["add"], 0.99) > ADD_P99_MS:
        bad.append(f"add p99 is over {ADD_P99_MS} ms")
    # A minute says nothing about growth.
    if given.minutes >= 2 * SETTLED_AFTER_MINUTES and growth > GROWTH_KB_A_MINUTE:
        bad.append("the server's memory grows")
    for reason, count in load.degraded.items():
        print(f"{count} × {reason}", file=sys.stderr)
    return {"shown": shown, "bad": bad, "resident_kb": load.resident}


if __name__ == "__main__":
    asyncio.run(main())
