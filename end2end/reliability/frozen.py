#!/usr/bin/env python3
"""PostgreSQL is stopped (SIGSTOP, the postmaster and every backend), not gone: each request of each door has an answer within
eight seconds, 503 and one sentence; the guidance says that the tools are unavailable; when it goes on, so does everything, and
what was acknowledged is there once.

    end2end/reliability/frozen.py [--rounds 6] [--json FILE] | --short

Half of the rounds stop a PostgreSQL of its own, half the server's. Requests are under way when it stops, and sent after it.
An export that has begun goes on. Needs the release binary (`make build`).
"""

import argparse
import asyncio
import collections
import contextlib
import json
import os
import random
import signal
import time
from pathlib import Path

from place import PASSWORD, Cluster, Embedded, Server, fail, family, folder, sql, table
from wire import Agent, Connection, Lost, Person

ANSWER_MAX_SECONDS = 8
FROZEN_SECONDS = 14
BUSY_AGENTS = 6
# Past 36 of one user, 429 is the answer.
AT_ONCE = 10
MEMORIES = 150
THAWED_SECONDS = 20
UNAVAILABLE = b"Memory tools unavailable"
JSON = ("Content-Type", "application/json")


class Seen:
    def __init__(self):
        self.took = []
        self.statuses = collections.Counter()
        self.wrong = []
        self.acknowledged = []


def doors(token):
    """Method, path, body, headers, and what is expected while PostgreSQL is stopped."""
    by_token = (("Authorization", f"Bearer {token}"), JSON, ("Accept", "application/json, text/event-stream"))

    def tool(name, **arguments):
        return "POST", f"/api/v1/tools/{name}", arguments, by_token, 503

    def rpc(method, expected, **params):
        return "POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}, by_token, expected
    return [
        tool("memory_search", query="bees"), tool("memory_get", item_id=1), tool("memory_list_themes"), tool("memory_stats"),
        tool("memory_files", command="view", path="/memories"), tool("memory", action="list"), tool("search", query="bees"),
        ("POST", "/api/v1/recall", {"message": "Who keeps bees?"}, by_token, 503),
        ("POST", "/api/v1/sessions/s/messages", {"messages": [{"id": "1", "role": "user", "content": "Hello there."}]}, by_token, 503),
        ("POST", "/api/v1/sessions/s/flush", {}, by_token, 503),
        ("PUT", "/api/v1/documents/a.md", {"content": "x"}, by_token, 503),
        ("GET", "/api/v1/documents", None, by_token, 503), ("GET", "/api/v1/changes", None, by_token, 503),
        ("GET", "/api/v1/summary", None, by_token, 503), ("GET", "/api/v1/tools", None, by_token, 503),
        ("GET", "/api/v1/prompt", None, by_token, 200), ("GET", "/api/v1/prompt?with=memory_file", None, by_token, 200),
        rpc("tools/list", 200), rpc("tools/call", 503, name="memory_search", arguments={"query": "bees"}),
        ("POST", "/oauth/register", {"redirect_uris": ["http://127.0.0.1:1/"]}, (JSON,), 503),
        ("GET", "/livez", None, (), 200), ("GET", "/readyz", None, (), 503), ("GET", "/metrics", None, (), 200),
        ("GET", "/.well-known/oauth-authorization-server", None, (), 200),
    ]


async def send(port, method, path, body, headers):
    content = b"" if body is None else json.dumps(body).encode()
    connection = Connection(port)
    try:
        return await connection.send(method, path, content, headers)
    finally:
        connection.close()


async def ask(server, seen, method, path, body, headers, expected):
    """One request while PostgreSQL is stopped."""
    began = time.monotonic()
    try:
        status, _, content = await send(server.port, method, path, body, headers)
    except Lost as lost:
        status, content = str(lost), b""
    seen.took.append(time.monotonic() - began)
    seen.statuses[status] += 1
    # Of a tool, MCP's own answer.
    is_tool_error = path == "/mcp" and b'"isError":true' in content and b"The database" in content
    # The list of the tools needs the database for the token alone, and may do without.
    is_list = path == "/mcp" and body["method"] == "tools/list" and status in (200, 503)
    is_right = is_tool_error or is_list or status == expected and (status != 503 or len(content) > 20)
    if path.startswith("/api/v1/prompt"):
        is_right = is_right and content.startswith(UNAVAILABLE)
    if not is_right:
        seen.wrong.append(f"{method} {path}: {status} {content[:200]!r}")


async def busy(server, seen, token, number, ends):
    """Adds and searches all the time; how long each took that began or ended while PostgreSQL was stopped."""
    agent, n = Agent(server.port, token), 0
    while not ends.is_set():
        n += 1
        key = f"agent {number} fact {n} {random.random()}"
        began = time.monotonic()
        try:
            if n % 2:
                status, answer = await agent.tool("memory_add", {"type": "fact", "content": key, "key": key})
                if status == 200:
                    seen.acknowledged.append((answer["id"], key))
            else:
                status, answer = await agent.tool("memory_search", {"query": key})
        except Lost as lost:
            status, answer = str(lost), {}
        seen.took.append(time.monotonic() - began)
        seen.statuses[status] += 1
        if status not in (200, 503):
            seen.wrong.append(f"busy: {status} {answer}")
        await asyncio.sleep(0.05 if status == 200 else 0.5)


async def begun_export(server, person):
    """Reads the head of the export and a little of it."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port, limit=1 << 16)
    writer.write(f"GET /data/export HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nCookie: {person.cookie}\r\n\r\n".encode())
    head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 20)
    if b" 200 " not in head.split(b"\r\n")[0]:
        fail(f"the export began with {head[:200]!r}")
    return reader, writer


async def round_of(server, postmaster, token, person, token_of_other):
    seen, ends = Seen(), asyncio.Event()
    working = [asyncio.create_task(busy(server, seen, token if n % 2 else token_of_other, n, ends)) for n in range(BUSY_AGENTS)]
    await asyncio.sleep(1)
    reader, writer = await begun_export(server, person)
    frozen = []
    try:
        # The one that would start others is first.
        os.kill(postmaster(), signal.SIGSTOP)
        frozen = family(postmaster())
        for pid in frozen:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)
        began = time.monotonic()
        adds = [("POST", "/api/v1/tools/memory_add", {"type": "fact", "content": f"at once {n}"}, doors(token)[0][3], 503) for n in range(AT_ONCE)]
        browsing = (("Cookie", person.cookie), ("Sec-Fetch-Site", "same-origin"))
        pages = [("GET", path, None, browsing, 503) for path in ("/memory", "/agents", "/data", "/entities")]
        at_first = [ask(server, seen, *door) for door in [*doors(token), *pages, *adds]]
        await asyncio.gather(*at_first)
        # Those that come later; of clients to register, one network may send thirty, then ten a minute.
        later = [door for door in [*doors(token_of_other), *pages] if door[1] != "/oauth/register"]
        while time.monotonic() - began < FROZEN_SECONDS:
            await asyncio.gather(*(ask(server, seen, *door) for door in later))
            await asyncio.sleep(0.5)
    finally:
        for pid in reversed(frozen):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
    thawed = time.monotonic()
    await server.ready()
    # All of it, and its last line.
    rest = await asyncio.wait_for(read_all(reader), 60)
    writer.close()
    ends.set()
    await asyncio.gather(*working)
    while time.monotonic() - thawed < THAWED_SECONDS:
        answers = [await send(server.port, *door[:4]) for door in doors(token)]
        if all(status < 500 for status, _, _ in answers):
            break
        await asyncio.sleep(0.2)
    else:
        fail(f"{THAWED_SECONDS} s after PostgreSQL went on: {[status for status, _, _ in answers]}")
    if b'"signature":' not in rest:
        seen.wrong.append(f"the export ended with {rest[-200:]!r}")
    return seen, time.monotonic() - thawed


async def read_all(reader):
    """The chunks of a body to their end."""
    rest = b""
    while not rest.endswith(b"\r\n0\r\n\r\n"):
        more = await reader.read(1 << 16)
        if not more:
            fail("the export was cut")
        rest = (rest + more)[-(1 << 16):]
    return rest


async def measure(home, is_embedded, rounds, answer_max):
    home.mkdir(mode=0o755)
    cluster = None if is_embedded else Cluster(home)
    if cluster:
        cluster.start()
    server = Server(home, cluster and cluster.url())
    postgres = cluster or Embedded(server.data)
    server.start()
    try:
        await server.ready()
        token, other = server.make_user("anna@example.com"), server.make_user("ben@example.com")
        person = Person(server.port, "anna@example.com", PASSWORD)
        await person.sign_in()
        agent = Agent(server.port, token)
        for n in range(MEMORIES):
            await agent.tool("memory_add", {"type": "fact", "content": f"Anna keeps bees in hive {n}. " + "They hum. " * 1_800})
        all_seen, thaws = Seen(), []
        for _ in range(rounds):
            seen, thaw = await round_of(server, postgres.postmaster, token, person, other)
            thaws.append(thaw)
            all_seen.took += seen.took
            all_seen.statuses += seen.statuses
            all_seen.wrong += seen.wrong
            all_seen.acknowledged += seen.acknowledged

        def database(statement):
            return sql(postgres.bin, postgres.url(), statement)
        kept = {int(number): key for number, key in database("SELECT id, coalesce(key, '') FROM memory_items")}
        lost = [number for number, _ in all_seen.acknowledged if number not in kept]
        twice = database("SELECT user_id, key FROM memory_items WHERE status = 'active' AND key IS NOT NULL GROUP BY 1, 2 HAVING count(*) > 1")
        for _ in range(100):
            open_ones = int(database("SELECT count(*) FROM pg_stat_activity WHERE state LIKE 'idle in transaction%'")[0][0])
            if not open_ones:
                break
            await asyncio.sleep(0.1)
        connections = int(database("SELECT count(*) FROM pg_stat_activity WHERE usename IS NOT NULL AND pid <> pg_backend_pid()")[0][0])
    finally:
        server.stop()
        postgres.stop()
    if all_seen.wrong:
        fail(f"{len(all_seen.wrong)} answers were wrong, such as {all_seen.wrong[:5]}")
    if lost or twice or open_ones:
        fail(f"acknowledged and gone: {lost}; twice: {twice}; transactions left open: {open_ones}")
    if max(all_seen.took) > answer_max:
        fail(f"an answer took {max(all_seen.took):.1f} s")
    return {"requests": len(all_seen.took), "longest, s": round(max(all_seen.took), 1),
            "answered 200, 503": f"{all_seen.statuses[200]}, {all_seen.statuses[503]}",
            "all doors serve after, s": round(max(thaws), 1), "acknowledged; lost": f"{len(all_seen.acknowledged)}; {len(lost)}",
            "connections afterwards": connections, "left open": open_ones}


async def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--rounds", type=int, default=6)
    arguments.add_argument("--json")
    arguments.add_argument("--short", action="store_true", help="one round each, time not judged")
    given = arguments.parse_args()
    rounds = 1 if given.short else max(1, given.rounds // 2)
    answer_max = 30 if given.short else ANSWER_MAX_SECONDS
    with folder() as home:
        own = await measure(home / "separate-place", False, rounds, answer_max)
        embedded = await measure(home / "embedded-place", True, rounds, answer_max)
    print(table([["", "separate PostgreSQL", "built-in PostgreSQL"], *([name, own[name], embedded[name]] for name in own)]))
    if given.json:
        Path(given.json).write_text(json.dumps({"separate": own, "embedded": embedded}, indent=1))


if __name__ == "__main__":
    asyncio.run(main())
