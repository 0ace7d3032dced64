#!/usr/bin/env python3
"""The doors beside each other: `memory_search` over REST and over MCP, of the current protocol and of
2025-06-18, with the same queries in turn, on one kept-alive connection each. The aim: MCP's p50 within
1 ms of REST's.

Run as `python3 tools/with_postgres.py python3 bench/doors.py` after `make build`. Query vectors
come from the cache.
"""
import http.client
import json
import os
import random
import statistics
import time

from run import common_words, rare_word
from vectors import filled

ITEMS = int(os.environ.get("ITEMS", "10000"))
ROUNDS = 3
QUERIES = 20
SEARCHES = 300
CURRENT, OLDER = "2026-07-28", "2025-06-18"
META = {"io.modelcontextprotocol/protocolVersion": CURRENT, "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {}}


def main():
    random.seed(7)
    with filled(ITEMS) as server:
        queries = [f"{rare_word(random.randrange(ITEMS))} {common_words(1)[0]}" for _ in range(QUERIES)]
        doors = {"REST": rest, f"MCP {CURRENT}": modern, f"MCP {OLDER}": legacy}
        doors = {name: (door, http.client.HTTPConnection("127.0.0.1", server.port)) for name, door in doors.items()}
        for query in queries:  # the vectors into the cache
            server.call("memory_search", {"query": query})
        for _ in range(ROUNDS):
            times = {name: [] for name in doors}
            for n in range(SEARCHES):
                for name, (door, connection) in random.sample(list(doors.items()), len(doors)):
                    start = time.perf_counter()
                    results = door(connection, server.token, queries[n % QUERIES])
                    times[name].append((time.perf_counter() - start) * 1e3)
                    assert results, name
            p50 = {name: statistics.median(taken) for name, taken in times.items()}
            print("   ".join(f"{name} p50 {ms:6.2f} ms ({ms - p50['REST']:+.2f})" for name, ms in p50.items()), flush=True)


def rest(connection, token, query):
    return post(connection, token, "/api/v1/tools/memory_search", {"query": query}, {})["results"]


def modern(connection, token, query):
    headers = {"MCP-Protocol-Version": CURRENT, "Mcp-Method": "tools/call", "Mcp-Name": "memory_search"}
    return mcp(connection, token, query, headers, {"_meta": META})


def legacy(connection, token, query):
    return mcp(connection, token, query, {"MCP-Protocol-Version": OLDER}, {})


def mcp(connection, token, query, headers, more):
    params = {"name": "memory_search", "arguments": {"query": query}, **more}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    headers = {"Accept": "application/json, text/event-stream", **headers}
    return post(connection, token, "/mcp", message, headers)["result"]["structuredContent"]["results"]


def post(connection, token, path, body, headers):
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json", **headers}
    connection.request("POST", path, json.dumps(body), headers)
    response = connection.getresponse()
    answer = response.read()
    assert response.status == 200, answer
    return json.loads(answer)


if __name__ == "__main__":
    main()
