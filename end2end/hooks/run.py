#!/usr/bin/env python3
"""clients/connect/keepsake_connect.py as a person uses it: each agent's own program is connected, told something in one
conversation, and is given it in the next, over a model's stand-in (model.py). Then what needs no agent: files are
restored to the byte, comments stay, and a hook neither fails nor waits, whatever it is given.

tools/hooks.sh installs what this needs, and runs it. Names of clients as arguments run only those.
"""
import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPO = HERE.parent.parent
sys.path.insert(0, str(REPO / "tools"))

import files  # noqa: E402
import hostile  # noqa: E402
import model  # noqa: E402
from common import fail, say  # noqa: E402
from server import keepsake  # noqa: E402

SCRIPT = REPO / "clients/connect/keepsake_connect.py"
MODULES = REPO / "target/hooks/node_modules"
# What one agent is told, another must not be given: each has a boat of its own.
HARBOURS = {"claude-code": "Bergen", "codex": "Kirkenes", "gemini-cli": "Hirtshals", "opencode": "Stavanger"}
# A hang is a bug; how fast is not asked here.
AGENT_TIMEOUT_S, ARRIVAL_TIMEOUT_S = 180, 60
QUESTIONS_MAX = 5


class Agent:
    """One client with a home of its own, and a model that is scripted."""

    def __init__(self, name, server, folder):
        self.name, self.server, self.home, self.model = name, server, Path(folder) / name, model.serve()
        self.work = self.home / "harbour"
        self.work.mkdir(parents=True)
        self.fact = f"the boat to {HARBOURS.get(name)} leaves on Friday at nine."
        self.env = {**{key: value for key, value in os.environ.items() if not key.startswith(("KEEPSAKE_", "CLAUDE", "ANTHROPIC_", "CODEX_", "GEMINI_", "OPENCODE", "XDG_"))},
                    "HOME": str(self.home), "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}

    def connect(self, *arguments, token=None, script=None, stdin=None):
        env = {**self.env, "KEEPSAKE_TOKEN": token or self.server.token}
        command = [sys.executable, script or str(SCRIPT), self.name, "--url", self.server.url, *arguments]
        return subprocess.run(command, env=env, stdin=stdin or subprocess.DEVNULL, capture_output=True, text=True, timeout=60, start_new_session=True)

    def ask(self, *prompt):
        """Runs the agent once; returns what its model was asked."""
        self.model.requests.clear()
        env = {**self.env, **variables(self)}
        done = subprocess.run([*COMMANDS[self.name], *prompt], cwd=self.work, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=AGENT_TIMEOUT_S)
        if model.ANSWER not in done.stdout:
            fail(f"{self.name} did not answer ({done.returncode}): {done.stdout[-1500:]}\n{done.stderr[-1500:]}")
        return json.dumps([body for _, body in self.model.requests], ensure_ascii=False)


COMMANDS = {
    "claude-code": [str(MODULES / "@anthropic-ai/claude-code-linux-x64/claude"), "--allowedTools", "Bash", "-p"],
    # Codex runs no hook that its user has not trusted on a terminal.
    "codex": [str(MODULES / ".bin/codex"), "exec", "--skip-git-repo-check", "--dangerously-bypass-hook-trust"],
    "gemini-cli": [str(MODULES / ".bin/gemini"), "--skip-trust", "-p"],
    "opencode": [str(MODULES / "opencode-linux-x64/bin/opencode"), "run"],
}


def variables(agent):
    return {"claude-code": {"ANTHROPIC_BASE_URL": agent.model.url, "ANTHROPIC_API_KEY": "none", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"},
            "codex": {"SCRIPT_KEY": "none"},
            "gemini-cli": {"GOOGLE_GEMINI_BASE_URL": agent.model.url, "GEMINI_API_KEY": "none"},
            "opencode": {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1"}}[agent.name]


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def prepare(agent):
    """The client's configuration as its user has it, with comments; returns its files."""
    if agent.name == "claude-code":
        return [write(agent.home / ".claude/settings.json", '{\n  "cleanupPeriodDays": 20\n}\n')]
    if agent.name == "codex":
        return [write(agent.home / ".codex/config.toml", f'# My model\nmodel = "m"\nmodel_provider = "script"\n\n[model_providers.script]\nname = "script"\n'
                      f'base_url = "{agent.model.url}/v1"\nwire_api = "responses"\nenv_key = "SCRIPT_KEY"\n')]
    if agent.name == "gemini-cli":
        return [write(agent.home / ".gemini/settings.json", '{\n  // The key is in my environment.\n  "security": { "auth": { "selectedType": "gemini-api-key" } }\n}\n')]
    provider = {"npm": "@ai-sdk/openai-compatible", "name": "script", "options": {"baseURL": f"{agent.model.url}/v1", "apiKey": "none"}, "models": {"m": {"name": "m"}}}
    return [write(agent.home / ".config/opencode/opencode.jsonc", f'{{\n  // My model\n  "model": "script/m",\n  "provider": {{ "script": {json.dumps(provider)} }},\n}}\n')]


def remembers(agent):
    prepare(agent)
    done = agent.connect("--yes")
    if done.returncode:
        fail(f"{agent.name}: not connected: {done.stdout}\n{done.stderr}")
    holds_no_token(agent, done.stdout + done.stderr)
    agent.ask(f"Remember: {agent.fact}")
    session = handed_over(agent)
    # A hook waits a quarter of a second for the server, and on a busy machine in vain: asked again, in another conversation.
    for _ in range(QUESTIONS_MAX):
        asked = agent.ask(f"When does the boat to {HARBOURS[agent.name]} leave?")
        # The summary and the server's instructions name the element, too.
        blocks = asked.split("keepsake-memory")[1:]
        if any(agent.fact[4:] in block for block in blocks):
            break
    else:
        fail(f"{agent.name}: the boat is not in what was recalled: {[block[:1_000] for block in blocks]}")
    say(f"{agent.name}: conversation one is in the server ({session['messages']} messages), conversation two was given it")


def compacts(agent):
    """A compaction that is the program's own: what was decided before it is in the note of the day."""
    decided = f"We decided to paint the boat to {HARBOURS[agent.name]} red."
    said = "".join(json.dumps({"type": "user", "message": {"role": "user", "content": text}}) + "\n" for text in (decided, "/compact"))
    command = [*COMMANDS[agent.name], "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"]
    done = subprocess.run(command, cwd=agent.work, env={**agent.env, **variables(agent)}, input=said, capture_output=True, text=True, timeout=AGENT_TIMEOUT_S)
    if '"compact_boundary"' not in done.stdout:
        fail(f"{agent.name}: it has not compacted ({done.returncode}): {done.stdout[-3000:]}\n{done.stderr[-1500:]}")
    deadline = time.monotonic() + ARRIVAL_TIMEOUT_S
    while time.monotonic() < deadline:
        listed = api(agent.server, "/api/v1/documents?folder=memory")["documents"]
        notes = [api(agent.server, f"/api/v1/documents/{note['path']}")["content"] for note in listed]
        if any(decided in note for note in notes):
            say(f"{agent.name}: its own compaction left a note of what was decided")
            return
        time.sleep(0.5)
    fail(f"{agent.name}: no note of what was decided: {notes}")


def keeps_a_command(agent):
    """What was typed, not what the command's file makes of it, which is all that OpenCode keeps."""
    write(agent.home / ".config/opencode/command/berth.md", "Look for a berth in $ARGUMENTS, and name three.\n")
    typed = f"/berth {HARBOURS[agent.name]}"
    agent.ask("--command", *typed[1:].split())
    deadline, said = time.monotonic() + ARRIVAL_TIMEOUT_S, []
    while time.monotonic() < deadline:
        for name in sessions_of(agent):
            with contextlib.suppress(urllib.error.HTTPError):
                messages = api(agent.server, f"/api/v1/sessions/{urllib.parse.quote(name, safe='')}/messages")["messages"]
                said = [message["content"] for message in messages if message["role"] == "user"]
                if said == [typed]:
                    say(f"{agent.name}: of a command is kept what was typed")
                    return
        time.sleep(0.5)
    fail(f"{agent.name}: {typed} did not arrive: {said}")


def outlives_its_script(agent):
    """What is left of an installation blocks no prompt."""
    (agent.home / ".keepsake/connect.py").unlink()
    if "<keepsake-memory" in agent.ask(f"When does the boat to {HARBOURS[agent.name]} leave?"):
        fail(f"{agent.name}: the script is still there")
    say(f"{agent.name}: it answers without the script")


def handed_over(agent):
    """Waits for the session; then puts beside it the memory that a chat model would have made of it."""
    deadline = time.monotonic() + ARRIVAL_TIMEOUT_S
    while time.monotonic() < deadline:
        for name in sessions_of(agent):
            path = f"/api/v1/sessions/{urllib.parse.quote(name, safe='')}"
            with contextlib.suppress(urllib.error.HTTPError):
                session, messages = api(agent.server, path), api(agent.server, f"{path}/messages")["messages"]
                if session["completed_at"]:
                    check_messages(agent, messages)
                    api(agent.server, "/api/v1/tools/memory_add", {"type": "fact", "content": f"The {agent.fact[4:]}"})
                    return {"messages": len(messages)}
        time.sleep(0.5)
    arrived = [path.read_text() for path in (agent.home / ".keepsake/sessions").glob("*")]
    fail(f"{agent.name}: no session of {sessions_of(agent)} was completed; last ids handed over: {arrived}")


def check_messages(agent, messages):
    said = [(message["role"], message["content"]) for message in messages]
    if not any(role == "user" and agent.fact in content for role, content in said):
        fail(f"{agent.name}: the user's words are missing: {said}")
    if not any(role == "assistant" and model.ANSWER in content for role, content in said):
        fail(f"{agent.name}: the model's words are missing: {said}")
    calls = [call["id"] for message in messages for call in message["tool_calls"]]
    answers = [message["tool_call_id"] for message in messages if message["role"] == "tool"]
    if not calls or set(calls) != set(answers):
        fail(f"{agent.name}: {calls} were called and {answers} answered: {said}")
    if len(messages) != 4:
        fail(f"{agent.name}: four messages were said, not {said}")


def sessions_of(agent):
    """The ids of its sessions: from the client's own files, whose names they are."""
    if agent.name == "opencode":
        return {f"opencode:{name}" for name in agent_ids(agent.home / ".local/share/opencode")}
    paths = {"claude-code": ".claude/projects/*/*.jsonl", "codex": ".codex/sessions/*/*/*/*.jsonl", "gemini-cli": ".gemini/tmp/*/chats/*.jsonl"}[agent.name]
    found = set()
    for path in agent.home.glob(paths):
        first = [json.loads(line) for line in path.read_text().splitlines()[:1]]
        found |= {f"{agent.name}:{entry.get('sessionId') or entry['payload']['id']}" for entry in first}
    return found


def agent_ids(folder):
    return {name.decode() for path in folder.rglob("*.db*") for name in re.findall(rb"ses_[0-9a-f]{12}[0-9A-Za-z]{14}", path.read_bytes())}


def holds_no_token(agent, said):
    places = [path for path in agent.home.rglob("*") if path.is_file() and agent.server.token.encode() in path.read_bytes()]
    if agent.server.token in said or [path.relative_to(agent.home).as_posix() for path in places] != [f".keepsake/{agent.name}.json"]:
        fail(f"{agent.name}: the token is in {places} or in what was printed")
    if places[0].stat().st_mode & 0o77 or (agent.home / ".keepsake/connect.py").stat().st_mode & 0o77:
        fail(f"{agent.name}: others may read the token or the script")


def api(server, path, body=None):
    headers = {"Authorization": f"Bearer {server.token}", "Content-Type": "application/json"}
    request = urllib.request.Request(server.url + path, None if body is None else json.dumps(body).encode(), headers)
    return json.loads(urllib.request.urlopen(request, timeout=30).read())


def main():
    wanted = sys.argv[1:] or [*COMMANDS, "files", "hostile"]
    for name in wanted:
        with tempfile.TemporaryDirectory(dir=Path.home()) as folder, keepsake(folder) as server:
            if name in COMMANDS:
                agent = Agent(name, server, folder)
                remembers(agent)
                # The others compact on a terminal alone: their hooks are given recorded input (hostile.py).
                if name == "claude-code":
                    compacts(agent)
                if name == "opencode":
                    keeps_a_command(agent)
                outlives_its_script(agent)
            else:
                {"files": files, "hostile": hostile}[name].run(server, Path(folder), Agent, api)


if __name__ == "__main__":
    main()
