"""OpenAI Agents SDK: a session that hands over what is said, and a filter that recalls before each turn.

    pip install "./clients/python" openai-agents
    KEEPSAKE_TOKEN=ks_… OPENAI_API_KEY=… python openai_agents.py
"""
import asyncio
from datetime import date

from agents import Agent, RunConfig, Runner, SQLiteSession, TResponseInputItem, function_tool, set_default_openai_api, set_tracing_disabled
from agents.run import CallModelData, ModelInputData

from keepsake_memory import AsyncKeepsake, AsyncSession, Message


class KeepsakeSession(SQLiteSession):
    """The history of one conversation, in memory; Keepsake gets it too."""

    def __init__(self, session: AsyncSession) -> None:
        super().__init__(session.id)
        self.session = session
        self.told: tuple[int, str] = (0, "")

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        await super().add_items(items)
        said = [Message(role=item["role"], content=text_of(item)) for item in items if item.get("role") in ("user", "assistant")]
        if said := [message for message in said if message["content"].strip()]:
            await self.session.add_many(said)

    async def recall(self, call: CallModelData) -> ModelInputData:
        """The input of the model, with what is remembered before the user's message. The history does not keep it."""
        items = call.model_data.input
        users = [at for at, item in enumerate(items) if item.get("role") == "user"]
        # A turn may call the model several times. Nothing is told twice, so a turn keeps what it was told.
        if self.told[0] != len(users):
            self.told = (len(users), (await self.session.recall(text_of(items[users[-1]])))["section"])
        section: list[TResponseInputItem] = [{"role": "user", "content": self.told[1]}] if self.told[1] else []
        return ModelInputData([*items[:users[-1]], *section, *items[users[-1]:]], call.model_data.instructions)


def text_of(item: TResponseInputItem) -> str:
    content = item["content"]
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


@function_tool
def today() -> str:
    """The date of today."""
    return date.today().isoformat()


async def main() -> None:
    set_tracing_disabled(True)
    # For a server that has this API alone; leave it out with OpenAI's.
    set_default_openai_api("chat_completions")
    agent = Agent(name="Assistant", model="gpt-5-mini", tools=[today])
    for chat, said in (("openai-agents-1", "Remember that my sister lives in Tromsø."), ("openai-agents-2", "Where does my sister live?")):
        session = KeepsakeSession(AsyncKeepsake().session(chat))
        answer = await Runner.run(agent, said, session=session, run_config=RunConfig(call_model_input_filter=session.recall))
        print(answer.final_output)
        await session.session.flush("the conversation has ended")


if __name__ == "__main__":
    asyncio.run(main())
