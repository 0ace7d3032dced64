"""A client of Keepsake, and Claude's memory tool with a Keepsake server behind it.

`Keepsake` and `AsyncKeepsake` are for your own programs. `KeepsakeMemoryTool` and `AsyncKeepsakeMemoryTool` are for
Anthropic's SDK, which the extra `anthropic` installs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .aio import AsyncKeepsake, AsyncSession
from .client import Keepsake, Session
from .errors import KeepsakeError
from .calls import Message

if TYPE_CHECKING:
    from .memory_tool import AsyncKeepsakeMemoryTool as AsyncKeepsakeMemoryTool
    from .memory_tool import KeepsakeMemoryTool as KeepsakeMemoryTool

# What needs no SDK: `import *` works without it.
__all__ = ["AsyncKeepsake", "AsyncSession", "Keepsake", "KeepsakeError", "Message", "Session"]


def __getattr__(name: str) -> Any:
    """The memory tool is imported when it is first used: without the SDK the rest works."""
    if name not in ("AsyncKeepsakeMemoryTool", "KeepsakeMemoryTool"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from . import memory_tool
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] != "anthropic":
            raise
        raise ImportError(f"{name} needs Anthropic's SDK: install keepsake-memory with the extra `anthropic`.") from error
    return getattr(memory_tool, name)
