"""A hook, whatever it is given: malformed and hostile input, a server that is dead, hangs or talks nonsense, a transcript
that is huge or missing. It ends with 0, prints nothing but what the client takes, and in bounded time."""
import json
import socket
import subprocess
import sys
import threading
import time
import urllib.parse

from common import fail, say

# Beyond an interpreter's own start on this machine, which is busy: only a hang is a bug here (the script's bound is 250 ms).
SLACK_S = 3
ARRIVAL_TIMEOUT_S = 90
CLIENTS = ["claude-code", "codex", "gemini-cli", "cursor", "opencode"]
EVENTS = ["start", "prompt", "flush", "end", "hand-over", "nothing", ""]
INPUTS = [b"", b"{", b"[]", b"null", b"3", b'"x"', b"\xff\xfe\x00", b"[" * 100_000, b'{"a":' * 50_000, b"{}" * 1000,
          json.dumps({"session_id": 7, "prompt": ["x"], "hook_event_name": None}).encode(),
          json.dumps({"session_id": "../../etc\n\0", "prompt": "\ud800\0 " * 1000, "hook_event_name": "<x>", "transcript_path": "/dev/zero"}).encode(),
          json.dumps({"session_id": "s" * 100_000, "prompt": "x" * 2_000_000, "hook_event_name": "UserPromptSubmit", "transcript_path": "/nowhere"}).encode(),
          json.dumps({"session_id": "s", "prompt": "When does the boat leave?", "transcript_path": ["/etc/passwd"], "messages": {"x": 1}}).encode()]


def run(server, folder, agent_of, api):
    hooks = {client: Hook(client, agent_of(client, server, folder / "hooks")) for client in CLIENTS}
    for hook in hooks.values():
        takes_hostile_input(hook)
        survives_servers(hook, server)
    claude = hooks["claude-code"]
    hands_over_huge_transcripts(claude, server, folder, api)
    hands_over_cursor(hooks["cursor"], server, folder, api)
    is_cut_to_limits(claude, server, folder, api)
    outlasts_a_restart(claude, server, folder, api)
    waits_for_room(claude, server, folder, api)


class Hook:
    """An installed hook, run as the client runs it."""

    def __init__(self, client, agent):
        self.client = client
        done = agent.connect("--yes")
        if done.returncode:
            fail(f"{client}: {done.stdout}{done.stderr}")
        self.script, self.config, self.env = agent.home / ".keepsake/connect.py", agent.home / f".keepsake/{client}.json", agent.env

    def run(self, event, given):
        """What it printed; it must end by itself, with 0, and in time."""
        began = time.monotonic()
        try:
            done = subprocess.run([sys.executable, "-I", "-S", self.script, "hook", self.client, event], env=self.env,
                                  input=given if isinstance(given, bytes) else json.dumps(given).encode(), capture_output=True, timeout=30)
        except subprocess.TimeoutExpired:
            fail(f"{self.client} {event} hangs with {given[:200]!r}")
        took = time.monotonic() - began
        if done.returncode or done.stderr or took > SLACK_S + start_s():
            fail(f"{self.client} {event}: {done.returncode} after {took:.2f} s with {str(given)[:200]}: {done.stderr[-500:]}")
        return done.stdout.decode()

    def point_to(self, url, token=None):
        config = json.loads(self.config.read_text())
        self.config.write_text(json.dumps({**config, "url": url, "token": token or config["token"]}))

    def says_nothing(self, event, given):
        said = self.run(event, given)
        if said != ("{}" if self.client == "cursor" else ""):
            fail(f"{self.client} {event} printed {said[:300]!r}")


def start_s():
    began = time.monotonic()
    subprocess.run([sys.executable, "-I", "-S", "-c", "import json, http.client"], check=True)
    return time.monotonic() - began


def takes_hostile_input(hook):
    for given in INPUTS:
        for event in EVENTS[:4] + EVENTS[-1:]:
            said = hook.run(event, given)
            if said and not isinstance(json.loads(said), dict):
                fail(f"{hook.client} {event} printed {said!r}")
    hook.says_nothing("prompt", b"{")
    say(f"{hook.client}: {len(INPUTS)} malformed and hostile inputs")


def survives_servers(hook, server):
    given = {"session_id": "s-1", "conversation_id": "s-1", "prompt": "When does the boat to Bergen leave?", "hook_event_name": "UserPromptSubmit", "transcript_path": None}
    token = json.loads(hook.config.read_text())["token"]
    with Listener(b"") as hanging, Listener(b"HTTP/1.1 200 OK\r\n\r\n[[[") as nonsense, Listener(b"\0" * 100_000) as noise, \
            Listener(b'HTTP/1.1 200 OK\r\n\r\n{"section": 3, "message": []}') as other, Listener(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{", pause_s=0.05) as slow:
        for url in ("http://127.0.0.1:9", "http://keepsake.invalid", "nonsense", *(each.url for each in (hanging, nonsense, noise, other, slow))):
            hook.point_to(url)
            for event in ("start", "prompt", "flush", "end"):
                hook.says_nothing(event, given)
    hook.point_to(server.url, "ks_wrong")
    for event in ("start", "prompt", "flush", "end"):
        hook.says_nothing(event, given)
    for text in ("", "{", "[]", '{"url": 3}'):
        kept = hook.config.read_text()
        hook.config.write_text(text)
        hook.says_nothing("prompt", given)
        hook.config.write_text(kept)
    hook.point_to(server.url, token)
    say(f"{hook.client}: dead, hanging and lying servers, and a wrong token, cost nothing")


class Listener:
    """A server that says this, over and over with pauses if there are any, or nothing, and never closes."""

    def __init__(self, says, pause_s=None):
        self.says, self.pause_s, self.held = says, pause_s, []

    def __enter__(self):
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=100)
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()
        return self

    def accept(self):
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            self.held.append(connection)
            threading.Thread(target=self.speak, args=(connection,), daemon=True).start()

    def speak(self, connection):
        try:
            connection.sendall(self.says)
            while self.pause_s:
                time.sleep(self.pause_s)
                connection.sendall(b" ")
        except OSError:
            pass

    def __exit__(self, *_):
        for each in [self.socket, *self.held]:
            each.close()


def said(number, role, text, **more):
    return {"type": role, "uuid": f"u{number}", "timestamp": "2026-11-25T10:00:00.000Z", "message": {"role": role, "content": text}, **more}


def arrived(server, api, session, is_there):
    """The messages of a session, as soon as they are what is waited for."""
    path = f"/api/v1/sessions/{urllib.parse.quote(session, safe='')}"
    deadline, found = time.monotonic() + ARRIVAL_TIMEOUT_S, None
    while time.monotonic() < deadline:
        try:
            found = api(server, path)
            if is_there(found):
                return pages(server, api, f"{path}/messages")
        except OSError:
            pass
        time.sleep(0.3)
    fail(f"{session} did not arrive: {found}")


def pages(server, api, path):
    messages, after = [], 0
    while after is not None and len(messages) < 1000:
        page = api(server, f"{path}?after={after}")
        messages, after = messages + page["messages"], page["next_after"]
    return messages


def hands_over_huge_transcripts(hook, server, folder, api):
    path = folder / "huge.jsonl"
    with path.open("w") as file:
        for number in range(100_000):
            file.write(json.dumps(said(number, ("user", "assistant")[number % 2], f"Sentence {number} of a long talk.")) + "\n")
    given = {"session_id": "huge", "transcript_path": str(path), "hook_event_name": "SessionEnd"}
    for event in ("flush", "end", "end"):
        hook.says_nothing(event, given)
    messages = arrived(server, api, "claude-code:huge", lambda session: session["completed_at"])
    if messages[0]["id"] != "u80000":
        fail(f"the last 20,000 were to come, not from {messages[0]['id']}")
    # 200 MB, nearly all of it one tool's output: only its end is read.
    huge = folder / "wide.jsonl"
    with huge.open("w") as file:
        for number in range(200):
            file.write(json.dumps(said(number, "user", "x" * 1_000_000)) + "\n")
        file.write("{broken\n" + json.dumps(said(1000, "user", "The end.")) + "\n")
    hook.says_nothing("end", {**given, "session_id": "wide", "transcript_path": str(huge)})
    messages = arrived(server, api, "claude-code:wide", lambda session: session["completed_at"])
    if messages[-1]["content"] != "The end." or len(messages) > 40 or len(messages[0]["content"]) != 100_000:
        fail(f"{len(messages)} messages of the wide transcript, the last {messages[-1]['content'][:50]}")
    say("transcripts of 100,000 lines and of 200 MB are handed over within bounds, and once")


def hands_over_cursor(hook, server, folder, api):
    path = folder / "cursor.jsonl"
    lines = [{"role": "user", "message": {"content": [{"type": "text", "text": "<user_query>\nWhere is the boat?\n</user_query>"}]}},
             {"role": "assistant", "message": {"content": [{"type": "text", "text": "In Bergen."}, {"type": "tool_use", "name": "Read", "input": {"path": "x"}}]}}]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    given = {"conversation_id": "c-1", "session_id": "c-1", "transcript_path": str(path), "hook_event_name": "stop"}
    hook.says_nothing("hand-over", given)
    hook.says_nothing("end", given)
    messages = arrived(server, api, "cursor:c-1", lambda session: session["completed_at"])
    if [message["content"] for message in messages] != ["Where is the boat?", "In Bergen."] or messages[1]["tool_calls"][0]["name"] != "Read":
        fail(f"Cursor's transcript became {messages}")
    say("cursor: a transcript in its form is handed over (recorded input: the program is not on this machine)")


def is_cut_to_limits(hook, server, folder, api):
    path = folder / "limits.jsonl"
    calls = [{"type": "tool_use", "id": "t" * 300, "name": "n" * 300, "input": {"x": "\u0001" * 20_000}} for _ in range(100)]
    lines = [said(0, "user", "\0é" * 150_000), said(1, "assistant", calls), said(2, "user", [{"type": "tool_result", "tool_use_id": "t" * 300, "content": [{"type": "text", "text": "\u0002" * 300_000}]}]),
             said(3, "user", "hidden", isMeta=True), said(4, "assistant", "aside", isSidechain=True), {**said(5, "user", "odd time"), "timestamp": "yesterday"},
             {"type": "user", "uuid": 6, "message": {"content": 9}}, {**said(7, "user", "\U0001f6a2" * 100_000)}, {**said(8, "assistant", "")}]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    hook.says_nothing("end", {"session_id": "limits", "transcript_path": str(path)})
    messages = arrived(server, api, "claude-code:limits", lambda session: session["completed_at"])
    if [message["id"] for message in messages] != ["u0", "u1", "u2:0", "u5", "u7"] or "\0" in messages[0]["content"]:
        fail(f"of the limits came {[(message['id'], len(message['content'])) for message in messages]}")
    if len(messages[1]["tool_calls"]) != 64 or messages[1]["tool_calls"][0]["id"] != messages[2]["tool_call_id"]:
        fail("the calls are not cut to what the server takes")
    say("what is too long is cut to the server's limits")


def outlasts_a_restart(hook, server, folder, api):
    """Nothing listens at first; then two connections end without an answer; then the server is there."""
    path = folder / "restart.jsonl"
    path.write_text(json.dumps(said(0, "user", "The boat is at the quay.")) + "\n")
    given = {"session_id": "restart", "transcript_path": str(path)}
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))  # Without `listen`, it refuses.
        hook.point_to(f"http://127.0.0.1:{door.getsockname()[1]}")
        hook.says_nothing("end", given)
        time.sleep(2)
        door.listen()
        door.settimeout(ARRIVAL_TIMEOUT_S)
        for _ in range(2):
            try:
                door.accept()[0].close()
            except TimeoutError:
                fail("what was refused is not tried again")
        threading.Thread(target=relay, args=(door, server.port), daemon=True).start()
        messages = arrived(server, api, "claude-code:restart", lambda session: session["completed_at"])
    hook.point_to(server.url)
    if [message["content"] for message in messages] != ["The boat is at the quay."]:
        fail(f"after the restart came {messages}")
    say("a conversation that ends while the server restarts is handed over")


def waits_for_room(hook, server, folder, api):
    """A server without room is asked once; the next event hands the same over."""
    path = folder / "room.jsonl"
    path.write_text(json.dumps(said(0, "user", "The boat is full.")) + "\n")
    given = {"session_id": "room", "transcript_path": str(path)}
    asked = []
    with socket.create_server(("127.0.0.1", 0)) as door:
        door.settimeout(10)
        hook.point_to(f"http://127.0.0.1:{door.getsockname()[1]}")
        hook.says_nothing("end", given)
        try:
            while True:
                with door.accept()[0] as connection:
                    asked.append(connection.recv(1 << 16))
                    connection.sendall(b"HTTP/1.1 507 Insufficient Storage\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")
        except TimeoutError:
            pass
    if len(asked) != 1:
        fail(f"a server without room was asked {len(asked)} times")
    hook.point_to(server.url)
    hook.says_nothing("end", given)
    messages = arrived(server, api, "claude-code:room", lambda session: session["completed_at"])
    if [message["content"] for message in messages] != ["The boat is full."]:
        fail(f"once there was room came {messages}")
    say("what a server without room refuses is handed over again, and not at once")


def relay(door, port):
    """Passes each connection on, as long as the door stands; one request each."""
    while True:
        try:
            connection = door.accept()[0]
        except OSError:
            return
        with connection, socket.create_connection(("127.0.0.1", port)) as behind:
            asked = b""
            while b"\r\n\r\n" not in asked or len(asked.split(b"\r\n\r\n", 1)[1]) < length_of(asked):
                piece = connection.recv(1 << 16)
                if not piece:
                    return
                asked += piece
            behind.sendall(asked.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n", 1))
            while piece := behind.recv(1 << 16):
                connection.sendall(piece)


def length_of(asked):
    return int(asked.lower().split(b"content-length:", 1)[1].split(b"\r\n", 1)[0])
