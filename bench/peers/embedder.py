#!/usr/bin/env python3
"""The embedder of all peers, on loopback, in OpenAI's form: a hashed bag of words, projected to 384 dimensions
and of length 1. The same text has the same vector in every run, and texts with words in common are near.

    embedder.py PORT [FOLDER]       FOLDER holds all-MiniLM-L6-v2: its vectors instead, each text's made once

A call of one text takes 0.1 (base64) to 0.3 ms (numbers) of one core. Needs numpy; with FOLDER, what bench/minilm.py needs besides.
"""
import asyncio
import base64
import json
import re
import sys
import zlib
from pathlib import Path

import numpy as np

DIMENSIONS = 384
BUCKETS = 8192
MODEL = "bag-of-words"
PROJECTION = np.random.default_rng(7).standard_normal((BUCKETS, DIMENSIONS)).astype(np.float32)


def vectors(texts):
    rows = np.zeros((len(texts), DIMENSIONS), np.float32)
    for row, text in zip(rows, texts):
        words = {zlib.crc32(word.encode()) % BUCKETS for word in re.findall(r"\w+", text.lower())} or {0}
        row[:] = PROJECTION[sorted(words)].sum(0)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def minilm(folder):
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    from minilm import MiniLM
    model, known = MiniLM(folder), {}

    def embed(texts):
        fresh = [text for text in dict.fromkeys(texts) if text not in known]
        known.update(zip(fresh, model.embed(fresh)) if fresh else ())
        return np.array([known[text] for text in texts])
    return embed


def answer(body, embed):
    asked = json.loads(body)
    texts = [asked["input"]] if isinstance(asked["input"], str) else asked["input"]
    as_base64 = asked.get("encoding_format") == "base64"
    written = [json.dumps(base64.b64encode(row.tobytes()).decode()) if as_base64 else "[" + ",".join(f"{v:.6f}" for v in row.tolist()) + "]"
               for row in embed(texts)]
    data = ",".join(f'{{"object":"embedding","index":{n},"embedding":{vector}}}' for n, vector in enumerate(written))
    tokens = sum(len(text) // 4 + 1 for text in texts)
    return f'{{"object":"list","model":"{MODEL}","data":[{data}],"usage":{{"prompt_tokens":{tokens},"total_tokens":{tokens}}}}}'.encode()


async def serve(reader, writer, embed):
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
            length = head.partition("content-length:")[2].split("\r\n")[0].strip()
            body = await reader.readexactly(int(length or 0))
            said = answer(body, embed) if head.startswith("post") else f'{{"object":"list","data":[{{"id":"{MODEL}","object":"model"}}]}}'.encode()
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(said) + said)
            await writer.drain()
    except (OSError, EOFError, asyncio.IncompleteReadError):
        pass
    finally:
        writer.close()


async def main(port, folder=None):
    embed = minilm(folder) if folder else vectors
    server = await asyncio.start_server(lambda reader, writer: serve(reader, writer, embed), "127.0.0.1", int(port))
    print("ready", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    asyncio.run(main(*sys.argv[1:]))
