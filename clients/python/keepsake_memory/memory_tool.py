"""Claude's memory tool (`memory_20250818`) with a Keepsake server behind it.

Each command is one request to `memory_files`. What the server refuses reaches the model as a `ToolError` in the
server's words. Nothing that the server may have begun is sent twice: `create`, `insert` and `rename` are not idempotent.
"""

from __future__ import annotations

from typing import TypedDict

from anthropic.lib.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, ToolError
from anthropic.types.beta import BetaCacheControlEphemeralParam, BetaMemoryTool20250818Command

from .errors import KeepsakeError
from .server import TIMEOUT_SECONDS, Request, Server

__all__ = ["AsyncKeepsakeMemoryTool", "KeepsakeMemoryTool"]

# The server refuses fields that a command does not have.
FIELDS = {
    "view": ("path", "view_range"),
    "create": ("path", "file_text"),
    "str_replace": ("path", "old_str", "new_str"),
    "insert": ("path", "insert_line", "insert_text"),
    "delete": ("path",),
    "rename": ("old_path", "new_path"),
}


class _Output(TypedDict):
    output: str


_CLEAR: Request[object] = Request("DELETE", "/api/v1/documents", "archived")
_CLEARED = "All memory cleared"


class KeepsakeMemoryTool(BetaAbstractMemoryTool):
    """The memory tool for `Anthropic().beta.messages.tool_runner(tools=[…])`.

    `url` defaults to KEEPSAKE_URL or http://127.0.0.1:3000, `token` to KEEPSAKE_TOKEN. `timeout` is in seconds.
    """

    def __init__(
        self,
        *,
        url: str | None = None,
        token: str | None = None,
        timeout: float = TIMEOUT_SECONDS,
        cache_control: BetaCacheControlEphemeralParam | None = None,
    ) -> None:
        super().__init__(cache_control=cache_control)
        self._server = Server(url, token, timeout)

    def _run(self, command: BetaMemoryTool20250818Command) -> str:
        try:
            return self._server.send(_request(command))["output"]
        except KeepsakeError as error:
            raise _told(error) from error

    view = create = str_replace = insert = delete = rename = _run

    def clear_all_memory(self) -> str:
        """Deletes all files. On the server they are archived: their owner can restore them."""
        try:
            self._server.send(_CLEAR)
        except KeepsakeError as error:
            raise _told(error) from error
        return _CLEARED


class AsyncKeepsakeMemoryTool(BetaAsyncAbstractMemoryTool):
    """The memory tool for `AsyncAnthropic().beta.messages.tool_runner(tools=[…])`; see `KeepsakeMemoryTool`."""

    def __init__(
        self,
        *,
        url: str | None = None,
        token: str | None = None,
        timeout: float = TIMEOUT_SECONDS,
        cache_control: BetaCacheControlEphemeralParam | None = None,
    ) -> None:
        super().__init__(cache_control=cache_control)
        self._server = Server(url, token, timeout)

    async def _run(self, command: BetaMemoryTool20250818Command) -> str:
        try:
            return (await self._server.send_async(_request(command)))["output"]
        except KeepsakeError as error:
            raise _told(error) from error

    view = create = str_replace = insert = delete = rename = _run

    async def clear_all_memory(self) -> str:
        """Deletes all files. On the server they are archived: their owner can restore them."""
        try:
            await self._server.send_async(_CLEAR)
        except KeepsakeError as error:
            raise _told(error) from error
        return _CLEARED


def _request(command: BetaMemoryTool20250818Command) -> Request[_Output]:
    """What the command has. A field that the model left out is left to the server, which names it."""
    fields = {name: getattr(command, name, None) for name in FIELDS[command.command]}
    given = {name: value for name, value in fields.items() if value is not None}
    return Request("POST", "/api/v1/tools/memory_files", "output", {"command": command.command, **given})


def _told(error: KeepsakeError) -> ToolError:
    """As the model reads it."""
    advice = " Look at the file before you repeat a change." if error.code == "unreachable" else ""
    return ToolError(f"{error}{advice}")
