"""What a killed run could not end: its servers, clients, embedder and PostgreSQL. A run marks all that it starts by a
variable of the environment that names its folder; the next one there ends what still bears that mark (Linux: read from /proc)."""
import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path

from common import fail, say

MARK = "BENCH_PEERS_HOME"
END_SECONDS = 30


def end_leftovers(home):
    """Ends them, and marks from here on what this process starts. `home` is locked: nobody is at work there."""
    data = home / "postgresql/data"
    if left := {*marked(home), *postmaster(data)}:
        say(f"a run that was killed left {len(left)} processes of {home}: they are ended first")
        # PostgreSQL last: what stops may have something to write to it.
        end(lambda: set(marked(home)) - set(postmaster(data)), signal.SIGTERM)
        end(lambda: set(postmaster(data)), signal.SIGINT)
    os.environ[MARK] = str(home)


def end(running, number):
    """Asks those that `running()` names, then makes them."""
    for number, seconds in ((number, END_SECONDS), (signal.SIGKILL, END_SECONDS)):
        for pid in running():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
        deadline = time.monotonic() + seconds
        while (left := running()) and time.monotonic() < deadline:
            time.sleep(0.1)
        if not left:
            return
    fail(f"an earlier run left processes that cannot be ended: end {', '.join(map(str, sorted(left)))}, then again")


def marked(home):
    mark = f"{MARK}={home}".encode()
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it is gone, or another user's
            if mark in (process / "environ").read_bytes().split(b"\0"):
                yield int(process.name)


def postmaster(data):
    """PostgreSQL's own pid file says who serves `data`; the process has to say so, too."""
    with contextlib.suppress(FileNotFoundError):
        pid = (data / "postmaster.pid").read_text().split()[0]
        if str(data) in subprocess.run(["ps", "-o", "args=", "-p", pid], text=True, stdout=subprocess.PIPE).stdout:
            yield int(pid)
