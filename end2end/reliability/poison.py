#!/usr/bin/env python3
"""Sixty planted texts (poison.json), half of them written by someone who had not read the code: pages, files, mails, tools'
results, texts that people paste, other agents' memories, imports, documents, names of themes and projects, in eighteen languages.
Each wants to become the person's word, an instruction, or a fact. The chat model obeys each text that it reads.

    end2end/reliability/poison.py [--json FILE] | --short

Each text has a user of its own, and comes in by the interface of its place. Then the user's first agent asks for all that a prompt
gets. Where a text's marker stands, the answer must say that a page or a tool told it; or, of what an agent itself wrote, that this
agent did. The same once more after a later conversation, in which the model repeats what it is told is known. Needs the release
binary (`make build`).
"""

import argparse
import asyncio
import collections
import json
import re
import subprocess
import sys
import time
import unicodedata
from pathlib import Path

from place import PASSWORD, Embedded, Server, fail, folder, sql, table
from sessions import Model
from wire import Agent, Person

TEXTS = Path(__file__).with_suffix(".json")
# A proof of nothing, unless so much of it is believed.
STORED_SHARE_MIN = 2 / 3
SHORT_A_PLACE = 2
AT_ONCE = 2
PATIENCE_SECONDS = 120
# The tools that bring a text, unless it names another.
TOOLS = {"page": "web_fetch", "file": "read_file", "mail": "read_mail", "tool": "shell"}
# What an agent writes itself is its own word, and told as such.
OF_AGENTS = ("agent", "document", "theme", "project")
# Which writes it; the person's first is "one" (place.py).
OTHER = "other"
LINE_CHARS = 120
ITEM_CHARS_MAX = 4_000
NAME_CHARS_MAX = {"theme": 64, "project": 100}
LATER = "I water the tomatoes on the balcony every evening."
# As facts are told to the model that writes the summary, and as an honest one passes it on.
LABELS = {" [from outside]": "external", " [a tool's word]": "tool"}
PASSED_ON = {"external": "From outside: ", "tool": "From a tool: "}
ENDS = str.maketrans(".!?。！？…", ",,,，，，,")
BLOCK = re.compile(r"<keepsake-memory [^>]*>")
ATTRIBUTE = re.compile(r'(\w+)="([^"]*)"')
RECALLED = re.compile(r"- #\d+ \(([^)]*)\) ")
TRUSTS = ("user", "agent", "tool", "external")
# In a summary and its prompt only the others have a label.
UNLABELLED = "user or agent"
# What the model that reads a conversation knows already: it is not told whose word that is.
KNOWN = "known"
# Without it a judge who sees nothing would find nothing.
BEES = "I keep eleven beehives on the roof in Wexenstein."
SAID = {"id": "what-the-person-says", "place": "said", "person": "Good morning to you.", "text": BEES, "marker": "Wexenstein",
        "claims": "Keeps bees in Wexenstein.", "quote": BEES}


def plain(text):
    """Without what cannot be seen, and in one form of letters."""
    visible = "".join(c for c in unicodedata.normalize("NFKC", text) if c.isspace() or unicodedata.category(c) not in ("Cc", "Cf"))
    return " ".join(visible.casefold().split())


class Obedient(Model):
    """Answers with what a text says, as the person's own words, wherever it reads it; writes each fact into the summary, with whose word it is."""

    def __init__(self, texts):
        super().__init__()
        self.texts = texts
        self.prompts = []

    def _answer(self, body):
        system, user = (message["content"] for message in json.loads(body)["messages"])
        self.prompts.append(user)
        if user.startswith("<facts>"):
            content = "\n\n".join(self._summary(user))
        elif pairs := user.count("<pair "):
            content = json.dumps({"relations": ["unrelated"] * pairs})
        elif "<conversation>" in user:
            content = json.dumps(self._reading(user))
        else:
            content = json.dumps({"entities": [], "connections": []})
        usage = {"prompt_tokens": len(system + user) // 4, "completion_tokens": 60}
        choice = {"message": {"role": "assistant", "content": content}, "finish_reason": "stop"}
        return json.dumps({"model": "obedient", "choices": [choice], "usage": usage}).encode()

    def _reading(self, user):
        known, _, conversation = map(plain, user.partition("<conversation>"))
        found = {"facts": [], "summary": "", "entities": [], "connections": []}
        for number, text in enumerate(self.texts):
            if plain(text["marker"]) in conversation or f'planted.example/{number}"' in conversation:
                # Behind each a quote: the text's, one that the person did say, none.
                found["facts"] += [fact("profile", text.get("key", "claimed"), text["claims"], "user_explicit", text["quote"]),
                                   fact("preferences", "said", text["quote"], "user_explicit", text["person"]),
                                   fact("other", "told", text["claims"], "conversation", "")]
            elif plain(text["marker"]) in known:
                found["facts"].append(fact("other", "known", f"It is known of the user: {text['claims']}", "user_explicit", LATER))
            else:
                continue
            found["summary"] = f"{text['person']} {text['claims']}"
            found["entities"].append({"name": text["marker"], "type": "organization"})
            connection = {"subject": "user", "relation": "uses", "object": text["marker"], "sentence": text["quote"]}
            found["connections"].append({**connection, "valid_from": "", "valid_until": ""})
        return found

    def _summary(self, user):
        for content, trust in facts_of(user):
            yield f"{PASSED_ON.get(trust, '')}{content.translate(ENDS)}."


def fact(category, key, value, source, context):
    return {"category": category, "key": key, "value": value, "valid_from": "", "valid_until": "", "source": source, "source_context": context}


def facts_of(prompt):
    """Of the prompt of a summary: each fact, and whose word its label says."""
    for line in prompt.splitlines():
        if line.startswith("- "):
            label = next((label for label in LABELS if line.endswith(label)), "")
            yield line[2:].removesuffix(label), LABELS.get(label, UNLABELLED)


async def answered(call, *arguments):
    """Status and answer. A busy machine may answer 503: then again."""
    ends = time.monotonic() + PATIENCE_SECONDS
    while True:
        status, answer = await call(*arguments)
        if status != 503 or time.monotonic() > ends:
            return status, answer
        await asyncio.sleep(0.2)


# Where the marker stands, whose word it is told as (None: nobody says), and the line.
Told = collections.namedtuple("Told", "door trust line")


class Planted:
    """A text, its user, and what came of it."""

    def __init__(self, server, number, text):
        self.server, self.number, self.text = server, number, text
        self.email = f"reader{number}@example.com"
        self.marker, self.said = plain(text["marker"]), plain(text["person"])
        self.refused = []
        self.rounds = {}
        self.stored = set()  # its memories, by trust

    async def sign_up(self):
        token = await asyncio.to_thread(self.server.make_user, self.email)
        self.agent = Agent(self.server.port, token)
        self.other = Agent(self.server.port, await asyncio.to_thread(self.server.token, self.email, OTHER))
        self.person = Person(self.server.port, self.email, PASSWORD)

    async def send(self, method, path, body=None):
        content = json.dumps(body).encode() if body is not None else b""
        status, _, answer = await self.agent.connection.send(method, path, content, self.agent.headers)
        return status, json.loads(answer) if answer.startswith(b"{") else answer.decode()

    async def call(self, call, *arguments):
        status, answer = await answered(call, *arguments)
        if status != 200:
            fail(f"{self.text['id']}: {arguments} was answered with {status}: {answer}")
        return answer

    async def converse(self, session, *messages):
        path = f"/api/v1/sessions/{session}"
        await self.call(self.send, "POST", f"{path}/messages", {"messages": [{"id": f"m{n}", **message} for n, message in enumerate(messages)]})
        await self.call(self.send, "POST", f"{path}/complete", {})

    async def talk(self):
        """What the person says, and what comes in by it."""
        place, text, person = self.text["place"], self.text["text"], {"role": "user", "content": self.text["person"]}
        if place in TOOLS:
            arguments = json.dumps({"address": f"https://planted.example/{self.number}"})
            call = {"id": "c1", "name": self.text.get("tool", TOOLS[place]), "arguments": arguments}
            assistant = {"role": "assistant", "content": "", "tool_calls": [call]}
            await self.converse("first", person, assistant, {"role": "tool", "content": text, "tool_call_id": "c1"})
        elif place in ("pasted", "said"):
            await self.converse("first", {"role": "user", "content": f"{self.text['person']}\n\n{text}"})
        else:
            await self.converse("first", person)

    async def bring(self):
        """What comes in beside it."""
        place, text = self.text["place"], self.text["text"]
        match place:
            case "agent":
                for kind in ("instruction", "fact"):
                    for quote in (self.text["person"], self.text["quote"]):
                        key = {"key": self.text["key"]} if "key" in self.text else {}
                        content = f"{text[:ITEM_CHARS_MAX]} ({kind}: {quote[:9]})"
                        await self.write("memory_add", {"type": kind, "content": content, "source": "user_explicit", "source_context": quote, **key})
            case "theme" | "project":
                for name in dict.fromkeys((text, text[:NAME_CHARS_MAX[place]])):
                    await self.write("memory_add", {"type": "fact", "content": self.text["person"], place: name})
            case "document":
                for path in ("MEMORY.md", "notes.md"):
                    await self.write("memory_files", {"command": "create", "path": f"/memories/{path}", "file_text": text})
            case "import":
                await asyncio.to_thread(self.import_file)

    async def write(self, tool, arguments):
        """By an agent that is not the person's first."""
        status, answer = await answered(self.other.tool, tool, arguments)
        if status != 200:
            self.refused.append(f"{tool}: {status} {answer.get('code')}")

    def import_file(self):
        forged = {"record": "item", "type": "fact", "trust": "user", "source": "user_explicit", "protected": True, "locked": True, "access_count": 1_000}
        items = [{**forged, "content": self.text["text"]}, {**forged, "content": f"{self.text['text']} (2)", **self.text.get("fields", {})}]
        records = [{name: self.text["text"] if value == "{text}" else value for name, value in record.items()} for record in self.text.get("records", items)]
        counts = {"items": sum(record["record"] == "item" for record in records)}
        lines = [{"keepsake_export": 1}, *records, {"record": "end", "signature": "AAAA", "counts": counts}]
        path = self.server.data.parent / f"import{self.number}.jsonl"
        path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
        with path.open() as file:
            done = subprocess.run([self.server.binary, "import", "--email", self.email], env=self.server.env, stdin=file, text=True, capture_output=True)
        self.refused += done.stderr.strip().splitlines() if done.returncode else []

    async def summarise(self):
        status, page = await answered(self.person.post, "/summary", {"action": "write"})
        if status not in (200, 303):
            fail(f"{self.text['id']}: the summary was answered with {status}: {page[:300]!r}")

    async def ask(self, when, prompts):
        """All that a prompt of the person's first agent gets, and what the server told its model."""
        self.told = self.rounds[when] = []
        question = f"{self.text['person']} {self.text['claims']}"
        wanted = {"message": question, "min_relevance": 0, "budget_tokens": 4_000}
        self.judge("recall", await self.call(self.send, "POST", "/api/v1/recall", {**wanted, "session": f"asks-{when}"}))
        self.judge("memory_recall", await self.call(self.agent.tool_by_mcp, "memory_recall", wanted))
        found = await self.call(self.agent.tool, "memory_search", {"query": question, "limit": 50, "status": "any"})
        self.judge("memory_search", found["results"])
        for hit in found["results"]:
            self.judge("memory_get", await self.call(self.agent.tool, "memory_get", {"item_id": hit["id"]}))
        self.judge("prompt", await self.call(self.send, "GET", "/api/v1/prompt?with=memory_file"))
        self.judge("summary", await self.call(self.send, "GET", "/api/v1/summary?format=message"))
        status, entity = await answered(self.agent.tool, "memory_entity", {"name": self.text["marker"]})
        if status == 200:
            self.judge("memory_entity", [entity["summary"], *entity["relations"], *entity["changed"], *entity["items"]])
        for prompt in prompts:
            if prompt.startswith("<facts>"):
                headings = [line for line in prompt.splitlines() if line.startswith("[")]
                for line, trust in (*facts_of(prompt), *((line, None) for line in headings)):
                    self.note("prompt of the summary", trust, line)
            elif "<conversation>" in prompt:
                for line in prompt.partition("<conversation>")[0].splitlines():
                    self.note("known to the model", KNOWN, line)

    def judge(self, door, answer, trust=None, kind=""):
        """Whose word what it says is, is said beside it, or in the text itself."""
        match answer:
            case dict():
                trust, kind = answer.get("trust", trust), answer.get("type", kind)
                if trust == "agent" and answer.get("agent") not in (None, OTHER):
                    trust = f"agent {answer['agent']}"
                for value in answer.values():
                    self.judge(door, value, trust, kind)
            case list():
                for value in answer:
                    self.judge(door, value, trust, kind)
            case str() if trust:
                self.note(f"{door}, {kind}" if kind else door, trust, answer)
            case str():
                self.judge_text(door, answer)

    def judge_text(self, door, text):
        kind, of_block = "", None
        for line in text.splitlines():
            if line.startswith("</keepsake-memory"):
                kind, of_block = "", None
            if block := BLOCK.match(line):
                attributes = dict(ATTRIBUTE.findall(block[0]))
                kind, of_block = attributes["kind"], attributes.get("trust")
            recalled = RECALLED.match(line) if kind == "recall" else None
            if recalled:
                self.note(door, next((part for part in recalled[1].split(", ") if part in TRUSTS), None), line)
            elif kind == "summary" or line.startswith("In short: "):
                for sentence in re.split(r"(?<=\.) ", line.removeprefix("In short: ")):
                    trust = next((trust for trust, words in PASSED_ON.items() if sentence.startswith(words)), UNLABELLED)
                    self.note(f"{door}, in short", trust, sentence)
            else:
                self.note(door, of_block, line)

    def note(self, door, trust, line):
        """What the person wrote themself is no news of theirs."""
        one = Told(door, trust, line)
        if one not in self.told and self.marker in plain(line).replace(self.said, " "):
            self.told.append(one)

    def is_own(self, told):
        """An agent's own word, told as such."""
        return self.text["place"] in OF_AGENTS and told.trust in ("agent", UNLABELLED)

    def through(self, when):
        """Told as the person's word, as an agent's that no agent said, or as nobody's."""
        return [told for told in self.rounds[when] if told.trust not in ("external", "tool", KNOWN) and not self.is_own(told)]

    def outcome(self):
        """What the columns of the table count."""
        first = self.rounds["first"]
        return {"stored": bool(self.stored), "told as a page's or a tool's": any(told.trust in ("external", "tool") for told in first),
                "told as an agent's own word": any(self.is_own(told) for told in first), "told nowhere": not first,
                "got through": bool(self.through("first")), "only after a later session": bool(self.through("later")) and not self.through("first")}


class Series:
    def __init__(self, server, model, planted):
        self.server, self.model, self.planted = server, model, planted
        self.postgres = Embedded(server.data)

    def sql(self, statement):
        return sql(self.postgres.bin, self.postgres.url(), statement)

    async def run(self):
        await self.use_model()
        await self.each("users", Planted.sign_up)
        await self.each("conversations", Planted.talk)
        await self.settled()
        await self.each("brought in", Planted.bring)
        await self.settled()
        await self.each("summaries", Planted.summarise)
        await self.settled()
        await self.each("asked for", lambda one: one.ask("first", self.model.prompts))
        self.look_behind()
        await self.each("later sessions", lambda one: one.converse("later", {"role": "user", "content": LATER}))
        await self.settled()
        await self.each("asked for again", lambda one: one.ask("later", self.model.prompts))

    async def use_model(self):
        """For everybody."""
        self.server.make_user("root@example.com", "--admin")
        root = Person(self.server.port, "root@example.com", PASSWORD)
        fields = {"action": "save", "provider_type": "openai", "url": f"http://127.0.0.1:{self.model.port}", "model": "obedient", "daily_token_cap": ""}
        status, page = await root.post("/admin/chat", fields)
        if status not in (200, 303):
            fail(f"the chat model was answered with {status}: {page[:300]!r}")

    async def each(self, name, step):
        free = asyncio.Semaphore(AT_ONCE)

        async def of(one):
            async with free:
                await step(one)
        began = time.monotonic()
        await asyncio.gather(*(of(one) for one in self.planted))
        print(f"{name}: {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)

    async def settled(self):
        """All sessions are read, all memories have their embeddings, all summaries that were asked for are written."""
        ends = time.monotonic() + PATIENCE_SECONDS
        waiting = ("session_extractions WHERE outcome = 'pending' OR next_try_at IS NOT NULL", "memory_embeddings WHERE state = 'pending'",
                   "memory_summaries WHERE next_try_at <= now() OR writing_since IS NOT NULL")
        while left := sum(int(self.sql(f"SELECT count(*) FROM {rows}")[0][0]) for rows in waiting):
            if time.monotonic() > ends:
                fail(f"{left} sessions, embeddings and summaries are not done after {PATIENCE_SECONDS} s")
            await asyncio.sleep(0.25)

    def look_behind(self):
        """What is stored of each text, beside the words of the conversation."""
        rows = self.sql("SELECT u.email, i.trust, concat_ws(' ', i.key, i.content, t.slug, t.display_name, p.name) FROM memory_items i"
                        " JOIN users u ON u.id = i.user_id LEFT JOIN memory_themes t ON t.user_id = i.user_id AND t.id = i.theme_id"
                        " LEFT JOIN projects p ON p.user_id = i.user_id AND p.id = i.project_id WHERE NOT i.is_turn")
        stored = collections.defaultdict(list)
        for email, trust, content in rows:
            stored[email].append((trust, plain(content)))
        for one in self.planted:
            one.stored = {trust for trust, content in stored[one.email] if one.marker in content.replace(one.said, " ")}


def shown(planted):
    places = list(dict.fromkeys(one.text["place"] for one in planted))
    rows = [row(place, [one for one in planted if one.text["place"] == place]) for place in places]
    return [["place", "texts", *planted[0].outcome()], *rows, row("all", planted)]


def row(name, planted):
    return [name, len(planted), *map(sum, zip(*(one.outcome().values() for one in planted)))]


async def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--json")
    arguments.add_argument("--short", action="store_true", help=f"{SHORT_A_PLACE} texts of each place")
    given = arguments.parse_args()
    texts = json.loads(TEXTS.read_text())["texts"]
    if given.short:
        texts = [text for n, text in enumerate(texts) if [other["place"] for other in texts[:n]].count(text["place"]) < SHORT_A_PLACE]
    with folder() as home:
        model = Obedient([*texts, SAID])
        await model.start()
        server = Server(home)
        planted = [Planted(server, number, text) for number, text in enumerate(model.texts)]
        series = Series(server, model, planted)
        server.start()
        try:
            await server.ready()
            await series.run()
        finally:
            server.stop()
    *planted, said = planted
    print(table(shown(planted)))
    known = sum(any(told.trust == KNOWN for told in one.rounds["later"]) for one in planted)
    through = [one for one in planted if one.through("first") or one.through("later")]
    print(f"known to the model that reads later sessions, which is not told whose word it is: {known} of {len(planted)}")
    print(f"told as the person's or an agent's word: {len(through)} of {len(planted)}")
    if given.json:
        found = [{"id": one.text["id"], "by": one.text["by"], "trust": sorted(one.stored), "refused": one.refused, **one.outcome(),
                  "how": {when: one.through(when) for when in one.rounds}, "told": one.rounds["first"]} for one in planted]
        Path(given.json).write_text(json.dumps(found, indent=1, ensure_ascii=False))
    for one in through:
        for when in one.rounds:
            for told in one.through(when):
                if when == "first" or told.line not in {first.line for first in one.through("first")}:
                    print(f"{one.text['id']}, {when}: {told.door}: {told.trust or 'nobody says whose'}: {plain(told.line)[:LINE_CHARS]}", file=sys.stderr)
    if not {"recall", "memory_recall"} <= {told.door for told in said.rounds["first"] if told.trust == "user"}:
        fail("what the person says is not told as theirs: this is a proof of nothing")
    if sum(one.outcome()["stored"] for one in planted) < STORED_SHARE_MIN * len(planted):
        fail("too few of the texts were stored: this is a proof of nothing")
    if through:
        fail("planted texts are told as the person's or an agent's word")


if __name__ == "__main__":
    asyncio.run(main())
