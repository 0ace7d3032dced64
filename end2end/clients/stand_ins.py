"""Servers that are not Keepsake, on loopback."""
import contextlib
import http.server
import socket
import threading


def proxy(_):
    """As a proxy answers whose server is down."""
    return 502, "<html>Bad gateway</html>"


@contextlib.contextmanager
def serving(answer):
    """A server on loopback that answers each body with a status, a text and perhaps headers; its address."""
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            status, text, *headers = answer(self.rfile.read(int(self.headers["Content-Length"] or 0)))
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            for name, value in headers:
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(text.encode())

        do_DELETE = do_GET = do_POST

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


@contextlib.contextmanager
def silent():
    """Takes connections and never answers."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
