#!/usr/bin/env python3
"""The lines that Agents & tokens gives out, taken from the page as a person would copy them, and used:
shells run them, the vendors' SDKs run them against a stand-in for the model, and of the clients'
configuration the address and header are what the server lets in.

Run as `python3 tools/with_postgres.py python3 end2end/connect/run.py`, after `cargo build`.
"""
import html.parser
import json
import shlex
import subprocess
import sys
import tempfile
import tomllib
import urllib.request
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPO = HERE.parent.parent
sys.path.insert(0, str(REPO / "tools"))

import model  # noqa: E402
from common import fail, say  # noqa: E402
from python_env import environment  # noqa: E402
from server import Browser, keepsake  # noqa: E402

TIMEOUT_SECONDS = 60


def main():
    python = environment("connect", HERE / "requirements.txt")
    with tempfile.TemporaryDirectory() as home, keepsake(home) as server:
        page = Page(server)
        for client, use in CLIENTS.items():
            pastes = page.make_agent(client)
            use(Client(server, python, home, pastes))
            if page.is_waiting(client):
                fail(f"{client}: the page still waits for its first call")
            say(f"{client}: its lines work")


class Page(Browser):
    def make_agent(self, client):
        """Makes an agent of this name; returns what its tab has to paste."""
        answer = self.post("/agents", name=client, scope=["memory:read", "memory:write", "sessions:write"], expires_days="")
        if "Waiting for" not in answer:
            fail("the page does not say that it waits for the first call")
        tabs = Tabs()
        tabs.feed(answer)
        return tabs.pastes[client]

    def is_waiting(self, client):
        # Without the marks that Leptos puts beside the parts of a page.
        page = self.get("/agents").replace("<!>", "")
        [agent] = [part for part in page.split("id=\"agent-fold-")[1:] if f">{client}</bdi>" in part]
        return "Waiting for" in agent


class Tabs(html.parser.HTMLParser):
    """{client: [what is to be pasted]}"""

    def __init__(self):
        super().__init__()
        self.pastes, self.client, self.in_code = {}, None, False

    def handle_starttag(self, tag, attributes):
        self.client = dict(attributes).get("data-client", self.client)
        if tag == "code" and self.client:
            self.in_code = True
            self.pastes.setdefault(self.client, []).append("")

    def handle_endtag(self, tag):
        if tag == "code":
            self.in_code = False
        if tag == "fieldset":
            self.client = None

    def handle_data(self, data):
        if self.in_code:
            self.pastes[self.client][-1] += data


class Client:
    def __init__(self, server, python, home, pastes):
        self.server, self.python, self.home, self.pastes = server, python, home, pastes

    def lets_in(self, url, headers):
        """Whether this address and header list the tools."""
        if url != f"{self.server.url}/mcp":
            fail(f"this is not the server's address: {url}")
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
        headers = {**headers, "Content-Type": "application/json", "Accept": "application/json, text/event-stream",
                   "MCP-Protocol-Version": "2025-06-18"}
        answer = urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers)).read().decode()
        if "memory_search" not in answer:
            fail(f"the tools are not listed: {answer[:200]}")

    def run(self, command, **env):
        done = subprocess.run(command, env={**self.server.env, "HOME": self.home, **env}, text=True, capture_output=True, timeout=TIMEOUT_SECONDS)
        if done.returncode:
            fail(f"{command[-1][:200]}\n{done.stderr[-2000:]}")
        return done.stdout

    def run_python(self):
        """The script, against a stand-in for the model; what was remembered comes back through it."""
        address = model.serve()
        env = {"OPENAI_BASE_URL": f"{address}/v1", "OPENAI_API_KEY": "none", "ANTHROPIC_BASE_URL": address, "ANTHROPIC_API_KEY": "none"}
        said = self.run([self.python, "-W", "ignore", "-c", self.pastes[0]], **env)
        if "Prefers tea over coffee." not in said:
            fail(f"the memory did not come back: {said[-500:]}")


def hooked(use):
    """Its first line installs the hooks, and takes them out again."""
    def used(client):
        line = client.pastes.pop(0)
        for option in (" --yes", " --remove --yes"):
            client.run(["bash", "-c", f"set -o pipefail; {line}{option}"])
        use(client)
    return used


def claude_code(client):
    words = shlex.split(client.pastes[0])
    client.lets_in(words[words.index("keepsake") + 1], header(words))


def gemini_cli(client):
    words = shlex.split(client.pastes[0])
    client.lets_in(words[-1], header(words))


def header(words):
    name, value = words[words.index("--header") + 1].split(": ")
    return {name: value}


def codex(client):
    token = client.run(["bash", "-c", f'{client.pastes[0]}\nprintf %s "$KEEPSAKE_TOKEN"'])
    server = tomllib.loads(client.pastes[1])["mcp_servers"]["keepsake"]
    if server["bearer_token_env_var"] != "KEEPSAKE_TOKEN":
        fail("the variable is another")
    client.lets_in(server["url"], {"Authorization": f"Bearer {token}"})


def cursor(client):
    server = json.loads(client.pastes[0])["mcpServers"]["keepsake"]
    client.lets_in(server["url"], server["headers"])


def opencode(client):
    server = json.loads(client.pastes[0])["mcp"]["keepsake"]
    client.lets_in(server["url"], server["headers"])


def vscode(client):
    server = json.loads(client.pastes[0])["servers"]["keepsake"]
    client.lets_in(server["url"], server["headers"])


def curl(client):
    added, found = (json.loads(client.run(["bash", "-c", line])) for line in client.pastes)
    if added["id"] not in [hit["id"] for hit in found["results"]]:
        fail(f"what was added is not found: {found}")


def others(client):
    url, line = client.pastes[0].split("\n")
    client.lets_in(url, dict([line.split(": ")]))
    asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": {"io.modelcontextprotocol/protocolVersion": "2025-06-18"}}}
    command = client.pastes[1].replace("keepsake mcp", f"{shlex.quote(client.server.binary)} mcp")
    said = client.run(["bash", "-c", f"{command} <<< {shlex.quote(json.dumps(asked))}"])
    if "memory_search" not in said:
        fail(f"the bridge does not list the tools: {said[-500:]}")


CLIENTS = {"claude-code": hooked(claude_code), "codex": hooked(codex), "gemini-cli": hooked(gemini_cli), "cursor": hooked(cursor),
           "opencode": hooked(opencode), "vscode": vscode,
           "openai": Client.run_python, "anthropic": Client.run_python, "langchain": Client.run_python, "curl": curl, "stdio": others}

if __name__ == "__main__":
    main()
