"""The official Python SDK against the server that run.py started: over HTTP, and through the stdio bridge.

    client.py       reads KEEPSAKE_URL, KEEPSAKE_BIN, TOKEN, READER (a token that may only read) and CONNECTOR (of that profile)
"""
import asyncio
import contextlib
import json
import logging
import os
import sys
import tempfile
import traceback
from urllib.parse import parse_qsl, urlsplit

import httpx2
from mcp.client import Client
from mcp.client.auth import OAuthClientProvider, OAuthFlowError
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientMetadata
from mcp.shared.exceptions import MCPError

URL = os.environ["KEEPSAKE_URL"]
TOKEN, READER, CONNECTOR = os.environ["TOKEN"], os.environ["READER"], os.environ["CONNECTOR"]
TOOLS = ["memory_search", "memory_add", "memory_get", "memory_archive", "memory_list_themes"]
MODERN, LEGACY = "2026-07-28", "2025-11-25"


@contextlib.asynccontextmanager
async def over_http(token, mode, auth=None):
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with httpx2.AsyncClient(headers=headers, auth=auth) as http:
        async with Client(streamable_http_client(f"{URL}/mcp", http_client=http), mode=mode) as client:
            yield client


@contextlib.asynccontextmanager
async def over_stdio(token, mode, url=URL):
    """What the bridge tells people stays in a file, which must hold no token."""
    env = {"KEEPSAKE_URL": url} | ({"KEEPSAKE_TOKEN": token} if token else {})
    bridge = StdioServerParameters(command=os.environ["KEEPSAKE_BIN"], args=["mcp"], env=env)
    with tempfile.TemporaryFile("w+") as log:
        try:
            async with Client(stdio_client(bridge, errlog=log), mode=mode) as client:
                yield client
        finally:
            log.seek(0)
            assert not token or token not in log.read()


async def every_tool(name, connect, mode, version):
    """Every tool, and what each kind of mistake reads like."""
    async with connect(TOKEN, mode) as client:
        equal(client.protocol_version, version)
        if mode != MODERN:  # which asks for nothing before its first call
            equal(client.server_info.name, "keepsake")
            assert "memory_search" in client.instructions
        tools = (await client.list_tools()).tools
        equal([tool.name for tool in tools], TOOLS)
        for tool in tools:
            equal(tool.annotations.read_only_hint, tool.name not in ("memory_add", "memory_archive"))
            assert tool.title and tool.output_schema["properties"], tool.name

        async def call(tool, **given):
            result = await client.call_tool(tool, given)
            assert not result.is_error, result
            equal(json.loads(result.content[0].text), result.structured_content)
            return result.structured_content

        fact = {"type": "fact", "content": f"The {name} client likes coffee.", "theme": "python"}
        added = await call("memory_add", **fact)
        equal((added["status"], added["duplicate"]), ("active", False))
        equal(await call("memory_add", **fact), added | {"duplicate": True})
        equal([hit["id"] for hit in (await call("memory_search", query=name))["results"]], [added["id"]])
        equal((await call("memory_get", item_id=added["id"]))["content"], fact["content"])
        themes = (await call("memory_list_themes"))["themes"]
        assert any(theme["slug"] == "python" and theme["active_count"] > 0 for theme in themes), themes
        equal(await call("memory_archive", item_id=added["id"]), {"id": added["id"], "status": "archived"})
        equal((await call("memory_search", query=name))["results"], [])

        # Many at once: each gets the answer to its own question.
        adds = [call("memory_add", type="fact", content=f"{name} number {n}") for n in range(20)]
        ids = [answer["id"] for answer in await asyncio.gather(*adds)]
        items = await asyncio.gather(*(call("memory_get", item_id=id) for id in ids))
        equal([item["content"] for item in items], [f"{name} number {n}" for n in range(20)])

        equal(await mistake(client, "memory_get", item_id=987654321), "There is no item 987654321 in your memory.")
        assert (await mistake(client, "memory_get", item=1)).startswith("`item_id` is missing. Ignored, since this tool has no such field: item.")
        words = await refused(client.call_tool("memory_delete", {}))
        assert words.startswith("There is no tool of this name; there are memory_search"), words
    async with connect(READER, mode) as reader:
        equal(await mistake(reader, "memory_add", **fact), "This token lacks the scope memory:write.")


async def connector(mode):
    """The two tools that ChatGPT looks for, and their form; the client checks it against the tools' schemas."""
    async with over_http(CONNECTOR, mode) as client:
        tools = (await client.list_tools()).tools
        equal([tool.name for tool in tools], ["search", "fetch"])
        content = f"The {mode} connector has a glockenspiel."
        added = await client.call_tool("memory_add", {"type": "fact", "content": content})
        id = str(added.structured_content["id"])
        cited = {"id": id, "title": content, "url": f"{URL}/memory/{id}"}
        found = await client.call_tool("search", {"query": f"glockenspiel {mode}"})
        equal([item.type for item in found.content], ["text"])
        equal(json.loads(found.content[0].text), found.structured_content)
        assert cited in found.structured_content["results"], found
        whole = (await client.call_tool("fetch", {"id": id})).structured_content
        equal({**whole, "metadata": None}, {**cited, "text": content, "metadata": None})
        equal(whole["metadata"]["agent"], "connector")
        equal(await mistake(client, "fetch", id="987654321"), "There is no item 987654321 in your memory.")


async def mistake(client, tool, **given):
    result = await client.call_tool(tool, given)
    assert result.is_error, result
    return result.content[0].text


async def refused(call):
    try:
        answer = await call
    except MCPError as error:
        return error.error.message
    raise AssertionError(f"that should have been refused: {answer}")


async def wrong_tokens(connect, mode, without):
    """What somebody reads whose token is wrong, or left out."""
    for token, words in (("ks_mistyped", "This is not a whole token."), (None, without)):
        said = await refused(list_tools(connect, token, mode))
        assert words in said and f"{URL}/agents" in said, said


async def list_tools(connect, token, mode):
    try:
        async with connect(token, mode) as client:
            return await client.list_tools()
    except ExceptionGroup as group:
        error = group
        while isinstance(error, ExceptionGroup):
            error = error.exceptions[0]
        raise error from None


class Storage:
    """Of an OAuth client that comes for the first time."""

    tokens = info = None

    async def get_tokens(self):
        return self.tokens

    async def get_client_info(self):
        return self.info

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def set_client_info(self, info):
        self.info = info


CALLBACK = "http://127.0.0.1:1/callback"


class Person:
    """Signs in, and answers on the page that the client opens."""

    def __init__(self, action, agent):
        self.action, self.agent = action, agent

    async def open(self, url):
        same_origin = {"Sec-Fetch-Site": "same-origin"}
        async with httpx2.AsyncClient(base_url=URL, headers=same_origin) as browser:
            sent = await browser.get(url)
            assert sent.status_code == 303 and sent.headers["location"].startswith(f"{urlsplit(URL).path}/login?next="), sent
            credentials = {"email": os.environ["EMAIL"], "password": os.environ["PASSWORD"]}
            assert (await browser.post("/login", data=credentials)).status_code == 303
            page = await browser.get(url)
            assert page.status_code == 200 and "end2end" in page.text and "127.0.0.1:1" in page.text, page
            answer = {"action": self.action, "agent": "new", "name": self.agent, "scope": ["memory:read", "memory:write"]}
            answered = await browser.post(url, data=answer)
        assert answered.status_code == 303 and answered.headers["location"].startswith(CALLBACK), answered.text
        self.said = dict(parse_qsl(urlsplit(answered.headers["location"]).query))

    async def answer(self):
        if "code" not in self.said:
            raise OAuthFlowError(self.said["error"])
        return AuthorizationCodeResult(code=self.said["code"], state=self.said["state"], iss=self.said["iss"])


def oauth_client(person):
    metadata = OAuthClientMetadata(redirect_uris=[CALLBACK], client_name="end2end")
    return OAuthClientProvider(f"{URL}/mcp", metadata, Storage(), person.open, person.answer)


async def oauth(mode):
    """From a 401 through the consent page to a tool's answer; then a refresh, and its token used twice."""
    provider = oauth_client(Person("allow", f"oauth {mode}"))
    async with over_http(None, mode, provider) as client:
        added = await client.call_tool("memory_add", {"type": "fact", "content": f"Allowed by OAuth, {mode}."})
        assert not added.is_error, added
        first = provider.context.current_tokens
        equal(first.scope, "memory:read memory:write")
        provider.context.token_expiry_time = 1
        assert not (await client.call_tool("memory_get", {"item_id": added.structured_content["id"]})).is_error
        second = provider.context.current_tokens
        assert first.access_token != second.access_token and first.refresh_token != second.refresh_token
        # Somebody else has the old one: the connection ends for both.
        replay = {"grant_type": "refresh_token", "refresh_token": first.refresh_token, "client_id": provider.context.client_info.client_id}
        async with httpx2.AsyncClient() as thief:
            refused = await thief.post(f"{URL}/oauth/token", data=replay)
            equal((refused.status_code, refused.json()["error"]), (400, "invalid_grant"))
            headers = {"Authorization": f"Bearer {second.access_token}"}
            equal((await thief.post(f"{URL}/mcp", json={}, headers=headers)).status_code, 401)


async def oauth_is_denied():
    try:
        await list_tools(lambda token, mode: over_http(token, mode, oauth_client(Person("deny", ""))), None, "legacy")
    except OAuthFlowError as error:
        equal(str(error), "access_denied")
    else:
        raise AssertionError("that should have been refused")


async def server_is_down():
    nobody = "http://127.0.0.1:9"
    said = await refused(list_tools(lambda token, mode: over_stdio(token, mode, nobody), TOKEN, "legacy"))
    assert nobody in said and "cannot be reached" in said, said


def equal(got, expected):
    assert got == expected, f"{got!r} is not {expected!r}"


ROUNDS = {
    "Python, modern": lambda: every_tool("modernpy", over_http, MODERN, MODERN),
    "Python, auto": lambda: every_tool("autopy", over_http, "auto", MODERN),
    "Python, legacy": lambda: every_tool("legacypy", over_http, "legacy", LEGACY),
    "Python over stdio, modern": lambda: every_tool("modernbridge", over_stdio, MODERN, MODERN),
    "Python over stdio, auto": lambda: every_tool("autobridge", over_stdio, "auto", MODERN),
    "Python over stdio, legacy": lambda: every_tool("legacybridge", over_stdio, "legacy", LEGACY),
    "connector, modern": lambda: connector(MODERN),
    "connector, legacy": lambda: connector("legacy"),
    "wrong tokens, modern": lambda: wrong_tokens(over_http, MODERN, "No token was sent."),
    "wrong tokens, auto": lambda: wrong_tokens(over_http, "auto", "No token was sent."),
    "wrong tokens, legacy": lambda: wrong_tokens(over_http, "legacy", "No token was sent."),
    "wrong tokens over stdio": lambda: wrong_tokens(over_stdio, "legacy", "KEEPSAKE_TOKEN"),
    "OAuth, auto": lambda: oauth("auto"),
    "OAuth, legacy": lambda: oauth("legacy"),
    "OAuth, denied": oauth_is_denied,
    "a bridge whose server is down": server_is_down,
}


async def main():
    logging.disable()  # the SDK's own account of the mistakes that are made here
    failed = False
    for name, round_ in ROUNDS.items():
        try:
            async with asyncio.timeout(60):
                await round_()
            print(f"✓ {name}", flush=True)
        except BaseException:
            failed = True
            print(f"✗ {name}", file=sys.stderr, flush=True)
            traceback.print_exc()
    sys.exit(failed)


asyncio.run(main())
