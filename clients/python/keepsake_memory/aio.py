"""The client for programs that run in an event loop (asyncio)."""

from __future__ import annotations

from collections.abc import Sequence

from . import calls, schema
from .calls import FoundType, ItemType, Message, Role, Status, ToolCall
from .server import TIMEOUT_SECONDS, Server

__all__ = ["AsyncKeepsake", "AsyncSession"]


class AsyncKeepsake:
    """`Keepsake` with methods to await. Any event loop can use it, one after the other too."""

    def __init__(self, url: str | None = None, token: str | None = None, timeout: float = TIMEOUT_SECONDS) -> None:
        self._server = Server(url, token, timeout)

    async def recall(
        self,
        message: str | Sequence[str],
        session: str | None = None,
        budget_tokens: int | None = None,
        min_relevance: float | None = None,
    ) -> schema.MemoryRecallResponse:
        """What is remembered that this turn is about. Put `section` before the user's message; it is often empty.

        `message` is what the user wrote, or a list of the last few. With `session` nothing is told twice in a session.
        """
        return await self._server.send_async(calls.recall(message, session, budget_tokens, min_relevance))

    async def remember(
        self,
        content: str,
        type: ItemType = "fact",
        theme: str | None = None,
        key: str | None = None,
        tags: Sequence[str] | None = None,
    ) -> schema.MemoryAddResponse:
        """Adds one statement. With a `key` it takes the place of the item that has this key."""
        return await self._server.send_async(calls.remember(content, type, theme, key, tags))

    async def search(
        self,
        query: str,
        limit: int = 10,
        *,
        theme: str | None = None,
        types: Sequence[FoundType] | None = None,
        status: Status | None = None,
        recency_days: int | None = None,
        cursor: str | None = None,
    ) -> schema.MemorySearchResponse:
        """Finds items by meaning and by words. `"*"` lists the newest; `cursor` reads on."""
        return await self._server.send_async(calls.search(query, limit, theme, types, status, recency_days, cursor))

    async def forget(self, key: str, theme: str | None = None) -> schema.MemoryForgetResponse:
        """Archives every item that has this key. Their owner can restore them."""
        return await self._server.send_async(calls.forget(key, theme))

    async def summary(self) -> schema.MemorySummaryResponse:
        """Who the user is, in a few paragraphs. `summary` is None where there is none; `reason` says why."""
        return await self._server.send_async(calls.summary())

    def session(self, external_id: str) -> AsyncSession:
        """A conversation, by your own id of it. The server makes it with its first message."""
        return AsyncSession(self._server, external_id)


class AsyncSession:
    """One conversation, made by `AsyncKeepsake.session`."""

    def __init__(self, server: Server, external_id: str) -> None:
        self._server = server
        self.id = external_id

    async def add(
        self,
        role: Role,
        content: str | None,
        id: str | None = None,
        *,
        tool_calls: list[ToolCall] | None = None,
        tool_call_id: str | None = None,
        created_at: str | None = None,
        context_used: float | None = None,
    ) -> schema.SessionMessagesResponse:
        """Hands over one message. With an `id` of your own it is kept once, however often you send it."""
        message: Message = {"id": id, "role": role, "content": content, "tool_calls": tool_calls, "tool_call_id": tool_call_id, "created_at": created_at}
        return await self.add_many([message], context_used)

    async def add_many(self, messages: Sequence[Message], context_used: float | None = None) -> schema.SessionMessagesResponse:
        """Hands over messages in their order, 500 at most. The server keeps all of them or none."""
        return await self._server.send_async(calls.add(self.id, messages, context_used))

    async def flush(self, reason: str | None = None, context_used: float | None = None, wait: bool = True) -> schema.FlushResponse:
        """Keeps what is new before the context is compacted. With `wait` the answer comes when that is done (90 s at most)."""
        return await self._server.send_async(calls.flush(self.id, reason, context_used, wait))

    async def complete(self, summary: str | None = None) -> schema.Session:
        """Says that the conversation has ended. `summary` is what it was about, in your own words."""
        return await self._server.send_async(calls.complete(self.id, summary))

    async def recall(
        self,
        message: str | Sequence[str],
        budget_tokens: int | None = None,
        min_relevance: float | None = None,
    ) -> schema.MemoryRecallResponse:
        """As `AsyncKeepsake.recall`. Nothing is told twice in this conversation."""
        return await self._server.send_async(calls.recall(message, self.id, budget_tokens, min_relevance))
