#!/usr/bin/env python3
"""Connects an agent to Keepsake, and is the hook that the agent runs from then on.

    curl -fsS URL/connect.py | KEEPSAKE_TOKEN=ks_… python3 - CLIENT --url URL [--yes | --dry-run | --remove]

CLIENT is claude-code, codex, gemini-cli, cursor or opencode. What is changed is shown first, as a diff. The token is kept
in ~/.keepsake/CLIENT.json alone. docs/connect.md says what each hook does.
"""
# As a hook this runs at each prompt: whatever a hook does not need is imported where it is needed.
import json
import os
import re
import sys
import time

HOME = os.path.dirname(os.path.abspath(__file__)) if os.path.isfile(globals().get("__file__", "")) else ""  # "" where a pipe is run
FOREGROUND_S, CHECK_S, BACKGROUND_S = 0.25, 10, 60
STDIN_BYTES, TAIL_BYTES, MESSAGES_MAX = 64 << 20, 32 << 20, 20000
# The server's limits (src/core/sessions/message.rs), and a piece below its 1 MiB of a request.
TEXT_CHARS, ID_CHARS, NAME_CHARS, CALLS, PIECE, PIECE_BYTES, PLACE_CHARS = 100000, 128, 128, 64, 500, 900000, 1000
# What tells ours from others'. Not the whole path: JSON and a shell may write a home like /home/jürgen or /home/o'neil otherwise.
MARKER = ".keepsake/connect.py"


# The server

def call(config, method, path, body=None, timeout_s=CHECK_S, **more):
    """The status, the type and the bytes of the answer."""
    import http.client
    import urllib.parse
    url = urllib.parse.urlsplit(config["url"])
    kind = http.client.HTTPSConnection if url.scheme == "https" else http.client.HTTPConnection
    connection = kind(url.hostname, url.port, timeout=timeout_s)
    headers = {"Authorization": "Bearer " + config["token"], "Content-Type": "application/json", "User-Agent": "keepsake-connect",
               "Accept": "application/json, text/event-stream", **more}
    try:
        connection.request(method, url.path.rstrip("/") + path, None if body is None else json.dumps(body, ensure_ascii=False).encode(), headers)
        answer = connection.getresponse()
        return answer.status, answer.getheader("Content-Type") or "", answer.read(8 << 20)
    finally:
        connection.close()


def quickly(work):
    """What `work` returns, or None: it failed, or took too long. A name server that hangs cannot be interrupted, but left."""
    import threading
    result = []

    def run():
        try:
            result.append(work())
        except Exception:
            pass
    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(FOREGROUND_S)
    return result[0] if result else None


def ask(config, method, path, body=None):
    status, _, answer = call(config, method, path, body, FOREGROUND_S)
    return json.loads(answer) if status == 200 else None


# Hooks: what a client runs

def hook(client, event):
    """Never fails and never prints but what the client expects; what takes long goes on in a process of its own."""
    said = None
    try:
        said = hook_output(client, event, json.loads(sys.stdin.buffer.read(STDIN_BYTES).decode("utf-8", "replace")))
    except Exception:
        pass
    if said is None and client == "cursor":
        said = {}
    if said is not None:
        sys.stdout.write(json.dumps(said))
        sys.stdout.flush()
    os._exit(0)  # A connection that hangs is not waited for.


def hook_output(client, event, given):
    if given.get("agent_id"):  # A subagent, in its person's session: what it is asked, an agent wrote.
        return None
    with open(os.path.join(HOME, client + ".json"), encoding="utf-8") as file:
        config = json.load(file)
    session = session_of(client, given)
    if event == "start":
        if given.get("source") == "resume":
            return None
        path = "/api/v1/summary?format=message"
        if client == "cursor":  # The others are told of the project with the first prompt.
            import urllib.parse
            path += "&project=" + urllib.parse.quote(next(iter(project_of(given).values()), ""), safe="")
        text = quickly(lambda: ask(config, "GET", path)["message"]["content"])
    elif event == "prompt":
        body = {"message": clean(prompt_of(client, given["prompt"]), TEXT_CHARS), "session": session, "project": project_of(given)}
        text = quickly(lambda: ask(config, "POST", "/api/v1/recall", body)["section"])
    else:
        if session and event in ("flush", "end", "hand-over"):
            detach(lambda: hand_over(client, config, event, session, given))
        return None
    if not isinstance(text, str) or not text:
        return None
    if client == "cursor":
        return {"additional_context": text}
    if client == "opencode":
        return {"text": text}
    return {"hookSpecificOutput": {"hookEventName": given["hook_event_name"], "additionalContext": text}}


def session_of(client, given):
    name = given.get("session_id") or given.get("conversation_id")
    return identifier("%s:%s" % (client, name)) if isinstance(name, str) and name else None


def project_of(given):
    """The repository and the folder that the client works in, read from git's files: starting git takes too long."""
    roots = given.get("workspace_roots") or [os.getcwd()]
    folder = top = os.path.abspath(given.get("cwd") or roots[0])
    found = {}
    try:
        while not os.path.exists(os.path.join(top, ".git")) and os.path.dirname(top) != top:
            top = os.path.dirname(top)
        git = os.path.join(top, ".git")
        if os.path.isfile(git):  # Of a worktree, or of a submodule.
            with open(git, encoding="utf-8") as file:
                git = os.path.join(top, file.read(4096).partition("gitdir:")[2].strip())
            if os.path.isfile(os.path.join(git, "commondir")):
                with open(os.path.join(git, "commondir"), encoding="utf-8") as file:
                    git = os.path.normpath(os.path.join(git, file.read(4096).strip()))
                top = os.path.dirname(git)
        if os.path.isdir(git):
            folder = top
            with open(os.path.join(git, "config"), encoding="utf-8", errors="replace") as file:
                remotes = re.findall(r'(?m)^\s*\[remote "([^"]*)"\]((?:\n(?!\s*\[).*)*)', file.read(1 << 20))
            urls = [(name, re.search(r"(?m)^\s*url\s*=\s*(\S+)", lines)) for name, lines in remotes]
            urls = [url.group(1) for name, url in sorted(urls, key=lambda remote: remote[0] != "origin") if url]
            if urls:  # Without a password.
                found["repository"] = re.sub(r"//[^/@]*@", "//", urls[0])
    except OSError:
        pass
    return {kind: text for kind, text in dict(found, folder=folder).items() if len(text) <= PLACE_CHARS}


def detach(work):
    """In a process that the client neither waits for nor ends with itself."""
    if os.fork():
        return
    try:
        os.setsid()
        if os.fork():
            os._exit(0)
        import signal
        null = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(null, number)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(BACKGROUND_S)
        work()
    except BaseException:
        pass
    os._exit(0)


def hand_over(client, config, event, session, given):
    """Everything new of the transcript, in pieces; then flush or complete. Its lock file holds the last id that arrived."""
    import fcntl
    import hashlib
    import urllib.parse
    folder = os.path.join(HOME, "sessions")
    os.makedirs(folder, 0o700, exist_ok=True)
    forget_old(folder)
    with open(os.path.join(folder, hashlib.sha256(session.encode()).hexdigest()[:32]), "a+") as lock:
        # The alarm bounds how long the others wait for one that is under way.
        fcntl.flock(lock, fcntl.LOCK_EX | (fcntl.LOCK_NB if event == "hand-over" else 0))
        time.sleep(0.2)  # The client may still be at its last line.
        lock.seek(0)
        last = lock.read()
        path = "/api/v1/sessions/" + urllib.parse.quote(session, safe="")
        messages = transcript(client, given)
        ids = [message["id"] for message in messages]
        advised = False
        for piece in pieces(messages[ids.index(last) + 1 if last in ids else 0:]):
            advised = deliver(config, path + "/messages", {"messages": piece, "project": project_of(given)}).get("flush_advised") or advised
            lock.truncate(0)
            lock.write(piece[-1]["id"])
            lock.flush()
        # Gemini CLI announces a compaction before each request, and mostly none follows.
        is_guess = client == "gemini-cli" and given.get("trigger") == "auto"
        if event == "flush" and (advised or not is_guess):
            deliver(config, path + "/flush", {"reason": "compaction", "wait": False})
        if event == "end":
            deliver(config, path + "/complete", {})


def deliver(config, path, body):
    import http.client
    for wait_s in (1, 2, 4, 8, 16, None):
        try:
            status, _, answer = call(config, "POST", path, body, BACKGROUND_S)
        except (OSError, http.client.HTTPException):
            status = 503  # Nothing listens, or it ended meanwhile: a server that restarts.
        if status < 300:
            return json.loads(answer)
        # 507: no room. The next event hands the same over again.
        if wait_s is None or status == 507 or (status != 429 and status < 500):
            raise OSError(status)
        time.sleep(wait_s)


def forget_old(folder):
    for entry in os.scandir(folder):
        if entry.stat().st_mtime < time.time() - 30 * 86400:
            os.unlink(entry.path)


def pieces(messages):
    piece, size = [], 0
    for message in messages:
        length = len(json.dumps(message, ensure_ascii=False).encode())
        if length > PIECE_BYTES:
            continue  # Control characters and nothing else.
        if piece and (len(piece) == PIECE or size + length > PIECE_BYTES):
            yield piece
            piece, size = [], 0
        piece.append(message)
        size += length
    if piece:
        yield piece


# Transcripts: what each client writes, as the server's messages

def clean(text, limit):
    return text.replace("\0", "").encode("utf-8", "replace").decode()[:limit]


def identifier(text):
    import hashlib
    text = re.sub(r"[\x00-\x1f\x7f-\x9f]", "", clean(text, 1 << 20))
    return text if len(text) <= ID_CHARS else text[:80] + ":" + hashlib.sha256(text.encode()).hexdigest()[:40]


def message(id, role, content="", at=None, calls=(), answers=None):
    """A message as the server takes it, or None where it says nothing."""
    text = clean(content if isinstance(content, str) else json.dumps(content), TEXT_CHARS)
    if not text.strip() and not calls and role != "tool":
        return None
    made = {"id": identifier(str(id)), "role": role, "content": text}
    if calls:
        made["tool_calls"] = [tool_call(*each, limit=TEXT_CHARS // min(len(calls), CALLS)) for each in calls[:CALLS]]
    if answers:
        made["tool_call_id"] = identifier(str(answers))
    if isinstance(at, str) and re.match(r"(19|2\d)\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$", at):
        made["created_at"] = at
    return made


def tool_call(id, name, arguments, limit):
    text = clean(arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False), limit)
    made = {"name": re.sub(r"[\x00-\x1f\x7f-\x9f]", "", clean(str(name or ""), NAME_CHARS)).strip() or "tool", "arguments": text}
    return dict(made, id=identifier(str(id))) if id else made


def texts_of(content):
    """The text of a content that is a string, or a list of parts."""
    if isinstance(content, str):
        return content
    parts = [part for part in content or [] if isinstance(part, dict) and isinstance(part.get("text"), str)] if isinstance(content, list) else []
    return "\n".join(part["text"] for part in parts)


def prompt_of(client, text):
    return {"codex": codex_typed, "gemini-cli": gemini_typed}.get(client, typed)(text)


def transcript(client, given):
    read = {"claude-code": claude, "codex": codex, "gemini-cli": gemini, "cursor": cursor, "opencode": opencode}[client]
    entries = given.get("messages") if client == "opencode" else lines(given.get("transcript_path"))
    found = {}
    for entry in entries or ():
        try:
            made = [each for each in read(entry) if each]
        except Exception:
            continue  # A line in another form than the others.
        for each in made:
            found[each["id"]] = each  # Of one that is written again, the newest, at its first place.
    return list(found.values())[-MESSAGES_MAX:]


def lines(path):
    """The objects of a file of JSON lines, of its last part if it is huge; each with its place in the file as `_at`."""
    if not isinstance(path, str) or not os.path.isfile(path):
        return
    with open(path, "rb") as file:
        start = max(0, os.fstat(file.fileno()).st_size - TAIL_BYTES)
        file.seek(start)
        if start:
            file.readline()
        at = file.tell()
        for line in iter(lambda: file.readline(TAIL_BYTES), b""):
            try:
                entry = json.loads(line.decode("utf-8", "replace"))
            except (ValueError, RecursionError):
                entry = None
            if isinstance(entry, dict):
                entry["_at"] = at
                yield entry
            at += len(line)


def blocks(id, role, content, at):
    """A message in Anthropic's form."""
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else [part for part in content if isinstance(part, dict)]
    for number, part in enumerate(parts):
        if part.get("type") == "tool_result":
            said = part.get("content")
            said = said if isinstance(said, str) else texts_of(said)
            yield message("%s:%d" % (id, number), "tool", said, at, answers=part.get("tool_use_id"))
    calls = [(part.get("id"), part.get("name"), part.get("input")) for part in parts if part.get("type") == "tool_use"]
    yield message(id, role, texts_of([part for part in parts if part.get("type") == "text" and part.get("text")]), at, calls)


# Clients put elements with names like these around what was typed; those of HTML are others. What a person pastes, some
# mark too: that is sent, and the server tells it from their words.
INSERTED = r"(?!pasted_content)[A-Za-z]+(?:[-_][A-Za-z0-9]+)+|browser|image|skill|terminal"


def typed(text):
    """Without the elements that a client put before or after what was typed."""
    text = text.strip()
    for _ in range(100):
        first, last = re.match(r"<(%s)(\s[^<>]*)?>" % INSERTED, text), re.search(r"</(%s)>\Z" % INSERTED, text[-80:])
        # A file in an element may hold its end: the last one counts.
        end = text.rfind("</%s>" % first[1]) if first else -1
        begin = re.search(r"(?m)(?:^|(?<=>))<%s[\s>]" % last[1], text) if last else None
        if end > 0:
            text = text[end + len(first[1]) + 3:].lstrip()
        elif begin:
            text = text[:begin.start()].rstrip()
        else:
            break
    return text


def claude(entry):
    if entry.get("type") == "attachment" and entry["attachment"].get("type") == "queued_command":  # Typed while the model worked.
        queued = entry["attachment"]
        if queued.get("commandMode") not in (None, "prompt"):
            return ()
        entry = dict(queued, type="user", uuid=entry["uuid"], timestamp=entry.get("timestamp"), message={"content": queued["prompt"]})
    marks = ("isSidechain", "isMeta", "isCompactSummary", "isVisibleInTranscriptOnly")
    if entry.get("type") not in ("user", "assistant") or any(entry.get(mark) for mark in marks):
        return ()
    content = entry["message"]["content"]
    if entry["type"] == "user":
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else [part for part in content if isinstance(part, dict)]
        content = [dict(part, text=claude_typed(entry, part["text"])) if part.get("type") == "text" else part for part in parts]
    return blocks(entry["uuid"], entry["type"], content, entry.get("timestamp"))


def claude_typed(entry, text):
    """Older versions, and editors, do not say where a text is from."""
    if (entry.get("origin") or {}).get("kind", "human") != "human" or text.startswith(CLAUDE_SAYS):
        return ""
    if text.startswith("<command-"):
        name, arguments = (re.search("(?s)<command-%s>(.*)</command-%s>" % (each, each), text) for each in ("name", "args"))
        return "%s %s" % (name[1], arguments[1]) if name and arguments and arguments[1].strip() else ""
    return text.strip() if entry.get("promptSource") in ("typed", "queued") else typed(text)


CLAUDE_SAYS = ("[Request interrupted by user", "This session is being continued from a previous conversation")


def codex(entry):
    import hashlib
    item, at = entry.get("payload"), entry.get("timestamp")
    if entry.get("type") != "response_item":
        return
    # Not the byte's place: a session that is resumed elsewhere repeats its lines.
    id = hashlib.sha256(json.dumps([at, item], sort_keys=True).encode()).hexdigest()[:32]
    kind = item.get("type")
    if kind == "message" and item.get("role") == "user":
        texts = [part.get("text") or "" for part in item["content"]]
        # Older versions do not say whose each part is.
        kinds = (item.get("internal_chat_message_metadata_passthrough") or {}).get("content_item_kinds")
        texts = [codex_typed(text) for text, kind in zip(texts, kinds) if kind == "user.text"] if kinds else [typed(codex_typed(text)) for text in texts]
        yield message(id, "user", "\n".join(text for text in texts if text), at)
    elif kind == "message" and item.get("role") == "assistant":
        yield message(id, "assistant", texts_of(item.get("content")), at)
    elif kind in ("function_call", "custom_tool_call"):
        yield message(id, "assistant", "", at, [(item.get("call_id"), item.get("name"), item.get("arguments") or item.get("input") or "")])
    elif kind in ("function_call_output", "custom_tool_call_output"):
        said = item.get("output")
        yield message(id, "tool", said if isinstance(said, str) else texts_of(said) or json.dumps(said), at, answers=item.get("call_id"))


def codex_typed(text):
    """Without what an editor adds; nothing of what Codex says in the person's name."""
    text = re.sub(r"(?s)\A# (?:Context from my IDE setup|Files mentioned by the user):.*\n## My request for Codex:\s*", "", text)
    is_own = text.startswith(("# AGENTS.md instructions", "Generate a file named AGENTS.md")) or re.match(r"(<image( [^>]*)?>|</image>)\Z", text)
    return "" if is_own else text


def gemini(entry):
    role, id, at = {"user": "user", "gemini": "assistant"}.get(entry.get("type")), entry.get("id"), entry.get("timestamp")
    if not role or not id:
        return
    shown, text = texts_of(entry.get("displayContent")), texts_of(entry.get("content"))
    # What was typed is shown apart only where the model gets something else.
    yield message(id, role, shown or gemini_typed(text) if role == "user" else text, at)
    for each in entry.get("toolCalls") or ():
        yield message("%s:%s" % (id, each.get("id")), "assistant", "", at, [(each.get("id"), each.get("name"), each.get("args"))])
        for part in each.get("result") or ():
            yield message("%s:%s:result" % (id, each.get("id")), "tool", json.dumps(part["functionResponse"].get("response"), ensure_ascii=False), at, answers=each.get("id"))


def gemini_typed(text):
    text, *hooks = text.split("<hook_context>")  # In these, `<` is `&lt;`.
    for each in hooks:
        said, found, after = each.partition("</hook_context>")
        text += after if found else "<hook_context>" + said
    before, _, files = text.partition("--- Content from referenced files ---")
    _, found, after = files.rpartition("--- End of content ---")
    text = (before + after if found else text).strip()
    return "" if text.startswith(GEMINI_SAYS) else typed(text)


GEMINI_SAYS = ("I ran the following shell command:\n```sh\n", "Here is the user's editor context as a JSON object.",
               "Here is a summary of changes in the user's editor context,", "<session_context>", "This is the Gemini CLI. We are setting up")


def cursor(entry):
    role, content = entry.get("role"), (entry.get("message") or {}).get("content")
    if role not in ("user", "assistant"):
        return ()
    made = [each for each in blocks("line-%d" % entry["_at"], role, content, entry.get("timestamp")) if each]
    for each in made:
        if each["role"] == "user":
            query, found, _ = each["content"].rpartition("<user_query>")[2].rpartition("</user_query>")  # Files come before it.
            each["content"] = query.strip() if found else typed(each["content"])
    return [each for each in made if each["content"] or each["role"] != "user"]


def opencode(entry):
    info, parts = entry["info"], entry["parts"]
    text = entry.get("typed") or "\n".join(part["text"] for part in parts if part.get("type") == "text" and not part.get("synthetic") and not part.get("ignored"))
    tools = [part for part in parts if part.get("type") == "tool"]
    calls = [(part.get("callID"), part.get("tool"), part["state"].get("input")) for part in tools]
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(info["time"]["created"] / 1000))
    yield message(info["id"], info["role"], text, at, calls)
    for part in tools:
        yield message(part["id"], "tool", part["state"].get("output") or part["state"].get("error") or "", at, answers=part.get("callID"))


# MCP: messages from standard input to the server, so that the token stands in no client's configuration

def mcp(client):
    with open(os.path.join(HOME, client + ".json"), encoding="utf-8") as file:
        config = json.load(file)
    headers = {}
    for line in sys.stdin.buffer:
        id = None
        try:
            given = json.loads(line)
            id = given.get("id")
            status, kind, answer = call(config, "POST", "/mcp", given, BACKGROUND_S, **headers)
            rows = answer.decode().splitlines() if kind.startswith("text/event-stream") else ["data:" + answer.decode().replace("\n", " ")]
            found = [json.loads(row[5:]) for row in rows if row.startswith("data:") and row[5:].strip()]
            if id is not None and not any("jsonrpc" in each for each in found):
                raise OSError("it answered with status %d" % status)
            for each in found:
                version = (each.get("result") or {}).get("protocolVersion")
                headers = {"MCP-Protocol-Version": version} if version else headers
        except Exception as error:
            failed = {"code": -32000, "message": "Keepsake does not answer: %s." % error}
            found = [] if id is None else [{"jsonrpc": "2.0", "id": id, "error": failed}]
        sys.stdout.write("".join(json.dumps(each) + "\n" for each in found))
        sys.stdout.flush()


# Configuration files: JSON with comments is edited as text, so that everything else stays as it is

class Refused(Exception):
    """One sentence for the person."""


class Node:
    def __init__(self, start, kind):
        self.start, self.kind, self.end, self.children, self.value = start, kind, start, [], None

    def child(self, key):
        return next((node for name, _, node in reversed(self.children) if name == key), None)


class Jsonc:
    """Where each value of a JSON text stands; comments and trailing commas are accepted."""
    BLANK = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/)*", re.S)
    SCALAR = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"|-?\d[\d.eE+-]*|true|false|null')

    def __init__(self, text):
        self.text, self.at = text, 1 if text.startswith("\ufeff") else 0

    def peek(self):
        self.at = self.BLANK.match(self.text, self.at).end()
        return self.text[self.at:self.at + 1]

    def take(self, character):
        if self.peek() != character:
            raise ValueError(self.at)
        self.at += 1

    def scalar(self):
        self.peek()
        found = self.SCALAR.match(self.text, self.at)
        if not found:
            raise ValueError(self.at)
        self.at = found.end()
        return json.loads(found.group())

    def whole(self):
        root = self.node()
        if self.peek() or root.kind != "{":
            raise ValueError(self.at)
        return root

    def node(self):
        opening = self.peek()
        node = Node(self.at, opening)
        if opening not in ("{", "["):
            node.kind, node.value = "scalar", self.scalar()
        else:
            self.container(node, "}" if opening == "{" else "]")
        node.end = self.at
        return node

    def container(self, node, closing):
        self.at += 1
        while self.peek() != closing:
            start, key = self.at, None
            if node.kind == "{":
                key = self.scalar()
                self.take(":")
            node.children.append((key, start, self.node()))
            if self.peek() != closing:
                self.take(",")
        self.at += 1
        node.value = {key: child.value for key, _, child in node.children} if node.kind == "{" else [child.value for _, _, child in node.children]


def parsed(path, text):
    try:
        return Jsonc(text).whole()
    except (ValueError, RecursionError):
        raise Refused("%s is not JSON (with comments) that this program can read: nothing was changed." % path)


class Edited:
    """A text, and what was inserted into it, in order, so that it can be taken out again to the byte."""
    def __init__(self, path, text):
        self.path, self.text, self.edits = path, text, []

    def insert(self, at, text):
        self.text = self.text[:at] + text + self.text[at:]
        self.edits.append([at, text])

    def add(self, keys, value, is_item=False):
        """Puts the value at these keys, or as an item at the end of the list that is there."""
        if not self.text.strip():
            self.insert(len(self.text), "{}\n")
        node, left = parsed(self.path, self.text), list(keys)
        while left and node.kind == "{" and node.child(left[0]):
            node = node.child(left.pop(0))
        if node.kind != ("{" if left else "["):
            raise Refused("%s has `%s` in a form that this program does not know: nothing was changed." % (self.path, ".".join(keys)))
        if left and is_item:
            value = [value]
        for key in reversed(left[1:]):
            value = {key: value}
        self.append(node, json.dumps(left[0]) + ": " if left else "", value)

    def append(self, node, name, value):
        line = self.text[self.text.rfind("\n", 0, node.start) + 1:]
        outer = line[:len(line) - len(line.lstrip(" \t"))]
        found = re.search(r"\n([ \t]+)\S", self.text)
        unit = "\t" if found and "\t" in found.group(1) else found.group(1) if found and len(found.group(1)) <= 8 else "  "
        written = outer + unit + name + json.dumps(value, indent=unit, ensure_ascii=False).replace("\n", "\n" + outer + unit)
        if not node.children:
            return self.insert(node.end - 1, "\n" + written + "\n" + outer)
        at = node.children[-1][2].end
        if self.text[Jsonc.BLANK.match(self.text, at).end()] != ",":
            self.insert(at, ",")
        rest = re.compile(r"[ \t]*,[ \t]*(//[^\n]*|/\*[^\n]*?\*/)?[ \t]*(?=\r?\n)").match(self.text, at)
        comma = self.text.index(",", Jsonc.BLANK.match(self.text, at).end()) + 1
        self.insert(rest.end() if rest else comma, "\n" + written)


def without_ours(path, text):
    """The text without the hooks and servers that run this program, and without what is empty then."""
    while True:
        found = ours(parsed(path, text))
        if not found:
            return text
        parent, number = found
        start, end = parent.children[number][1], parent.children[number][2].end
        begin = len(text[:start].rstrip(" \t"))
        begin = begin - 1 if text[begin - 1:begin] == "\n" else start
        begin = begin - 1 if text[begin - 1:begin] == "\r" else begin
        after = Jsonc.BLANK.match(text, end).end()
        if text[after] == ",":
            text = text[:begin] + text[end:after] + text[after + 1:]
        else:
            text = text[:begin] + text[end:]
            if number:
                comma = Jsonc.BLANK.match(text, parent.children[number - 1][2].end).end()
                text = text[:comma] + text[comma + 1:] if text[comma] == "," else text


def ours(root):
    """(container, number) of one entry of ours: a hook's group, our server, or a list that holds nothing else."""
    def holds(node):
        return MARKER in json.dumps(node.value)
    for name in ("hooks", "mcpServers", "mcp"):
        place = next((n for n, (key, _, _) in enumerate(root.children) if key == name), None)
        container = root.children[place][2] if place is not None else None
        if container is None or container.kind != "{" or not holds(container):
            continue
        for number, (key, _, node) in enumerate(container.children):
            if not holds(node):
                continue
            others = [item for _, _, item in node.children if not holds(item)]
            if len(container.children) == 1 and (name != "hooks" or not others):
                return root, place
            if name != "hooks" or not others:
                return container, number
            return node, next(n for n, (_, _, item) in enumerate(node.children) if holds(item))
    return None


# TOML is edited by its lines that begin a table

SERVER = r"[ \t]*\[\s*mcp_servers\s*\.\s*[\"']?keepsake[\"']?\s*[.\]]"


def our_tables(text):
    """(start, end) of our server's table and of those below it, if it runs this program. Comments before the next table are that one's."""
    starts = [found.start() for found in re.finditer(r"(?m)^[ \t]*\[.*\][ \t]*(?:#.*)?\r?$", text)] + [len(text)]
    spans = [(start, text[start:end]) for start, end in zip(starts, starts[1:]) if re.match(SERVER, text[start:end])]
    spans = [(start, start + len(re.sub(r"(?:\n[ \t\r]*(?:#[^\n]*)?)*\Z", "", span))) for start, span in spans]
    return spans if any(MARKER in text[start:end] for start, end in spans) else []


def without_tables(path, text):
    spans = our_tables(text)
    for start, end in reversed(spans):
        text = re.sub(r"(\A|\n)\r?\n\Z", r"\1", text[:start]) + text[end + 1:]
    if spans:
        is_toml(path, text)
    return text


def renewed(text, block):
    """The text with the lines of `block` in our table, where others of the same form stand."""
    for start, end in our_tables(text)[:1]:
        table = text[start:end]
        for line in block.splitlines()[1:]:
            table = re.sub(r"(?m)^%s = [\[\"].*[\]\"](?=\r?$)" % line.split(" ")[0], lambda _: line, table)
        text = text[:start] + table + text[end:]
    return text


# What is installed for each client

class Place:
    """A file of the client's, and what goes into it: hooks and servers as JSON, a block of TOML, or a whole file."""
    def __init__(self, path, entries=(), block="", content=""):
        # However an environment names it, one file has one record.
        self.path, self.entries, self.block, self.content = os.path.realpath(path), entries, block, content


def places(client, home, python):
    script = os.path.join(home, "connect.py")
    start = [python, "-I", "-S", script]

    def command(event):
        import shlex
        # Without its script, Python ends with 2, with which a hook blocks the prompt.
        return " ".join(shlex.quote(word) for word in start + ["hook", client, event]) + " || true"

    def groups(events, timeout, **more):
        return [(["hooks", name], {"hooks": [dict(more, type="command", command=command(event), timeout=timeout)]}, True) for name, event in events]

    def under(variable, default, *more):
        return os.path.join(os.environ.get(variable) or os.path.expanduser(default), *more)
    server = {"command": python, "args": start[1:] + ["mcp", client]}
    mcp = [(["mcpServers", "keepsake"], server, False)]
    events = [("SessionStart", "start"), ("UserPromptSubmit", "prompt"), ("PreCompact", "flush"), ("SessionEnd", "end")]
    if client == "claude-code":
        state = under("CLAUDE_CONFIG_DIR", "~", ".claude.json")
        return [Place(under("CLAUDE_CONFIG_DIR", "~/.claude", "settings.json"), groups(events, 5)),
                Place(state, [(["mcpServers", "keepsake"], dict(server, type="stdio"), False)])]
    if client == "codex":
        block = "[mcp_servers.keepsake]\ncommand = %s\nargs = %s\n" % tuple(json.dumps(each, ensure_ascii=False) for each in (python, server["args"]))
        return [Place(under("CODEX_HOME", "~/.codex", "hooks.json"), groups(events, 3)), Place(under("CODEX_HOME", "~/.codex", "config.toml"), block=block)]
    if client == "gemini-cli":
        events = [("SessionStart", "start"), ("BeforeAgent", "prompt"), ("PreCompress", "flush"), ("SessionEnd", "end")]
        return [Place(under("GEMINI_CLI_HOME", "~", ".gemini", "settings.json"), groups(events, 5000, name="keepsake") + mcp)]
    if client == "cursor":
        events = [("sessionStart", "start"), ("stop", "hand-over"), ("preCompact", "flush"), ("sessionEnd", "end")]
        hooks = [(["hooks", name], {"command": command(event), "timeout": 5}, True) for name, event in events]
        return [Place(os.path.expanduser("~/.cursor/hooks.json"), [(["version"], 1, False)] + hooks), Place(os.path.expanduser("~/.cursor/mcp.json"), mcp)]
    folder = under("XDG_CONFIG_HOME", "~/.config", "opencode")
    config = next((name for name in ("opencode.jsonc", "opencode.json") if os.path.exists(os.path.join(folder, name))), "opencode.json")
    local = {"type": "local", "command": start + ["mcp", client], "enabled": True}
    return [Place(os.path.join(folder, "plugins", "keepsake.js"), content=PLUGIN.replace("COMMAND", json.dumps(start))),
            Place(os.path.join(folder, config), [(["mcp", "keepsake"], local, False)])]


PLUGIN = """// Made by Keepsake's connect.py, which does the work; taken out again by its --remove.
import { spawn, spawnSync } from "node:child_process"

const [program, ...words] = COMMAND
// The script itself gives up after 250 ms; this is for an interpreter that does not start.
const LIMIT_MS = 2000

function run(event, given) {
  return new Promise((resolve) => {
    const child = spawn(program, [...words, "hook", "opencode", event], { stdio: ["pipe", "pipe", "ignore"] })
    const timer = setTimeout(() => child.kill("SIGKILL"), LIMIT_MS)
    let said = ""
    const end = () => {
      clearTimeout(timer)
      try { resolve(JSON.parse(said).text) } catch { resolve(undefined) }
    }
    child.on("error", end)
    child.on("close", end)
    child.stdout.on("data", (piece) => { said += piece })
    child.stdin.on("error", () => {})
    child.stdin.end(JSON.stringify(given))
  })
}

// OpenCode makes this plugin more than once in a process, and may dispose another than it used.
const sessions = new Map(), children = new Set(), pending = new Set()
// OpenCode keeps what a command's file says, not what was typed: "/name words", of a session until its message comes, then of that.
const commands = new Map()

export const Keepsake = async ({ client, directory }) => {
  const handOver = (event, sessionID) => {
    const work = client.session.messages({ path: { id: sessionID } })
      .then((answer) => {
        sessions.set(sessionID, (answer.data ?? []).map((each) => ({ ...each, typed: commands.get(each.info.id) })))
        run(event, { session_id: sessionID, messages: sessions.get(sessionID), cwd: directory })
      })
      .catch(() => {})
      .finally(() => pending.delete(work))
    pending.add(work)
  }
  return {
    event: async ({ event }) => {
      if (event.type === "session.created" && event.properties.info?.parentID) children.add(event.properties.info.id)
      if (event.type === "session.idle" && sessions.has(event.properties.sessionID)) handOver("hand-over", event.properties.sessionID)
    },
    "command.execute.before": async ({ command, sessionID, arguments: words }) => {
      commands.set(sessionID, `/${command} ${words}`.trim())
    },
    "chat.message": async ({ sessionID }, { message, parts }) => {
      if (children.has(sessionID)) return
      try {
        const command = commands.get(sessionID)
        if (commands.delete(sessionID)) commands.set(message.id, command)
        const text = parts.filter((part) => part.type === "text" && !part.synthetic).map((part) => part.text).join("\\n")
        const given = { session_id: sessionID, cwd: directory, prompt: command ?? text }
        const added = await Promise.all([sessions.has(sessionID) ? undefined : run("start", given), run("prompt", given)])
        if (!sessions.has(sessionID)) sessions.set(sessionID, [])
        const last = parts.at(-1)?.id ?? "prt_keepsake"
        added.forEach((text, n) => text && parts.push({ id: `${last}k${n}`, sessionID, messageID: message.id, type: "text", text, synthetic: true }))
      } catch {}
    },
    "experimental.session.compacting": async ({ sessionID }) => {
      if (sessions.has(sessionID)) handOver("flush", sessionID)
    },
    dispose: async () => {
      await Promise.race([Promise.all(pending), new Promise((resolve) => setTimeout(resolve, 300))])
      // OpenCode ends without waiting for what is asynchronous.
      for (const [sessionID, messages] of sessions) {
        spawnSync(program, [...words, "hook", "opencode", "end"], { input: JSON.stringify({ session_id: sessionID, messages, cwd: directory }), timeout: LIMIT_MS })
      }
      sessions.clear()
    },
  }
}
"""


# Installing and removing

class Change:
    """What becomes of one file: `after` is None where it is deleted."""
    def __init__(self, path, before, after, record=None):
        self.path, self.before, self.after, self.record = path, before, after, record


def text_of(path):
    try:
        with open(path, encoding="utf-8", newline="") as file:
            return file.read()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise Refused("%s cannot be read (%s): nothing was changed." % (path, error))


def digest(text):
    import hashlib
    return hashlib.sha256(text.encode()).hexdigest()


def removed(place, text, record):
    """The text without what is ours; None where the file is ours altogether."""
    if text is None or place.content or place.path.endswith(".js"):
        return None if text is None or text.startswith(PLUGIN[:40]) else text
    if record and digest(text) == record["sha256"]:
        for at, inserted in reversed(record["edits"]):
            text = text[:at] + text[at + len(inserted):]
        return None if record["created"] else text
    if place.block or place.path.endswith(".toml"):
        text = without_tables(place.path, text)
        return None if record and record["created"] and not text.strip() else text
    text = without_ours(place.path, text)
    created = record and record["created"]
    return None if created and parsed(place.path, text).value in ({}, {"version": 1}) else text


def installed(place, text):
    """The text with everything of ours, and what was inserted."""
    edited = Edited(place.path, text or "")
    if place.content:
        if text and not text.startswith(PLUGIN[:40]):
            raise Refused("%s is not from Keepsake: nothing was changed." % place.path)
        edited.text, edited.edits = place.content, [[0, place.content]]
    elif place.block:
        is_toml(place.path, edited.text)
        edited.text = renewed(edited.text, place.block)
        if not re.search("(?m)^" + SERVER, edited.text):
            edited.insert(len(edited.text), ("\n" if edited.text and not edited.text.endswith("\n") else "") + "\n" + place.block)
        is_toml(place.path, edited.text)
    for keys, value, is_item in place.entries:
        there = parsed(place.path, edited.text) if edited.text.strip() else Node(0, "{")
        for key in keys:
            there = there.child(key) if there is not None else None
        if there is None or is_item:
            edited.add(keys, value, is_item)
    return edited


def keep_settings(place, text):
    """Our server gets what its person has set for it."""
    for keys, value, is_item in place.entries:
        node = None if is_item or not text or MARKER not in text else parsed(place.path, text)
        for key in keys:
            node = node and node.child(key)
        if node and node.kind == "{":
            value.update({key: setting for key, setting in node.value.items() if key not in ("command", "args", "type")})


def is_toml(path, text):
    try:
        import tomllib
    except ImportError:  # Before Python 3.11 it is taken as it is.
        return
    try:
        tomllib.loads(text)
    except ValueError:
        raise Refused("%s is not TOML that this program can read, or has mcp_servers as one value: nothing was changed." % path)


def change_of(place, record, is_removal):
    before = text_of(place.path)
    # A table in a file that was changed since stays where it is, with what others put into it.
    stays = place.block and not is_removal and before is not None and not (record and digest(before) == record["sha256"])
    bare = before if stays else removed(place, before, record)
    if is_removal:
        return Change(place.path, before, bare)
    keep_settings(place, before)
    edited = installed(place, bare)
    if before is not None and MARKER in before and is_same(place, before, edited.text):
        return Change(place.path, before, before, record or {"sha256": "", "created": False, "edits": []})
    created = bool(record["created"]) if record and before is not None else before is None
    # Without a digest, removing goes by what stands there.
    return Change(place.path, before, edited.text, {"sha256": digest(edited.text) if edited.edits else "", "created": created, "edits": edited.edits})


def is_same(place, before, after):
    """Whether both say the same: the client may have written the file in its own form since."""
    return before == after or bool(place.entries) and parsed(place.path, before).value == parsed(place.path, after).value


def diffs(changes, token):
    import difflib
    for change in changes:
        if change.before == change.after:
            continue
        old, new = ("" if text is None else text for text in (change.before, change.after))
        names = (change.path if change.before is not None else "/dev/null", change.path if change.after is not None else "/dev/null")
        diff = "\n".join(difflib.unified_diff(old.splitlines(), new.splitlines(), *names, lineterm=""))
        diff = diff.replace(token, "ks_…") if token else diff
        yield re.sub(r"ks_[A-Za-z0-9_-]{8,}", "ks_…", diff)


def say(text):
    sys.stdout.buffer.write((text + "\n").encode("utf-8", "replace"))
    sys.stdout.buffer.flush()


def agreed():
    try:
        with open("/dev/tty", "r+b", buffering=0) as terminal:
            terminal.write(b"Write this? [y/N] ")
            return terminal.readline().strip().lower() in (b"y", b"yes")
    except OSError:
        raise Refused("There is no terminal to ask on, so nothing was written; run it again with --yes.")


def write(path, text, mode=None):
    """Whole or not at all; a link stays one, and a file keeps its mode."""
    import tempfile
    path = os.path.realpath(path)
    os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
    if mode is None:
        mode = os.stat(path).st_mode & 0o777 if os.path.exists(path) else 0o600
    number, beside = tempfile.mkstemp(dir=os.path.dirname(path))
    try:
        with os.fdopen(number, "wb") as file:
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())
        os.chmod(beside, mode)
        os.replace(beside, path)
    except BaseException:
        os.unlink(beside)
        raise


def check(config):
    """Refuses with one sentence where the server does not take this token."""
    try:
        status, _, answer = call(config, "GET", "/api/v1/summary?format=message")
    except Exception as error:
        raise Refused("No Keepsake answers at %s (%s)." % (config["url"], error))
    try:
        detail = json.loads(answer).get("detail") or ""
    except (ValueError, AttributeError):
        detail = ""
    if status != 200:
        raise Refused("Keepsake at %s refuses this token (status %d). %s" % (config["url"], status, detail) if detail else "%s does not answer as Keepsake does (status %d)." % (config["url"], status))
    status, _, _ = call(config, "POST", "/api/v1/sessions/keepsake-connect-check/flush", {"wait": False})
    if status == 403:
        say("This token has not the permission sessions:write: memories are recalled, conversations are not kept.")


def own_source(config):
    """This script: read from a pipe it is nowhere, so it is fetched again."""
    if HOME:
        with open(os.path.abspath(__file__), encoding="utf-8") as file:
            return file.read()
    status, _, answer = call(config, "GET", "/connect.py")
    if status != 200:
        raise Refused("%s/connect.py cannot be fetched (status %d): nothing was changed." % (config["url"], status))
    return answer.decode()


def python_command():
    # An environment may be gone tomorrow.
    return sys.executable if sys.prefix == sys.base_prefix and sys.executable else "python3"


def main():
    import argparse
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0], usage="KEEPSAKE_TOKEN=ks_… connect.py CLIENT --url URL [--yes | --dry-run | --remove]")
    parser.add_argument("client", choices=["claude-code", "codex", "gemini-cli", "cursor", "opencode"])
    parser.add_argument("--url", default=os.environ.get("KEEPSAKE_URL"))
    for name in ("--yes", "--dry-run", "--remove"):
        parser.add_argument(name, action="store_true")
    options = parser.parse_args()
    try:
        sys.exit(connect(options))
    except (Refused, OSError) as error:
        sys.stderr.buffer.write(("%s\n" % error).encode("utf-8", "replace"))
        sys.exit(1)


def planned(options, home, config, source):
    """The changes of the client's files, and of Keepsake's own, as the files are now."""
    script, path = os.path.join(home, "connect.py"), os.path.join(home, options.client + ".json")
    kept = text_of(path)
    records = {os.path.realpath(name): record for name, record in (json.loads(kept or "{}").get("files") or {}).items()}
    wanted = places(options.client, home, python_command())
    if options.remove:  # Also where the environment named other folders.
        wanted += [Place(name) for name in records if name not in [place.path for place in wanted]]
    changes = [change_of(place, records.get(place.path), options.remove) for place in wanted]
    if options.remove:
        own = [Change(path, kept, None)]
        others = [name for name in (os.listdir(home) if os.path.isdir(home) else []) if name.endswith(".json") and name != options.client + ".json"]
        own += [] if others else [Change(script, text_of(script), None)]
    else:
        files = {**records, **{change.path: change.record for change in changes if change.record}}
        own = [Change(script, text_of(script), source), Change(path, kept, json.dumps(dict(config, files=files), indent=2) + "\n")]
    return changes, own


def connect(options):
    home, source, consented = os.path.expanduser("~/.keepsake"), None, None
    before = json.loads(text_of(os.path.join(home, options.client + ".json")) or "{}")
    config = {"url": (options.url or before.get("url") or "").rstrip("/"), "token": os.environ.get("KEEPSAKE_TOKEN") or before.get("token") or ""}
    if not options.remove:
        if not re.match(r"https?://[^/@\s]+", config["url"]) or not re.match(r"[\x21-\x7e]+$", config["token"]):
            raise Refused("Give the server's address as --url http://… and the agent's token as KEEPSAKE_TOKEN.")
        check(config)
        source = own_source(config)
    while True:
        changes, own = planned(options, home, config, source)
        # The script is there before what calls it, and gone after it.
        due = [change for change in (changes + own if options.remove else own + changes) if change.before != change.after]
        if not due:
            say("Nothing to change.")
            return 0
        shown = "\n".join([*diffs(changes, config["token"]), *("%s %s" % ("Delete" if change.after is None else "Write", change.path) for change in due)])
        if shown == consented:
            break
        say("A file has changed meanwhile.\n" + shown if consented else shown)
        if options.dry_run:
            return 0
        if options.yes:
            break
        if not agreed():
            say("Nothing was written.")
            return 1
        consented = shown  # The client may have written its files while the question stood: they are read again.
    for change in due:
        apply(change, {"connect.py": 0o700, options.client + ".json": 0o600}.get(os.path.relpath(change.path, home)))
    if options.remove and not os.path.exists(os.path.join(home, "connect.py")):
        import shutil
        shutil.rmtree(os.path.join(home, "sessions"), ignore_errors=True)
        if os.path.isdir(home) and not os.listdir(home):
            os.rmdir(home)
    say("Removed." if options.remove else AFTER.get(options.client, "Connected: start a new conversation."))
    return 0


AFTER = {"codex": "Connected: start Codex, and trust the four hooks that it asks about (/hooks shows them). Until then it does not run them.",
         "cursor": "Connected: restart Cursor. Its hooks cannot add to a prompt; the model has the tools of memory for that."}


def apply(change, mode):
    if change.after is None:
        os.unlink(os.path.realpath(change.path))
    else:
        write(change.path, change.after, mode)


if __name__ == "__main__":
    if sys.argv[1:2] == ["hook"]:
        hook(*(sys.argv[2:4] + ["", ""])[:2])
    elif sys.argv[1:2] == ["mcp"] and len(sys.argv) == 3:
        mcp(sys.argv[2])
    else:
        main()
