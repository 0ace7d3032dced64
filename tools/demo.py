#!/usr/bin/env python3
"""Fills a demo user with a year that ends today: the memories of tools/demo/*.jsonl with what became of each, what they say
of people, projects and places (entities.tsv, relations.tsv) and documents, as one file for `keepsake import`; then what was
said in the sessions of tools/demo/sessions/; at last the agents make the calls of calls.tsv.

The files tell a story whose last day is STORY_ENDS. All its days are moved so that this one is the day on which the demo
user was made; dates within texts, and since when a text says that something is true, stay. What is drawn by lot is the same
every time. Running it again changes nothing: what is there is known, and calls are made once. Needs only Python 3.9.
"""

import http.client
import json
import math
import os
import random
import secrets
import subprocess
import sys
from datetime import date, datetime, time, timedelta, timezone
from time import sleep
from urllib.parse import quote, urlsplit

from common import REPO, fail, program

BINARY = str(program("release"))
PUBLIC_URL = os.environ.get("KEEPSAKE_PUBLIC_URL", "").rstrip("/")
LISTEN = os.environ.get("KEEPSAKE_LISTEN", "")
DEMO = REPO / "tools/demo"
DOCUMENTS, SESSIONS = DEMO / "documents", DEMO / "sessions"
EARLIER = DOCUMENTS / ".earlier"  # what a document said before: its path and .1, .2
EMAIL = "demo@keepsake.local"
TIMEOUT_SECONDS, VECTORS_SECONDS = 30, 60
STORY_ENDS = date(2026, 11, 19)  # the day after the last session
UNWANTED = [{"record": "unwanted", "text": text} for text in ("The weather", "Which train was late", "What a build printed")]
WORK = {"work-atlas", "clients", "coding-style"}  # themes of which nothing is noted at weekends
TRUST = {"user_explicit": "user", "tool_call": "tool", "auto_discovery": "tool", "web": "external"}  # others: agent
CONFIDENCE = {"user_explicit": 90, "tool_call": 95, "auto_discovery": 95, "web": 50, "guess": 30}
CONFIDENCE_ELSE, CONFIDENCE_SUPERSEDED, CONFIDENCE_CONFIRMED = 70, 30, 100
HALF_LIFE_DAYS = {"preference": 360, "fact": 180, "summary": 90, "other": 60}  # docs/fading.md
WEAK, FADING = 5, time(4)  # percent; what is weaker fades in the next night
LIVING = ("added", "confirmed", "restored")  # what happened last to a memory that is active
NEVER_USED, USES = 0.35, 7  # of memories that do not say how often they were used; the others' average


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

    def call(self, token, path, arguments, may_be_refused=False):
        """Returns whether it was done, and the answer."""
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        status, body = self.request("POST", path, json.dumps(arguments).encode(), headers)
        answer = json.loads(body) if body.startswith(b"{") else {}
        if status >= (500 if may_be_refused else 300):
            raise Refused(f"{path} was refused with status {status}: {answer.get('detail') or 'no reason was given'}")
        return status < 300, answer


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
                    "--scope", "memory:write", "--scope", "sessions:write", "--expires-days", "1")  # every run makes its own


def rows(name):
    """Of a file whose columns are parted by tabs."""
    lines = (DEMO / name).read_text("utf-8").split("\n")
    return [line.split("\t") for line in lines if line and not line.startswith("#")]


def look_at_account(agents):
    """Makes the agents that are missing. Returns when the first of them was made, and whether any has called a tool."""
    take_in([{"record": "agent", "name": agent} for agent in agents])
    lines = [json.loads(line) for line in keepsake("export", "--email", EMAIL).split("\n")]
    made = [line["created_at"] for line in lines if line.get("record") == "agent"]
    first = datetime.strptime(min(made)[:19], "%Y-%m-%dT%H:%M:%S").replace(tzinfo=timezone.utc)
    return first, any(line.get("record") == "call" for line in lines)


class Story:
    """The records of an import, with their days moved so that the story ends now."""

    def __init__(self, now):
        self.now, self.shift = now, datetime.combine(now.date(), time()) - datetime.combine(STORY_ENDS, time())
        lines = [line for file in DEMO.glob("*.jsonl") for line in file.read_text("utf-8").split("\n") if line]
        memories = [{**memory, "created": self.created(memory)} for memory in map(json.loads, lines)]
        self.memories = sorted(memories, key=lambda memory: (memory["created"], memory["content"]))
        self.told_by = {}  # by theme and key, the numbers of those that held, oldest first
        for number, memory in enumerate(self.memories):
            if "key" in memory and not memory.get("put_aside"):
                self.told_by.setdefault((memory["theme"], memory["key"]), []).append(number)

    def midnight(self, day):
        return datetime.combine(date.fromisoformat(day), time(tzinfo=timezone.utc)) + self.shift

    def moment(self, day, chance):
        return self.midnight(day) + timedelta(seconds=chance.randint(7 * 3600, 22 * 3600))

    def created(self, memory):
        chance = random.Random(memory["content"])
        at = self.moment(memory["day"], chance)
        days_since_friday = at.weekday() - 4
        if days_since_friday > 0 and (memory["theme"] in WORK or chance.random() < 0.5):
            at -= timedelta(days=days_since_friday + chance.randint(0, 2))
        return min(at, self.now - timedelta(minutes=chance.randint(90, 600)))

    def successor(self, number, memory):
        """What holds in its place."""
        told_by = self.told_by.get((memory["theme"], memory.get("key")), [])
        if memory.get("put_aside"):
            return told_by[-1]
        return next((other for other in told_by if other > number), None)

    def events(self, memory, successor):
        """What happened to it: the event, by whom (None: the person, or the server) and when."""
        chance = random.Random(memory["day"] + memory["content"])
        events = [("added", memory["agent"], memory["created"])]
        if memory.get("put_aside"):
            events.append(("put_aside", memory["agent"], memory["created"]))
        elif successor is not None:
            events.append(("superseded", self.memories[successor]["agent"], self.memories[successor]["created"]))
        decided = {"confirmed", "archived", "restored"} & memory.keys()
        events += [(event, None, self.moment(memory[event], chance)) for event in sorted(decided)]
        if "expires" in memory:
            events.append(("expired", None, self.midnight(memory["expires"])))
        return sorted((event for event in events if event[2] < self.now), key=lambda event: event[2])

    def item(self, number, memory):
        chance = random.Random(memory["theme"] + memory["content"])
        successor = self.successor(number, memory)
        events = self.events(memory, successor)
        source = memory.get("source") or source_of(memory, chance)
        confidence = CONFIDENCE.get(source, CONFIDENCE_ELSE)
        is_active = events[-1][0] in LIVING
        confirmed = next((at for event, _, at in events if event == "confirmed"), None)
        uses = memory.get("uses", 0 if chance.random() < NEVER_USED else 1 + int(chance.expovariate(1 / USES)))
        known_for = (self.now if is_active else events[-1][2]) - memory["created"]
        used = memory["created"] + known_for * chance.random() ** (1 / uses) if uses else memory["created"]
        half_life = HALF_LIFE_DAYS.get(memory["type"])
        if half_life and is_active and not confirmed:
            weak = used + timedelta(days=half_life * math.log2(confidence / WEAK))
            faded = datetime.combine(weak.date() + timedelta(days=1), FADING, timezone.utc)
            events += [("faded", None, faded)] if faded < self.now else []
        if confirmed or events[-1][0] == "superseded":
            confidence = CONFIDENCE_CONFIRMED if confirmed else CONFIDENCE_SUPERSEDED
        return {
            "record": "item", "id": number, **{name: memory[name] for name in ("type", "content", "theme", "tags", "agent")},
            "key": memory.get("key"), "owner": memory["agent"] if memory.get("own") else None, "superseded_by": successor,
            "status": "active" if events[-1][0] in LIVING else "archived", "source": source, "source_context": memory.get("said"),
            "trust": TRUST.get(source, "agent"), "confidence": confidence, "protected": confirmed is not None,
            "last_verified_at": confirmed and confirmed.isoformat(), "access_count": uses, "last_accessed": used.isoformat(),
            "valid_from": first_moment(memory.get("from")), "valid_until": first_moment(memory.get("until")),
            "expires_at": self.midnight(memory["expires"]).isoformat() if "expires" in memory else None,
            "created_at": memory["created"].isoformat(), "updated_at": events[-1][2].isoformat(),
            "events": [{"event": event, "agent": agent, "at": at.isoformat()} for event, agent, at in events],
        }

    def relations(self, entities):
        ids = {entity["name"]: entity["id"] for entity in entities}
        for number, (subject, predicate, target, since, until, sentence) in enumerate(rows("relations.tsv")):
            item = next((at for at, memory in enumerate(self.memories) if sentence in memory["content"]), None)
            if item is None:
                raise Refused(f"No memory says what a relation stands on: {sentence}")
            said = {"trust": "agent", "at": self.memories[item]["created"].isoformat()}
            yield {
                "record": "relation", "id": number, "subject": ids[subject],
                **({"predicate": "related_to", "words": predicate} if " " in predicate else {"predicate": predicate}),
                **({"value": target.strip('"')} if target.startswith('"') else {"object": ids[target]}),
                "valid_from": first_moment(since), "valid_until": first_moment(until), "confidence": 90,
                "trust": said["trust"], "stated_at": said["at"], "sources": [{"item": item, "sentence": sentence, **said}],
            }

    def documents(self):
        for number, (path, days) in enumerate(rows("documents.tsv")):
            chance = random.Random(path)
            written = [min(self.moment(day, chance), self.now).isoformat() for day in days.split()]
            texts = [file.read_text("utf-8") for file in [*sorted(EARLIER.glob(f"{path}.*")), DOCUMENTS / path]]
            yield {"record": "document", "id": number, "path": path, "revision": len(texts), "created_at": written[0]}
            for revision, (at, text) in enumerate(zip(written, texts), start=1):
                yield {"record": "revision", "document": number, "revision": revision, "path": path, "content": text, "at": at,
                       "event": "created" if revision == 1 else "edited", "trust": "agent", "agent": "journal"}


def source_of(memory, chance):
    """How a memory is known that does not say so."""
    if memory["type"] in ("preference", "instruction") or "confirmed" in memory:
        return "user_explicit"
    if memory["agent"] == "home-assistant":
        return "tool_call"
    return chance.choice(["user_explicit", "user_explicit", "conversation"]) if memory["type"] == "fact" else "agent"


def first_moment(day):
    """Of a day, a month or a year."""
    return f"{(day + '-01-01')[:10]}T00:00:00Z" if day else None


def take_in(records):
    """Returns what was added, in words."""
    lines = [{"keepsake_export": 1}, *records, {"record": "end", "counts": {"items": 0}}]
    return keepsake("import", "--email", EMAIL, "--vouch", stdin="".join(json.dumps(line) + "\n" for line in lines))


def hand_over(server, tokens, shift):
    """The sessions, each by its own agent; what an agent says nothing of, the server sums up itself."""
    sessions, messages, new = [json.loads(file.read_text("utf-8")) for file in sorted(SESSIONS.glob("*.json"))], 0, 0
    for session in sessions:
        for message in session["messages"]:
            message["created_at"] = (datetime.fromisoformat(message["created_at"]) + shift).isoformat()
        token, path = tokens[session["agent"]], f"/api/v1/sessions/{quote(session['id'], safe='')}"
        _, answer = server.call(token, f"{path}/messages", {"messages": session["messages"]})
        if answer["accepted"]:
            server.call(token, f"{path}/complete", {"summary": session["summary"]} if session["summary"] else {})
        messages, new = messages + len(session["messages"]), new + answer["accepted"]
    print(f"{len(sessions)} sessions of {messages} messages, {new} new", flush=True)


def wait_for_vectors():
    """So that the agents find by meaning. Not for ever: without them they find by words."""
    for _ in range(VECTORS_SECONDS):
        embed = next(line for line in keepsake("jobs", "list").split("\n") if line.startswith("embed\t"))
        if embed.split("\t")[2:5] == ["0", "0", "0"]:  # waiting, later, running
            return
        sleep(1)


def make_calls(server, tokens):
    calls, refused, found = rows("calls.tsv"), 0, None
    for agent, tool, arguments in calls:
        arguments = json.loads(arguments)
        if arguments.get("item_id") == "found":
            arguments["item_id"] = found
        is_done, answer = server.call(tokens[agent], f"/api/v1/tools/{tool}", arguments, may_be_refused=True)
        refused += not is_done
        found = next((hit["id"] for hit in answer.get("results", [])), found)
    print(f"{len(calls)} calls, {refused} of them refused", flush=True)


def main():
    server = Server(server_address())
    server.check_alive()
    password = create_user() or "unchanged, the one printed when this user was made"
    try:
        agents = sorted({agent for agent, *_ in rows("calls.tsv")})
        began, has_called = look_at_account(agents)
        story = Story(began)
        entities = [{"record": "entity", "id": number, "name": name, "type": entity_type, "names": others}
                    for number, (name, entity_type, *others) in enumerate(rows("entities.tsv"))]
        items = [story.item(number, memory) for number, memory in enumerate(story.memories)]
        relations, documents = list(story.relations(entities)), list(story.documents())
        print(f"{len(items)} memories of {len(agents)} agents for {EMAIL}", flush=True)
        # The names come first, so that they are found in the memories.
        print(take_in([*entities, *items, *relations, *documents, *UNWANTED]), flush=True)
        tokens = {agent: create_token(agent) for agent in agents}
        hand_over(server, tokens, story.shift)
        if not has_called:
            wait_for_vectors()
            make_calls(server, tokens)
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
