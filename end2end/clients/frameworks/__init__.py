"""The examples of agent frameworks (clients/python/examples): two conversations each, with a scripted model."""
import subprocess
from concurrent.futures import ThreadPoolExecutor

from common import REPO, say

from .model import scripted

PYTHON = REPO / "target/clients/frameworks/bin/python"
# What was remembered in the first conversation, and is in the prompt of the second.
EXAMPLES = {"langchain_agent": "Solveig", "llamaindex_agent": "Fenrir", "openai_agents": "Tromsø"}
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
        list(pool.map(lambda name: remembers(name, EXAMPLES[name], env), EXAMPLES))


def remembers(name, word, env):
    with scripted() as (address, prompts):
        said = run([REPO / f"clients/python/examples/{name}.py"], {**env, "OPENAI_BASE_URL": address})
    first, second = (str(prompt) for prompt in prompts)
    # The first has the word because the user says it.
    assert word in first and "<keepsake-memory" not in first, first
    assert word in second[second.index("<keepsake-memory"):second.index("</keepsake-memory>")], second
    assert said == "Answer 1.\nAnswer 2.\n", said
    say(f"{name}: what was said in one conversation is in the prompt of the next")


def run(arguments, env):
    return subprocess.run([PYTHON, *arguments], env=env, text=True, check=True, stdout=subprocess.PIPE).stdout
