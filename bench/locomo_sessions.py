#!/usr/bin/env python3
"""Ten long conversations handed over as messages: none lost, how fast, and what is found of them (LoCoMo).

    tools/with_postgres.py python3 bench/locomo_sessions.py LOCOMO10.json ERRORS.json [CONVERSATIONS]

Each conversation is one user, each of its sessions is handed over message by message ("Caroline: …", the
first speaker as user, the other as assistant, with its date), completed, and handed over once more. No chat
model is set. Then quality.py's questions are asked of the turns; and with the facts that LoCoMo's authors
noted of each session ("observation", each with its turn) as memories beside them, for other penalties of
turns by calculation from what `explain` says. The files are those of quality.py. Needs numpy and `make build`.
"""
import collections
import http.client
import json
import re
import statistics
import sys
import time
from datetime import datetime, timedelta, timezone

import numpy as np

from locomo import read
from quality import PASSWORD, score
from run import REPO, keepsake
from sql import sql

ITEM_TYPES = ["preference", "fact", "instruction", "summary", "other"]
PENALTIES = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


def main(locomo, errors, conversations):
    samples = json.load(open(locomo))[:conversations]
    turns, questions = read(samples, json.load(open(errors)))
    sessions = [(n, *session) for n, sample in enumerate(samples) for session in sessions_of(sample["conversation"])]
    with keepsake(KEEPSAKE_DATA_DIR=str(REPO / "data")) as server:
        tokens = [new_user(server, f"locomo{n}@example.com") for n in range(len(samples))]
        ingest(server, tokens, sessions, len(turns))
        print(f"\n{len(questions)} questions   any@5  any@10 any@50 rec@10 nDCG@10")
        report = lambda name, find: print(f"{name:24}" + score(questions, find), flush=True)
        report("turns alone", lambda q: [at for at, _ in asked(server, tokens, questions[q])])
        noted = note(server, tokens, samples)
        answers = [answer(server, tokens, question, noted) for question in questions]
        report("memories alone", lambda q: told(questions[q], [c for c in answers[q] if not c[0]], 1.0))
        for penalty in PENALTIES:
            report(f"both, turns x {penalty}", lambda q: told(questions[q], answers[q], penalty))
        print(f"\n{'memories in the first 10':24}relevant to the question, of those found alone; all")
        for penalty in PENALTIES:
            print(f"both, turns x {penalty:<11}" + crowd(questions, answers, penalty), flush=True)


def sessions_of(conversation):
    for key, turns in conversation.items():
        if not isinstance(turns, list):
            continue
        at = datetime.strptime(conversation[f"{key}_date_time"], "%I:%M %p on %d %B, %Y").replace(tzinfo=timezone.utc)
        yield key, [{"id": turn["dia_id"], "role": "user" if turn["speaker"] == conversation["speaker_a"] else "assistant",
                     "content": f"{turn['speaker']}: {turn['text']}", "created_at": (at + timedelta(seconds=20 * n)).isoformat()}
                    for n, turn in enumerate(turns)]


def new_user(server, email):
    server.run("user", "create", "--email", email, "--password-stdin", input=PASSWORD)
    return server.run("token", "create", "--email", email, "--agent", "bench",
                      *(word for scope in ("memory:read", "memory:write", "sessions:write") for word in ("--scope", scope)))


def ingest(server, tokens, sessions, expected):
    connection = http.client.HTTPConnection("127.0.0.1", server.port)

    def post(token, session, door, body):
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        connection.request("POST", f"/api/v1/sessions/{session}/{door}", json.dumps(body), headers)
        response = connection.getresponse()
        answer = json.loads(response.read())
        assert response.status == 200, answer
        return answer

    times, begun = [], time.perf_counter()
    for n, name, messages in sessions:
        for message in messages:
            start = time.perf_counter()
            assert post(tokens[n], name, "messages", {"messages": [message]}) == {"accepted": 1, "duplicates": 0}
            times.append((time.perf_counter() - start) * 1e3)
    took = time.perf_counter() - begun
    cuts = statistics.quantiles(times, n=20)
    print(f"{len(times)} messages of {len(sessions)} sessions, one a request, one client: {len(times) / took:.0f}/s, "
          f"p50 {cuts[9]:.1f} ms, p95 {cuts[18]:.1f} ms", flush=True)
    begun = time.perf_counter()
    for n, name, messages in sessions:
        again = post(tokens[n], name, "messages", {"messages": messages})
        assert again == {"accepted": 0, "duplicates": len(messages)}, again
        post(tokens[n], name, "complete", {})
    ended = time.perf_counter()
    print(f"all sent once more, a session a request, and completed: none taken twice, {ended - begun:.1f} s", flush=True)
    turns = "memory_items WHERE type = 'turn'"
    wait_until(lambda: int(sql(f"SELECT count(*) FROM {turns}")) >= expected)
    made = time.perf_counter()
    wait_until(lambda: int(sql("SELECT count(*) FROM sessions WHERE turns_position < message_count")) == 0)
    kept = sql(f"SELECT count(*), count(DISTINCT (user_id, turn_session_id, turn_position)) FROM {turns}")
    messages = int(sql("SELECT count(*) FROM session_messages"))
    print(f"{messages} messages kept; turns, and messages that have one: {kept}; made {made - ended:.1f} s after the end", flush=True)
    assert messages == expected == len(times)
    lost = int(sql("SELECT count(*) FROM session_messages m WHERE NOT EXISTS (SELECT FROM memory_items i WHERE i.user_id = m.user_id "
                   "AND i.turn_session_id = m.session_id AND i.turn_position = m.position)"))
    assert lost == 0, lost
    wait_until(lambda: int(sql("SELECT count(*) FROM memory_embeddings WHERE state = 'pending'")) == 0)
    print(f"all vectors ready {time.perf_counter() - ended:.0f} s after the end")


def wait_until(done):
    while not done():
        time.sleep(0.5)


def asked(server, tokens, question, **more):
    found = server.call("memory_search", {"query": question[2], "limit": 50, **more}, token=tokens[question[0]])
    assert found["mode"] == "hybrid", found["degraded"]
    return [(hit.get("said_in", {}).get("message"), hit) for hit in found["results"]]


def note(server, tokens, samples):
    """The facts that the authors noted, as memories. Returns {(conversation, item id): the turns of this fact}."""
    noted = collections.defaultdict(set)
    for n, sample in enumerate(samples):
        for session in sample["observation"].values():
            for facts in session.values():
                for text, evidence in facts:
                    added = server.call("memory_add", {"type": "fact", "content": text}, token=tokens[n])
                    noted[n, added["id"]] |= set(re.findall(r"D\d+:\d+", str(evidence)))
    wait_until(lambda: int(sql("SELECT count(*) FROM memory_embeddings WHERE state = 'pending'")) == 0)
    print(f"{len(noted)} memories beside them", flush=True)
    return noted


def answer(server, tokens, question, noted):
    """The candidates of both kinds, with their raw signals: [(is a turn, its turns, semantic, lexical, what speaker and neighbours add)]."""
    candidates = []
    for types in (ITEM_TYPES, ["turn"]):
        for message, hit in asked(server, tokens, question, types=types, explain=True):
            turns = {message} if message else noted[question[0], hit["id"]]
            why = hit["explain"]
            candidates.append((message is not None, turns, why["semantic"], why["lexical"], why["speaker"] + why["neighbours"]))
    return candidates


def fused(candidates, penalty):
    """As src/core/search/fuse.rs does it, but with what neighbours add as it was in each tier alone: [(is a turn, its turns, score)]."""
    nothing = (0.5, 0.0) if any(candidate[0] for candidate in candidates) else (None, None)
    semantic, lexical = (scaled(np.array([candidate[at] for candidate in candidates]), least) for at, least in zip((2, 3), nothing))
    sums, turns = 0.7 * semantic + 0.3 * lexical + np.array([candidate[4] for candidate in candidates]), np.array([candidate[0] for candidate in candidates])
    largest = np.where(turns, *(max(1.0, sums[tier].max(initial=0)) for tier in (turns, ~turns)))
    scores = sums / largest * np.where(turns, penalty, 1.0)
    ranked = sorted(zip(scores, candidates), key=lambda pair: (-pair[0], pair[1][0]))
    return [(is_turn, frozenset(turns), score) for score, (is_turn, turns, *_) in ranked]


def told(question, candidates, penalty):
    """The turns of what is found, best first: of a memory of several the one that is asked for, if any."""
    return [next(iter(turns & question[1]), next(iter(turns), None)) for _, turns, _ in fused(candidates, penalty)]


def scaled(signal, least):
    least = signal.min() if least is None else least
    spread = signal.max() - least
    return ((signal - least) / spread).clip(0) if spread > 0 else np.ones_like(signal)


def crowd(questions, answers, penalty):
    kept = alone = memories = 0
    for question, candidates in zip(questions, answers):
        relevant = lambda ranked: sum(1 for is_turn, turns, _ in ranked if not is_turn and turns & question[1])
        kept += relevant(fused(candidates, penalty)[:10])
        alone += relevant(fused([c for c in candidates if not c[0]], penalty)[:10])
        memories += sum(1 for is_turn, _, _ in fused(candidates, penalty)[:10] if not is_turn)
    return f"{100 * kept / alone:.1f} %; {memories / len(questions):.1f}"


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    main(*sys.argv[1:3], int(sys.argv[3]) if len(sys.argv) == 4 else None)
