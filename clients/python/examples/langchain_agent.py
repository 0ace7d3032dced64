"""LangChain: a middleware that recalls before each turn, and hands each turn over when it ends.

    pip install "./clients/python" langchain langchain-openai
    KEEPSAKE_TOKEN=ks_… OPENAI_API_KEY=… python langchain_agent.py
"""
from collections.abc import Callable
from datetime import date
from typing import Any, Literal, NotRequired

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse
from langchain.messages import AnyMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_config
from langgraph.runtime import Runtime

from keepsake_memory import Keepsake, Message, Session

ROLES: dict[str, Literal["user", "assistant", "tool"]] = {"human": "user", "ai": "assistant", "tool": "tool"}


class TurnState(AgentState):
    recalled: NotRequired[str]


class KeepsakeMiddleware(AgentMiddleware[TurnState]):
    state_schema = TurnState

    def __init__(self, keepsake: Keepsake) -> None:
        self.keepsake = keepsake

    def session(self) -> Session:
        return self.keepsake.session(get_config()["configurable"]["thread_id"])

    def before_agent(self, state: TurnState, runtime: Runtime) -> dict[str, Any]:
        return {"recalled": self.session().recall(state["messages"][-1].text)["section"]}

    def wrap_model_call(self, request: ModelRequest, handler: Callable[[ModelRequest], ModelResponse]) -> ModelResponse:
        # Only the model sees it: it is not in the history of the next turn.
        if section := request.state.get("recalled", ""):
            at = start_of_turn(request.messages)
            request = request.override(messages=[*request.messages[:at], HumanMessage(section), *request.messages[at:]])
        return handler(request)

    def after_agent(self, state: TurnState, runtime: Runtime) -> None:
        turn = state["messages"][start_of_turn(state["messages"]):]
        sent = [message_of(said) for said in turn]
        self.session().add_many([message for message in sent if message["role"] == "tool" or message["content"].strip() or message["tool_calls"]])


def message_of(said: AnyMessage) -> Message:
    # A model that calls a tool mostly says nothing else.
    calls = [{"id": call["id"], "name": call["name"], "arguments": call["args"]} for call in getattr(said, "tool_calls", [])]
    return Message(id=said.id, role=ROLES[said.type], content=said.text, tool_calls=calls, tool_call_id=getattr(said, "tool_call_id", None))


def start_of_turn(messages: list[AnyMessage]) -> int:
    return max(at for at, message in enumerate(messages) if message.type == "human")


def today() -> str:
    """The date of today."""
    return date.today().isoformat()


if __name__ == "__main__":
    keepsake = Keepsake()
    agent = create_agent("openai:gpt-5-mini", tools=[today], middleware=[KeepsakeMiddleware(keepsake)], checkpointer=InMemorySaver())
    for thread, said in (("langchain-1", "Remember that my boat is called Solveig."), ("langchain-2", "What is my boat called?")):
        answer = agent.invoke({"messages": [HumanMessage(said)]}, {"configurable": {"thread_id": thread}})
        print(answer["messages"][-1].text)
        keepsake.session(thread).flush("the conversation has ended")
