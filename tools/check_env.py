#!/usr/bin/env python3
"""Says before a long build what would end the server after it: an environment variable that it would
refuse, an address that is taken, a data folder that cannot be written.

    tools/check_env.py

The server judges again, and more closely (src/core/config); the words are its own.
"""

import os
import re
import socket
import tempfile
from pathlib import Path

from common import DATA_DIR, REPO, fail, say

CONFIG = REPO / "src/core/config"
# What the tools themselves read.
OF_TOOLS = {"KEEPSAKE_BIN", "KEEPSAKE_DB_PASSWORD", "KEEPSAKE_EMAIL"}
# The shape of a value, where it has one that can be told without the server.
SHAPES = {
    "KEEPSAKE_LISTEN": r"(\d{1,3}(\.\d{1,3}){3}|\[[0-9a-fA-F:.]+\]):\d{1,5}",
    "KEEPSAKE_DATABASE_URL": r"postgres(ql)?://.+",
    "KEEPSAKE_PUBLIC_URL": r"https?://.+",
    "KEEPSAKE_LLAMACPP_URL": r"https?://.+",
    "KEEPSAKE_SIGNUP": r"first|open|closed",
    "KEEPSAKE_LOG_FORMAT": r"text|json",
    "KEEPSAKE_METRICS_TOKEN": r".{16,}",
    "KEEPSAKE_SECRET_KEY": r"[0-9a-fA-F]{64}|[A-Za-z0-9+/]{43}=",
    "KEEPSAKE_STOP_GRACE_SECONDS": r"\d|1\d|20",
    "KEEPSAKE_DISK_FREE_MB": r"\d{1,9}",
}


def main():
    config = "".join(path.read_text() for path in sorted(CONFIG.glob("*.rs")))
    given = {name: value.strip() for name, value in os.environ.items() if name.startswith("KEEPSAKE_") and value}
    known = set(re.findall(r'get\("(KEEPSAKE_\w+)"\)', config))
    for name in sorted(given.keys() - known - OF_TOOLS):
        say(f"{name} is not read by the server, which knows {', '.join(sorted(known))}")
    for name, shape in SHAPES.items():
        if name in given and not re.fullmatch(shape, given[name]):
            fail(f"{name} would be refused: {accepted(config, name)}.")
    listen(given.get("KEEPSAKE_LISTEN", "127.0.0.1:3000"))
    writable(DATA_DIR)


def accepted(config, name):
    """What the server's own refusal says to give."""
    said = re.search(rf'name: "{name}",.*?accepted:\s*"([^"]+)"', config, re.DOTALL)
    return said.group(1) if said else "see docs/configure.md"


def listen(address):
    host, port = address.rsplit(":", 1)
    family = socket.AF_INET6 if host.startswith("[") else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host.strip("[]"), int(port)))
        except (OSError, OverflowError) as error:
            fail(f"nothing can listen on {address} ({error}): end what is there, or set KEEPSAKE_LISTEN to another address.")


def writable(folder):
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        fail(f"the data folder {folder} cannot be written ({error.strerror}): set KEEPSAKE_DATA_DIR to one that can.")


if __name__ == "__main__":
    main()
