# Made of the server's OpenAPI document by `tools/clients.sh --generate`. Do not edit.

from __future__ import annotations

from typing import Any, Literal, TypedDict

from typing_extensions import NotRequired


class MemoryRecallRequestProject(TypedDict):
    folder: NotRequired[str | None]
    name: NotRequired[str | None]
    repository: NotRequired[str | None]


class MemoryRecallRequest(TypedDict):
    budget_tokens: NotRequired[int | None]
    message: NotRequired[str | None]
    messages: NotRequired[list[str] | None]
    min_relevance: NotRequired[float | None]
    project: NotRequired[MemoryRecallRequestProject | str | None]
    role: NotRequired[Literal['user', 'system', 'developer'] | None]
    session: NotRequired[str | None]


class MemoryRecallResponseItem(TypedDict):
    at: str
    id: int
    memory_of: NotRequired[str | None]
    project: NotRequired[str | None]
    relevance: float
    source: str
    text: str
    theme: str | None
    trust: Literal['user', 'agent', 'tool', 'external']
    type: Literal['preference', 'fact', 'instruction', 'summary', 'other', 'reflection', 'turn', 'document', 'episode']


class MemoryRecallResponse(TypedDict):
    degraded: str | None
    has_summary: bool
    injected: int
    items: list[MemoryRecallResponseItem]
    match_count: int
    note: NotRequired[str]
    project: str | None
    reason: Literal['off', 'trivial', 'nothing_relevant', 'told', 'in_session', 'other_project', 'budget'] | None
    role: str
    section: str
    tokens: int
    top_score: float


class MemoryAddRequest(TypedDict):
    confidence: NotRequired[int | None]
    content: str
    expires_in_days: NotRequired[int | None]
    key: NotRequired[str | None]
    project: NotRequired[str | None]
    source: NotRequired[Literal['conversation', 'tool_call', 'auto_discovery', 'user_explicit', 'web', 'guess'] | None]
    source_context: NotRequired[str | None]
    tags: NotRequired[list[str] | None]
    theme: NotRequired[str | None]
    type: Literal['preference', 'fact', 'instruction', 'summary', 'other']
    valid_from: NotRequired[str | None]
    valid_until: NotRequired[str | None]


class MemoryAddResponseWarning(TypedDict):
    field: str
    fingerprint: str
    removed: bool
    rule: str


class MemoryAddResponse(TypedDict):
    archived: list[int]
    duplicate: bool
    embedding: Literal['pending', 'ready', 'error', 'off']
    id: int
    note: str | None
    put_aside_for: int | None
    status: Literal['active', 'archived']
    superseded: int | None
    trust: Literal['user', 'agent', 'tool', 'external']
    warnings: NotRequired[list[MemoryAddResponseWarning]]


MemorySearchRequestTime = TypedDict(
    'MemorySearchRequestTime',
    {
        'from': NotRequired[str | None],
        'until': NotRequired[str | None],
    },
)


class MemorySearchRequest(TypedDict):
    as_of: NotRequired[str | None]
    at: NotRequired[str | None]
    balance: NotRequired[Literal['meaning', 'even', 'words'] | None]
    cursor: NotRequired[str | None]
    explain: NotRequired[bool | None]
    limit: NotRequired[int | None]
    min_similarity: NotRequired[float | None]
    project: NotRequired[str | None]
    query: NotRequired[str | None]
    recency_days: NotRequired[int | None]
    status: NotRequired[Literal['active', 'archived', 'any'] | None]
    theme: NotRequired[str | None]
    time: NotRequired[MemorySearchRequestTime | None]
    types: NotRequired[list[Literal['preference', 'fact', 'instruction', 'summary', 'other', 'reflection', 'turn', 'document', 'episode']] | None]


class MemorySearchResponseResultExplainWeights(TypedDict):
    lexical: float
    semantic: float


class MemorySearchResponseResultExplain(TypedDict):
    distance: float | None
    entities: float
    exact: float
    late: float | None
    late_share: float
    lexical: float
    lexical_normalised: float
    likeness_scale: float
    neighbours: float
    own: float
    replaces: float
    scale: float
    semantic: float
    semantic_normalised: float
    speaker: float
    substring: bool
    tier: float
    time: float
    trust: float
    weights: MemorySearchResponseResultExplainWeights
    words_matched: int


class MemorySearchResponseResultPartOf(TypedDict):
    lines: list[int]
    path: str


class MemorySearchResponseResultSaidIn(TypedDict):
    message: str
    position: int
    role: Literal['user', 'assistant']
    session: str
    session_id: int


class MemorySearchResponseResultSignals(TypedDict):
    fts: bool
    semantic: bool


MemorySearchResponseResultToldOf = TypedDict(
    'MemorySearchResponseResultToldOf',
    {
        'from': str,
        'session': str | None,
        'session_id': int | None,
        'until': str,
    },
)


class MemorySearchResponseResult(TypedDict):
    agent: NotRequired[str | None]
    content_snippet: str
    created_at: str
    explain: NotRequired[MemorySearchResponseResultExplain | None]
    holds: NotRequired[Literal['over', 'ahead']]
    id: int
    key: NotRequired[str | None]
    memory_of: NotRequired[str | None]
    no_longer_held: NotRequired[bool]
    owner: NotRequired[str | None]
    part_of: NotRequired[MemorySearchResponseResultPartOf | None]
    project: NotRequired[str | None]
    replaced_by: NotRequired[int | None]
    said_in: NotRequired[MemorySearchResponseResultSaidIn | None]
    score: float
    signals: MemorySearchResponseResultSignals
    source: str
    status: Literal['active', 'archived']
    tags: list[str]
    theme: str | None
    told_of: NotRequired[MemorySearchResponseResultToldOf | None]
    trust: Literal['user', 'agent', 'tool', 'external']
    type: Literal['preference', 'fact', 'instruction', 'summary', 'other', 'reflection', 'turn', 'document', 'episode']
    valid_from: NotRequired[str | None]
    valid_until: NotRequired[str | None]


MemorySearchResponseTime = TypedDict(
    'MemorySearchResponseTime',
    {
        'from': str | None,
        'until': str | None,
    },
)


class MemorySearchResponse(TypedDict):
    confidence: float | None
    cursor: str | None
    degraded: str | None
    mode: Literal['hybrid', 'fts', 'recent']
    note: NotRequired[str | None]
    results: list[MemorySearchResponseResult]
    time: NotRequired[MemorySearchResponseTime | None]


class MemoryForgetRequest(TypedDict):
    key: str
    project: NotRequired[str | None]
    theme: NotRequired[str | None]


class MemoryForgetResponseWarning(TypedDict):
    field: str
    fingerprint: str
    removed: bool
    rule: str


class MemoryForgetResponse(TypedDict):
    archived: list[int]
    count: int
    note: NotRequired[str]
    warnings: NotRequired[list[MemoryForgetResponseWarning]]


class MemorySummaryResponse(TypedDict):
    items: list[int]
    items_total: int
    made_at: str | None
    next_try_at: str | None
    note: NotRequired[str]
    project: str | None
    reason: str | None
    stale: bool
    state: Literal['current', 'waiting', 'writing', 'failed', 'empty', 'off']
    summary: str | None


class SessionMessagesRequestMessageToolCallFunction(TypedDict):
    arguments: NotRequired[str | dict[str, Any] | None]
    name: NotRequired[str | None]


class SessionMessagesRequestMessageToolCall(TypedDict):
    arguments: NotRequired[str | dict[str, Any] | None]
    function: NotRequired[SessionMessagesRequestMessageToolCallFunction | None]
    id: NotRequired[str | None]
    name: NotRequired[str | None]


class SessionMessagesRequestMessage(TypedDict):
    content: NotRequired[str | None]
    created_at: NotRequired[str | None]
    id: str
    role: Literal['user', 'assistant', 'tool']
    tool_call_id: NotRequired[str | None]
    tool_calls: NotRequired[list[SessionMessagesRequestMessageToolCall] | None]


class SessionMessagesRequestProject(TypedDict):
    folder: NotRequired[str | None]
    name: NotRequired[str | None]
    repository: NotRequired[str | None]


class SessionMessagesRequest(TypedDict):
    context_used: NotRequired[float | None]
    messages: list[SessionMessagesRequestMessage]
    project: NotRequired[SessionMessagesRequestProject | str | None]


class SessionMessagesResponseSkippedItem(TypedDict):
    index: int
    why: str


class SessionMessagesResponseWarning(TypedDict):
    field: str
    fingerprint: str
    removed: bool
    rule: str


class SessionMessagesResponse(TypedDict):
    accepted: int
    duplicates: int
    flush_advised: bool
    skipped: NotRequired[list[SessionMessagesResponseSkippedItem]]
    warnings: NotRequired[list[SessionMessagesResponseWarning]]


class FlushRequest(TypedDict):
    context_used: NotRequired[float | None]
    message_count: NotRequired[int | None]
    reason: NotRequired[str | None]
    wait: NotRequired[bool | None]


class FlushResponseItem(TypedDict):
    content: str
    id: int
    theme: str
    type: str


class FlushResponse(TypedDict):
    episode: str | None
    items: list[FlushResponseItem]
    message_count: int
    note: str | None
    outcome: Literal['pending', 'stored', 'nothing', 'failed', 'skipped'] | None
    reason: str | None
    state: Literal['done', 'reading']


class SessionCompletedRequest(TypedDict):
    summary: NotRequired[str | None]


class SessionExtraction(TypedDict):
    attempts: int
    duration_ms: int
    ended_at: str | None
    fallback: bool
    first_position: int | None
    last_position: int | None
    malformed: int
    merged: int
    model: str | None
    next_try_at: str | None
    outcome: Literal['pending', 'stored', 'nothing', 'failed', 'skipped'] | None
    reason: str | None
    skipped_chars: int
    stored: int
    superseded: int
    tokens_in: int
    tokens_out: int


class Session(TypedDict):
    completed_at: str | None
    completed_why: Literal['asked', 'another', 'still', 'nightly'] | None
    created_at: str
    external_id: str
    extraction: SessionExtraction
    last_message_at: str
    message_count: int
    new_count: int
    project: str | None
    state: Literal['open', 'completed']


class Problem(TypedDict):
    code: str
    current: NotRequired[Any]
    detail: str
    field: NotRequired[str]
    status: int
    title: str
    type: str
