"""What every peer is to the runner. An adapter (adapters/NAME.py) has a `Peer`, which is made in the runner's own
process and starts what serves, and a `Client` (add, search), which is made in client.py in the peer's environment."""
import os
import shutil
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

from common import fail
from python_env import environment

HERE = Path(__file__).resolve().parent
REPO = HERE.parents[1]
# Of what runs in a peer's environment.
PYTHONPATH = f"{HERE}{os.pathsep}{REPO / 'tools'}"
START_TIMEOUT_SECONDS = 180
DIMENSIONS = 384


class Peer:
    title = ""
    # Items a second that it is thought to take while it is filled, for the time left alone.
    adds_a_second = 100
    # The same one by one, where that is slower by far.
    adds_by_one_a_second = None
    # Whether what an add was answered for can be found from then on.
    is_found_at_once = True
    # Whether what it answers is in order of likeness: without that there is no recall.
    is_ranked = True
    # Whether one user's items cost another's nothing, so that adds to a few users tell all.
    is_apart = False
    # The peer whose items it searches, where it is the same with another setting.
    filled_by = None
    # Where it can also answer an add before it is made (its client's `add_later`): the name of that in tables.
    later_title = None
    # What one has to know to read its figures: stands below the table.
    note = ""
    # For the environment of its clients.
    client_variables = {}

    def __init__(self, name, shape, home, embedder_url):
        self.name, self.embedder_url = name, embedder_url
        self.folder = Path(home) / f"{self.filled_by or name}_{shape}"
        self.process = None

    def python(self):
        """Of the environment its clients run in."""
        name = self.filled_by or self.name
        return environment(f"peers-{name}", HERE / f"requirements/{name}.txt")

    def fresh(self):
        """Forgets all there was and makes ready for the first start."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)

    def start(self, users):
        """Starts what serves and returns the settings of its clients."""
        return {}

    def settle(self):
        """Returns when all that was added can be found."""

    def tidy(self):
        """What its database does by itself sooner or later."""

    def stop(self):
        if self.process:
            self.process.terminate()
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
            self.process = None

    def memory_mib(self, clients):
        """Of what serves; of a library, of one client's process, which is all there is of it."""
        return resident_mib(self.process.pid if self.process else clients.pids[0])

    def bytes_on_disk(self):
        return sum(path.stat().st_size for path in self.folder.rglob("*") if path.is_file())

    def version(self):
        return "unknown"

    def launch(self, command, ready_url, env=None):
        """A server of its own, until `ready_url` answers."""
        log = (self.folder / "server.log").open("a")
        self.process = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.folder)
        deadline = time.monotonic() + START_TIMEOUT_SECONDS
        while self.process.poll() is None and time.monotonic() < deadline:
            try:
                urllib.request.urlopen(ready_url, timeout=5).read()
                return
            except (OSError, urllib.error.HTTPError):
                time.sleep(0.1)
        fail(f"{self.title} did not start: see {log.name}")

    def installed(self, package, python=None):
        command = [python or self.python(), "-c", f"import importlib.metadata as m; print(m.version({package!r}))"]
        return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE).stdout.strip()


def bench_python():
    """Of the environment of all benchmarks, where a peer needs none of its own."""
    return environment("bench", REPO / "bench/requirements.txt")


def resident_mib(pid, generations=5):
    """Of a process and those below it."""
    rows = subprocess.run(["ps", "-eo", "pid=,ppid=,rss="], check=True, text=True, stdout=subprocess.PIPE).stdout.split("\n")
    table = [tuple(map(int, row.split())) for row in rows if row.strip()]
    family = {pid}
    for _ in range(generations):
        family |= {child for child, parent, _ in table if parent in family}
    return round(sum(rss for child, _, rss in table if child in family) / 1024, 1)
