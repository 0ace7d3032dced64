"""What each method sends. `Keepsake` and `AsyncKeepsake` differ only in how they wait for the answer."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any, Literal, TypedDict
from urllib.parse import quote

from typing_extensions import Required

from . import schema
from .server import Request

ItemType = Literal["preference", "fact", "instruction", "summary", "other"]
FoundType = Literal[ItemType, "reflection", "turn", "document", "episode"]
Status = Literal["active", "archived", "any"]
Role = Literal["user", "assistant", "tool"]
ToolCall = schema.SessionMessagesRequestMessageToolCall
# The server answers a flush after 90 seconds at most.
FLUSH_SECONDS = 90.0


class Message(TypedDict, total=False):
    """A message of a session. Without an `id` it gets a new one: it is kept again if you send it again."""

    id: str | None
    role: Required[Role]
    content: str | None
    tool_calls: list[ToolCall] | None
    tool_call_id: str | None
    created_at: str | None


def recall(message: str | Sequence[str], session: str | None, budget_tokens: int | None, min_relevance: float | None) -> Request[schema.MemoryRecallResponse]:
    asked = {"message": message} if isinstance(message, str) else {"messages": list(message)}
    more = _given(session=session, budget_tokens=budget_tokens, min_relevance=min_relevance)
    return Request("POST", "/api/v1/recall", "section", {**asked, **more})


def remember(content: str, item_type: ItemType, theme: str | None, key: str | None, tags: Sequence[str] | None) -> Request[schema.MemoryAddResponse]:
    more = _given(theme=theme, key=key, tags=None if tags is None else list(tags))
    return Request("POST", "/api/v1/tools/memory_add", "id", {"type": item_type, "content": content, **more})


def search(query: str, limit: int, theme: str | None, types: Sequence[FoundType] | None, status: Status | None, recency_days: int | None, cursor: str | None) -> Request[schema.MemorySearchResponse]:
    more = _given(theme=theme, types=None if types is None else list(types), status=status, recency_days=recency_days, cursor=cursor)
    return Request("POST", "/api/v1/tools/memory_search", "results", {"query": query, "limit": limit, **more})


def forget(key: str, theme: str | None) -> Request[schema.MemoryForgetResponse]:
    return Request("POST", "/api/v1/tools/memory_forget", "archived", {"key": key, **_given(theme=theme)})


def summary() -> Request[schema.MemorySummaryResponse]:
    return Request("GET", "/api/v1/summary", "summary")


def add(session: str, messages: Sequence[Message], context_used: float | None) -> Request[schema.SessionMessagesResponse]:
    sent = [{"id": uuid.uuid4().hex, **_given(**message)} for message in messages]
    return _of_session(session, "messages", "accepted", {"messages": sent, **_given(context_used=context_used)})


def flush(session: str, reason: str | None, context_used: float | None, wait: bool) -> Request[schema.FlushResponse]:
    body = {"wait": wait, **_given(reason=reason, context_used=context_used)}
    return _of_session(session, "flush", "state", body, FLUSH_SECONDS if wait else 0.0)


def complete(session: str, summary: str | None) -> Request[schema.Session]:
    return _of_session(session, "complete", "state", _given(summary=summary))


def _of_session(session: str, what: str, field: str, body: dict[str, Any], wait: float = 0.0) -> Request[Any]:
    return Request("POST", f"/api/v1/sessions/{quote(session, safe='')}/{what}", field, body, wait)


def _given(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}
