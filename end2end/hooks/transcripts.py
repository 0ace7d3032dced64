#!/usr/bin/env python3
"""What the connect script sends of each client's transcript as the person's own: what they typed, and nothing else.

In transcripts/ each kind of block has a word of its own: zz-typed-… where the person typed, others (zz-reminder, zz-tool-out)
where the client or a tool put something. The first line of a file says how it was made.
"""
import importlib.util
import json
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
WORD = re.compile(r"zz-[a-z0-9-]*[a-z0-9]")
# Words beside the person's that are sent, by the role with which they are.
OTHERS = {
    "claude-code": {"assistant": {"zz-assistant", "zz-agent-desc", "zz-agent-prompt", "zz-background", "zz-background-out",
                                  "zz-tool-out", "zz-tool-out2", "zz-tool-out3"},
                    "tool": {"zz-tool-out", "zz-tool-out2"}},
    "codex": {"assistant": {"zz-assistant", "zz-agent-prompt", "zz-tool-out"}, "tool": {"zz-tool-out"}},
    "gemini-cli": {"assistant": {"zz-assistant", "zz-agent-prompt"}, "tool": {"zz-hook-tool"}},
    "cursor": {"assistant": {"zz-assistant", "zz-tool-in"}, "tool": {"zz-tool-out"}},
    # What the person runs with `!` is a call of the tool there.
    "opencode": {"assistant": {"zz-assistant", "zz-agent-desc", "zz-agent-prompt", "zz-bash-in", "zz-bash-out", "zz-bash-err", "zz-tool-out"},
                 "tool": {"zz-assistant", "zz-bash-out", "zz-bash-err", "zz-tool-out"}},
}
# What a hook is given as prompt, and what is asked of the server for it.
PROMPTS = {
    "claude-code": [("what does <div> do?", "what does <div> do?"), ("<ide_selection>zz-ide</ide_selection>\nwhy?", "why?")],
    "codex": [("# Context from my IDE setup:\n\n## Active file: zz-ide.rs\n\n## My request for Codex:\nwhy?\n", "why?\n")],
    "gemini-cli": [("look at @notes.txt\n--- Content from referenced files ---\nzz-at-file\n--- End of content ---", "look at @notes.txt"),
                   ("what is <hook_context>?", "what is <hook_context>?"), ("<hook_context>zz-hook</hook_context>why?", "why?")],
}
# The person's own text stays whole, whatever tags it speaks of; of a file in an element, nothing stays, whatever tags it has.
OWN = ["what does <div> do?", "<b>bold</b> or <i>not</i>?", "is <system-reminder> shown to you?", "<file>\nmine\n</file>\nread this", "Vec<Text> and a < b > c"]
INSERTED = ["<ide_selection>a</ide_selection> lie </ide_selection>\n", "<terminal name=\"zsh\">\n$ ls\n</terminal>\n", "<bash-stdout>a</bash-stdout><bash-stderr></bash-stderr>"]


def main():
    sys.dont_write_bytecode = True
    spec = importlib.util.spec_from_file_location("connect", HERE.parents[1] / "clients/connect/keepsake_connect.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    for client, others in OTHERS.items():
        path = HERE / "transcripts" / f"{client}.jsonl"
        given = {"messages": [json.loads(line) for line in path.read_text().splitlines()]} if client == "opencode" else {"transcript_path": str(path)}
        messages, sent = script.transcript(client, given), {}
        said = [message["content"] for message in messages if message["role"] == "user"]
        same([text for text in said if "zz-typed" not in text], [], f"{client}: not the person's")
        same("zz-typed-1 hello, what does <div> do?" in said, True, f"{client}: it is whole")
        for message in messages:
            sent.setdefault(message["role"], set()).update(WORD.findall(json.dumps(message)))
        typed = {word for word in WORD.findall(path.read_text()) if word.startswith("zz-typed")}
        same(sent.pop("user"), typed, f"{client}: as the person's own")
        same({role: words for role, words in sent.items() if words}, others, f"{client}: as others'")
    for client, prompts in PROMPTS.items():
        for prompt, expected in prompts:
            same(script.prompt_of(client, prompt), expected, f"{client}: of the prompt {prompt!r}")
    for own in OWN:
        same(script.typed(own), own, "typed")
        for inserted in INSERTED:
            same((script.typed(inserted + own), script.typed(own + "\n" + inserted), script.typed(inserted)), (own, own, ""), f"beside {inserted!r}")
    same(script.hook_output("codex", "prompt", {"agent_id": "a", "prompt": "zz-agent-prompt"}), None, "a subagent's hook")
    print("of each client's transcript, the connect script sends as the person's own what they typed, and nothing else")


def same(found, expected, what):
    if found != expected:
        sys.exit(f"✗ {what}: {found!r}, not {expected!r}")


if __name__ == "__main__":
    main()
