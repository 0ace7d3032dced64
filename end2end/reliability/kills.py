#!/usr/bin/env python3
"""`kill -9` of the server, of PostgreSQL, and of both, at moments that chance chooses, under a mixed load:
what was acknowledged is there, nothing stays stuck, no search mixes vectors of two models.

    end2end/reliability/kills.py [--server 50] [--postgres 20] [--both 20] [--seed S] [--json FILE] | --short

Half of the kills meet a server with the PostgreSQL of its own data folder, half one with a separate
PostgreSQL. The clients go on asking through every kill, keep a ledger of what was acknowledged, and after
each restart it is held against the database. Needs the release binary (`make build`).
"""

import argparse
import asyncio
import collections
import contextlib
import json
import random
import sys
import time

from ledger import ACTIVE, ARCHIVED, ERASED, Ledger
from place import PASSWORD, Cluster, Embedded, Server, fail, family, folder, kill_hard, percentile, sql, table
from stand_in import MODELS, StandIn, cosine, nearest_mistake, vector_of
from wire import Agent, Lost, Person

USERS = 3
CLIENTS_A_USER = 3
ITEMS_AT_FIRST = 120  # a user's: a rebuild takes a few seconds, so that kills meet one
STAND_IN_DELAY_MS = 60
PAUSE_AFTER_ERROR_SECONDS = 0.05
LOAD_SECONDS = (0.3, 2.5)  # from ready to the kill
STUCK_AFTER_SECONDS = 60
# An agent may change twenty memories a minute; how late a call counts, nobody knows whom a kill cut off.
CHANGES_AT_ONCE, CHANGES_COUNTED_SECONDS = 20, 75
# What halves and their rounding may differ in; two models differ by far more, which is checked.
DISTANCE_SLACK = 0.02
WORDS = [f"{a}{b}" for a in ("ba", "co", "di", "fu", "ge", "lo", "mi", "pa") for b in ("ker", "lan", "mor", "nit", "pol", "ras")]


class Client:
    """One of a user's agents: asks for one thing after another, whatever becomes of the server."""

    def __init__(self, series, user, number):
        self.series, self.user = series, user
        self.agent = Agent(series.server.port, user.token)
        self.chance = random.Random(f"{series.seed}/{user.email}/{number}")
        self.retry = []

    async def keep_asking(self):
        operations, weights = zip(*((operation, weight) for operation, weight in OPERATIONS))
        while True:
            if self.retry and self.chance.random() < 0.5:
                operation, arguments = Client.add, (self.retry.pop(),)
            else:
                operation, arguments = self.chance.choices(operations, weights)[0], ()
            try:
                await operation(self, *arguments)
            except Lost:
                self.series.counts["unanswered"] += 1
                await asyncio.sleep(PAUSE_AFTER_ERROR_SECONDS)

    async def ask(self, tool, arguments):
        """The answer; a refusal that says the database is away counts as none."""
        status, answer = await self.agent.tool(tool, arguments)
        self.series.saw(tool, status)
        if status != 200:
            self.refused(tool, status, answer)
        return answer

    def refused(self, what, status, answer=()):
        """Only that the database is away may be said."""
        if status != 503:
            self.series.wrong.append(f"{what} answered {status} {dict(answer).get('code', '')}")
        raise Lost(f"{what} answered {status}")

    def words(self, count):
        return " ".join(self.chance.choices(WORDS, k=count))

    async def add(self, text=None):
        if text is None:
            self.user.number += 1
            text = f"note{self.user.number} {self.words(self.chance.randint(3, 12))}"
        self.user.ledger.unanswered.add(text)
        try:
            arguments = {"type": "fact", "content": text, "theme": f"theme-{len(text) % 5}"}
            answer = await self.ask("memory_add", arguments)
        except Lost:
            self.retry.append(text)
            raise
        self.user.ledger.added(answer["id"], text)

    async def search(self):
        query = self.words(2)
        answer = await self.ask("memory_search", {"query": query, "limit": 20, "explain": True, "status": "any"})
        self.series.modes[answer["mode"]] += 1
        for hit in answer["results"]:
            distance = hit["explain"]["distance"]
            if distance is None:
                continue
            self.series.distances += 1
            # Short enough that the snippet is all of it.
            expected = 1 - cosine(query, hit["content_snippet"])
            if abs(distance - expected) > DISTANCE_SLACK:
                self.series.mixed += 1
                self.series.wrong.append(f"a distance of {distance:.3f} where one model gives {expected:.3f}")

    async def archive(self):
        """As often as an agent may, by the agent, else by its owner."""
        async def ask(item_id):
            now = time.monotonic()
            self.user.archived_at = [at for at in self.user.archived_at if at > now - CHANGES_COUNTED_SECONDS]
            if len(self.user.archived_at) >= CHANGES_AT_ONCE:
                return await self.by_its_owner("archive", f"/memory/{item_id}", {"action": "archive"})
            self.user.archived_at.append(now)
            await self.ask("memory_archive", {"item_id": item_id})
        await self.change(ARCHIVED, ask)

    async def erase(self):
        """By its owner. It goes ten seconds after the answer: until the end of the series it may be there."""
        async def ask(item_id):
            await self.by_its_owner("erase", "/data/delete", {"action": "delete", "item": str(item_id)})
            self.user.deletions.add(item_id)
        await self.change(ERASED, ask, is_done=False)

    async def by_its_owner(self, what, path, fields):
        async with self.user.at_the_page:
            status, _ = await self.user.person.post(path, fields)
        self.series.saw(what, status)
        if status != 303:
            self.refused(what, status)

    async def change(self, status, ask, is_done=True):
        active = self.user.ledger.certain(ACTIVE)
        if len(active) < ITEMS_AT_FIRST // 2:
            return await self.add()
        item_id = self.chance.choice(active)
        self.user.ledger.begins(item_id, status)
        await ask(item_id)
        if is_done:
            self.user.ledger.done(item_id, status)

    async def get(self):
        if not self.user.ledger.items:
            return
        item_id = self.chance.choice(list(self.user.ledger.items))
        if ERASED in self.user.ledger.status[item_id]:
            return
        status, answer = await self.agent.tool("memory_get", {"item_id": item_id})
        self.series.saw("memory_get", status)
        if status == 404 and ERASED in self.user.ledger.status[item_id]:
            return
        if status != 200:
            self.refused("memory_get", status, answer)
        if answer["content"] != self.user.ledger.items[item_id]:
            self.series.wrong.append("memory_get answered another text")

    async def rebuild(self):
        """Confirms the model that comes next, while the one before may still be building."""
        async with self.user.at_the_page:
            await self.user.confirm(self.series)


# What the clients do, and how often.
OPERATIONS = [
    (Client.add, 45),
    (Client.search, 30),
    (Client.archive, 10),
    (Client.erase, 5),
    (Client.get, 5),
    (Client.rebuild, 1),
]


class User:
    def __init__(self, server, number):
        self.email = f"user{number}@example.com"
        # An admin's endpoint may be on loopback.
        self.token = server.make_user(self.email, "--admin")
        self.id = None
        self.person = Person(server.port, self.email, PASSWORD)
        self.ledger = Ledger()
        self.deletions = set()  # acknowledged
        self.archived_at = []
        self.at_the_page = asyncio.Lock()
        self.model = -1
        self.number = 0

    async def confirm(self, series):
        self.model += 1
        model = MODELS[self.model % len(MODELS)]
        self.ledger.models = self.ledger.models | {model}
        fields = {"action": "confirm", "own_enabled": "1", "provider_type": "openai", "url": series.stand_in.url, "model": model, "batch_size": "8"}
        status, page = await self.person.post("/settings/embeddings", fields)
        series.saw("rebuild", status)
        if status not in (200, 303):
            if status != 503:
                series.wrong.append(f"confirming a model answered {status}")
            raise Lost(f"confirming answered {status}")
        self.ledger.models = {model}


class Series:
    """The kills of one place."""

    def __init__(self, name, postgres, server, stand_in, seed):
        self.name, self.postgres, self.server, self.stand_in, self.seed = name, postgres, server, stand_in, seed
        self.chance = random.Random(f"{seed}/{name}")
        self.counts = collections.Counter()
        self.statuses = collections.Counter()
        self.modes = collections.Counter()
        self.mixed = self.distances = 0
        self.wrong, self.lost = [], []
        self.kills = collections.Counter()
        self.ready_seconds = collections.defaultdict(list)
        self.met_rebuild = 0
        self.settled_seconds = []
        self.stuck = 0

    def saw(self, what, status):
        self.statuses[(what, status)] += 1

    def sql(self, statement):
        return sql(self.postgres.bin, self.postgres.url(), statement)

    async def run(self, plan):
        self.postgres.start()
        self.server.start()
        await self.server.ready()
        self.users = [User(self.server, number) for number in range(USERS)]
        for user in self.users:
            user.id = int(self.sql(f"SELECT id FROM users WHERE email = '{user.email}'")[0][0])
            await user.confirm(self)
        await asyncio.gather(*(self.fill(user) for user in self.users))
        clients = [Client(self, user, number) for user in self.users for number in range(CLIENTS_A_USER)]
        asking = [asyncio.create_task(client.keep_asking()) for client in clients]
        try:
            for number, what in enumerate(plan, 1):
                await asyncio.sleep(self.chance.uniform(*LOAD_SECONDS))
                await self.kill(what)
                # A moment in which those who were cut off have noticed, and their ledgers stand still.
                self.check(clients, asking)
                print(f"{self.name}: {number} of {len(plan)}, {what}: ready after {self.ready_seconds[what][-1]:.2f} s, "
                      f"{sum(len(user.ledger.items) for user in self.users)} items, lost {len(self.lost)}", file=sys.stderr, flush=True)
                if self.lost:
                    break
        finally:
            for task in asking:
                task.cancel()
            ended = await asyncio.gather(*asking, return_exceptions=True)
        for error in ended:
            if not isinstance(error, asyncio.CancelledError):
                raise error
        await self.settle()
        self.check(clients, asking)
        self.check_vectors()
        self.server.stop()
        self.postgres.stop()

    async def fill(self, user):
        first = Client(self, user, "first")
        for _ in range(ITEMS_AT_FIRST):
            await first.add()

    async def kill(self, what):
        self.kills[what] += 1
        if self.sql("SELECT 1 FROM embedding_spaces WHERE state = 'building' LIMIT 1"):
            self.met_rebuild += 1
        postmaster = self.postgres.postmaster()
        began = time.monotonic()
        if what != "postgres":
            self.server.process.kill()
        if what != "server" and postmaster:
            way = self.chance.choice(("postmaster", "all", "all")) if what == "both" else self.chance.choice(("postmaster", "all", "one backend"))
            processes = family(postmaster)
            if way == "one backend" and len(processes) > 1:
                kill_hard([self.chance.choice(processes[1:])])
            else:
                kill_hard(processes[:1] if way == "postmaster" else processes)
                await asyncio.to_thread(self.postgres.ended)
                await asyncio.to_thread(self.postgres.start)
            self.kills[f"{what}: {way}"] += 1
        if what != "postgres":
            self.server.process.wait()
            self.server.start()
        else:
            # Until it is noticed, /readyz may still be answered by what is left of it.
            await asyncio.sleep(0.05)
        await self.server.ready()
        self.ready_seconds[what].append(time.monotonic() - began)

    def rows(self, user):
        rows = self.sql(f"SELECT id, status, content FROM memory_items WHERE user_id = {user.id}")
        return {int(item_id): (content, status) for item_id, status, content in rows}

    def check(self, clients, asking):
        """Nothing else runs meanwhile in this process; what the server finishes meanwhile was asked for before, so
        that a ledger allows it."""
        for task in asking:
            if task.done() and not task.cancelled():
                task.result()
        for user in self.users:
            self.lost.extend(user.ledger.lost(self.rows(user)))
        wrong = self.sql("SELECT count(*) FROM memory_items i WHERE 1 <> (SELECT count(*) FROM memory_item_events e WHERE e.user_id = i.user_id AND e.item_id = i.id AND event = 'added')"
                         " OR (CASE status WHEN 'archived' THEN 1 ELSE 0 END) <> (SELECT count(*) FROM memory_item_events e WHERE e.user_id = i.user_id AND e.item_id = i.id AND event = 'archived')")
        if wrong[0][0] != "0":
            self.lost.append(f"{wrong[0][0]} items whose events do not tell what happened to them")

    async def settle(self):
        """Waits until nothing is pending any more: what was left behind by the last restart goes on by itself."""
        began = time.monotonic()
        while True:
            stuck = int(self.sql("SELECT (SELECT count(*) FROM memory_items i WHERE NOT EXISTS (SELECT FROM memory_embeddings e JOIN embedding_spaces s ON s.user_id = e.user_id AND s.id = e.space_id"
                                 " WHERE e.user_id = i.user_id AND e.source_id = i.id AND s.state = 'active' AND e.state = 'ready'))"
                                 " + (SELECT count(*) FROM memory_embeddings e JOIN embedding_spaces s ON s.user_id = e.user_id AND s.id = e.space_id WHERE s.state = 'building')"
                                 " + (SELECT count(*) FROM embedding_spaces WHERE state = 'building')"
                                 " + (SELECT count(*) FROM memory_items WHERE delete_at IS NOT NULL)")[0][0])
            took = time.monotonic() - began
            if stuck == 0 or took > STUCK_AFTER_SECONDS:
                break
            await asyncio.sleep(0.2)
        self.stuck += stuck
        self.settled_seconds.append(took)
        for user in self.users:
            for item_id in user.deletions:
                user.ledger.done(item_id, ERASED)
            model = self.sql(f"SELECT model FROM embedding_spaces WHERE user_id = {user.id} AND state = 'active'")[0][0]
            if model not in user.ledger.models:
                self.lost.append(f"{model} is in force where {' or '.join(user.ledger.models)} was confirmed")

    def check_vectors(self):
        """Every vector must be what the model of its space makes of its item's text."""
        rows = self.sql("SELECT s.model, i.content, (subvector(e.embedding::vector, 1, 96))::text FROM memory_embeddings e"
                        " JOIN embedding_spaces s ON s.user_id = e.user_id AND s.id = e.space_id JOIN memory_items i ON i.user_id = e.user_id AND i.id = e.source_id WHERE e.state = 'ready'")
        for model, content, kept in rows:
            kept = json.loads(kept)
            expected = vector_of(model, content)
            expected += [0.0] * (len(kept) - len(expected))
            if any(abs(a - b) > 0.002 for a, b in zip(kept, expected)):
                self.mixed += 1
                self.wrong.append(f"a vector in the space of {model} is not {model}'s")
        self.counts["vectors looked at"] = len(rows)

    def figures(self):
        return {
            "place": self.name,
            "kills": dict(self.kills),
            "kills that met a rebuild": self.met_rebuild,
            "items acknowledged": sum(len(user.ledger.items) for user in self.users),
            "archived, acknowledged": sum(len(user.ledger.certain(ARCHIVED)) for user in self.users),
            "erased, acknowledged": sum(len(user.ledger.certain(ERASED)) for user in self.users),
            "rebuilds confirmed": self.statuses[("rebuild", 303)],
            "searches": sum(self.modes.values()),
            "search modes": dict(self.modes),
            "requests without an answer or 503": self.counts["unanswered"],
            "acknowledged writes lost": len(self.lost),
            "items stuck after 60 s": self.stuck,
            "settled after s": round(max(self.settled_seconds), 1),
            "searches that mix spaces": self.mixed,
            "distances looked at": self.distances,
            "vectors looked at": self.counts["vectors looked at"],
            "ready again s, p50": {what: round(percentile(took, 0.5), 2) for what, took in self.ready_seconds.items()},
            "ready again s, max": {what: round(max(took), 2) for what, took in self.ready_seconds.items()},
            "other answers": len([w for w in self.wrong if "answered" in w]),
        }


def plan_of(asked, chance):
    plan = [what for what, count in asked.items() for _ in range(count)]
    chance.shuffle(plan)
    return plan[: len(plan) // 2], plan[len(plan) // 2:]


async def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for what, count in (("server", 50), ("postgres", 20), ("both", 20)):
        arguments.add_argument(f"--{what}", type=int, default=count)
    arguments.add_argument("--seed", type=int, default=random.randrange(2**31))
    arguments.add_argument("--json")
    arguments.add_argument("--short", action="store_true", help="4, 2 and 2 of them")
    given = arguments.parse_args()
    if given.short:
        given.server, given.postgres, given.both = 4, 2, 2
    print(f"--seed {given.seed}", file=sys.stderr)
    asked = {"server": given.server, "postgres": given.postgres, "both": given.both}
    if nearest_mistake(WORDS) < 5 * DISTANCE_SLACK:
        fail("two models lie so near each other that a search which mixes them would not be seen")
    plans = plan_of(asked, random.Random(given.seed))
    done = []
    began = time.monotonic()
    for name, plan in zip(("embedded", "separate"), plans):
        with folder() as home:
            stand_in = StandIn(STAND_IN_DELAY_MS)
            await stand_in.start()
            cluster = Cluster(home) if name == "separate" else None
            server = Server(home, cluster and cluster.url("postgres"))
            series = Series(name, cluster or Embedded(server.data), server, stand_in, given.seed)
            try:
                await series.run(plan)
                log = server.log.read_text()
                series.wrong += [line for line in log.splitlines() if "panicked" in line]
            finally:
                if sys.exc_info()[0] and cluster:
                    print(cluster.log.read_text()[-3000:], file=sys.stderr)
                if server.process and server.process.poll() is None:
                    server.kill()
                with contextlib.suppress(Exception):
                    series.postgres.stop()
                await stand_in.stop()
            done.append(series)
    figures = [series.figures() for series in done]
    print(table([["", *(series.name for series in done)], *([key, *(shown(each[key]) for each in figures)] for key in figures[0] if key != "place")]))
    print(f"\n{time.monotonic() - began:.0f} s; again with --seed {given.seed}")
    if given.json:
        with open(given.json, "w") as file:
            json.dump({"seed": given.seed, "series": figures}, file, indent=1)
    bad = [(series.name, sentence) for series in done for sentence in [*series.lost, *series.wrong]]
    for name, sentence in bad[:20]:
        print(f"{name}: {sentence}", file=sys.stderr)
    if bad or any(series.stuck for series in done):
        fail("the kill series found what must not be")


def shown(value):
    return ", ".join(f"{key} {number}" for key, number in sorted(value.items())) if isinstance(value, dict) else value


if __name__ == "__main__":
    asyncio.run(main())
