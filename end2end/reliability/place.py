"""Where the drivers run: a durable PostgreSQL of its own (or the one that the server brings), the release
server beside it, and the ways to kill each of them. Everything lies below one folder and goes with it."""

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

REPO = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(REPO / "tools"))

from common import fail, program  # noqa: E402
from fetch_postgres import fetch  # noqa: E402
from with_postgres import as_user, free_port, initdb, reachable, stop_on_signals, unprivileged_user  # noqa: E402

PASSWORD = "a long password"
READY_PATIENCE_SECONDS = 60
# As durable as PostgreSQL is by default.
SETTINGS = {"listen_addresses": "127.0.0.1", "unix_socket_directories": "", "max_connections": "100",
            "shared_buffers": "128MB", "autovacuum_naptime": "15s", "jit": "off", "log_line_prefix": "%m [%p] "}


@contextlib.contextmanager
def folder():
    """Below /tmp, where PostgreSQL's own user may enter. A signal ends us through every `finally`."""
    stop_on_signals()
    home = Path(tempfile.mkdtemp(prefix="keepsake-reliability-", dir="/tmp"))
    home.chmod(0o755)
    try:
        yield home
    finally:
        shutil.rmtree(home, ignore_errors=True)


class Cluster:
    """A PostgreSQL that an operator runs, below something that starts it again, as systemd would."""

    def __init__(self, home):
        self.owner = unprivileged_user()
        self.home = home / "separate"
        self.home.mkdir(mode=0o755)
        if self.owner:
            os.chown(self.home, self.owner.pw_uid, self.owner.pw_gid)
        self.bin = reachable(fetch(REPO / "data/runtime"), self.home, self.owner)
        self.password = "postgres"
        initdb(self.bin, self.home, self.owner, self.password)
        self.port = free_port()
        self.process = None
        self.log = self.home / "log"

    def url(self, database="postgres"):
        return f"postgres://postgres:{self.password}@127.0.0.1:{self.port}/{database}"

    def start(self):
        """A postmaster that was killed leaves backends which may hold its memory for a moment: then again."""
        self._start()
        deadline = time.monotonic() + READY_PATIENCE_SECONDS
        while time.monotonic() < deadline:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(0.3)
                self._start()
                continue
            return

    def _start(self):
        options = [f"-c{name}={value}" for name, value in {**SETTINGS, "port": self.port}.items()]
        with self.log.open("a") as log:
            command = [self.bin / "postgres", "-D", self.home / "data", *options]
            self.process = subprocess.Popen(command, stdout=log, stderr=log, **as_user(self.owner, self.home))

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            self.process.wait(30)

    def postmaster(self):
        return self.process.pid if self.process and self.process.poll() is None else None

    def ended(self):
        if self.process:
            self.process.wait()


class Embedded:
    """The PostgreSQL of a server's data folder: the server starts it, and starts it again."""

    def __init__(self, data):
        self.data = data
        self.bin = fetch(REPO / "data/runtime")

    def start(self):
        pass

    def stop(self):
        """Where no server is left to do it."""
        pid = self.postmaster()
        if pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGQUIT)

    def url(self):
        socket = self.data / "postgres/socket"
        password = (self.data / "postgres.password").read_text().strip()
        return f"postgres://postgres:{password}@/keepsake?host={socket}"

    def postmaster(self):
        try:
            pid = int((self.data / "postgres/cluster/postmaster.pid").read_text().split("\n")[0])
            return pid if b"postgres" in Path(f"/proc/{pid}/cmdline").read_bytes() else None
        except (OSError, ValueError):
            return None

    def ended(self):
        pass


class Server:
    """The release binary."""

    def __init__(self, home, database_url=None, **variables):
        self.binary = str(program("release"))
        if not Path(self.binary).is_file():
            fail(f"{self.binary} is not here: run `make build`, or name a program in KEEPSAKE_BIN")
        self.port = free_port()
        self.data = home / "keepsake"
        self.data.mkdir(exist_ok=True, mode=0o755)
        with contextlib.suppress(FileExistsError):
            (self.data / "runtime").symlink_to(REPO / "data/runtime")
        self.log = home / "keepsake.log"
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("KEEPSAKE_")}
        self.env = {**inherited, "KEEPSAKE_LISTEN": f"127.0.0.1:{self.port}", "KEEPSAKE_DATA_DIR": str(self.data),
                    "KEEPSAKE_LOG": "warn", **variables}
        if database_url:
            self.env["KEEPSAKE_DATABASE_URL"] = database_url
        self.process = None

    def run(self, *arguments, **more):
        done = subprocess.run([self.binary, *arguments], env=self.env, text=True, capture_output=True, **more)
        if done.returncode:
            fail(f"`keepsake {' '.join(arguments)}` failed: {done.stderr.strip()}")
        return done.stdout.strip()

    def make_user(self, email, *flags):
        """Returns a token of the user's agent."""
        self.run("user", "create", "--email", email, "--password-stdin", *flags, input=PASSWORD + "\n")
        return self.token(email, "one")

    def token(self, email, agent):
        return self.run("token", "create", "--email", email, "--agent", agent)

    def start(self, *options):
        with self.log.open("a") as log:
            self.process = subprocess.Popen([self.binary, "serve", *options], env=self.env, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.terminate()
            self.process.wait(60)

    async def ready(self):
        """Returns once /readyz is 200: after how many seconds."""
        began = time.monotonic()
        while time.monotonic() - began < READY_PATIENCE_SECONDS:
            if self.process.poll() is not None:
                fail(f"the server ended with {self.process.returncode}:\n{self.log.read_text()[-3000:]}")
            if await asyncio.to_thread(self._is_ready):
                return time.monotonic() - began
            await asyncio.sleep(0.02)
        fail(f"the server was not ready after {READY_PATIENCE_SECONDS} s:\n{self.log.read_text()[-3000:]}")

    def _is_ready(self):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/readyz", timeout=5) as answer:
                return answer.status == 200
        except (OSError, urllib.error.URLError):
            return False

    def gauge(self, name):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=30) as answer:
            return float(next(line.split()[1] for line in answer.read().decode().splitlines() if line.startswith(f"{name} ")))

    def resident_kb(self):
        return int(Path(f"/proc/{self.process.pid}/status").read_text().partition("VmRSS:")[2].split()[0])


def family(pid):
    """The process and all its children, as they are now."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
    return [pid, *(child for child, parent in parents.items() if parent == pid)]


def kill_hard(pids):
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def sql(bin_dir, url, statement):
    """Rows of text, as the superuser."""
    command = [bin_dir / "psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-F", "\x1f", "-R", "\x1e", "-c", statement, url]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        fail(f"psql: {done.stderr.strip()}")
    return [row.split("\x1f") for row in done.stdout.rstrip("\n").split("\x1e") if row]


def table(rows):
    """Lines of a table for people: the first row heads it."""
    widths = [max(len(str(row[n])) for row in rows) for n in range(len(rows[0]))]
    lines = ["| " + " | ".join(str(cell).ljust(width) for cell, width in zip(row, widths)) + " |" for row in rows]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines)


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else float("nan")
