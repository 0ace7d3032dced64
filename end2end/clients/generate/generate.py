#!/usr/bin/env python3
"""The types of both clients (clients/), out of the OpenAPI document of a server.

`tools/clients.sh --generate` installs what this needs into target/clients/generate, starts a server, and writes the files.
end2end/clients/run.py fails where they are not what the server's document gives.
"""
import json
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tools"))

from common import REPO, fail, say  # noqa: E402
from server import keepsake  # noqa: E402

HOME = REPO / "target/clients/generate"
PYTHON_FILE = REPO / "clients/python/keepsake_memory/schema.py"
TYPESCRIPT_FILE = REPO / "clients/typescript/src/schema.ts"
# What the clients use.
SCHEMAS = (
    "MemoryRecallRequest", "MemoryRecallResponse", "MemoryAddRequest", "MemoryAddResponse", "MemorySearchRequest", "MemorySearchResponse",
    "MemoryForgetRequest", "MemoryForgetResponse", "MemorySummaryResponse", "SessionMessagesRequest", "SessionMessagesResponse",
    "FlushRequest", "FlushResponse", "SessionCompletedRequest", "Session", "Problem",
)
HEADER = "# Made of the server's OpenAPI document by `tools/clients.sh --generate`. Do not edit."
PYTHON = ["--input-file-type", "openapi", "--output-model-type", "typing.TypedDict", "--target-python-version", "3.10",
          "--enum-field-as-literal", "all", "--use-union-operator", "--use-standard-collections", "--naming-strategy", "parent-prefixed",
          "--collapse-root-models", "--formatters", "builtin", "--custom-file-header", HEADER]
TYPESCRIPT = ["--root-types", "--root-types-no-schema-prefix"]


def main():
    with tempfile.TemporaryDirectory() as home, keepsake(home) as server:
        for file, text in made(server.url):
            file.write_text(text)
            say(f"{file.relative_to(REPO)} is written")


def hold_types(server):
    for file, text in made(server.url):
        if not file.is_file() or file.read_text() != text:
            fail(f"{file.relative_to(REPO)} is not what the server's OpenAPI document gives: run `tools/clients.sh --generate` with this server, and commit what it writes")
    say("the types are those of the server's OpenAPI document")


def made(url):
    """Each file and what is to be in it."""
    with urllib.request.urlopen(f"{url}/api/v1/openapi.json", timeout=10) as response:
        document = json.load(response)
    with tempfile.TemporaryDirectory() as folder:
        source, python, typescript = (Path(folder) / name for name in ("openapi.json", "schema.py", "schema.ts"))
        source.write_text(json.dumps(used(document)))
        run(HOME / "python/bin/datamodel-codegen", "--input", source, "--output", python, *PYTHON)
        run(HOME / "node_modules/.bin/openapi-typescript", source, "--output", typescript, *TYPESCRIPT)
        return [(PYTHON_FILE, python.read_text()), (TYPESCRIPT_FILE, f"//{HEADER[1:]}\n{typescript.read_text()}")]


def used(document):
    """The document with these schemas alone."""
    schemas = document["components"]["schemas"]
    return {"openapi": document["openapi"], "info": document["info"], "paths": {}, "components": {"schemas": {name: open_for_more(schemas[name]) for name in SCHEMAS}}}


def open_for_more(schema):
    """Without `additionalProperties`: not every type checker knows closed TypedDicts."""
    if isinstance(schema, dict):
        return {name: open_for_more(value) for name, value in schema.items() if name != "additionalProperties"}
    return [open_for_more(value) for value in schema] if isinstance(schema, list) else schema


def run(*command):
    ran = subprocess.run(command, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if ran.returncode:
        fail(f"{Path(command[0]).name} failed: {ran.stdout.strip()}")


if __name__ == "__main__":
    main()
