"""Claude's memory tool (`memory_20250818`) with a Keepsake server behind it.

Each command is one request to `memory_files`. What the server refuses reaches the model as a `ToolError` in the
server's words. Nothing is sent twice: `create`, `insert` and `rename` are not idempotent.
"""

from __future__ import annotations

import json
import os
import re
from typing import Any

import httpx2
from anthropic.lib.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, ToolError
from anthropic.types.beta import BetaCacheControlEphemeralParam, BetaMemoryTool20250818Command

__all__ = ["AsyncKeepsakeMemoryTool", "KeepsakeMemoryTool"]

URL = "http://127.0.0.1:3000"
TIMEOUT_SECONDS = 30.0
# The server refuses fields that a command does not have.
FIELDS = {
    "view": ("path", "view_range"),
    "create": ("path", "file_text"),
    "str_replace": ("path", "old_str", "new_str"),
    "insert": ("path", "insert_line", "insert_text"),
    "delete": ("path",),
    "rename": ("old_path", "new_path"),
}


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
        self._server = _Server(url, token, timeout)

    def _run(self, command: BetaMemoryTool20250818Command) -> str:
        return self._server.run(command)

    view = create = str_replace = insert = delete = rename = _run

    def clear_all_memory(self) -> str:
        """Deletes all files. On the server they are archived: their owner can restore them."""
        return self._server.clear()


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
        self._server = _Server(url, token, timeout)

    async def _run(self, command: BetaMemoryTool20250818Command) -> str:
        return await self._server.run_async(command)

    view = create = str_replace = insert = delete = rename = _run

    async def clear_all_memory(self) -> str:
        """Deletes all files. On the server they are archived: their owner can restore them."""
        return await self._server.clear_async()


class _Server:
    """The requests, and how their answers read."""

    def __init__(self, url: str | None, token: str | None, timeout: float) -> None:
        url = url or os.environ.get("KEEPSAKE_URL") or URL
        token = (token or os.environ.get("KEEPSAKE_TOKEN") or "").strip()
        # Checked here, because an exception further down would quote the token, or a password in the address.
        if not re.fullmatch("[!-~]+", token):
            raise ValueError("`token` is missing or is no token: pass one that you made on the page Agents & tokens, or set KEEPSAKE_TOKEN.")
        origin = re.match(r"https?://[^/@\s]+(?=/|$)", url)
        if not origin:
            raise ValueError("`url` is no address: pass one such as http://127.0.0.1:3000, or set KEEPSAKE_URL.")
        self._url = url.rstrip("/")
        self._origin = origin[0]
        # One client a call, so that a tool serves any thread and event loop; the TLS context is the slow part of it.
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        self._options: dict[str, Any] = {"headers": headers, "timeout": timeout, "verify": httpx2.create_ssl_context()}

    def run(self, command: BetaMemoryTool20250818Command) -> str:
        return str(self._send("POST", "/api/v1/tools/memory_files", "output", _body(command)))

    async def run_async(self, command: BetaMemoryTool20250818Command) -> str:
        return str(await self._send_async("POST", "/api/v1/tools/memory_files", "output", _body(command)))

    def clear(self) -> str:
        self._send("DELETE", "/api/v1/documents", "archived")
        return "All memory cleared"

    async def clear_async(self) -> str:
        await self._send_async("DELETE", "/api/v1/documents", "archived")
        return "All memory cleared"

    def _send(self, method: str, path: str, field: str, body: str | None = None) -> Any:
        try:
            with httpx2.Client(**self._options) as http:
                response = http.request(method, self._url + path, content=body)
        except httpx2.HTTPError as error:
            raise self._unreachable() from error
        return self._read(response, field)

    async def _send_async(self, method: str, path: str, field: str, body: str | None = None) -> Any:
        try:
            async with httpx2.AsyncClient(**self._options) as http:
                response = await http.request(method, self._url + path, content=body)
        except httpx2.HTTPError as error:
            raise self._unreachable() from error
        return self._read(response, field)

    def _unreachable(self) -> ToolError:
        return ToolError(f"Keepsake does not answer at {self._origin}; look at the file before you repeat a change.")

    def _read(self, response: httpx2.Response, field: str) -> Any:
        """This field of the answer; what was refused is a `ToolError`."""
        try:
            answer = response.json()
        except ValueError:
            answer = None
        if isinstance(answer, dict):
            if response.is_success and field in answer:
                return answer[field]
            if isinstance(answer.get("detail"), str):
                raise ToolError(answer["detail"])
        raise ToolError(f"What answers at {self._origin} is not Keepsake (HTTP {response.status_code}).")


def _body(command: BetaMemoryTool20250818Command) -> str:
    """What the command has. A field that the model left out is left to the server, which names it."""
    fields = {name: getattr(command, name, None) for name in FIELDS[command.command]}
    return json.dumps({"command": command.command, **{name: value for name, value in fields.items() if value is not None}})
