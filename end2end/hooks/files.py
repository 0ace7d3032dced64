"""What installing and removing does to the client's files: a diff without the token, nothing without consent, comments kept,
a second run without a change, and everything back to the byte."""
import fcntl
import http.server
import json
import os
import pty
import subprocess
import sys
import termios
import threading
import tomllib
import urllib.error
import urllib.request
from pathlib import Path

from common import fail, say

SCRIPT = Path(__file__).resolve().parents[2] / "clients/connect/keepsake_connect.py"

# What stands there before, at its worst: {client: {file: text}}.
BEFORE = {
    "claude-code": {".claude/settings.json": '{\n    // mine\n    "hooks": {\n        "SessionStart": [\n            { "hooks": [{ "type": "command", "command": "echo hi" }] } // greets\n        ],\n    },\n    "model": "opus", /* last */\n}\n',
                    ".claude.json": '{\r\n\t"numStartups": 3,\r\n\t"mcpServers": {}\r\n}'},
    "codex": {".codex/config.toml": '# mine\nmodel = "m" # the model\n[features]\nhooks = true', ".codex/hooks.json": "{}"},
    "gemini-cli": {".gemini/settings.json": '{"security":{"auth":{"selectedType":"gemini-api-key"}}}'},
    "cursor": {".cursor/hooks.json": '{\n  "version": 1,\n  "hooks": { "stop": [{ "command": "./mine.sh" }] }\n}\n', ".cursor/mcp.json": '{ "mcpServers": { "other": { "url": "http://x" } } }\n'},
    "opencode": {".config/opencode/opencode.jsonc": '{\n  // mine\n  "theme": "x", // after\n}\n'},
}
# Homes that JSON, TOML or a shell may write in more than one way.
HOMES = ["jürgen", "o'neil", "🚢 my home"]
UNREADABLE = {"claude-code": (".claude/settings.json", '{"hooks": '), "codex": (".codex/hooks.json", '{"hooks": []}'), "gemini-cli": (".gemini/settings.json", "[1]"),
              "cursor": (".cursor/hooks.json", '{"hooks": {"stop": 3}}'), "opencode": (".config/opencode/opencode.json", "[" * 5000)}


def run(server, folder, agent_of, _):
    for client in BEFORE:
        for name, before in (("fresh", {}), ("used", BEFORE[client])):
            agent = agent_of(client, server, folder / name)
            put(agent, before)
            comes_and_goes(agent)
        keeps_later_changes(agent_of(client, server, folder / "later"))
        for home in HOMES:
            comes_and_goes(agent_of(client, server, folder / home))
            keeps_later_changes(agent_of(client, server, folder / home / "later"))
        keeps_settings_of_json(agent_of(client, server, folder / "settings"))
        refuses(agent_of(client, server, folder / "refused"))
        say(f"{client}: files are changed as shown and restored to the byte")
    harms_nobody(server, folder, agent_of)
    goes_wherever_it_went(agent_of("claude-code", server, folder / "elsewhere"))
    keeps_what_is_written_meanwhile(agent_of("claude-code", server, folder / "meanwhile"))
    keeps_settings_of_toml(agent_of("codex", server, folder / "toml"), "")
    keeps_settings_of_toml(agent_of("codex", server, folder / "toml, used"), BEFORE["codex"][".codex/config.toml"])
    comments_stay(agent_of("claude-code", server, folder / "comments"))
    tells_what_is_wrong(agent_of("claude-code", server, folder / "wrong"), server)
    is_fetched_when_piped(agent_of("claude-code", server, folder / "piped"), server)


def put(agent, files):
    for name, text in files.items():
        path = agent.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())


def tree(agent):
    return {path.relative_to(agent.home).as_posix(): path.read_bytes() for path in agent.home.rglob("*") if path.is_file()}


def expect(done, code, *words):
    said = done.stdout + done.stderr
    if done.returncode != code or not all(word in said for word in words) or "Traceback" in said:
        fail(f"{done.args} ended with {done.returncode}, not {code} and {words}: {said}")
    return said


def comes_and_goes(agent):
    before = tree(agent)
    said = expect(agent.connect("--dry-run"), 0, "+++", "Write ")
    if agent.server.token in said or tree(agent) != before:
        fail(f"{agent.name}: --dry-run wrote something, or shows the token")
    expect(agent.connect(), 1, "no terminal")
    if tree(agent) != before:
        fail(f"{agent.name}: it wrote without consent")
    expect(agent.connect("--yes"), 0, "Connected")
    connected = tree(agent)
    is_whole(agent, connected)
    expect(agent.connect("--yes"), 0, "Nothing to change")
    if tree(agent) != connected:
        fail(f"{agent.name}: a second run changed something")
    expect(agent.connect("--remove", "--yes"), 0, "Removed")
    if tree(agent) != before:
        fail(f"{agent.name}: not restored: {[(name, text) for name, text in tree(agent).items() if before.get(name) != text]}, before {before}")
    expect(agent.connect("--remove", "--yes"), 0, "Nothing to change")


def is_whole(agent, files):
    """All that this client needs is there, once."""
    text = b"\n".join(text for name, text in files.items() if not name.startswith(".keepsake/")).decode()
    events = {"opencode": ["chat.message", "session.idle", "experimental.session.compacting"], "cursor": ["start", "hand-over", "flush", "end"]}
    for event in events.get(agent.name, ["start", "prompt", "flush", "end"]):
        word = event if agent.name == "opencode" else f"hook {agent.name} {event}"
        if text.count(word) != 1:
            fail(f"{agent.name}: {word!r} stands {text.count(word)} times in {text}")
    if agent.server.token in text or '"mcp"' not in text:
        fail(f"{agent.name}: the token stands in its configuration, or MCP does not")


def keeps_later_changes(agent):
    """The client writes its file in its own form, with something new; that stays, and ours goes."""
    put(agent, BEFORE[agent.name])
    expect(agent.connect("--yes"), 0)
    name = {"claude-code": ".claude.json", "codex": ".codex/hooks.json", "gemini-cli": ".gemini/settings.json", "cursor": ".cursor/hooks.json"}.get(agent.name)
    if not name:
        return
    path = agent.home / name
    written = {**json.loads(path.read_text()), "later": True}
    path.write_text(json.dumps(written))
    expect(agent.connect("--yes"), 0, "Nothing to change")
    expect(agent.connect("--remove", "--yes"), 0, "Removed")
    left = json.loads(path.read_text())
    if not left.get("later") or "connect.py" in json.dumps(left):
        fail(f"{agent.name}: left {left}")
    if agent.name == "cursor" and left["hooks"] != {"stop": [{"command": "./mine.sh"}]}:
        fail(f"another's hook was touched: {left}")


def harms_nobody(server, folder, agent_of):
    """Where the script or the interpreter is gone, the commands that stand there still end with 0: any other blocks the prompt."""
    for client in ("claude-code", "codex", "gemini-cli", "cursor"):
        agent = agent_of(client, server, folder / "gone")
        expect(agent.connect("--yes"), 0)
        (agent.home / ".keepsake/connect.py").unlink()
        commands = [command for name, text in tree(agent).items() if name.endswith(".json") for command in commands_of(json.loads(text))]
        for command in [*commands, *(command.replace(sys.executable, "/nowhere/python3") for command in commands)]:
            done = subprocess.run(command, shell=True, env=agent.env, input="{}", capture_output=True, text=True, timeout=60)
            if done.returncode or done.stdout:
                fail(f"{client}: {command} ended with {done.returncode}: {done.stdout}{done.stderr}")
        if len(commands) != 4:
            fail(f"{client} has four hooks, not {commands}")
    say("hooks without their script, or without Python, end with 0")


def commands_of(value):
    """Every hook's command in a client's configuration."""
    if isinstance(value, dict) and " hook " in str(value.get("command")):
        return [value["command"]]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [command for each in inner for command in commands_of(each)]


def goes_wherever_it_went(agent):
    """Connected in three folders, one of them a link to another; removed from all of them in an environment that names none."""
    before = tree(agent)
    plain = agent.env
    (agent.home / ".claude").mkdir()
    (agent.home / "link").symlink_to(agent.home / "work")
    for folder in ("", "work", "link"):
        agent.env = {**plain, "CLAUDE_CONFIG_DIR": str(agent.home / folder)} if folder else plain
        expect(agent.connect("--yes"), 0)
    agent.env = plain
    connected = tree(agent)
    if not {".claude/settings.json", "work/settings.json", "work/.claude.json"} <= set(connected):
        fail(f"it is connected in {sorted(connected)}")
    later = agent.home / "work/.claude.json"
    later.write_text(json.dumps({**json.loads(later.read_text()), "later": True}))
    expect(agent.connect("--remove", "--yes"), 0, "Removed")
    if json.loads(later.read_text()) != {"later": True} or tree(agent) != {**before, "work/.claude.json": later.read_bytes()}:
        fail(f"left: {tree(agent)}")
    say("it is removed from every folder that it was installed in")


def keeps_what_is_written_meanwhile(agent):
    """The client writes its file while the question stands: that stays, and what differs from what was shown is asked again."""
    path = agent.home / ".claude.json"
    many = {f"setting {number}": number for number in range(20)}

    def write(**more):
        path.write_text(json.dumps({**many, **more}, indent=2))
    write()
    before = tree(agent)
    with Question(agent) as question:
        question.stands()
        write(later=1)  # Beside what is inserted: another diff.
        question.answers(b"y")
        if "A file has changed meanwhile" not in question.stands() or {name for name in tree(agent) if name.startswith(".keepsake")}:
            fail("it wrote what was not shown")
        question.answers(b"n")
        question.ends(1)
    if tree(agent) != {**before, ".claude.json": path.read_bytes()}:
        fail(f"it wrote without consent: {tree(agent)}")
    with Question(agent) as question:
        question.stands()
        path.write_text(path.read_text().replace('"setting 0": 0', '"setting 0": "changed"'))  # Far from it: the same diff.
        question.answers(b"y")
        question.ends(0)
    written = json.loads(path.read_text())
    if written.get("setting 0") != "changed" or written.get("later") != 1 or "keepsake" not in written.get("mcpServers", {}):
        fail(f"what was written meanwhile is lost: {written}")
    is_whole(agent, tree(agent))
    expect(agent.connect("--remove", "--yes"), 0, "Removed")
    say("what the client writes while the question stands is kept")


class Question:
    """The script on a terminal of its own, where it asks."""

    def __init__(self, agent):
        self.terminal, ours = pty.openpty()
        command = [sys.executable, SCRIPT, agent.name, "--url", agent.server.url]
        self.process = subprocess.Popen(command, env={**agent.env, "KEEPSAKE_TOKEN": agent.server.token}, stdin=ours, stdout=ours, stderr=ours,
                                        start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(ours)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        os.close(self.terminal)

    def read(self, until):
        said = b""
        while until not in said:
            try:
                said += os.read(self.terminal, 1 << 16)
            except OSError:  # Its end.
                break
        return said.decode()

    def stands(self):
        said = self.read(b"[y/N] ")
        if "[y/N]" not in said:
            fail(f"it did not ask: {said}")
        return said

    def answers(self, word):
        os.write(self.terminal, word + b"\n")

    def ends(self, code):
        said = self.read(b"\0")
        if self.process.wait(timeout=60) != code:
            fail(f"it ended with {self.process.returncode}, not {code}: {said}")


def keeps_settings_of_json(agent):
    """Its person sets something for our server, and the interpreter changes."""
    names = {"claude-code": (".claude.json", "mcpServers"), "gemini-cli": (".gemini/settings.json", "mcpServers"),
             "cursor": (".cursor/mcp.json", "mcpServers"), "opencode": (".config/opencode/opencode.json", "mcp")}
    if agent.name not in names:
        return
    name, servers = names[agent.name]
    path = agent.home / name
    expect(agent.connect("--yes"), 0)
    there = json.loads(path.read_text())
    command = there[servers]["keepsake"]["command"]
    there[servers]["keepsake"].update(env={"MINE": "1"}, enabled=False)
    wanted = json.dumps(there)
    path.write_text(wanted)
    expect(agent.connect("--yes"), 0, "Nothing to change")
    there[servers]["keepsake"]["command"] = "/gone/python3" if isinstance(command, str) else ["/gone/python3"] + command[1:]
    path.write_text(json.dumps(there))
    expect(agent.connect("--yes"), 0, "Connected")
    if json.loads(path.read_text()) != json.loads(wanted):
        fail(f"{agent.name}: only the interpreter was to be renewed: {path.read_text()}")
    expect(agent.connect("--remove", "--yes"), 0, "Removed")
    if path.exists() and "keepsake" in path.read_text():
        fail(f"{agent.name}: our server stays: {path.read_text()}")


def keeps_settings_of_toml(agent, before):
    """Its user and Codex write into the file, also into our table; the interpreter changes. Ours is found by its structure."""
    path = agent.home / ".codex/config.toml"
    if before:  # Kept elsewhere, by another name.
        put(agent, {"dotfiles/codex": before, ".codex/hooks.json": "{}"})
        path.symlink_to(agent.home / "dotfiles/codex")
    expect(agent.connect("--yes"), 0)
    added = 'startup_timeout_sec = 30 # mine\n\n[mcp_servers.keepsake.env]\nMINE = "[1]"\n'
    others = '\n# Trusted\n[projects."/home/x[1]"]\ntrust_level = "trusted"\n[mcp_servers.keepsake.tools]\nall = true\n# The last\n[[others]]\nname = "x"\n'
    path.write_text(path.read_text() + added + others)
    connected = path.read_text()
    expect(agent.connect("--yes"), 0, "Nothing to change")
    command = tomllib.loads(connected)["mcp_servers"]["keepsake"]["command"]
    path.write_text(connected.replace(json.dumps(command), '"/gone/python3"'))
    expect(agent.connect("--yes"), 0, "Connected")
    if path.read_text() != connected:
        fail(f"only the interpreter was to be renewed: {path.read_text()}")
    path.write_text(connected.replace(json.dumps(command), '"/gone/python3"'))
    expect(agent.connect("--remove", "--yes"), 0, "Removed")
    # A line that had no end keeps the one it was given.
    left = (before + "\n" if before else "") + others.replace("[mcp_servers.keepsake.tools]\nall = true\n", "")
    if path.read_text() != left:
        fail(f"left {path.read_text()!r}, not {left!r}")
    path.unlink()
    expect(agent.connect("--yes"), 0)
    path.write_text(path.read_text() + "startup_timeout_sec = 30\n")
    expect(agent.connect("--remove", "--yes"), 0, "Removed")
    if path.exists():
        fail(f"left an empty file, or not: {path.read_text()!r}")
    put(agent, {".codex/config.toml": '[mcp_servers.keepsake]\nurl = "https://memory.example.com/mcp"\n'})
    text = path.read_text()
    for arguments in ((), ("--remove",)):
        expect(agent.connect(*arguments, "--yes"), 0)
        if path.read_text() != text:
            fail(f"a server of the user's own was touched: {path.read_text()}")
    say("codex: what others write into its TOML stays, beside our table and within it")


def refuses(agent):
    name, text = UNREADABLE[agent.name]
    put(agent, {name: text})
    before = tree(agent)
    said = expect(agent.connect("--yes"), 1, "nothing was changed")
    if tree(agent) != before or said.strip().count("\n"):
        fail(f"{agent.name}: {said}")


def comments_stay(agent):
    put(agent, BEFORE["claude-code"])
    expect(agent.connect("--yes"), 0)
    text = (agent.home / ".claude/settings.json").read_text()
    if not all(comment in text for comment in ("// mine", "// greets", "/* last */", '"echo hi"')) or text.index("// greets") > text.index("connect.py"):
        fail(f"comments went: {text}")
    say("comments stay where they were")


def tells_what_is_wrong(agent, server):
    expect(agent.connect("--yes", token="ks_wrong_token"), 1, "refuses this token")
    env = {**agent.env, "KEEPSAKE_TOKEN": server.token}
    for url, words in (("http://127.0.0.1:9", "No Keepsake answers"), ("ftp://x", "Give the server's address"), ("", "Give the server's address")):
        done = subprocess.run([sys.executable, SCRIPT, "claude-code", "--url", url, "--yes"], env=env, capture_output=True, text=True, timeout=60)
        expect(done, 1, words)
    if tree(agent):
        fail("it wrote although the server refused")
    say("what is wrong is said in one sentence, and nothing written")


def is_fetched_when_piped(agent, server):
    """As pasted: the script comes through a pipe, and fetches itself from the server, here in front of it."""
    class Front(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            if self.path == "/connect.py":
                return self.answer(200, SCRIPT.read_bytes())
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0)) or None
            try:
                asked = urllib.request.Request(server.url + self.path, body, {"Authorization": self.headers["Authorization"], "Content-Type": "application/json"})
                with urllib.request.urlopen(asked) as answer:
                    self.answer(answer.status, answer.read())
            except urllib.error.HTTPError as error:
                self.answer(error.code, error.read())
        do_POST = do_GET

        def answer(self, status, body):
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass
    front = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Front)
    threading.Thread(target=front.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{front.server_address[1]}"
    line = f"curl -fsS {url}/connect.py | KEEPSAKE_TOKEN={server.token} python3 - claude-code --url {url} --yes"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", line], env=agent.env, capture_output=True, text=True, timeout=60)
    expect(done, 0, "Connected")
    if (agent.home / ".keepsake/connect.py").read_bytes() != SCRIPT.read_bytes():
        fail("the script that came through the pipe is not what is installed")
    front.shutdown()
    say("the line as pasted connects")
