"""A model's place in the form of OpenAI's chat completions, on loopback: it keeps each prompt, and answers
the first with a call of the tool that is offered, and each other with a sentence."""
import contextlib
import http.server
import json
import threading


@contextlib.contextmanager
def scripted():
    """Yields its address and the list of the prompts, each a list of messages."""
    prompts = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            prompts.append(asked["messages"])
            message = {"role": "assistant", "content": f"Answer {len(prompts) - 1}.", "refusal": None}
            if len(prompts) == 1:
                called = {"name": asked["tools"][0]["function"]["name"], "arguments": "{}"}
                message = {**message, "content": None, "tool_calls": [{"id": "call-1", "type": "function", "function": called}]}
            choice = {"index": 0, "message": message, "finish_reason": "stop" if message["content"] else "tool_calls", "logprobs": None}
            answer = {"id": f"chatcmpl-{len(prompts)}", "object": "chat.completion", "created": 0, "model": asked["model"], "choices": [choice],
                      "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}}
            text = json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/v1", prompts
        finally:
            server.shutdown()
