#!/usr/bin/env python3
"""MCP through clients that nobody here wrote: the official TypeScript and Python SDKs and the
inspector, against one server, each in several versions of the protocol; and the stdio bridge.

Run as `python3 tools/with_postgres.py python3 end2end/mcp/run.py`, after `cargo build`.
"""
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPO = HERE.parent.parent
sys.path.insert(0, str(REPO / "tools"))

import node_packages  # noqa: E402
from python_env import environment  # noqa: E402
from server import keepsake  # noqa: E402


def main():
    python = environment("mcp", HERE / "requirements.txt")
    node_packages.install(HERE)
    with tempfile.TemporaryDirectory() as home, keepsake(home, KEEPSAKE_LOG="warn") as server:
        reader = server.run("token", "create", "--email", server.email, "--agent", "reader", "--scope", "memory:read")
        connector = server.run("token", "create", "--email", server.email, "--agent", "connector", "--profile", "connector")
        # A home of their own: the inspector keeps files there.
        env = {**server.env, "HOME": home, "KEEPSAKE_BIN": server.binary, "KEEPSAKE_URL": server.url, "TOKEN": server.token, "READER": reader, "CONNECTOR": connector, "EMAIL": server.email, "PASSWORD": server.password}
        clients = [subprocess.Popen(command, cwd=HERE, env=env) for command in ([python, HERE / "client.py"], ["node", HERE / "client.mjs"])]
        results = [client.wait() for client in clients]
    if any(results):
        sys.exit(1)


if __name__ == "__main__":
    main()
