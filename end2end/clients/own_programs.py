"""The client for one's own programs: each method and each error, in Python (sync and async) and TypeScript."""
import asyncio
import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from common import REPO, say
from keepsake_memory import AsyncKeepsake, Keepsake, KeepsakeError
from stand_ins import proxy, serving, silent
from with_postgres import free_port

BUILT = REPO / "target/clients/typescript"
TIMEOUT_SECONDS = 0.2


class Call(NamedTuple):
    """`session` is None for a method of the client itself."""
    session: str | None
    method: str
    given: list
    options: dict = {}


class Python:
    def __init__(self, url, token, **options):
        self.client = Keepsake(url, token, **options)

    def answers(self, calls):
        return [self.answer(call) for call in calls]

    def answer(self, call):
        target = self.client if call.session is None else self.client.session(call.session)
        try:
            return {"answer": self.run(lambda: getattr(target, call.method)(*call.given, **call.options))}
        except KeepsakeError as error:
            return {"error": [str(error), error.status, error.code, error.field]}

    def run(self, called):
        return called()


class AsyncPython(Python):
    """Each call in an event loop of its own."""

    def __init__(self, url, token, **options):
        self.client = AsyncKeepsake(url, token, **options)

    def run(self, called):
        async def awaited():
            return await called()

        return asyncio.run(awaited())


class TypeScript:
    def __init__(self, url, token, timeout=30):
        self.env = {**os.environ, "KEEPSAKE_URL": url, "KEEPSAKE_TOKEN": token, "TIMEOUT_MS": str(round(timeout * 1000))}

    def answers(self, calls):
        sent = json.dumps([call._asdict() for call in calls])
        ran = subprocess.run(["node", BUILT / "drive.mjs", "client"], env=self.env, input=sent, text=True, check=True, stdout=subprocess.PIPE)
        return json.loads(ran.stdout)


CLIENTS = {"python": Python, "python-async": AsyncPython, "typescript": TypeScript}


def hold_methods(server):
    for name, client in CLIENTS.items():
        remembers_and_finds(name, client(server.url, server.token))
        hands_over(name, client(server.url, server.token))
        says_what_is_wrong(client, server)
        waits_once(client)
        say(f"{name}: each method of the client answered, each error told")


def done(client, *calls):
    answers = client.answers([Call(*call) for call in calls])
    assert all("answer" in answer for answer in answers), answers
    return [answer["answer"] for answer in answers]


def remembers_and_finds(name, client):
    word = name.replace("-", "")
    key = f"ship_{word}"
    added, again, found, listed, recalled, few, told = done(
        client,
        (None, "remember", [f"The ship {word} sails to Ålesund."], {"type": "preference", "theme": "ships", "key": key, "tags": ["sea"]}),
        (None, "remember", [f"The ship {word} lies in Molde."]),
        (None, "search", [f"ship {word}"], {"limit": 1, "theme": "ships", "types": ["preference"], "status": "active", "recency_days": 2}),
        (None, "search", ["*"], {"limit": 1}),
        (None, "recall", [f"Where does the ship {word} sail?"], {"budget_tokens": 300, "min_relevance": 0.1}),
        (None, "recall", [[f"I think of the ship {word}.", "Where does the ship sail?"]], {"min_relevance": 0.1}),
        (None, "recall", [f"Where does the ship {word} sail?"], {"session": f"calls-{name}", "min_relevance": 0.1}),
    )
    assert added["status"] == again["status"] == "active" and added["id"] != again["id"], (added, again)
    [hit] = found["results"]
    assert hit["id"] == added["id"] and hit["type"] == "preference" and hit["theme"] == "ships" and hit["key"] == key and hit["tags"] == ["sea"], hit
    assert len(listed["results"]) == 1 and listed["cursor"], listed
    for answer in (recalled, few, told):
        assert added["id"] in [item["id"] for item in answer["items"]] and f"The ship {word} sails to Ålesund." in answer["section"], answer

    twice, read_on, summary, forgotten, gone = done(
        client,
        (f"calls-{name}", "recall", [f"Where does the ship {word} sail?"], {"min_relevance": 0.1}),
        (None, "search", ["*"], {"limit": 1, "cursor": listed["cursor"]}),
        (None, "summary", []),
        (None, "forget", [key], {"theme": "ships"}),
        (None, "forget", [key]),
    )
    assert (twice["section"], twice["reason"]) == ("", "told"), twice
    assert read_on["results"][0]["id"] < listed["results"][0]["id"], (listed, read_on)
    assert summary["summary"] is None and summary["reason"], summary
    assert forgotten == {"count": 1, "archived": [added["id"]]} and gone["count"] == 0, (forgotten, gone)


def hands_over(name, client):
    # A character that stands for something in an address, and one that is not ASCII.
    session = f"{name}/1 ?#ä"
    calls = {"id": "call-1", "function": {"name": "calendar", "arguments": "{}"}}
    said = f"Remember that the {name} meeting is in room 7."
    first, again, nearly_full, many, flushed, at_once, closed = done(
        client,
        (session, "add", ["user", said], {"id": "m1"}),
        (session, "add", ["user", said], {"id": "m1"}),
        (session, "add", ["assistant", None], {"id": "m2", "tool_calls": [calls], "context_used": 0.9}),
        (session, "add_many", [[{"role": "tool", "content": "Room 7.", "tool_call_id": "call-1", "created_at": "2026-11-21T15:04:05Z"}, {"id": "m4", "role": "assistant", "content": "Noted."}]], {"context_used": 0.1}),
        (session, "flush", [], {"reason": "a test", "context_used": 0.9}),
        (session, "flush", [], {"wait": False}),
        (session, "complete", [f"The room of the {name} meeting."]),
    )
    assert first == {"accepted": 1, "duplicates": 0, "flush_advised": False}, first
    assert again == {"accepted": 0, "duplicates": 1, "flush_advised": False}, again
    assert nearly_full["flush_advised"] and many["accepted"] == 2, (nearly_full, many)
    # No chat model is set: what was said in so many words is kept.
    assert (flushed["state"], flushed["outcome"], flushed["message_count"]) == ("done", "skipped", 4), flushed
    assert any("room 7" in item["content"] for item in flushed["items"]), flushed
    assert at_once["state"] == "reading" and (closed["state"], closed["external_id"]) == ("completed", session), (at_once, closed)


def failed(client, *call):
    [answer] = client.answers([Call(*call)])
    assert "error" in answer, answer
    return tuple(answer["error"])


def says_what_is_wrong(client, server):
    ours = client(server.url, server.token)
    for call, expected in (
        ((None, "recall", ["the boat to Bergen"], {"budget_tokens": 1}), (422, "out_of_range", "budget_tokens")),
        ((None, "remember", ["x"], {"type": "rumour"}), (422, "invalid_type", "type")),
        ((None, "search", ["x"], {"limit": 500}), (422, "out_of_range", "limit")),
        (("never-said", "flush", []), (404, "not_found", None)),
        (("never-said", "complete", []), (404, "not_found", None)),
    ):
        sentence, *rest = failed(ours, *call)
        assert tuple(rest) == expected and sentence.endswith("."), (call, sentence, rest)
    [left_out] = done(ours, ("a", "add", ["system", "x"]))
    assert left_out["accepted"] == 0 and left_out["skipped"][0]["why"] == "System messages are not kept.", left_out

    secret = "ks_" + "mistyped" * 5
    nowhere = f"http://127.0.0.1:{free_port()}"
    sentence, *rest = failed(client(server.url, secret), None, "summary", [])
    assert rest[0] == 401 and secret not in sentence, (sentence, rest)
    assert failed(client(nowhere, secret), None, "summary", []) == (f"Keepsake does not answer at {nowhere}.", None, "unreachable", None)
    with silent() as quiet, serving(proxy) as other:
        away = failed(client(quiet, secret, timeout=TIMEOUT_SECONDS), None, "recall", ["tea"])
        assert away == (f"Keepsake does not answer at {quiet}.", None, "unreachable", None), away
        assert failed(client(other, secret), "a", "add", ["user", "x"]) == (f"What answers at {other} is not Keepsake (HTTP 502).", 502, "not_keepsake", None)


def waits_once(client):
    """A request that is put off for a little is sent once more; nothing else is."""
    problem = json.dumps({"status": 429, "code": "too_many_calls", "detail": "Too many calls."})
    put_off = lambda status, seconds: (status, problem, ("Retry-After", str(seconds)))
    summary = (200, json.dumps({"summary": "Tea."}))
    for answers, is_answered, sent in (
        ([put_off(429, 1), summary], True, 2),
        ([put_off(429, 0), put_off(429, 0), summary], False, 2),
        ([put_off(429, 6), summary], False, 1),
        ([(429, problem), summary], False, 1),
        ([put_off(503, 1), summary], False, 1),
    ):
        left = list(answers)
        with serving(lambda _: left.pop(0)) as address:
            began = time.monotonic()
            [answer] = client(address, "ks_a").answers([Call(None, "summary", [])])
        assert ("answer" in answer, len(answers) - len(left)) == (is_answered, sent), (answers, answer)
        assert not (is_answered and time.monotonic() - began < 1), "it did not wait"
        assert is_answered or answer["error"][:1] + answer["error"][2:3] == ["Too many calls.", "too_many_calls"], answer


def needs_no_sdk(server):
    """The TypeScript package alone; frameworks.py has the Python package without the SDK."""
    with tempfile.TemporaryDirectory() as home:
        package = Path(home, "node_modules/keepsake-memory")
        package.mkdir(parents=True)
        shutil.copytree(BUILT / "dist", package / "dist")
        shutil.copy(BUILT / "package.json", package)
        program = 'import { Keepsake } from "keepsake-memory"; console.log((await new Keepsake().search("*")).mode);'
        env = {**server.env, "KEEPSAKE_URL": server.url, "KEEPSAKE_TOKEN": server.token}
        ran = subprocess.run(["node", "--input-type=module", "-"], cwd=home, env=env, input=program, text=True, check=True, stdout=subprocess.PIPE)
    assert ran.stdout == "recent\n", ran.stdout
    say("typescript: the client needs no SDK")
