#!/usr/bin/env python3
"""Six users, five of them hostile, one after the other, beside a neighbour who adds and searches all the time and must
not notice: a body that is held back while its sender loses their rights, searches that read every text,
sessions full of tool calls, a provider that answers 31 MiB of zeros, what is left of an erased admin, and of what a person has
deleted wherever it stood.

    end2end/reliability/hostile.py [--seconds 20] [--json FILE] | --short

Each of them goes on for so many seconds. Needs the release binary (`make build`).
"""

import argparse
import asyncio
import json
import re
import sys
import time
from pathlib import Path
from urllib.parse import urlencode

from place import PASSWORD, Embedded, Server, fail, folder, percentile, sql, table
from stand_in import StandIn
from wire import Agent, Lost, Person

NEIGHBOUR_MAX_MS = 3_000
GROWTH_MIB_MAX = 200
PAUSE_SECONDS = 0.05
LONG_TEXT = "a" * 20_000
LONG_TEXTS, LONG_TEXTS_SHORT = 600, 100
BOMBS_AT_ONCE = 16
MESSAGES_A_REQUEST, CALLS_A_MESSAGE = 400, 64
ZEROS_MIB = 31


class Neighbour:
    """Adds and searches; keeps how long each took, and what was not a 200."""

    def __init__(self, server, token):
        self.agent = Agent(server.port, token)
        self.took, self.wrong = [], []
        self.number = 0

    async def once(self):
        self.number += 1
        calls = (("memory_add", {"type": "fact", "content": f"note {self.number}"}), ("memory_search", {"query": f"note {self.number}"}))
        for tool, arguments in calls:
            began = time.perf_counter()
            try:
                status, answer = await self.agent.tool(tool, arguments)
            except Lost as lost:
                status, answer = str(lost), {}
            self.took.append((time.perf_counter() - began) * 1e3)
            if status != 200:
                self.wrong.append(f"{tool}: {status} {answer.get('code')}")
        await asyncio.sleep(PAUSE_SECONDS)

    async def beside(self, hostile):
        """What the hostile one came to, and how the neighbour fared meanwhile."""
        self.took, self.wrong = [], []
        task = asyncio.ensure_future(hostile)
        while not task.done():
            await self.once()
        found = task.result()
        p95, most = percentile(self.took, 0.95), max(self.took)
        print(f"neighbour: {len(self.took)} calls, p95 {p95:.0f} ms, the longest {most:.0f} ms, {len(self.wrong)} failed", file=sys.stderr, flush=True)
        return {**found, "neighbour's calls": len(self.took), "failed": len(self.wrong), "p95 ms": round(p95, 1), "longest ms": round(most)}


async def held_body(server, database, seconds):
    """An admin's form without its last byte; then the admin is disabled; then the last byte."""
    server.make_user("mallory@example.com", "--admin")
    mallory = Person(server.port, "mallory@example.com", PASSWORD)
    await mallory.sign_in()
    ben, = (row[0] for row in database("SELECT id FROM users WHERE email = 'neighbour@example.com'"))
    body = urlencode({"action": "promote"}).encode()
    head = (f"POST /admin/users/{ben} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nCookie: {mallory.cookie}\r\nSec-Fetch-Site: same-origin\r\n"
            f"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {len(body)}\r\n\r\n").encode()
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(head + body[:-1])
    await writer.drain()
    await asyncio.sleep(1)
    await asyncio.to_thread(server.run, "user", "disable", "--email", "mallory@example.com")
    writer.write(body[-1:])
    status = int((await reader.readline()).split()[1])
    writer.close()
    role = database(f"SELECT role FROM users WHERE id = {ben}")[0][0]
    if role != "member" or status < 400:
        fail(f"a form of somebody disabled was answered with {status}, and the neighbour is {role}")
    # Bodies that never end, as many as connections may be open of one user.
    held = [await asyncio.open_connection("127.0.0.1", server.port) for _ in range(100)]
    for _, one in held:
        one.write(b"POST /api/v1/tools/memory_add HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer x\r\nContent-Length: 100\r\n\r\n{")
    await asyncio.sleep(min(seconds, 10))
    for _, one in held:
        one.close()
    return {"what": "held body", "result": f"answered {status}; nobody promoted"}


async def like_bomb(server, database, seconds, texts):
    """Searches for what no index helps with, in parallel and hung up on."""
    token = server.make_user("mallory2@example.com")
    agent = Agent(server.port, token)
    for n in range(texts):
        status, answer = await agent.tool("memory_add", {"type": "fact", "content": f"{n} {LONG_TEXT[:19_990]}"})
        if status != 200:
            fail(f"the long texts were not taken: {status} {answer}")
    query = {"query": "a" * 1_999 + "b"}
    ends, seen = time.monotonic() + seconds, {}

    async def search():
        while time.monotonic() < ends:
            try:
                async with asyncio.timeout(8):
                    status, _ = await Agent(server.port, token).tool("memory_search", query)
            except (Lost, TimeoutError):
                status = "hung up"
            seen[status] = seen.get(status, 0) + 1
            await asyncio.sleep(0.01)
    await asyncio.gather(*(search() for _ in range(BOMBS_AT_ONCE)))
    # Nothing of it runs on in the database.
    running = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'keepsake_app' AND state = 'active' AND now() - query_start > interval '7 s'"
    if int(database(running)[0][0]):
        fail("a search runs on in the database although it is over")
    return {"what": "searches of every text", "result": ", ".join(f"{status}: {count}" for status, count in sorted(seen.items(), key=str))}


async def call_bomb(server, database, seconds):
    """Sessions of as many tool calls without arguments as a request takes, each message of a tool about the last."""
    token = server.make_user("mallory3@example.com")
    agent = Agent(server.port, token)
    seen, number, ends = {}, 0, time.monotonic() + seconds
    while time.monotonic() < ends:
        number += 1
        messages = []
        for n in range(MESSAGES_A_REQUEST // 2):
            calls = [{"id": f"{n}-{call}", "name": "look", "arguments": ""} for call in range(CALLS_A_MESSAGE)]
            messages.append({"id": f"m{n}", "role": "assistant", "content": "", "tool_calls": calls})
            messages.append({"id": f"t{n}", "role": "tool", "content": "x", "tool_call_id": f"{n}-{CALLS_A_MESSAGE - 1}"})
        path = f"/api/v1/sessions/bomb-{number}"
        status, _, body = await agent.connection.send("POST", f"{path}/messages", json.dumps({"messages": messages}).encode(), agent.headers)
        seen[status] = seen.get(status, 0) + 1
        if status != 200:
            fail(f"the bomb was answered with {status}: {body.decode()}")
        await agent.connection.send("POST", f"{path}/complete", b"{}", agent.headers)
        await Agent(server.port, token).connection.send("GET", f"{path}/messages", headers=agent.headers)
    return {"what": "tool calls without arguments", "result": f"{seen[200]} sessions of {MESSAGES_A_REQUEST // 2 * CALLS_A_MESSAGE} calls"}


async def zeros(server, database, seconds):
    """An endpoint of one's own that answers each call with as many zeros as it is let."""
    token = server.make_user("mallory4@example.com", "--admin")
    stand_in = StandIn()
    await stand_in.start()
    person, agent = Person(server.port, "mallory4@example.com", PASSWORD), Agent(server.port, token)
    fields = {"action": "confirm", "own_enabled": "1", "provider_type": "openai", "url": stand_in.url, "model": "east"}
    status, _ = await person.post("/settings/embeddings", fields)
    if status not in (200, 303):
        fail(f"the settings were answered with {status}")
    stand_in.behaviour = "zeros"
    before = most = server.resident_kb()
    ends, number = time.monotonic() + seconds, 0
    while time.monotonic() < ends:
        number += 1
        await agent.tool("memory_add", {"type": "fact", "content": f"zero {number}"})
        await agent.tool("memory_search", {"query": f"zero {number}"})
        most = max(most, server.resident_kb())
        await asyncio.sleep(0.1)
    calls = stand_in.calls
    await stand_in.stop()
    growth = (most - before) / 1024
    if growth > GROWTH_MIB_MAX:
        fail(f"answers of zeros took {growth:.0f} MiB of memory")
    return {"what": f"{ZEROS_MIB} MiB of zeros", "result": f"{calls} answers; memory grew by {growth:.0f} MiB"}


async def residue(server, database, seconds):
    """An admin with keys, links and a token of an operator is erased: nothing of theirs opens anything."""
    email = "mallory5@example.com"
    token = server.make_user(email, "--admin")
    person = Person(server.port, email, PASSWORD)
    status, page = await person.post("/admin/invitations", {"email": "", "role": "admin"})
    link = re.search(rb"/invitation/[A-Za-z0-9_-]+", page)
    if status != 200 or not link:
        fail(f"no invitation was made: {status}")
    key = "sk-mallorys-key-5a1f"
    await person.post("/settings/embeddings", {"action": "save", "own_enabled": "1", "provider_type": "openai", "url": "http://127.0.0.1:9/v1", "model": "m", "key": key})
    status, _ = await person.post("/data/erase", {"email": email, "password": PASSWORD})
    if status != 303:
        fail(f"the erasure was answered with {status}")
    ends = time.monotonic() + 60
    while int(database(f"SELECT count(*) FROM users WHERE email = '{email}'")[0][0]):
        if time.monotonic() > ends:
            fail("the account is not erased after a minute")
        await asyncio.sleep(0.2)
    opened, _, page = await person.connection.send("GET", link.group().decode())
    if b'name="password"' in page:
        fail("the invitation of an erased admin is open")
    refused, _ = await Agent(server.port, token).tool("memory_search", {"query": "x"})
    return {"what": "an erased admin", "result": f"invitation {opened} and closed, token {refused}"}


async def leftovers(server, database, seconds):
    """What a person deletes wherever it stands is in no column of any table, though their agent was told it and says it again."""
    email, word = "mallory6@example.com", "zaunkoenig4711"
    agent = Agent(server.port, server.make_user(email))
    person = Person(server.port, email, PASSWORD)
    await person.sign_in()
    await agent.tool("memory_add", {"type": "fact", "content": f"The {word} nests in the hedge of the old school."})
    await agent.tool("memory_files", {"command": "create", "path": "/memories/birds.md", "file_text": f"- {word}\n"})
    _, found = await agent.tool("memory_search", {"query": f"Where does the {word} nest?"})
    _, recalled = await agent.tool("memory_recall", {"message": f"Where does the {word} nest?", "session": "birds"})
    if word not in str(found) or word not in str(recalled):
        fail(f"the bird was not told: {found} {recalled}")
    call = {"id": "c", "name": "mcp__keepsake__memory_search", "arguments": json.dumps({"query": word})}
    said = ({"role": "user", "content": f"Where does it nest? {recalled['section']}"}, {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c", "content": json.dumps(found)}, {"role": "assistant", "content": f"The {word} nests in the hedge."})
    body = json.dumps({"messages": [{"id": str(n), **message} for n, message in enumerate(said)]}).encode()
    for door, sent in (("messages", body), ("complete", b"{}")):
        await agent.connection.send("POST", f"/api/v1/sessions/birds/{door}", sent, agent.headers)
    kept = database(f"SELECT count(*) FROM session_messages WHERE role IN ('user', 'tool') AND content ILIKE '%{word}%'")[0][0]
    if int(kept):
        fail(f"{kept} messages keep what Keepsake itself told")
    ends = time.monotonic() + 60
    while not int(database("SELECT count(*) FROM episodes e JOIN users u ON u.id = e.user_id WHERE u.email = '" + email + "'")[0][0]):
        if time.monotonic() > ends:
            fail("the conversation is not read after a minute")
        await asyncio.sleep(0.5)
    headers = (("Cookie", person.cookie),)
    _, _, body = await person.connection.send("GET", f"/data/about.json?words={word}", headers=headers)
    places = json.loads(body)["found"]
    whole = " ".join(f"{kind}:{len(rows)}" for kind, rows in places.items())
    status, page = await person.post("/data/about", {"action": "delete", "words": word, "whole": whole})
    if status != 303:
        fail(f"the deletion was answered with {status}: {page.decode()}")
    ends = time.monotonic() + 60
    while int(database("SELECT count(*) FROM deletions")[0][0]):
        if time.monotonic() > ends:
            fail("it is not deleted after a minute")
        await asyncio.sleep(0.5)
    columns = database("SELECT c.oid::regclass, quote_ident(a.attname) FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 "
                       "AND NOT a.attisdropped WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace")
    searches = (f"SELECT '{one}.{column}' WHERE EXISTS (SELECT FROM {one} WHERE {column}::text ILIKE '%{word}%')" for one, column in columns)
    # In a thread: the neighbour's calls are timed meanwhile.
    left = [name for [name] in await asyncio.to_thread(database, " UNION ALL ".join(searches))]
    if left:
        fail(f"what was deleted stands in {', '.join(left)}")
    return {"what": "what was deleted", "result": f"of {sum(map(len, places.values()))} places in none of {len(columns)} columns"}


async def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--seconds", type=float, default=20)
    arguments.add_argument("--json")
    arguments.add_argument("--short", action="store_true", help="5 seconds each, times not judged")
    given = arguments.parse_args()
    if given.short:
        given.seconds = 5
    texts = LONG_TEXTS_SHORT if given.short else LONG_TEXTS
    with folder() as home:
        server = Server(home)
        postgres = Embedded(server.data)
        server.start()
        try:
            await server.ready()

            def database(statement):
                return sql(postgres.bin, postgres.url(), statement)
            server.make_user("root@example.com", "--admin")
            neighbour = Neighbour(server, server.make_user("neighbour@example.com"))
            idle = await neighbour.beside(asyncio.sleep(given.seconds, {"what": "nobody", "result": ""}))
            rows = [idle]
            for hostile in (held_body(server, database, given.seconds), like_bomb(server, database, given.seconds, texts),
                            call_bomb(server, database, given.seconds), zeros(server, database, given.seconds), residue(server, database, given.seconds),
                            leftovers(server, database, given.seconds)):
                rows.append(await neighbour.beside(hostile))
                print(rows[-1], file=sys.stderr, flush=True)
        finally:
            server.stop()
            postgres.stop()
    print(table([list(rows[0]), *(list(row.values()) for row in rows)]))
    if given.json:
        Path(given.json).write_text(json.dumps(rows, indent=1))
    if any(row["failed"] for row in rows):
        fail(f"the neighbour's calls failed: {neighbour.wrong}")
    if not given.short and any(row["longest ms"] > NEIGHBOUR_MAX_MS for row in rows):
        fail(f"a call of the neighbour took longer than {NEIGHBOUR_MAX_MS} ms")


if __name__ == "__main__":
    asyncio.run(main())
