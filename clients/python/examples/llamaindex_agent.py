"""LlamaIndex: a memory block that recalls before each turn, in a memory that hands over what is said.

    pip install "./clients/python" llama-index-core llama-index-llms-openai-like
    KEEPSAKE_TOKEN=ks_… OPENAI_API_KEY=… OPENAI_BASE_URL=… python llamaindex_agent.py
"""
import asyncio
import os
from typing import Any

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.memory import BaseMemoryBlock, InsertMethod, Memory
from llama_index.llms.openai_like import OpenAILike
from pydantic import Field

from keepsake_memory import AsyncKeepsake, AsyncSession


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
        said = [message for message in messages if message.role in ("user", "assistant", "tool")]
        sent = [{"role": message.role.value, "content": message.content, "tool_call_id": message.additional_kwargs.get("tool_call_id")} for message in said]
        if sent:
            await self.memory_blocks[0].session.add_many(sent)


async def main() -> None:
    llm = OpenAILike(model="gpt-5-mini", api_base=os.environ["OPENAI_BASE_URL"], api_key=os.environ["OPENAI_API_KEY"], is_chat_model=True, is_function_calling_model=True)
    agent = FunctionAgent(llm=llm, streaming=False)
    for chat, said in (("llamaindex-1", "Remember that my dog is called Fenrir."), ("llamaindex-2", "What is my dog called?")):
        session = AsyncKeepsake().session(chat)
        memory = KeepsakeMemory.from_defaults(session_id=chat, memory_blocks=[KeepsakeBlock(session=session)], insert_method=InsertMethod.USER)
        print(await agent.run(said, memory=memory))
        await session.flush("the conversation has ended")


if __name__ == "__main__":
    asyncio.run(main())
