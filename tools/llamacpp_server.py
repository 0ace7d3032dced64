#!/usr/bin/env python3
"""A real llama.cpp server on loopback, for the tests: embeddings (576 dimensions,
mean pooling, at most 256 tokens a text) with SmolLM2-135M, or chat with the same
model. Prints its address once it listens, and ends when its standard input does,
so that it cannot outlive who started it.

    tools/llamacpp_server.py [--chat] [--port P] [--api-key KEY]        (P: any free one)
"""

import argparse
import os
import sys

from common import REPO, fail, say
from fetch_llamacpp import FOLDER, MODEL_FILE

MAX_TOKENS = 256
# Of question and answer together.
CHAT_CONTEXT = 4096


def serve(port, api_key, chat):
    folder = REPO / "data/runtime" / FOLDER
    if not (folder / MODEL_FILE).is_file():
        fail("llama.cpp is not here: run tools/fetch_llamacpp.py")
    sys.path.insert(0, str(folder))
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(folder / MODEL_FILE)
    params.hostnames = ["127.0.0.1"]
    params.port = port
    if chat:
        params.n_ctx = CHAT_CONTEXT
        params.n_parallel = 1
    else:
        params.embedding = True
        params.pooling_type = xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
        params.n_ctx = 4 * MAX_TOKENS
        params.n_parallel = 4
        # As llama-server does by itself. Without it this version mixes up the texts
        # of one batch (cosine 0.6 to the same text sent alone).
        params.kv_unified = True
        params.n_batch = params.n_ubatch = MAX_TOKENS
    params.n_gpu_layers = 0
    params.warmup = False
    if api_key:
        params.api_keys = [api_key]
    return xllamacpp.Server(params)


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description="A real llama.cpp server, for the tests.")
    arguments.add_argument("--port", type=int, default=0)
    arguments.add_argument("--api-key", default="")
    arguments.add_argument("--chat", action="store_true")
    given = arguments.parse_args()
    # llama.cpp writes to standard output; ours is for the address alone.
    address_to = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    server = serve(given.port, given.api_key, given.chat)
    print(server.listening_address, file=address_to, flush=True)
    sys.stdin.buffer.read()
    say("llama.cpp ends")
    os._exit(0)
