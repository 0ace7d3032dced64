"""Clients of the server that cost next to nothing: ready-made requests on bare sockets, answered by one loop,
since what a client does to write and read HTTP is not the server's time."""
import json
import random
import selectors
import socket
import statistics
import time

from results import percentile, spread

CURRENT = "2026-07-28"
META = {"io.modelcontextprotocol/protocolVersion": CURRENT, "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {}}


def rest(token, tool, body):
    return request(token, f"/api/v1/tools/{tool}", body)


def mcp(token, tool, body):
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": body, "_meta": META}}
    return request(token, "/mcp", message, f"Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: {CURRENT}\r\n"
                                           f"Mcp-Method: tools/call\r\nMcp-Name: {tool}\r\n")


def request(token, path, body, headers=""):
    body = json.dumps(body).encode()
    return (f"POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n"
            f"{headers}Content-Length: {len(body)}\r\n\r\n").encode() + body


def ask(port, requests, clients=1, seconds=None, count=None):
    """Takes from the iterator `requests`, each client the next one as soon as it has its answer. For so many seconds
    or answers. Returns the ms of each and how many a second."""
    times = []
    begun = time.perf_counter()
    goes_on = lambda: time.perf_counter() < begun + seconds if seconds else len(times) < count
    with selectors.DefaultSelector() as waiting:
        for _ in range(clients):
            connection = socket.create_connection(("127.0.0.1", port))
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            waiting.register(connection, selectors.EVENT_READ, [b"", send(connection, next(requests))])
        while waiting.get_map():
            for key, _ in waiting.select():
                state = key.data
                state[0] += key.fileobj.recv(1 << 20)
                if not is_whole(state[0]):
                    continue
                times.append((time.perf_counter() - state[1]) * 1e3)
                if goes_on():
                    state[:] = [b"", send(key.fileobj, next(requests))]
                else:
                    waiting.unregister(key.fileobj)
                    key.fileobj.close()
    return times, len(times) / (time.perf_counter() - begun)


def in_turn(doors, counts, rounds, progress):
    """Asks each of {name: run(clients)} in every round, in another order each time.
    {clients: {door: p50_ms, p95_ms, per_second}}, each with what it was in every round."""
    seen = {clients: {door: [] for door in doors} for clients in counts}
    for _ in range(rounds):
        for clients in counts:
            progress.step()
            for door, run in random.sample(list(doors.items()), len(doors)):
                took, per_second = run(clients)
                seen[clients][door].append((statistics.median(took), percentile(took, 95), per_second))
    figures = ("p50_ms", "p95_ms", "per_second")
    return {clients: {door: {name: spread(values) for name, values in zip(figures, zip(*rounds))} for door, rounds in of.items()}
            for clients, of in seen.items()}


def send(connection, request):
    started = time.perf_counter()
    connection.sendall(request)
    return started


def is_whole(answer):
    head, end, body = answer.partition(b"\r\n\r\n")
    if not end:
        assert answer, "the server hung up"
        return False
    assert head.startswith(b"HTTP/1.1 200"), answer[:600]
    whole = len(body) >= int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
    assert not (whole and b'"isError":true' in body), body[:600]
    return whole
