"""The examples of agent frameworks (clients/python/examples): two conversations each, with a scripted model
that calls a tool in the first."""
import json
import subprocess
import urllib.request
from concurrent.futures import ThreadPoolExecutor

from common import REPO, say

from .model import scripted

PYTHON = REPO / "target/clients/frameworks/bin/python"
# The session of the first conversation, what was remembered in it and is in the prompt of the second, and whose
# messages are handed over: with the tool's call and its answer, or without both.
WITH_TOOLS, WITHOUT_TOOLS = ["user", "assistant", "tool", "assistant"], ["user", "assistant"]
EXAMPLES = {"langchain_agent": ("langchain-1", "Solveig", WITH_TOOLS), "llamaindex_agent": ("llamaindex-1", "Fenrir", WITH_TOOLS),
            "openai_agents": ("openai-agents-1", "Tromsø", WITHOUT_TOOLS)}
WITHOUT_SDK = """
from keepsake_memory import *
import keepsake_memory
try:
    keepsake_memory.KeepsakeMemoryTool
except ImportError as error:
    print(error)
"""


def runs_examples(server):
    env = {**server.env, "KEEPSAKE_URL": server.url, "KEEPSAKE_TOKEN": server.token, "OPENAI_API_KEY": "none"}
    said = run(["-c", WITHOUT_SDK], env)
    assert said == "KeepsakeMemoryTool needs Anthropic's SDK: install keepsake-memory with the extra `anthropic`.\n", said
    # At once: most of the time goes into imports and waiting.
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda name: remembers(name, *EXAMPLES[name], env), EXAMPLES))


def remembers(name, session, word, roles, env):
    with scripted() as (address, prompts):
        said = run([REPO / f"clients/python/examples/{name}.py"], {**env, "OPENAI_BASE_URL": address})
    assert [message["role"] for message in prompts[1]][-2:] == ["assistant", "tool"], prompts[1]
    first, second = str(prompts[0]), str(prompts[2])
    # The first has the word because the user says it; of other sisters it may be told.
    assert word in first and word not in recalled(first), first
    assert word in recalled(second), second
    assert said == "Answer 1.\nAnswer 2.\n", said
    hold_messages(session, roles, env)
    say(f"{name}: what was said in one conversation is in the prompt of the next")


def recalled(prompt):
    return prompt.partition("<keepsake-memory")[2].partition("</keepsake-memory>")[0]


def hold_messages(session, roles, env):
    asked = urllib.request.Request(f"{env['KEEPSAKE_URL']}/api/v1/sessions/{session}/messages", headers={"Authorization": f"Bearer {env['KEEPSAKE_TOKEN']}"})
    messages = json.load(urllib.request.urlopen(asked, timeout=30))["messages"]
    assert [message["role"] for message in messages] == roles, messages
    calls = [(call["name"], call["id"], json.loads(call["arguments"])) for message in messages for call in message["tool_calls"]]
    answers = [message["tool_call_id"] for message in messages if message["role"] == "tool"]
    assert (calls, answers) == (([("today", "call-1", {})], ["call-1"]) if "tool" in roles else ([], [])), messages


def run(arguments, env):
    return subprocess.run([PYTHON, *arguments], env=env, text=True, check=True, stdout=subprocess.PIPE).stdout
