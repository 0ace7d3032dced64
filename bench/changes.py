#!/usr/bin/env python3
"""What is told of a fact after it changed: forty changes of a life, each in three sessions, in three languages.

    tools/with_postgres.py python3 bench/changes.py [--binary FILE] [--model scripted | llama] [--languages en,de,zh] [--minutes N] [--show]

Each change of bench/data/changes.toml in each language is an account of its own. Its sessions are handed over and read one
after the other, then `ask` is searched for and recalled without a session. A text is stale if it has a fragment of the old
value and none of the new one. A line of recall whose brackets say that it is over ("until 2024", "2019 to 2024") counts as
over and not as stale; of a search's first result the text alone counts. The scripted chat model replays the facts and
summaries of the data and answers `contradicts` for the old and the new value of one change, else `unrelated`; `llama` is
SmolLM2-135M in llama.cpp, which reads one account after the other until --minutes are over. Days are shifted so that the
last session was three days ago. --show prints what is stale. Needs `make build`, or --binary.
"""
import argparse
import contextlib
import datetime
import http.client
import http.server
import json
import os
import re
import subprocess
import sys
import threading
import time
import tomllib

import run
from run import REPO, server as servers
from sql import sql

sys.path.insert(0, str(REPO / "end2end/hooks"))
from model import Handler  # noqa: E402

SESSIONS, LANGUAGES = ("first", "second", "third"), ("en", "de", "zh")
COLUMNS = ("asked", "stale first", "now first", "stale told", "over told", "now told", "nothing")
CHANGES = tomllib.loads((REPO / "bench/data/changes.toml").read_text())["change"]
DAY = datetime.date.fromisoformat
SHIFT = datetime.date.today() - datetime.timedelta(days=3) - max(DAY(change["dates"][-1]) for change in CHANGES)
# Of every session there is an outcome, and what was made of it has its vectors.
UNREAD = ("session_extractions WHERE outcome = 'pending'", "sessions WHERE turns_position < message_count", "memory_embeddings WHERE state = 'pending'")


def main(given):
    os.environ |= {"KEEPSAKE_BIN": os.path.abspath(given.binary)} if given.binary else {}
    wanted = [(change, language) for language in given.languages.split(",") for change in CHANGES]
    # A slow model reads one account at a time, so that those that were read are complete.
    size = 1 if given.model == "llama" else len(wanted)
    rows, began = [], time.monotonic()
    with run.keepsake(KEEPSAKE_DATA_DIR=str(REPO / "data")) as server, chat_model(given.model) as (provider, url):
        # The server's own chat model, which an admin sets for all accounts, may be on loopback.
        server.email = "admin@example.com"
        new_user(server, server.email, "--admin")
        servers.Browser(server).post("/admin/chat", action="save", provider_type=provider, url=url, model="bench", daily_token_cap="")
        for batch in (wanted[at:at + size] for at in range(0, len(wanted), size)):
            if given.minutes and time.monotonic() - began > given.minutes * 60:
                break
            tokens = [new_user(server, f"{change['name']}.{language}@example.com") for change, language in batch]
            for n in range(len(SESSIONS)):
                for (change, language), token in zip(batch, tokens):
                    hand_over(server, token, change, language, n)
                while any(int(sql(f"SELECT count(*) FROM {unread}")) for unread in UNREAD):
                    time.sleep(0.5)
            for (change, language), token in zip(batch, tokens):
                rows.append((change["kind"], language, *asked(server, token, change, language, given.show)))
        read = sql("SELECT string_agg(outcome || ' ' || n, ', ') FROM (SELECT outcome, count(*) AS n FROM session_extractions GROUP BY 1) o")
    print(f"\n{len(rows)} of {len(wanted)} accounts in {time.monotonic() - began:.0f} s; sessions: {read}")
    print(f"{'':12}" + "".join(f"{column:>13}" for column in COLUMNS))
    for name in [*LANGUAGES, *dict.fromkeys(change["kind"] for change in CHANGES), "all"]:
        table(name, [row for row in rows if name in (*row[:2], "all")])


def new_user(server, email, *flags):
    server.run("user", "create", "--email", email, "--password-stdin", *flags, input=f"{servers.PASSWORD}\n")
    scopes = (word for scope in ("memory:read", "memory:write", "sessions:write") for word in ("--scope", scope))
    return server.run("token", "create", "--email", email, "--agent", "bench", *scopes)


def post(server, token, path, body):
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", server.port)) as connection:
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        connection.request("POST", f"/api/v1/{path}", json.dumps(body), headers)
        response = connection.getresponse()
        answer = response.read()
        assert response.status in (200, 202), answer
        return json.loads(answer)


def shifted(date):
    """A day moves with the sessions, a year stays."""
    return (DAY(date) + SHIFT).isoformat() if len(date) == 10 else date


def hand_over(server, token, change, language, n):
    day, name = shifted(change["dates"][n]), SESSIONS[n]
    messages = [{"id": f"m{at}", "role": ("user", "assistant")[at % 2], "content": text, "created_at": f"{day}T09:{at:02}:00Z"}
                for at, text in enumerate(change[language][name])]
    post(server, token, f"sessions/{name}/messages", {"messages": messages})
    post(server, token, f"sessions/{name}/complete", {})


def asked(server, token, change, language, is_shown):
    """The kind of the first result, and those of the lines that recall tells."""
    own = change[language]
    found = post(server, token, "tools/memory_search", {"query": own["ask"]})
    assert found["mode"] == "hybrid", found["degraded"]
    hits = [(kind_of(own, hit["content_snippet"]), hit) for hit in found["results"]] or [("none", {})]
    section = post(server, token, "recall", {"message": own["ask"]})["section"]
    told = [(kind_of(own, *line.partition(") ")[::-2]), line) for line in section.splitlines() if line.startswith("- #")]
    if is_shown and "stale" in (hits[0][0], *(kind for kind, _ in told)):
        lines = [f"{kind:6} {hit['score']:.2f} {hit['type']}: {hit['content_snippet']}" for kind, hit in hits[:4]]
        print(f"\n{change['name']}, {language}: {own['ask']}", *lines, *(f"{kind:6} {line}" for kind, line in told), sep="\n  ", flush=True)
    return hits[0][0], [kind for kind, _ in told]


def kind_of(own, text, brackets=""):
    has = lambda marks: any(mark in text.lower() for mark in own[marks])
    is_over = re.search(r"\buntil\b|\d to \d", brackets)
    return "now" if has("now") else "other" if not has("stale") else "over" if is_over else "stale"


def table(name, rows):
    if rows:
        first, told = (lambda kind: sum(row[2] == kind for row in rows)), (lambda kind: sum(kind in row[3] for row in rows))
        counts = (first("stale"), first("now"), told("stale"), told("over"), told("now"), sum(not row[3] for row in rows))
        print(f"{name:12}{len(rows):13}" + "".join(f"{f'{n} ({100 * n / len(rows):.0f} %)':>13}" for n in counts), flush=True)


@contextlib.contextmanager
def chat_model(name):
    """The kind of its provider, and its address."""
    if name == "llama":
        command = [sys.executable, REPO / "tools/llamacpp_server.py", "--chat"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as child:
            yield "llamacpp", child.stdout.readline().strip()
            child.stdin.close()
    else:
        model = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Scripted)
        threading.Thread(target=model.serve_forever, daemon=True).start()
        yield "openai", f"http://127.0.0.1:{model.server_address[1]}/v1"
        model.shutdown()


class Scripted(Handler):
    """A chat model in OpenAI's form that knows the data."""
    told = [(change, change[language]) for change in CHANGES for language in LANGUAGES]
    # By the first message of a session.
    sessions = {own[session][0]: (change, own, n) for change, own in told for n, session in enumerate(SESSIONS)}
    # The older and the newer value of one change.
    contradictions = {(own["facts"][older][0], own["facts"][newer][0]) for change, own in told
                      for older, newer in ([(0, 1), (1, 2)] if change["kind"] == "back again" else [(0, 2)])}

    def do_POST(self):
        content = self.reply(json.loads(self.rfile.read(int(self.headers["Content-Length"])))["messages"][-1]["content"])
        choice = {"message": {"role": "assistant", "content": json.dumps(content, ensure_ascii=False)}, "finish_reason": "stop"}
        answer = {"model": "scripted", "choices": [choice], "usage": {"prompt_tokens": 1, "completion_tokens": 1}}
        self.answer("application/json", json.dumps(answer).encode())

    def reply(self, asked):
        if pairs := re.findall(r"older: (?:\w+: )?(.*)\nnewer: (?:\w+: )?(.*)\n", asked):
            return {"relations": ["contradicts" if pair in self.contradictions else "unrelated" for pair in pairs]}
        said = re.search(r"^User: (.*)$", asked, re.M)
        if not said or said[1] not in self.sessions:
            return {"facts": []}
        change, own, n = self.sessions[said[1]]
        (category, key), (value, words) = change["keys"][n].split("/"), own["facts"][n]
        fact = {"category": category, "key": key, "value": value, "valid_from": shifted(change["from"][n]), "valid_until": "",
                "source": "user_explicit", "source_context": words}
        return {"facts": [fact], "summary": own["summaries"][n]}


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--binary")
    arguments.add_argument("--model", choices=["scripted", "llama"], default="scripted")
    arguments.add_argument("--languages", default=",".join(LANGUAGES))
    arguments.add_argument("--minutes", type=float, help="begin no other account after so many")
    arguments.add_argument("--show", action="store_true", help="print what is stale")
    main(arguments.parse_args())
