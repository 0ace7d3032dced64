"""A provider of embeddings for the drivers, in OpenAI's form, as good or as bad as it is told to be.

Its models make vectors of the same texts that lie apart from each other: within one model two texts have the
cosine of `cosine`, across two models another one altogether, so that a search that compared a query of one
model with memories of another would show distances that no single model gives."""

import asyncio
import functools
import json
import math
import random

BASE = 48
# Every text has this in common, so that two texts of one model are always near each other (cosine over 0.2).
COMMON = 0.5
MODELS = ("east", "west", "north")
HANG_SECONDS = 30


@functools.lru_cache(maxsize=50_000)
def meaning(text):
    """Of length 1, no component negative."""
    vector = [COMMON] * BASE
    for word in text.lower().split():
        spot = 7
        for character in word:
            spot = (spot * 31 + ord(character)) % 9973
        vector[spot % BASE] += 1.0
    length = math.sqrt(sum(v * v for v in vector))
    return tuple(v / length for v in vector)


def cosine(one, other):
    return sum(a * b for a, b in zip(meaning(one), meaning(other)))


def vector_of(model, text):
    """east: the meaning. west: its opposite, as wide. north: wider, and nothing but zeros where those two are."""
    vector = meaning(text)
    match model:
        case "west":
            return [-v for v in vector]
        case "north":
            return [0.0] * BASE + list(vector)
        case _:
            return list(vector)


def nearest_mistake(texts):
    """How far a distance between two models is from the one within a model, at the least."""
    def distance(one, other):
        return 1 - sum(a * b for a, b in zip(one, other))
    pairs = [(a, b) for a in texts for b in texts]
    models = [(m, n) for m in MODELS for n in MODELS if m != n]
    return min(abs(distance(vector_of(m, a), vector_of(n, b)) - (1 - cosine(a, b))) for a, b in pairs for m, n in models)


class StandIn:
    """`behaviour`: good, slow (30 s), flapping (good, failing or hung up on by turns), garbage, zeros (31 MiB of
    them). Dead is `stop`."""

    def __init__(self, delay_ms=0.0):
        self.behaviour = "good"
        self.delay_ms = delay_ms
        self.texts = 0
        self.calls = 0
        self.server = None
        self.port = 0
        self.open = set()
        self.chance = random.Random(7)

    @property
    def is_stopped(self):
        return self.server is None

    async def start(self):
        self.server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        self.port = self.server.sockets[0].getsockname()[1]

    async def stop(self):
        """From now on connections are refused; its port stays its own."""
        if self.server:
            self.server.close()
        self.server = None
        for writer in list(self.open):
            writer.transport.abort()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}/v1"

    async def _serve(self, reader, writer):
        self.open.add(writer)
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
                length = head.partition("content-length:")[2].split("\r\n")[0].strip()
                body = await reader.readexactly(int(length or 0))
                self.calls += 1
                if not await self._answer(writer, body):
                    return
                await writer.drain()
        except (OSError, EOFError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self.open.discard(writer)
            writer.close()

    async def _answer(self, writer, body):
        """False: hang up."""
        await asyncio.sleep(self.delay_ms / 1e3)
        match self.behaviour:
            case "slow":
                await asyncio.sleep(HANG_SECONDS)
            case "flapping":
                match self.chance.randrange(4):
                    case 0:
                        return False
                    case 1:
                        writer.write(response(b'{"error":{"message":"overloaded"}}', "503 Service Unavailable"))
                        return True
                    case 2:
                        await asyncio.sleep(2)
            case "zeros":
                writer.write(ZEROS)
                return True
            case "garbage":
                writer.write(self.chance.choice(GARBAGE)(body))
                return True
        writer.write(response(embedded(body)))
        self.texts += len(json.loads(body or b"{}").get("input", []))
        return True


def response(body, status="200 OK", kind="application/json"):
    return f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


def embedded(body, change=lambda vector: vector):
    asked = json.loads(body or b"{}")
    texts, model = asked.get("input", []), asked.get("model", "east")
    data = [{"index": n, "embedding": change(vector_of(model, text))} for n, text in enumerate(texts)]
    return json.dumps({"object": "list", "model": model, "data": data}).encode()


GARBAGE = (
    lambda _: response(b"<html>It works!</html>", kind="text/html"),
    lambda _: response(b"\x00\xff\xfe not json"),
    lambda _: response(b"{}"),
    lambda _: response(b'{"data":[]}'),
    lambda _: response(b'{"data":[{"index":7,"embedding":["a"]}]}'),
    lambda body: response(embedded(body, lambda _: [])),
    lambda body: response(embedded(body, lambda _: [0.0] * BASE)),
    lambda body: response(embedded(body, lambda v: v[:5])),
    lambda body: response(embedded(body, lambda v: v * 40)),
    lambda body: response(embedded(body, lambda _: [1e400])),
    lambda body: response(embedded(body)[:-20]),
    lambda _: response(b"[" * 100_000),
    lambda _: response(b"nonsense", "418 I'm a teapot", "text/plain"),
)

ZEROS = response(b'{"data":[{"index":0,"embedding":[0' + b",0" * (31 << 19) + b"]}]}")
