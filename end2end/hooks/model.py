"""A model's place on loopback, in the forms of Anthropic's Messages, OpenAI's Responses and Chat Completions, and
Gemini's API, streamed and whole. Asked to remember, it calls one harmless tool of the client first, so that the
transcript has a call and its result; then it answers. Every request is kept for the test to look at."""
import http.server
import json
import threading

ANSWER = "Noted: I keep that in mind."
# One tool of each client that only looks, by the name and input it has there.
TOOLS = {"Bash": {"command": "echo harbour", "description": "Prints a word"}, "bash": {"command": "echo harbour", "description": "Prints a word"},
         "exec_command": {"cmd": "echo harbour"}, "shell": {"command": ["echo", "harbour"]}, "shell_command": {"command": "echo harbour"},
         "list_directory": {"dir_path": "."}}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        if self.headers.get("Transfer-Encoding") == "chunked":
            body = b"".join(iter(self.read_chunk, b""))
        else:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        try:
            asked = json.loads(body or b"{}")
        except ValueError:
            asked = {}
        self.server.requests.append((self.path, asked))
        kind, answer = route(self.path, asked)
        self.answer(kind, answer.encode())

    def do_GET(self):
        self.answer("application/json", json.dumps({"data": [], "models": []}).encode())

    def read_chunk(self):
        size = int(self.rfile.readline().strip() or b"0", 16)
        chunk = self.rfile.read(size)
        self.rfile.readline()
        return chunk

    def answer(self, kind, body):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def route(path, asked):
    if "count_tokens" in path or "countTokens" in path:
        return "application/json", json.dumps({"input_tokens": 1, "totalTokens": 1})
    if "/messages" in path:
        return anthropic(asked)
    if "/responses" in path:
        return responses(asked)
    if "/chat/completions" in path:
        return chat(asked)
    if "generateContent" in path.replace("streamG", "g"):
        return gemini(path, asked)
    return "application/json", "{}"


def tool_to_call(asked, names):
    """The tool and its input, for the first request of a conversation that asks to remember."""
    text = json.dumps(asked)
    if "Remember:" not in text or any(mark in text for mark in ('"tool_result"', 'function_call_output', '"role": "tool"', '"functionResponse"')):
        return None
    return next(((name, TOOLS[name]) for name in TOOLS if name in names), None)


def sse(events, with_names):
    lines = ((f"event: {event['type']}\n" if with_names else "") + f"data: {json.dumps(event)}\n\n" for event in events)
    return "text/event-stream", "".join(lines)


def anthropic(asked):
    call = tool_to_call(asked, {tool.get("name") for tool in asked.get("tools") or []})
    block = {"type": "tool_use", "id": "toolu_1", "name": call[0], "input": call[1]} if call else {"type": "text", "text": ANSWER}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": asked.get("model", "m"), "content": [block],
               "stop_reason": "tool_use" if call else "end_turn", "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}
    if not asked.get("stream"):
        return "application/json", json.dumps(message)
    delta = {"type": "input_json_delta", "partial_json": json.dumps(call[1])} if call else {"type": "text_delta", "text": ANSWER}
    empty = {**block, "input": {}} if call else {**block, "text": ""}
    return sse([{"type": "message_start", "message": {**message, "content": [], "stop_reason": None}},
                {"type": "content_block_start", "index": 0, "content_block": empty},
                {"type": "content_block_delta", "index": 0, "delta": delta},
                {"type": "content_block_stop", "index": 0},
                {"type": "message_delta", "delta": {"stop_reason": message["stop_reason"], "stop_sequence": None}, "usage": {"output_tokens": 1}},
                {"type": "message_stop"}], True)


def responses(asked):
    call = tool_to_call(asked, {tool.get("name") for tool in asked.get("tools") or []})
    item = ({"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": call[0], "arguments": json.dumps(call[1]), "status": "completed"} if call else
            {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [{"type": "output_text", "text": ANSWER, "annotations": []}]})
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2, "input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    whole = {"id": "resp_1", "object": "response", "created_at": 0, "status": "completed", "model": asked.get("model", "m"), "output": [item], "usage": usage}
    return sse([{"type": "response.created", "response": {**whole, "status": "in_progress", "output": []}},
                {"type": "response.output_item.done", "output_index": 0, "item": item},
                {"type": "response.completed", "response": whole}], True)


def chat(asked):
    call = tool_to_call(asked, {tool["function"]["name"] for tool in asked.get("tools") or []})
    said = ({"role": "assistant", "content": None, "tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": {"name": call[0], "arguments": json.dumps(call[1])}}]}
            if call else {"role": "assistant", "content": ANSWER})
    base = {"id": "c1", "created": 0, "model": asked.get("model", "m")}
    finish = "tool_calls" if call else "stop"
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    if not asked.get("stream"):
        return "application/json", json.dumps({**base, "object": "chat.completion", "choices": [{"index": 0, "message": said, "finish_reason": finish}], "usage": usage})
    kind, text = sse([{**base, "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": said, "finish_reason": None}]},
                      {**base, "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {}, "finish_reason": finish}], "usage": usage}], False)
    return kind, text + "data: [DONE]\n\n"


def gemini(path, asked):
    names = {function["name"] for tool in asked.get("tools") or [] for function in tool.get("functionDeclarations") or []}
    call = tool_to_call(asked, names)
    part = {"functionCall": {"name": call[0], "args": call[1]}} if call else {"text": ANSWER}
    wants_json = (asked.get("generationConfig") or {}).get("responseMimeType") == "application/json"
    if wants_json:  # The router asks which model is to answer.
        part = {"text": json.dumps({"reasoning": "simple", "model_choice": "flash", "complexity_score": 1, "complexity_reasoning": "simple"})}
    answer = {"candidates": [{"index": 0, "content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}],
              "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}, "modelVersion": "m"}
    if "streamGenerateContent" in path:
        return sse([answer], False)
    return "application/json", json.dumps(answer)


def serve():
    """Starts it on a free port of loopback; its `requests` are what was asked, (path, body)."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.requests = []
    server.url = f"http://127.0.0.1:{server.server_address[1]}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server
