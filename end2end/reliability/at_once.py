#!/usr/bin/env python3
"""Two servers on one PostgreSQL: 100 identical adds at once make one item; 10,000 items that a person archives in two
browsers at once, one at each server, are each archived once. (An agent may archive twenty a minute.)

    end2end/reliability/at_once.py [--items 10000] [--json FILE] | --short

Needs the release binary (`make build`).
"""

import argparse
import asyncio
import collections
import json
import time
from pathlib import Path

from place import PASSWORD, Cluster, Server, fail, folder, sql, table
from wire import Agent, Person

EMAIL = "anna@example.com"
ADDS = 100
# One user may have 36 calls under way at a server; what is past that is refused.
ADDS_AT_ONCE_A_SERVER = 32
CONNECTIONS_EACH = 8


async def in_parallel(inputs, worker):
    """All of the inputs, over a few connections; `worker` opens one, and returns what is called with each input."""
    waiting = collections.deque(inputs)
    answers = []

    async def work():
        ask = worker()
        while waiting:
            answers.append(await ask(waiting.popleft()))
    await asyncio.gather(*(work() for _ in range(CONNECTIONS_EACH)))
    return answers


def adding(port, token):
    agent = Agent(port, token)

    async def add(text):
        status, answer = await agent.tool("memory_add", {"type": "fact", "content": text})
        if status != 200:
            fail(f"memory_add answered {status}: {answer}")
        return answer["id"]
    return add


def archiving(browser):
    person = Person(browser.connection.port, EMAIL, PASSWORD)
    person.cookie = browser.cookie

    async def archive(item_id):
        status, page = await person.post(f"/memory/{item_id}", {"action": "archive"})
        if status != 303:
            fail(f"archiving answered {status}: {page[:500]}")
    return archive


async def identical_adds(servers, tokens, database):
    same = {"type": "fact", "theme": "a new theme", "content": "Anna keeps bees."}
    may_ask = [asyncio.Semaphore(ADDS_AT_ONCE_A_SERVER) for _ in servers]

    async def add(at):
        async with may_ask[at]:
            return await Agent(servers[at].port, tokens[at]).tool("memory_add", same)
    answers = await asyncio.gather(*(add(n % 2) for n in range(ADDS)))
    if any(status != 200 for status, _ in answers):
        fail(f"an add was refused: {answers}")
    items, themes, events = database("SELECT (SELECT count(*) FROM memory_items), (SELECT count(*) FROM memory_themes), (SELECT count(*) FROM memory_item_events)")[0]
    return {"identical adds at once": ADDS, "items made": int(items), "themes made": int(themes), "events": int(events),
            "answers with the same id": len(answers) if len({answer["id"] for _, answer in answers}) == 1 else 0,
            "answers that say it is new": sum(not answer["duplicate"] for _, answer in answers)}


async def archived_by_two(servers, tokens, database, items):
    texts = ([f"note {half} {n}" for n in range(items // 2)] for half in range(2))
    added = (in_parallel(half, lambda server=server, token=token: adding(server.port, token)) for half, server, token in zip(texts, servers, tokens))
    ids = [item_id for answers in await asyncio.gather(*added) for item_id in answers]
    # Each comes first at every other item.
    swapped = [each for one, other in zip(ids[::2], ids[1::2]) for each in (other, one)]
    browsers = [Person(server.port, EMAIL, PASSWORD) for server in servers]
    for browser in browsers:
        await browser.sign_in()
    began = time.monotonic()
    await asyncio.gather(*(in_parallel(order, lambda browser=browser: archiving(browser)) for browser, order in zip(browsers, (ids, swapped))))
    took = time.monotonic() - began
    events, distinct, archived = database("SELECT count(*), count(DISTINCT item_id), (SELECT count(*) FROM memory_items WHERE status = 'archived')"
                                          " FROM memory_item_events WHERE event = 'archived'")[0]
    return {"items archived in two browsers": len(ids), "forms": f"{2 * len(ids)} in {took:.1f} s", "items archived": int(archived),
            "events of it": int(events), "items with one": int(distinct)}


async def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--items", type=int, default=10_000)
    arguments.add_argument("--json")
    arguments.add_argument("--short", action="store_true", help="1,000 items")
    given = arguments.parse_args()
    if given.short:
        given.items = 1_000
    with folder() as home:
        cluster = Cluster(home)
        cluster.start()
        servers = []
        try:
            for name in ("one", "two"):
                (home / name).mkdir(mode=0o755)
                servers.append(Server(home / name, cluster.url()))
                servers[-1].start()
                await servers[-1].ready()
            tokens = [servers[0].make_user(EMAIL), servers[1].token(EMAIL, "two")]

            def database(statement):
                return sql(cluster.bin, cluster.url(), statement)
            figures = await identical_adds(servers, tokens, database)
            figures |= await archived_by_two(servers, tokens, database, given.items)
        finally:
            for server in servers:
                server.stop()
            cluster.stop()
    print(table([["", ""], *figures.items()]))
    if given.json:
        Path(given.json).write_text(json.dumps(figures, indent=1))
    ones = ("items made", "themes made", "events", "answers that say it is new")
    whole = given.items // 2 * 2
    if any(figures[each] != 1 for each in ones) or figures["answers with the same id"] != ADDS:
        fail("identical adds made more than one item")
    if any(figures[each] != whole for each in ("items archived", "events of it", "items with one")):
        fail("an item was archived twice, or not at all")


if __name__ == "__main__":
    asyncio.run(main())
