#!/usr/bin/env python3
"""Many sessions that complete at once: the queue drains, each ends in the ledger, no fact is there twice and
none is missing, searches meanwhile are nearly as fast as before, and messages come in as fast as ever. The
same with `kill -9` of the server in the middle.

    end2end/reliability/sessions.py [--sessions 200] [--users 20] [--messages 12] [--kills 5] [--json FILE] | --short

The chat model is a stand-in on loopback that answers after 300 ms, with two facts that only this session has
and one that all sessions of its user have. Vectors come from the builtin model. Needs the release binary (`make build`).
"""

import argparse
import asyncio
import collections
import json
import random
import re
import sys
import time
from pathlib import Path

from place import PASSWORD, Embedded, Server, fail, folder, percentile, sql, table
from stand_in import response
from wire import Agent, Connection, Lost, Person

ANSWER_MS = 300
SEARCHERS = 4
SEARCH_PAUSE_SECONDS = 0.05
ITEMS_AT_FIRST = 40
POST_P95_MS = 10
SEARCH_RATIO_MAX = 2.0
DRAIN_PATIENCE_SECONDS = 300
IDLE_SECONDS = 6
POSTS_MEASURED = 400
WORDS = "amber bridge cedar delta ember fjord garden harbour island juniper kettle lantern meadow nickel orchard pepper quarry river saddle timber".split()
# So far apart in their words that no two facts pass for one.
KINDS = ("keeps a jar labelled", "plays the tune called")


class Model:
    """Chat in OpenAI's form. Facts depend on the conversation alone, so that reading it twice says the same."""

    def __init__(self):
        self.asked = collections.Counter()
        self.server = None

    async def start(self):
        self.server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self.server.sockets[0].getsockname()[1]

    async def _serve(self, reader, writer):
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
                length = head.partition("content-length:")[2].split("\r\n")[0].strip()
                body = await reader.readexactly(int(length or 0))
                await asyncio.sleep(ANSWER_MS / 1e3)
                writer.write(response(self._answer(body)))
                await writer.drain()
        except (OSError, EOFError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    def _answer(self, body):
        told = json.loads(body)["messages"][-1]["content"]
        pairs = told.count("<pair ")
        if pairs:
            self.asked["comparisons"] += 1
            content = {"relations": ["unrelated"] * pairs}
        else:
            self.asked["readings"] += 1
            # Each session names itself in its first message.
            name = re.search(r"session (\w+) of (\w+)", told)
            facts = [fact(f"{kind} {name[1]}", f"{name[2]} {kind} {name[1]}") for kind in KINDS]
            content = {"facts": [*facts, fact("home", f"{name[2]} lives by the harbour")]}
        usage = {"prompt_tokens": len(told) // 4, "completion_tokens": 60}
        return json.dumps({"model": "scripted", "choices": [{"message": {"role": "assistant", "content": json.dumps(content)}, "finish_reason": "stop"}], "usage": usage}).encode()


def fact(key, value):
    return {"category": "profile", "key": key, "value": value, "source": "conversation", "source_context": ""}


class User:
    def __init__(self, server, number, model):
        self.name = f"user{number}"
        self.token = server.make_user(f"{self.name}@example.com", "--admin")
        self.person = Person(server.port, f"{self.name}@example.com", PASSWORD)
        self.connection = Connection(server.port)
        self.headers = (("Authorization", f"Bearer {self.token}"), ("Content-Type", "application/json"))
        self.model = model
        self.sessions = []

    async def settle(self):
        fields = {"action": "save", "own_enabled": "1", "provider_type": "openai", "url": f"http://127.0.0.1:{self.model.port}", "model": "scripted"}
        status, page = await self.person.post("/settings/chat", fields)
        if status not in (200, 303):
            fail(f"the chat settings were answered with {status}")
        agent = Agent(self.connection.port, self.token)
        for n in range(ITEMS_AT_FIRST):
            status, answer = await agent.tool("memory_add", {"type": "fact", "content": f"{WORDS[n % len(WORDS)]} {WORDS[n * 7 % len(WORDS)]} {n}"})
            if status != 200:
                fail(f"filling: {status} {answer}")

    async def post(self, path, body):
        return await self.connection.send("POST", f"/api/v1/sessions/{path}", json.dumps(body).encode(), self.headers)

    async def hand_over(self, session, count, took):
        """A message a request, as they are said."""
        self.sessions.append(session)
        for n in range(count):
            if n == 0:
                content = f"This is session {session} of {self.name}."
            else:
                content = f"{n}. " + " ".join(random.Random(f"{session}/{n}").choices(WORDS, k=40))
            message = {"id": f"m{n}", "role": ("user", "assistant")[n % 2], "content": content}
            began = time.perf_counter()
            status, _, body = await self.post(f"{session}/messages", {"messages": [message]})
            took.append((time.perf_counter() - began) * 1e3)
            if status != 200:
                fail(f"a message was answered with {status}: {body[:300]!r}")

    async def complete(self, session):
        """Says so until it is answered: a server that was killed may have done it."""
        while True:
            try:
                status, _, body = await self.post(f"{session}/complete", {})
            except Lost:
                status = 503
            if status == 200:
                return
            if status != 503:
                fail(f"completing was answered with {status}: {body[:300]!r}")
            await asyncio.sleep(0.1)


async def search(server, user, chance, took, errors, ends):
    agent = Agent(server.port, user.token)
    while not ends.is_set():
        began = time.perf_counter()
        status, answer = await agent.tool("memory_search", {"query": " ".join(chance.choices(WORDS, k=4))})
        took.append((time.perf_counter() - began) * 1e3)
        if status != 200:
            errors[f"search: {status} {answer.get('code')}"] += 1
        await asyncio.sleep(chance.expovariate(1 / SEARCH_PAUSE_SECONDS))


async def searching(server, users, name, during):
    """How long searches take while `during` goes on."""
    took, errors, ends = [], collections.Counter(), asyncio.Event()
    searchers = [asyncio.create_task(search(server, users[n % len(users)], random.Random(f"{name}/{n}"), took, errors, ends)) for n in range(SEARCHERS)]
    result = await during
    ends.set()
    await asyncio.gather(*searchers)
    return took, errors, result


class Series:
    def __init__(self, server, postgres, model, given):
        self.server, self.postgres, self.model, self.given = server, postgres, model, given
        self.bad = []

    def sql(self, statement):
        return sql(self.postgres.bin, self.postgres.url(), statement)

    def number(self, statement):
        return int(self.sql(statement)[0][0])

    async def run(self):
        users = [User(self.server, number, self.model) for number in range(self.given.users)]
        for user in users:
            await user.settle()
        await self.embedded()
        shown = await self.hot_path(users)
        idle, busy, drained = [], [], []
        rounds = 2
        errors = collections.Counter()
        for number in range(rounds):
            took, wrong, _ = await searching(self.server, users, f"idle{number}", asyncio.sleep(self.given.idle_seconds))
            idle += took
            errors += wrong
            sessions = await self.hand_over(users, f"r{number}", self.given.sessions)
            took, wrong, seconds = await searching(self.server, users, f"busy{number}", self.drain(sessions))
            busy += took
            errors += wrong
            drained.append(seconds)
            await self.embedded()
        self.check(users)
        ratio = percentile(busy, 0.95) / percentile(idle, 0.95)
        shown |= {
            "sessions completed at once; messages each": f"{rounds} × {self.given.sessions}; {self.given.messages}",
            "drained after": ", ".join(f"{seconds:.1f} s" for seconds in drained),
            "a session on average, with a model of 300 ms": f"{sum(drained) * 1e3 / rounds / self.given.sessions:.0f} ms",
            "search idle, ms": f"p50 {percentile(idle, 0.5):.1f}, p95 {percentile(idle, 0.95):.1f} ({len(idle)})",
            "search meanwhile, ms": f"p50 {percentile(busy, 0.5):.1f}, p95 {percentile(busy, 0.95):.1f} ({len(busy)})",
            "ratio of p95": f"{ratio:.2f}",
            "questions to the model": ", ".join(f"{what} {count}" for what, count in sorted(self.model.asked.items())),
        }
        self.bad += [f"{count} × {what}" for what, count in errors.items()]
        if not self.given.short and ratio > SEARCH_RATIO_MAX:
            self.bad.append(f"search p95 grew {ratio:.2f} times, over {SEARCH_RATIO_MAX:g}")
        if self.given.kills:
            shown |= await self.killed(users)
        return shown

    async def hot_path(self, users):
        """Messages of open sessions: no model is called."""
        took, before = [], self.model.asked.total()
        each = max(1, self.given.posts // len(users))
        for user in users:
            await user.hand_over(f"{user.name}open", each, took)
        if self.model.asked.total() != before:
            self.bad.append("a model was asked while messages came in")
        p50, p95 = percentile(took, 0.5), percentile(took, 0.95)
        if not self.given.short and p95 > POST_P95_MS:
            self.bad.append(f"a message took {p95:.1f} ms (p95), over {POST_P95_MS}")
        for user in users:
            await user.complete(user.sessions[-1])
        await self.drained(len(users))
        return {f"messages handed over ({len(took)}), ms": f"p50 {p50:.1f}, p95 {p95:.1f}, max {max(took):.0f}"}

    async def hand_over(self, users, name, count):
        """Sessions that are open: user and name."""
        sessions = [(users[n % len(users)], f"{name}x{n}") for n in range(count)]
        took = []
        # An agent that goes on in another session completes those that are still, and none is.
        await asyncio.gather(*(self.of_user(user, [s for u, s in sessions if u is user], took) for user in users))
        return sessions

    async def of_user(self, user, sessions, took):
        for session in sessions:
            await user.hand_over(session, self.given.messages, took)

    async def drain(self, sessions):
        """Completes them at once, and waits until the ledger has an end for each."""
        began = time.monotonic()

        async def of(user):
            for session in [s for u, s in sessions if u is user]:
                await user.complete(session)
        await asyncio.gather(*(of(user) for user in {user for user, _ in sessions}))
        await self.drained(len(sessions))
        return time.monotonic() - began

    async def drained(self, count):
        began = time.monotonic()
        while left := self.left():
            if time.monotonic() - began > DRAIN_PATIENCE_SECONDS:
                fail(f"{left} of {count} sessions are not read after {DRAIN_PATIENCE_SECONDS} s")
            await asyncio.sleep(0.25)

    def left(self):
        return self.number("SELECT count(*) FROM session_extractions WHERE outcome = 'pending' OR next_try_at IS NOT NULL")

    async def embedded(self):
        began = time.monotonic()
        while self.number("SELECT count(*) FROM memory_embeddings WHERE state = 'pending'"):
            if time.monotonic() - began > DRAIN_PATIENCE_SECONDS:
                fail("the builtin model did not come to an end")
            await asyncio.sleep(0.2)

    async def killed(self, users):
        """`kill -9` of the server while it reads. Leases run out as they do, or in a short run at once."""
        chance = random.Random(self.given.seed)
        sessions = await self.hand_over(users, "kx", max(2 * self.given.users, self.given.sessions // 4))
        for user, session in sessions:
            await user.complete(session)
        began, met = time.monotonic(), 0
        for _ in range(self.given.kills):
            started = self.sql("SELECT now()")[0][0]
            being_read = f"SELECT count(*) FROM session_extractions WHERE reading_since > '{started}'"
            while not self.number(being_read):
                if not self.left():
                    fail("all sessions were read before the server was killed often enough: give more")
                await asyncio.sleep(0.02)
            await asyncio.sleep(chance.uniform(0, 0.6))
            met += self.number(being_read)
            self.server.kill()
            self.server.start()
            await self.server.ready()
            if self.given.short:
                self.sql("UPDATE job_queue SET lease_until = now(), run_at = now() WHERE lease_until IS NOT NULL")
        await self.drained(len(sessions))
        self.check(users)
        return {"kills of the server; readings that they cut off": f"{self.given.kills}; {met}",
                "sessions meanwhile; drained after": f"{len(sessions)}; {time.monotonic() - began:.1f} s"}

    def check(self, users):
        """Every session has its row, every fact is there once."""
        outcomes = dict(self.sql("SELECT outcome, count(*) FROM session_extractions GROUP BY 1"))
        expected = sum(len(user.sessions) for user in users)
        if outcomes != {"stored": str(expected)}:
            self.bad.append(f"of {expected} sessions the ledger says {outcomes}")
        rows = collections.Counter(content for content, in self.sql("SELECT content FROM memory_items WHERE status = 'active' AND session_id IS NOT NULL"))
        wanted = {f"{user.name} {kind} {session}" for user in users for session in user.sessions for kind in KINDS}
        wanted |= {f"{user.name} lives by the harbour" for user in users}
        lost, twice = wanted - rows.keys(), [content for content, count in rows.items() if count > 1]
        if lost:
            self.bad.append(f"{len(lost)} facts are missing, among them {sorted(lost)[:3]}")
        if twice:
            self.bad.append(f"{len(twice)} facts are there twice")
        if rows.keys() - wanted:
            self.bad.append(f"{len(rows.keys() - wanted)} facts that nobody told")
        stray = self.number("SELECT count(*) FROM memory_items WHERE session_id IS NOT NULL AND status = 'archived'")
        if stray:
            self.bad.append(f"{stray} facts were archived, though nothing contradicts them")


async def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--sessions", type=int, default=200, help="that complete at once, twice")
    arguments.add_argument("--users", type=int, default=20)
    arguments.add_argument("--messages", type=int, default=12)
    arguments.add_argument("--kills", type=int, default=5)
    arguments.add_argument("--seed", type=int, default=7)
    arguments.add_argument("--json")
    arguments.add_argument("--short", action="store_true", help="12 sessions of 6 users, 2 kills, and times are not judged")
    given = arguments.parse_args()
    given.idle_seconds, given.posts = IDLE_SECONDS, POSTS_MEASURED
    if given.short:
        given.sessions, given.users, given.kills, given.idle_seconds, given.posts = 12, 6, 2, 1, 60
    with folder() as home:
        model = Model()
        await model.start()
        server = Server(home)
        server.start()
        await server.ready()
        series = Series(server, Embedded(server.data), model, given)
        try:
            shown = await series.run()
            series.bad += [line for line in server.log.read_text().splitlines() if "panicked" in line or "fell over" in line]
        finally:
            server.stop()
    print(table([["", ""], *shown.items()]))
    if given.json:
        Path(given.json).write_text(json.dumps({"shown": shown, "bad": series.bad}, indent=1))
    for sentence in series.bad:
        print(sentence, file=sys.stderr)
    if series.bad:
        fail("the sessions found what must not be")


if __name__ == "__main__":
    asyncio.run(main())
