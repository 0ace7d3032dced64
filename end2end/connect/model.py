"""A model's place, in the forms of OpenAI's and Anthropic's APIs, on loopback: it adds a memory, looks
for it, and repeats what it was given. What is tested is the lines around it, with the vendors' own SDKs."""
import http.server
import json
import threading

STEPS = [("memory_add", {"type": "preference", "content": "Prefers tea over coffee.", "theme": "food"}),
         ("memory_search", {"query": "tea or coffee"})]


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answer = json.dumps(anthropic(asked) if self.path.startswith("/v1/messages") else openai(asked)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


def openai(asked):
    assert {tool["function"]["name"] for tool in asked["tools"]} >= {name for name, _ in STEPS}, asked["tools"]
    given = [message["content"] for message in asked["messages"] if message["role"] == "tool"]
    message = {"role": "assistant", "content": None, "refusal": None}
    if len(given) < len(STEPS):
        name, arguments = STEPS[len(given)]
        function = {"name": name, "arguments": json.dumps(arguments)}
        message["tool_calls"] = [{"id": f"call_{len(given)}", "type": "function", "function": function}]
    else:
        message["content"] = given[-1]
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if message.get("tool_calls") else "stop", "logprobs": None}
    return {"id": "chatcmpl-1", "object": "chat.completion", "created": 0, "model": asked["model"], "choices": [choice],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}}


def anthropic(asked):
    assert {tool["name"] for tool in asked["tools"]} >= {name for name, _ in STEPS}, asked["tools"]
    parts = [part for message in asked["messages"] if isinstance(message["content"], list) for part in message["content"]]
    given = [text_of(part["content"]) for part in parts if part["type"] == "tool_result"]
    if len(given) < len(STEPS):
        name, arguments = STEPS[len(given)]
        content = [{"type": "tool_use", "id": f"toolu_{len(given)}", "name": name, "input": arguments}]
    else:
        content = [{"type": "text", "text": given[-1]}]
    return {"id": "msg_1", "type": "message", "role": "assistant", "model": asked["model"], "content": content,
            "stop_reason": "tool_use" if content[0]["type"] == "tool_use" else "end_turn", "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1}}


def text_of(content):
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def serve():
    """Starts it on a free port of loopback; returns its address."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_address[1]}"
