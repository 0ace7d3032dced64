"""The requests to a server, and how their answers read."""

from __future__ import annotations

import asyncio
import json
import os
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

import httpx2

from .errors import KeepsakeError

URL = "http://127.0.0.1:3000"
TIMEOUT_SECONDS = 30.0
# A request that the server puts off for longer is not sent again.
RETRY_AFTER_SECONDS_MAX = 5

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Request(Generic[Answer]):
    """`Answer` is the type of what comes back."""

    method: str
    path: str
    # A field that each answer has: without it the answer is not Keepsake's.
    field: str
    body: Mapping[str, Any] | None = None
    # The server may take so long, in seconds.
    wait: float = 0.0


class Server:
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
        self._timeout = timeout
        # One client a call, so that any thread and event loop can use it; the TLS context is the slow part of it.
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        self._options: dict[str, Any] = {"headers": headers, "verify": httpx2.create_ssl_context()}

    def send(self, request: Request[Answer]) -> Answer:
        try:
            with httpx2.Client(**self._options, timeout=self._timeout + request.wait) as http:
                response = http.request(request.method, self._url + request.path, content=_content(request))
                if (seconds := _put_off(response)) is not None:
                    time.sleep(seconds)
                    response = http.request(request.method, self._url + request.path, content=_content(request))
        except httpx2.HTTPError as error:
            raise self._unreachable() from error
        return self._read(request, response)

    async def send_async(self, request: Request[Answer]) -> Answer:
        try:
            async with httpx2.AsyncClient(**self._options, timeout=self._timeout + request.wait) as http:
                response = await http.request(request.method, self._url + request.path, content=_content(request))
                if (seconds := _put_off(response)) is not None:
                    await asyncio.sleep(seconds)
                    response = await http.request(request.method, self._url + request.path, content=_content(request))
        except httpx2.HTTPError as error:
            raise self._unreachable() from error
        return self._read(request, response)

    def _unreachable(self) -> KeepsakeError:
        return KeepsakeError(f"Keepsake does not answer at {self._origin}.", code="unreachable")

    def _read(self, request: Request[Answer], response: httpx2.Response) -> Answer:
        status = response.status_code
        try:
            answer = response.json()
        except ValueError:
            answer = None
        if isinstance(answer, dict):
            if response.is_success and request.field in answer:
                return cast(Answer, answer)
            if isinstance(answer.get("detail"), str) and isinstance(answer.get("code"), str):
                raise KeepsakeError(answer["detail"], status=status, code=answer["code"], field=answer.get("field"))
        raise KeepsakeError(f"What answers at {self._origin} is not Keepsake (HTTP {status}).", status=status, code="not_keepsake")


def _content(request: Request[Any]) -> str | None:
    return None if request.body is None else json.dumps(request.body)


def _put_off(response: httpx2.Response) -> int | None:
    """The seconds after which the server takes the request: it has not begun it."""
    after = response.headers.get("Retry-After", "")
    is_soon = response.status_code == 429 and re.fullmatch("[0-9]+", after) and int(after) <= RETRY_AFTER_SECONDS_MAX
    return int(after) if is_soon else None
