#!/usr/bin/env python3
"""All that comes to a server from outside, on one server: MCP, OpenAPI and the lines that people paste, side by side;
then, with --browser, the pages.

    tools/with_postgres.py tools/server.py tools/doors.py [--browser]

What a part says is printed when it has ended. After a failure nothing else begins.
"""

import os
import subprocess
import sys
import tempfile
import time

from common import REPO, fail
from with_postgres import stop_on_signals

PROGRAMS = {
    "MCP, through clients that others wrote": ["python3", "end2end/mcp/run.py"],
    "the OpenAPI document, held against the server": ["python3", "end2end/openapi/run.py"],
    "the lines that Agents & tokens gives out, used": ["python3", "end2end/connect/run.py"],
}
PAGES = {"the pages, in a browser": ["node", "end2end/run.mjs"]}


def side_by_side(parts):
    start = time.monotonic()
    said = {name: tempfile.TemporaryFile("w+") for name in parts}
    running = {name: subprocess.Popen(command, cwd=REPO, stdout=said[name], stderr=subprocess.STDOUT) for name, command in parts.items()}
    failed = []
    try:
        while running:
            os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)
            for name in [name for name, process in running.items() if process.poll() is not None]:
                if running.pop(name).returncode:
                    failed.append(name)
                said[name].seek(0)
                print(f"\n== {name} ({time.monotonic() - start:.0f} s)\n{said[name].read().rstrip()}", flush=True)
    finally:
        for process in running.values():
            process.terminate()
    if failed:
        fail(f"failed: {'; '.join(failed)}")


if __name__ == "__main__":
    stop_on_signals()
    for parts in [PROGRAMS, PAGES] if "--browser" in sys.argv[1:] else [PROGRAMS]:
        side_by_side(parts)
