#!/usr/bin/env python3
"""A backup restored into fresh clusters: the same number of rows in every table, the same answers to 100 searches,
the tokens and passwords of before, and no web session of before.

    end2end/reliability/recovery.py [--items 300] [--json FILE] | --short

Fills a server, backs it up while it runs (`keepsake backup`), and restores it twice (`keepsake restore`): into
another data folder, and into a separate PostgreSQL. A second backup is made by a role that is no superuser. The secret key
goes with the backup, since it is signed. Needs the release binary (`make build`).
"""

import argparse
import asyncio
import json
import random
import subprocess
import time
from pathlib import Path
from urllib.parse import quote

from place import PASSWORD, Cluster, Embedded, Server, fail, folder, sql, table
from load import Words, embedded
from wire import Agent, Person

USERS = 3
SEARCHES = 100
WARM_UP_SECONDS = 30
# Sums of the same numbers in another order.
SCORE_SLACK = 1e-4
COUNTS = """SELECT string_agg(format('SELECT %L, count(*) FROM %I.%I', n.nspname || '.' || c.relname, n.nspname, c.relname), ' UNION ALL ' ORDER BY 1)
            FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
            WHERE n.nspname = 'public' AND c.relkind IN ('r', 'p')"""
# Ended by a restore.
ENDED = ("public.web_sessions", "public.team_invitations", "public.erasure_notes")


def counts(postgres, url):
    return dict(sql(postgres.bin, url, sql(postgres.bin, url, COUNTS)[0][0]))


def pg(postgres, program, *arguments):
    done = subprocess.run([postgres.bin / program, *arguments], capture_output=True, text=True)
    if done.returncode:
        fail(f"{program} {arguments[0]}: {done.stderr.strip()}")
    return done


class Source:
    """Users, what they remember, and how each of them is let in."""

    def __init__(self, server):
        self.server = server
        self.words = Words()
        self.users = []

    async def fill(self, items):
        chance = random.Random(5)
        for number in range(USERS):
            email = f"user{number}@example.com"
            agent = Agent(self.server.port, token := self.server.make_user(email, *(["--admin"] if number == 0 else [])))
            for n in range(items):
                item = {"type": "fact", "theme": f"theme-{n % 7}", "tags": [f"tag{n % 3}"], "content": self.words.sentence(chance, 6, 40)}
                status, answer = await agent.tool("memory_add", item)
                if status != 200:
                    fail(f"filling: {status} {answer}")
                if n % 9 == 0:
                    await agent.tool("memory_archive", {"item_id": answer["id"]})
            person = Person(self.server.port, email, PASSWORD)
            await person.sign_in()
            self.users.append((email, token, person.cookie))
        self.service = self.server.run("token", "create", "--service", "shop")

    def searches(self):
        chance = random.Random(6)
        for n in range(SEARCHES):
            query = {"query": self.words.sentence(chance, 1, 8), "limit": 20, "explain": True}
            query |= ({}, {"status": "any"}, {"theme": f"theme-{n % 7}"}, {"query": "*"}, {})[n % 5]
            yield n % USERS, query


async def answers(source, port):
    agents = [Agent(port, token) for _, token, _ in source.users]
    # The builtin model is read when the server starts; until it is there, words alone answer.
    for n in range(WARM_UP_SECONDS):
        status, answer = await agents[0].tool("memory_search", {"query": f"warm {n}"})
        if status == 200 and not answer["degraded"]:
            break
        await asyncio.sleep(1)
    found = []
    for user, query in source.searches():
        status, answer = await agents[user].tool("memory_search", query)
        if status != 200:
            fail(f"a search answered {status} {answer}")
        found.append(answer)
    return found


def differences(one, other):
    """Sentences; numbers may differ by their rounding."""
    def same(a, b):
        if isinstance(a, float) or isinstance(b, float):
            return a is not None and b is not None and abs(a - b) <= SCORE_SLACK
        if isinstance(a, dict):
            return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
        if isinstance(a, list):
            return len(a) == len(b) and all(map(same, a, b))
        return a == b
    for n, (before, after) in enumerate(zip(one, other)):
        if not same(before, after):
            yield f"search {n}: {json.dumps(before)[:300]} and now {json.dumps(after)[:300]}"


async def let_in(source, port):
    """Who is not, as sentences."""
    for email, token, cookie in source.users:
        status, _ = await Agent(port, token).tool("memory_list_themes", {})
        if status != 200:
            yield f"a token of before answers {status}"
        person = Person(port, email, PASSWORD)
        for kind in ("of before", "anew"):
            person.cookie = cookie if kind == "of before" else person.cookie
            if kind == "anew":
                person.cookie = None
                await person.sign_in()
            status, _, _ = await person.connection.send("GET", "/memory", b"", [("Cookie", person.cookie)])
            if (status == 200) != (kind == "anew"):
                yield f"a web session {kind} answers {status}"
    agent = Agent(port, source.service)
    agent.headers = (*agent.headers, ("Keepsake-User", "customer-1"))
    status, _ = await agent.tool("memory_list_themes", {})
    if status != 200:
        yield f"a service token of before answers {status}"


async def restored(name, source, home, backup, before, at_first, secret):
    """Restores the backup into a place of its own; returns its row of the table, and what is wrong."""
    home = home / name
    home.mkdir(mode=0o755)
    cluster = Cluster(home) if name == "separate" else None
    if cluster:
        cluster.start()
    server = Server(home, cluster and cluster.url("keepsake"))
    postgres = cluster or Embedded(server.data)
    wrong = []
    began = time.monotonic()
    try:
        # The key goes with the backup: it checks the signature, and opens the providers' keys.
        (server.data / "secret-key").write_bytes(secret)
        if cluster:
            until_up(cluster)
            pg(cluster, "createdb", "--maintenance-db", cluster.url(), "--template", "template0", "--encoding", "UTF8", "keepsake")
        server.run("restore", str(backup))
        took = time.monotonic() - began
        if cluster:
            now = counts(cluster, cluster.url("keepsake"))
        else:
            # Nobody works off jobs while rows are counted.
            server.start("--no-worker")
            await server.ready()
            now = counts(postgres, postgres.url())
            server.stop()
        expected = {each: "0" if each in ENDED else rows for each, rows in before.items()}
        wrong += [f"{name}: {each} had {rows} rows and has {now.get(each)}" for each, rows in expected.items() if now.get(each) != rows]
        server.start()
        await server.ready()
        unlike = list(differences(at_first, await answers(source, server.port)))
        refused = [sentence async for sentence in let_in(source, server.port)]
        wrong += [f"{name}: {sentence}" for sentence in [*unlike, *refused]]
        return [name, f"{took:.1f} s", len(before), sum(map(int, before.values())), len(at_first) - len(unlike), "all" if not refused else "not all"], wrong
    finally:
        server.stop()
        if cluster:
            cluster.stop()


def until_up(cluster):
    for _ in range(100):
        if subprocess.run([cluster.bin / "pg_isready", "-q", "-d", cluster.url()]).returncode == 0:
            break
        time.sleep(0.1)
    return cluster.url()


def backup_without_superuser(server, postgres, home, before):
    """By a login that could run a server but is no superuser, where the owner may not pass over row security: its
    policy shows it all rows."""
    sql(postgres.bin, postgres.url(), "CREATE ROLE backup LOGIN CREATEROLE PASSWORD 'backup' IN ROLE keepsake_owner, keepsake_app, keepsake_system; "
        "ALTER ROLE keepsake_owner NOBYPASSRLS; GRANT CONNECT ON DATABASE keepsake TO backup")
    backup = home / "owner.tar"
    url = f"postgres://backup:backup@{quote(str(postgres.data / 'postgres/socket'), safe='')}/keepsake"
    other = Server(home, url)
    other.data = server.data
    other.env["KEEPSAKE_DATA_DIR"] = str(server.data)
    other.run("backup", str(backup))
    sql(postgres.bin, postgres.url(), "ALTER ROLE keepsake_owner BYPASSRLS")
    subprocess.run(["tar", "-C", home, "-xf", backup], check=True)
    subprocess.run(["sha256sum", "--quiet", "-c", "SHA256SUMS"], cwd=home, check=True)
    listed = json.loads((home / "manifest.json").read_text())["rows"]
    text = pg(postgres, "pg_restore", "--data-only", "--file=-", home / "database.dump").stdout
    rows = {}
    for part in text.split("\nCOPY ")[1:]:
        name, _, rest = part.partition(" ")
        rows[name] = rest.split("\n").index("\\.") - 1
    wrong = [f"the owner's manifest has {listed.get(each)} rows of {each}, not {before[each]}" for each in before if str(listed.get(each)) != before[each]]
    wrong += [f"the owner's dump has {rows.get(each)} rows of {each}, not {before[each]}" for each in before if str(rows.get(each)) != before[each]]
    return wrong


async def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--items", type=int, default=300, help="memories of each user")
    arguments.add_argument("--json")
    arguments.add_argument("--short", action="store_true", help="few memories")
    given = arguments.parse_args()
    if given.short:
        given.items = 40
    rows = [["restored into", "took", "tables", "rows", "of 100 searches the same", "tokens and sign-ins"]]
    wrong = []
    with folder() as home:
        (home / "source").mkdir(mode=0o755)
        # Nobody works off jobs while rows are counted and dumped.
        server = Server(home / "source")
        postgres = Embedded(server.data)
        server.start()
        await server.ready()
        source = Source(server)
        try:
            await source.fill(given.items)
            await embedded(postgres)
            at_first = await answers(source, server.port)
            await asyncio.sleep(3)  # the record of the searches is written, the last jobs are done
            backup = home / "keepsake.tar"
            before = counts(postgres, postgres.url())
            server.run("backup", str(backup))
            if counts(postgres, postgres.url()) != before:
                fail("rows were written while they were backed up, so that nothing can be compared")
            wrong += backup_without_superuser(server, postgres, home, before)
        finally:
            server.stop()
        secret = (server.data / "secret-key").read_bytes()
        for name in ("embedded", "separate"):
            row, found = await restored(name, source, home, backup, before, at_first, secret)
            rows.append(row)
            wrong += found
    print(table(rows))
    if given.json:
        Path(given.json).write_text(json.dumps([dict(zip(rows[0], row)) for row in rows[1:]], indent=1))
    for sentence in wrong[:20]:
        print(sentence)
    if wrong:
        fail("what was restored is not what was backed up")


if __name__ == "__main__":
    asyncio.run(main())
