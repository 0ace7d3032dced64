#!/usr/bin/env python3
"""Fills a demo user with the memories of tools/demo/*.jsonl, through the REST door of a running server, and
with what these say of people, projects and places (entities.tsv, relations.tsv), through `keepsake import`;
then with the files of tools/demo/documents/, and with what was said in the sessions of tools/demo/sessions/.

Running it again changes nothing: the server recognises exact duplicates and messages that it knows, and texts
that are already archived, or what documents say, are looked up first and left alone. Needs nothing but Python 3.9.
"""

import http.client
import json
import os
import secrets
import subprocess
import sys
from urllib.parse import quote, urlsplit

from common import REPO, fail

BINARY = os.environ.get("KEEPSAKE_BIN") or str(REPO / "target/release/keepsake")
PUBLIC_URL = os.environ.get("KEEPSAKE_PUBLIC_URL", "").rstrip("/")
LISTEN = os.environ.get("KEEPSAKE_LISTEN", "")
DEMO = REPO / "tools/demo"
DOCUMENTS = DEMO / "documents"
EARLIER = DOCUMENTS / ".earlier"  # what a document said before: its path and .1, .2
SESSIONS = DEMO / "sessions"  # each file begins with its day: in the order of their names they are oldest first
EMAIL = "demo@keepsake.local"
TOKEN_DAYS = 1  # every run makes its own tokens; they need not outlive the day
PAGE = 50  # the most results a search may return
TIMEOUT_SECONDS = 30
SAID = {"trust": "agent", "at": "2026-11-20T12:00:00Z"}  # of all relations: the day of the last memory
BAR_WIDTH = 32


class Refused(Exception):
    """Something said no; the message is the one sentence that people read."""


def server_address():
    if not LISTEN:
        return PUBLIC_URL or "http://127.0.0.1:3000"
    host, _, port = LISTEN.rpartition(":")
    reachable = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "[::]": "[::1]"}
    return f"http://{reachable.get(host, host)}:{port}"


class Server:
    """One keep-alive connection to a Keepsake server."""

    def __init__(self, address):
        parts = urlsplit(address)
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self.address, self.prefix = address, parts.path
        self.connection = kind(parts.hostname, parts.port, timeout=TIMEOUT_SECONDS)

    def request(self, method, path, body=None, headers=None):
        for tries_left in (1, 0):  # an idle connection may have been closed; every request here can be repeated
            try:
                self.connection.request(method, self.prefix + path, body, headers or {})
                answer = self.connection.getresponse()
                return answer.status, answer.read()
            except (OSError, http.client.HTTPException) as error:
                self.connection.close()
                if not tries_left:
                    raise Refused(f"The server at {self.address} stopped answering ({error!r}): see its log, then run this again.")

    def check_alive(self):
        try:
            healthy = self.request("GET", "/livez")[0] == 200
        except Refused:
            healthy = False
        if not healthy:
            raise Refused(f"No Keepsake server answers at {self.address}: start one with `make run` in another "
                          "terminal, or set KEEPSAKE_LISTEN to the address it listens on.")

    def tool(self, token, name, **arguments):
        return self.call(token, name, "POST", f"/api/v1/tools/{name}", arguments)

    def read_document(self, token, path):
        """Returns its text, or None when there is none."""
        found = self.call(token, f"reading {path}", "GET", f"/api/v1/documents/{quote(path)}", may_be_missing=True)
        return found and found["content"]

    def write_document(self, token, path, content):
        self.call(token, f"writing {path}", "PUT", f"/api/v1/documents/{quote(path)}", {"content": content})

    def add_messages(self, token, session_id, messages):
        """Returns how many of them were new."""
        path = f"/api/v1/sessions/{quote(session_id, safe='')}/messages"
        return self.call(token, f"adding to {session_id}", "POST", path, {"messages": messages})["accepted"]

    def complete_session(self, token, session_id, summary):
        path = f"/api/v1/sessions/{quote(session_id, safe='')}/complete"
        self.call(token, f"completing {session_id}", "POST", path, {"summary": summary} if summary else {})

    def call(self, token, name, method, path, arguments=None, may_be_missing=False):
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        status, body = self.request(method, path, None if arguments is None else json.dumps(arguments).encode(), headers)
        if may_be_missing and status == 404:
            return None
        answer = json.loads(body) if body.startswith(b"{") else {}
        if status >= 300 or not answer:
            raise Refused(f"{name} was refused with status {status}: {answer.get('detail') or 'no reason was given'}")
        return answer


def keepsake(*arguments, stdin=""):
    try:
        done = subprocess.run([BINARY, *arguments], input=stdin, capture_output=True, encoding="utf-8")
    except OSError as error:
        raise Refused(f"{BINARY} cannot be run ({error.strerror}): `make build` makes it, or set KEEPSAKE_BIN.")
    if done.returncode != 0:
        reason = " ".join((done.stderr or done.stdout).split()) or f"exit status {done.returncode}"
        raise Refused(f"`keepsake {' '.join(arguments[:2])}` was refused: {reason}")
    return done.stdout.strip()


def create_user():
    """Returns the new password, or None when the user was there before."""
    syllables = [consonant + vowel for consonant in "bdfgklmnprstv" for vowel in "aeiou"]
    password = "-".join("".join(secrets.choice(syllables) for _ in range(3)) for _ in range(4))
    try:
        keepsake("user", "create", "--email", EMAIL, "--password-stdin", stdin=password + "\n")
    except Refused as refusal:
        if "already exist" not in str(refusal).lower():
            raise
        return None
    return password


def create_token(agent):
    return keepsake("token", "create", "--email", EMAIL, "--agent", agent, "--scope", "memory:read",
                    "--scope", "memory:write", "--scope", "sessions:write", "--expires-days", str(TOKEN_DAYS))


def archived_texts(server, token):
    """The full texts of all archived items: adding one of them again would make a new item."""
    texts, rest = set(), {}
    while True:
        page = server.tool(token, "memory_search", query="*", status="archived", limit=PAGE, **rest)
        texts.update(server.tool(token, "memory_get", item_id=hit["id"])["content"] for hit in page["results"])
        if page.get("cursor") is None:
            return texts
        rest = {"cursor": page["cursor"]}


def rows(name):
    """Of a file whose columns are parted by tabs."""
    lines = (DEMO / name).read_text("utf-8").split("\n")
    return [line.split("\t") for line in lines if line and not line.startswith("#")]


def read_entities():
    return [{"record": "entity", "id": number, "name": name, "type": entity_type, "names": others}
            for number, (name, entity_type, *others) in enumerate(rows("entities.tsv"))]


def read_relations(entities, memories, archived):
    """The relations as lines of an import; before them the active memories that they stand on."""
    ids = {entity["name"]: entity["id"] for entity in entities}
    items, relations = {}, []
    for number, (subject, predicate, target, since, until, sentence) in enumerate(rows("relations.tsv")):
        at = next((at for at, memory in enumerate(memories) if sentence in memory["content"]), None)
        if at is None:
            raise Refused(f"No memory says what a relation stands on: {sentence}")
        source = {"sentence": sentence, **SAID}
        if memories[at]["content"] not in archived:
            items[at] = {"record": "item", "id": at, **{name: memories[at][name] for name in ("type", "content", "theme")}}
            source["item"] = at
        relations.append({
            "record": "relation", "id": number, "subject": ids[subject],
            **({"predicate": "related_to", "words": predicate} if " " in predicate else {"predicate": predicate}),
            **({"value": target.strip('"')} if target.startswith('"') else {"object": ids[target]}),
            "valid_from": first_moment(since), "valid_until": first_moment(until),
            "confidence": 90, "trust": SAID["trust"], "stated_at": SAID["at"], "sources": [source],
        })
    return [*items.values(), *relations]


def first_moment(day):
    """Of a day, a month or a year."""
    return f"{(day + '-01-01')[:10]}T00:00:00Z" if day else None


def take_in(records):
    records = [{"keepsake_export": 1}, *records, {"record": "end", "counts": {"items": 0}}]
    keepsake("import", "--email", EMAIL, stdin="".join(json.dumps(record) + "\n" for record in records))


def show_progress(done, total):
    if sys.stdout.isatty():
        filled = BAR_WIDTH * done // total
        print(f"\r  {'█' * filled}{'░' * (BAR_WIDTH - filled)} {done}/{total}", end="" if done < total else "\n", flush=True)
    elif done % 100 == 0 or done == total:
        print(f"  {done} of {total}", flush=True)


def fill(server, tokens, memories):
    """Returns the texts of memories that are archived."""
    print(f"{len(memories)} memories of {len(tokens)} agents for {EMAIL}", flush=True)
    known = archived_texts(server, tokens[memories[0]["agent"]])
    added = archived = 0
    for done, memory in enumerate(memories, start=1):
        if memory["content"] not in known:
            token = tokens[memory["agent"]]
            item = server.tool(token, "memory_add", **{name: memory[name] for name in ("type", "content", "theme", "tags")})
            added += not item["duplicate"]
            if memory.get("archived"):
                server.tool(token, "memory_archive", item_id=item["id"])
                archived += 1
                known.add(memory["content"])
        show_progress(done, len(memories))
    print(f"{added} added, {archived} archived, {len(memories) - added} were there before")
    return known


def write_documents(server, token):
    """Writes those that differ; before one that is not there yet, what it said earlier."""
    written, files = 0, [file for file in sorted(DOCUMENTS.rglob("[!.]*")) if file.is_file() and EARLIER not in file.parents]
    for file in files:
        path, content = file.relative_to(DOCUMENTS).as_posix(), file.read_text("utf-8")
        there = server.read_document(token, path)
        if there is None:
            for earlier in sorted(EARLIER.glob(f"{path}.*")):
                server.write_document(token, path, earlier.read_text("utf-8"))
        if there != content:
            server.write_document(token, path, content)
            written += 1
    print(f"{written} of {len(files)} documents written", flush=True)


def hand_over_sessions(server, tokens):
    """Each by its own agent; what an agent says nothing of, the server sums up itself."""
    messages = new = 0
    sessions = [json.loads(file.read_text("utf-8")) for file in sorted(SESSIONS.glob("*.json"))]
    for session in sessions:
        token = tokens[session["agent"]]
        accepted = server.add_messages(token, session["id"], session["messages"])
        if accepted:
            server.complete_session(token, session["id"], session["summary"])
        messages += len(session["messages"])
        new += accepted
    print(f"{len(sessions)} sessions of {messages} messages, {new} new", flush=True)


def main():
    files = sorted(DEMO.glob("*.jsonl"))
    memories = [json.loads(line) for file in files for line in file.read_text("utf-8").split("\n") if line]
    server = Server(server_address())
    server.check_alive()
    password = create_user() or "unchanged, the one printed when this user was made"
    try:
        entities = read_entities()
        take_in(entities)  # before the memories, in which their names are found
        tokens = {agent: create_token(agent) for agent in sorted({memory["agent"] for memory in memories})}
        archived = fill(server, tokens, memories)
        relations = read_relations(entities, memories, archived)
        take_in(entities + relations)
        print(f"{len(rows('relations.tsv'))} relations of {len(entities)} entities", flush=True)
        write_documents(server, tokens["journal"])
        hand_over_sessions(server, tokens)
    finally:  # a password is shown only once, so also when filling was refused half-way
        print(f"\n  sign in   {PUBLIC_URL or server.address}/login\n  e-mail    {EMAIL}\n  password  {password}", flush=True)


if __name__ == "__main__":
    sys.stdout.reconfigure(errors="replace")
    try:
        main()
    except Refused as refusal:
        fail(refusal)
    except KeyboardInterrupt:
        fail("Interrupted: run it again to go on from here.")
