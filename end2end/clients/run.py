#!/usr/bin/env python3
"""The clients (clients/) against one server. The memory tool is used through the SDKs' own tool objects, beside the file
tools that the SDKs bring: the same commands, and each difference is in differences.py. The client for one's own programs
is in own_programs.py, and the frameworks are in frameworks.py. No model is asked.

tools/clients.sh builds what this needs, and runs it.
"""
import asyncio
import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from anthropic.lib.tools import ToolError
from anthropic.lib.tools._beta_builtin_memory_tool import BetaLocalFilesystemMemoryTool
from keepsake_memory import AsyncKeepsakeMemoryTool, KeepsakeMemoryTool

HERE = Path(__file__).resolve().parent
REPO = HERE.parent.parent
sys.path.insert(0, str(REPO / "tools"))

from common import say  # noqa: E402
from differences import DIFFERENCES  # noqa: E402
from frameworks import runs_examples  # noqa: E402
from server import keepsake  # noqa: E402
from generate.generate import hold_types  # noqa: E402
from own_programs import hold_methods, needs_no_sdk  # noqa: E402
from stand_ins import proxy, serving, silent  # noqa: E402
from steps import STEPS, Answer, create, done, folder, view  # noqa: E402
from with_postgres import free_port  # noqa: E402

DRIVER = REPO / "target/clients/typescript/drive.mjs"
CACHE = {"type": "ephemeral"}
DEFINITION = {"type": "memory_20250818", "name": "memory", "cache_control": CACHE}
# For a server that never answers.
TIMEOUT_SECONDS = 0.2
COMMANDS = [command for _, command, _ in STEPS]


def main():
    with tempfile.TemporaryDirectory() as home, keepsake(home) as server:
        hold_types(server)
        files = {"python": Python(BetaLocalFilesystemMemoryTool(f"{home}/python")).answers(COMMANDS),
                 "typescript": TypeScript("files", FOLDER=f"{home}/typescript").answers(COMMANDS)}
        for name, client in CLIENTS.items():
            tool = client(server.url, server.token)
            answers = tool.answers(COMMANDS)
            hold_to_expected(answers)
            for sdk, theirs in files.items():
                hold_to_differences(sdk, answers, theirs)
            clears(tool)
            refuses_incomplete_commands(tool)
            says_what_is_wrong(client, server)
            say(f"{name}: {len(STEPS)} commands answered, refusals and outages told")
        hold_to_settings(server)
        hold_methods(server)
        runs_documents(server)
        needs_no_sdk(server)
        runs_examples(server)


class Python:
    """What a model reads of a tool of the Python SDK."""

    def __init__(self, tool):
        self.tool = tool

    def answers(self, commands):
        return [self.answer(lambda: self.tool.call(command)) for command in commands]

    def clear(self):
        return self.answer(self.tool.clear_all_memory)

    def definition(self):
        return self.tool.to_dict()

    def answer(self, call):
        try:
            return Answer(call(), False)
        except ToolError as error:
            return Answer(error.content, True)


class AsyncPython(Python):
    """Each command in an event loop of its own, as asyncio.run makes them."""

    def answer(self, call):
        async def awaited():
            return await call()

        return super().answer(lambda: asyncio.run(awaited()))


class TypeScript:
    """What a model reads of a tool of the TypeScript SDK."""

    def __init__(self, kind, **variables):
        self.kind, self.variables = kind, variables

    def run(self, kind, commands):
        env = {**os.environ, **self.variables}
        ran = subprocess.run(["node", DRIVER, kind], env=env, input=json.dumps(commands), text=True, check=True, stdout=subprocess.PIPE)
        return json.loads(ran.stdout)

    def answers(self, commands):
        return [Answer(*answer) for answer in self.run(self.kind, commands)["answers"]]

    def clear(self):
        [answer] = self.run("clear", [{"command": "clear"}])["answers"]
        return Answer(*answer)

    def definition(self):
        return self.run(self.kind, [])["definition"]


def python(url, token, **options):
    return Python(KeepsakeMemoryTool(url=url, token=token, cache_control=CACHE, **options))


def async_python(url, token, **options):
    return AsyncPython(AsyncKeepsakeMemoryTool(url=url, token=token, cache_control=CACHE, **options))


def typescript(url, token, timeout=30):
    return TypeScript("keepsake", KEEPSAKE_URL=url, KEEPSAKE_TOKEN=token, TIMEOUT_MS=str(round(timeout * 1000)))


CLIENTS = {"Python": python, "Python, async": async_python, "TypeScript": typescript}


def hold_to_expected(answers):
    for (name, command, expected), answer in zip(STEPS, answers, strict=True):
        matches = expected.text in answer.text if expected.is_part else expected.text == answer.text
        assert matches and expected.is_refused == answer.is_refused, f"{name}: {command}\n{answer}\ninstead of\n{expected}"


def hold_to_differences(sdk, ours, theirs):
    """The SDK's files answer the same, but for what the table says of the step; and each row of it is needed."""
    unknown = {step for row in DIFFERENCES for step in row.steps} - {name for name, _, _ in STEPS}
    assert not unknown, f"no such steps: {unknown}"
    for (name, command, _), our, their in zip(STEPS, ours, theirs, strict=True):
        for row in DIFFERENCES:
            if sdk in row.sdks and name in row.steps:
                changed = row.change(our, their)
                assert changed != our, f"{name}, files of {sdk}: no difference, {row.reason}\n{their}"
                our = changed
        assert our == their, f"{name}, files of {sdk}: {command}\n{their}\ninstead of\n{our}"


def clears(tool):
    """All files go, and only where the program asks for it: no command of a model does that."""
    for command in ("clear", "clear_all_memory", "clearAllMemory"):
        with contextlib.suppress(NotImplementedError):
            tool.answers([{"command": command}])
    [before] = tool.answers([view("/memories")])
    assert "/memories/lines.md" in before.text, before
    assert tool.clear() == done("All memory cleared")
    assert tool.answers([view("/memories")]) == [folder("/memories", ("0B", ""))]
    assert tool.definition() == DEFINITION, tool.definition()


def refuses_incomplete_commands(tool):
    """What a model may get wrong is refused with a sentence, or passed over; it never reaches the program."""
    half = {"command": "create", "path": "/memories/half.md"}
    wrong_type = {"command": "insert", "path": "/memories/half.md", "insert_line": "first", "insert_text": "a"}
    surrogate = create("/memories/half.md", "\ud83c")
    more = {**view("/memories"), "view_range": None, "recursive": True}
    for answer, said in zip(tool.answers([half, wrong_type, surrogate]), ("`file_text`", "`insert_line`", ""), strict=True):
        assert answer.is_refused and said in answer.text, answer
    assert tool.answers([more]) == [folder("/memories", ("0B", ""))]


def says_what_is_wrong(client, server):
    reader = server.run("token", "create", "--email", server.email, "--agent", "reader", "--scope", "memory:read")
    allowed, refused = client(server.url, reader).answers([view("/memories"), create("/memories/a.md", "a")])
    assert not allowed.is_refused and refused == Answer("This token lacks the scope memory:write.", True), (allowed, refused)

    secret = "ks_" + "mistyped" * 5
    nowhere = f"http://127.0.0.1:{free_port()}"
    cases = [(server.url, {}, "This is not a whole token."), (nowhere, {}, f"Keepsake does not answer at {nowhere}")]
    with silent() as quiet, serving(proxy) as other:
        cases += [(quiet, {"timeout": TIMEOUT_SECONDS}, f"Keepsake does not answer at {quiet}"), (other, {}, f"What answers at {other} is not Keepsake (HTTP 502).")]
        for url, options, said in cases:
            tool = client(url, secret, **options)
            for answer in (*tool.answers([view("/memories")]), *([tool.clear()])):
                assert answer.is_refused and said in answer.text and secret not in answer.text, answer


def hold_to_settings(server):
    """Out of the environment; and what could not be sent is refused where the tool is made."""
    os.environ.update(KEEPSAKE_URL=f"{server.url}/", KEEPSAKE_TOKEN=f"{server.token}\n")
    assert not Python(KeepsakeMemoryTool()).answers([view("/memories")])[0].is_refused
    del os.environ["KEEPSAKE_TOKEN"]
    for wrong in ({}, {"token": "ks_a\nks_b"}, {"token": "ks_a", "url": "localhost:3000"}, {"token": "ks_a", "url": "http://anna:ks_b@localhost"}):
        try:
            KeepsakeMemoryTool(**wrong)
        except ValueError as error:
            assert "ks_" not in str(error), error
        else:
            raise AssertionError(f"taken: {wrong}")


def runs_documents(server):
    """The lines of both READMEs and of docs/clients.md, with the SDKs' own loops and a stand-in for the model."""
    programs = {"python": ("python", [sys.executable, "-"]), "typescript": ("ts", ["node", "--input-type=module", "-"])}
    for language, (fence, program) in programs.items():
        for document in (f"clients/{language}/README.md", "docs/clients.md"):
            for lines in re.findall(f"```{fence}\n(.*?)```", (REPO / document).read_text(), re.DOTALL):
                path = f"/memories/{language}.md"
                with serving(Model(create(path, "No sugar."), view(path))) as address:
                    env = {**server.env, "KEEPSAKE_URL": server.url, "KEEPSAKE_TOKEN": server.token, "ANTHROPIC_BASE_URL": address, "ANTHROPIC_API_KEY": "none"}
                    ran = subprocess.run(program, cwd=DRIVER.parent, env=env, input=lines, text=True, check=True, stdout=subprocess.PIPE)
                # What the model wrote into its file, or what the lines add and recall.
                [expected] = re.findall(r'remember\("(.*?)"', lines) or ["No sugar."]
                assert expected in ran.stdout, ran.stdout
        say(f"{language}: the lines of its README and of docs/clients.md work")


class Model:
    """Sends these commands, one a turn, and repeats what came of the last. It keeps no conversation: the SDKs send
    either all of it or what is new."""

    def __init__(self, *commands):
        self.commands = list(commands)

    def __call__(self, body):
        asked = json.loads(body)
        if self.commands:
            content = {"type": "tool_use", "id": f"toolu_{len(self.commands)}", "name": "memory", "input": self.commands.pop(0)}
        else:
            [*_, result] = asked["messages"][-1]["content"]
            content = {"type": "text", "text": json.dumps(result["content"])}
        answer = {"id": "msg_1", "type": "message", "role": "assistant", "model": asked.get("model", "none"), "content": [content],
                  "stop_reason": "tool_use" if content["type"] == "tool_use" else "end_turn", "stop_sequence": None,
                  "usage": {"input_tokens": 1, "output_tokens": 1}}
        return 200, json.dumps(answer)


if __name__ == "__main__":
    main()
