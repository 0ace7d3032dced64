"""HTTP/1.1 on one kept-alive connection, with next to no work of its own, so that a load generator does
not compete with the server it measures. A connection that broke is opened anew by the next request."""

import asyncio
import json

TIMEOUT_SECONDS = 40
SIGN_INS_MAX = 40
# The cookie with what a page tells once, after the redirect that answers a form.
FLASH = "keepsake-flash="


class Lost(Exception):
    """No answer came: nobody knows whether the request was carried out."""


class Connection:
    def __init__(self, port):
        self.port = port
        self.streams = None

    async def send(self, method, path, body=b"", headers=()):
        """Returns status, headers (lower-case names) and body."""
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                return await self._send(method, path, body, headers)
        except (OSError, EOFError, ValueError, asyncio.TimeoutError, asyncio.IncompleteReadError) as error:
            self.close()
            raise Lost(repr(error)) from None
        except asyncio.CancelledError:
            self.close()
            raise

    async def _send(self, method, path, body, headers):
        if self.streams is None or self.streams[0].at_eof():
            self.streams = await asyncio.open_connection("127.0.0.1", self.port)
        reader, writer = self.streams
        lines = [f"{method} {path} HTTP/1.1", f"Host: 127.0.0.1:{self.port}", f"Content-Length: {len(body)}",
                 *(f"{name}: {value}" for name, value in headers), "", ""]
        writer.write("\r\n".join(lines).encode() + body)
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        status = int(head[0].split(" ", 2)[1])
        got = {}
        for line in head[1:-2]:
            name, _, value = line.partition(":")
            # Of several cookies one is told on a page's next view.
            if name.lower() != "set-cookie" or FLASH not in got.get("set-cookie", ""):
                got[name.lower()] = value.strip()
        if got.get("transfer-encoding") == "chunked":
            content = await self._chunks(reader)
        else:
            content = await reader.readexactly(int(got.get("content-length", 0)))
        if got.get("connection") == "close":
            self.close()
        return status, got, content

    async def _chunks(self, reader):
        parts = []
        while size := int(await reader.readline(), 16):
            parts.append(await reader.readexactly(size))
            await reader.readexactly(2)
        await reader.readexactly(2)
        return b"".join(parts)

    def close(self):
        if self.streams is not None:
            self.streams[1].close()
            self.streams = None


class Agent:
    """Calls tools with a token, at the door it is told."""

    def __init__(self, port, token):
        self.connection = Connection(port)
        self.headers = (("Authorization", f"Bearer {token}"), ("Content-Type", "application/json"))
        self.mcp_headers = (*self.headers, ("Accept", "application/json, text/event-stream"))

    async def tool(self, name, arguments):
        """REST: status and answer (or problem)."""
        status, _, body = await self.connection.send("POST", f"/api/v1/tools/{name}", json.dumps(arguments).encode(), self.headers)
        return status, parsed(body)

    async def tool_by_mcp(self, name, arguments):
        """MCP: the same; the problem of a tool comes as status 0 with its words."""
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
        status, _, body = await self.connection.send("POST", "/mcp", json.dumps(message).encode(), self.mcp_headers)
        answer = parsed(body)
        result = answer.get("result") or {}
        if status == 200 and not result.get("isError") and "structuredContent" in result:
            return 200, result["structuredContent"]
        return (0 if status == 200 else status), answer


class Person:
    """Signs in and posts the forms of the pages."""

    def __init__(self, port, email, password):
        self.connection = Connection(port)
        self.fields = {"email": email, "password": password}
        self.cookie = None

    async def sign_in(self):
        status, headers, _ = await self._post("/login", self.fields)
        # As many sign-ins from one address as a series makes are throttled.
        for _ in range(SIGN_INS_MAX):
            if status != 429:
                break
            await asyncio.sleep(2)
            status, headers, _ = await self._post("/login", self.fields)
        if status != 303 or "set-cookie" not in headers:
            raise Lost(f"signing in answered {status}")
        self.cookie = headers["set-cookie"].split(";")[0]

    async def post(self, path, fields):
        """Status and page: also the page that tells how it ended, behind a redirect."""
        if self.cookie is None:
            await self.sign_in()
        status, headers, body = await self._post(path, fields)
        told = headers.get("set-cookie", "").split(";")[0]
        if status == 303 and FLASH in told:
            cookies = ("Cookie", f"{self.cookie}; {told}")
            status, _, body = await self.connection.send("GET", headers["location"], b"", [cookies])
        return status, body

    async def _post(self, path, fields):
        from urllib.parse import urlencode
        headers = [("Content-Type", "application/x-www-form-urlencoded"), ("Sec-Fetch-Site", "same-origin")]
        if self.cookie:
            headers.append(("Cookie", self.cookie))
        return await self.connection.send("POST", path, urlencode(fields).encode(), headers)


def parsed(body):
    try:
        answer = json.loads(body)
    except ValueError:
        return {}
    return answer if isinstance(answer, dict) else {}
