"""The MCP reference memory server over stdio. It knows no users and keeps one file: a process and a file for each user,
an entity for each item, its text the one observation. It finds what contains the asked text as it stands, so it is asked
for the longest word of a question; what it answers is neither ranked nor limited. Needs Node."""
import collections
import itertools
import json
import os
import shutil
import subprocess
from pathlib import Path

from common import REPO, fail, say, sha256_of
from peer import HERE, Peer as AnyPeer, bench_python, resident_mib

REQUIREMENTS = HERE / "requirements/reference"
HOME = REPO / "data/runtime/peers-reference"
SERVER = HOME / "node_modules/@modelcontextprotocol/server-memory"
# A client keeps so many users' processes at once: with 8 clients and 100 users all of them, in some 7 GB.
MOST_PROCESSES = 13


class Peer(AnyPeer):
    title = "MCP reference memory"
    adds_a_second = 150
    is_ranked = False
    note = "is asked for the longest word of a question; what it answers is neither in order nor limited."
    is_apart = True

    def python(self):
        install()
        return bench_python()

    def start(self, users):
        (self.folder / "users").mkdir(exist_ok=True)
        return {"folder": str(self.folder / "users")}

    def memory_mib(self, clients):
        """Of the users' processes alone, all of them."""
        return round(sum(resident_mib(pid) - resident_mib(pid, generations=0) for pid in clients.pids), 1)

    def version(self):
        return json.loads((SERVER / "package.json").read_text())["version"]


class Client:
    def __init__(self, settings):
        self.folder = Path(settings["folder"])
        self.processes = collections.OrderedDict()

    def add(self, user, text):
        self.add_many(user, [text])

    def add_many(self, user, texts):
        self.server(user).call("create_entities", {"entities": [{"name": text, "entityType": "fact", "observations": [text]} for text in texts]})

    def search(self, user, query, limit):
        found = self.server(user).call("search_nodes", {"query": max(query.split(), key=len)})
        return [entity["observations"][0] for entity in found["entities"]]

    def server(self, user):
        if user not in self.processes:
            if len(self.processes) == MOST_PROCESSES:
                self.processes.popitem(last=False)[1].stop()
            self.processes[user] = Server(self.folder / f"{user}.jsonl")
        self.processes.move_to_end(user)
        return self.processes[user]

    def stop(self):
        for process in self.processes.values():
            process.stop()


class Server:
    def __init__(self, file):
        self.process = subprocess.Popen(["node", SERVER / "dist/index.js"], env={**os.environ, "MEMORY_FILE_PATH": str(file)},
                                        text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.ids = itertools.count(1)
        self.ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}})
        self.send({"method": "notifications/initialized"})

    def call(self, tool, arguments):
        return self.ask("tools/call", {"name": tool, "arguments": arguments})["structuredContent"]

    def ask(self, method, parameters):
        self.send({"id": next(self.ids), "method": method, "params": parameters})
        answer = json.loads(self.process.stdout.readline())
        if "error" in answer or answer["result"].get("isError"):
            raise RuntimeError(json.dumps(answer))
        return answer["result"]

    def send(self, message):
        print(json.dumps({"jsonrpc": "2.0", **message}), file=self.process.stdin, flush=True)

    def stop(self):
        self.process.stdin.close()
        self.process.terminate()
        self.process.wait()


def install():
    stamp, wanted = HOME / "package-lock.sha256", sha256_of(REQUIREMENTS / "package-lock.json")
    if stamp.is_file() and stamp.read_text() == wanted:
        return
    if not shutil.which("npm"):
        fail("the MCP reference memory server needs Node: run `apt-get install nodejs npm` as root (or what your system has for it), then again")
    say(f"making {HOME.relative_to(REPO)} …")
    shutil.rmtree(HOME, ignore_errors=True)
    shutil.copytree(REQUIREMENTS, HOME)
    done = subprocess.run(["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"], cwd=HOME, capture_output=True, text=True)
    if done.returncode:
        fail(f"npm could not install what {REQUIREMENTS} names: {done.stderr.strip()}")
    stamp.write_text(wanted)
