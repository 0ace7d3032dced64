#!/usr/bin/env python3
"""Keeps data of this version for the tests of later ones: what two users have, made through the API and backed up
into src/tests/reliability/released/VERSION.tar, and their tokens beside it. Part of making a release
(CONTRIBUTING.md). Needs the release binary (`make build`).
"""

import asyncio
import json
import sys
from pathlib import Path

REPO = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(REPO / "tools"), str(REPO / "end2end/reliability")]

from common import fail, say  # noqa: E402
from dist import version  # noqa: E402
from load import embedded  # noqa: E402
from place import PASSWORD, Embedded, Server, folder  # noqa: E402
from wire import Agent, Person  # noqa: E402

ANNA = (
    {"type": "preference", "theme": "home", "source": "user_explicit", "content": "Anna drinks green tea in the morning."},
    {"type": "fact", "theme": "home", "key": "residence", "valid_from": "2024-05-01", "content": "Anna lives in Graz."},
    {"type": "fact", "theme": "home", "key": "residence", "valid_from": "2026-02-01", "content": "Anna lives in Linz."},
    {"type": "fact", "theme": "work", "tags": ["atlas"], "content": "Anna works with Jonas Weber on the project Atlas."},
    {"type": "instruction", "theme": "work", "content": "Write Anna's code comments in English."},
    {"type": "fact", "theme": "hills", "source": "web", "content": "The cable car on the Dachstein runs from May to October."},
    {"type": "fact", "theme": "hills", "expires_in_days": 365, "content": "We hiked up the Schafberg last Sunday and saw two marmots."},
    {"type": "fact", "theme": "hills", "content": "The hut on the Traunstein was closed."},
)
TALK = (
    ("user", "Jonas and I will present Atlas in Vienna on the third of December."),
    ("assistant", "Noted. Shall I look for a train?"),
    ("user", "Yes, one that leaves after nine. And remind me to bring the model of the bridge."),
)
NOTES = ("# Bridge\n\nThe model is of ash.\n", "# Bridge\n\nThe model is of ash, in a scale of one to fifty.\n")
BEN = "Ben keeps three beehives behind the barn."


async def call(agent, name, arguments):
    return answered(*await agent.tool(name, arguments))


async def send(agent, method, path, body):
    status, _, answer = await agent.connection.send(method, path, json.dumps(body).encode(), agent.headers)
    return answered(status, json.loads(answer or b"{}"))


def answered(status, answer):
    if status >= 300:
        fail(f"{status}: {answer}")
    return answer


async def fill(server):
    """Returns a token of each user."""
    tokens = {"anna": server.make_user("anna@example.com", "--admin"), "ben": server.make_user("ben@example.com")}
    anna, ben = (Agent(server.port, token) for token in tokens.values())
    ids = [(await call(anna, "memory_add", memory))["id"] for memory in ANNA]
    await call(anna, "memory_confirm", {"item_id": ids[0]})
    await call(anna, "memory_archive", {"item_id": ids[-1]})
    for text in NOTES:
        await send(anna, "PUT", "/api/v1/documents/notes/bridge.md", {"content": text})
    messages = [{"id": str(n), "role": role, "content": text} for n, (role, text) in enumerate(TALK)]
    await send(anna, "POST", "/api/v1/sessions/vienna/messages", {"messages": messages})
    await send(anna, "POST", "/api/v1/sessions/vienna/complete", {"summary": "Anna and Jonas present Atlas in Vienna."})
    await call(anna, "memory_search", {"query": "Where does Anna live?"})
    await call(ben, "memory_add", {"type": "fact", "content": BEN})
    page = Person(server.port, "anna@example.com", PASSWORD)
    await page.post("/account/time-zone", {"time_zone": "Europe/Vienna"})
    return tokens


async def main():
    kept = REPO / f"src/tests/reliability/released/{version()}.tar"
    if kept.exists():
        fail(f"{kept} is there: a version is kept once")
    with folder() as home:
        server = Server(home)
        server.start()
        try:
            await server.ready()
            tokens = await fill(server)
            await embedded(Embedded(server.data))
            await asyncio.sleep(5)  # the record of the calls is written, the last jobs are done
            server.run("backup", str(kept))
            kept.with_suffix(".json").write_text(json.dumps(tokens, indent=2) + "\n")
        finally:
            server.stop()
    say(f"{kept}: {kept.stat().st_size // 1000} kB")


if __name__ == "__main__":
    asyncio.run(main())
