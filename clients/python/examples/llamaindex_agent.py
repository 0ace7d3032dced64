"""LlamaIndex: a memory block that recalls before each turn, in a memory that hands over what is said.

    pip install "./clients/python" llama-index-core llama-index-llms-openai-like
    KEEPSAKE_TOKEN=ks_… OPENAI_API_KEY=… OPENAI_BASE_URL=… python llamaindex_agent.py
"""
import asyncio
import os
from datetime import date
from typing import Any

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, ToolCallBlock
from llama_index.core.memory import BaseMemoryBlock, InsertMethod, Memory
from llama_index.llms.openai_like import OpenAILike
from pydantic import Field

from keepsake_memory import AsyncKeepsake, AsyncSession, Message


class KeepsakeBlock(BaseMemoryBlock[str]):
    name: str = "keepsake"
    session: AsyncSession
    told: dict[int, str] = Field(default_factory=dict)

    async def _aget(self, messages: list[ChatMessage] | None = None, **_: Any) -> str:
        # LlamaIndex asks before each call of the model; nothing is told twice, so a turn keeps what it was told.
        said = [message.content or "" for message in messages or [] if message.role == "user"]
        if said and len(said) not in self.told:
            self.told = {len(said): (await self.session.recall(said[-1]))["section"]}
        return self.told.get(len(said), "")

    async def _aput(self, messages: list[ChatMessage]) -> None:
        """These were handed over when they were said."""


class KeepsakeMemory(Memory):
    async def aput(self, message: ChatMessage) -> None:
        await self.aput_messages([message])

    async def aput_messages(self, messages: list[ChatMessage]) -> None:
        await super().aput_messages(messages)
        sent = [message_of(message) for message in messages if message.role in ("user", "assistant", "tool")]
        if sent := [message for message in sent if message["role"] == "tool" or message["content"].strip() or message["tool_calls"]]:
            await self.memory_blocks[0].session.add_many(sent)


def message_of(said: ChatMessage) -> Message:
    # A model that calls a tool mostly says nothing else.
    calls = [{"id": block.tool_call_id, "name": block.tool_name, "arguments": block.tool_kwargs} for block in said.blocks if isinstance(block, ToolCallBlock)]
    return Message(role=said.role.value, content=said.content or "", tool_calls=calls, tool_call_id=said.additional_kwargs.get("tool_call_id"))


def today() -> str:
    """The date of today."""
    return date.today().isoformat()


async def main() -> None:
    llm = OpenAILike(model="gpt-5-mini", api_base=os.environ["OPENAI_BASE_URL"], api_key=os.environ["OPENAI_API_KEY"], is_chat_model=True, is_function_calling_model=True)
    agent = FunctionAgent(llm=llm, tools=[today], streaming=False)
    for chat, said in (("llamaindex-1", "Remember that my dog is called Fenrir."), ("llamaindex-2", "What is my dog called?")):
        session = AsyncKeepsake().session(chat)
        memory = KeepsakeMemory.from_defaults(session_id=chat, memory_blocks=[KeepsakeBlock(session=session)], insert_method=InsertMethod.USER)
        print(await agent.run(said, memory=memory))
        await session.flush("the conversation has ended")


if __name__ == "__main__":
    asyncio.run(main())
