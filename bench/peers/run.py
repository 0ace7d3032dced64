#!/usr/bin/env python3
"""Keepsake beside what one would pick instead: on one machine, in one run, with one embedder.

    make bench-peers                                  all of it; hours
    python3 bench/peers/run.py [--shapes 10x10000,100x1000] [--peers keepsake,sql,…] [--seconds 10] [--fresh]
                               [--locomo LOCOMO10.json ERRORS.json] [--home data/bench-peers]

A shape is USERSxITEMS (of each user; 8 users or more). For each shape every peer is filled, alone: nine tenths of
the items by 8 clients, the last tenth in rounds of 1 and 8 clients, whose adds a second are the ones reported.
Then, in rounds, each peer in its turn is started, warmed and searched by 1, 2 and 8 clients; at last it is asked
while the embedder is down. A client is a process of its own with the peer's own library in it.

What a peer has finished is kept in HOME/state.json and not done again; --fresh begins anew. Figures go to
bench/results/peers.json. Peers are installed from their own packages into data/runtime/venv-peers-*.
"""
import argparse
import contextlib
import importlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPO = HERE.parents[1]
sys.path[:0] = [str(REPO / "bench"), str(REPO / "tools")]

from peer import bench_python  # noqa: E402

OWN_PYTHON = bench_python()
if Path(sys.prefix) != OWN_PYTHON.parents[1]:
    os.execv(OWN_PYTHON, [OWN_PYTHON, *sys.argv])

import numpy as np  # noqa: E402

import data  # noqa: E402
import embedder as bag_of_words  # noqa: E402
from common import fail  # noqa: E402
from crew import crew  # noqa: E402
from database import kept_postgres  # noqa: E402
from results import Progress, percentile, record, spread  # noqa: E402
from with_postgres import free_port, stop_on_signals  # noqa: E402

PEERS = ["keepsake", "sql", "langgraph", "mem0", "chroma", "chroma_each", "reference", "hindsight"]
SHAPES = "10x10000,100x1000"
CLIENTS = (1, 2, 8)
MOST_CLIENTS = max(CLIENTS)
# Of so many users things are asked: as many as there are clients, so that all have the same to do.
ASKED_USERS = MOST_CLIENTS
FILLING_STEPS = 20
BULK_STEPS = 18
ADD_CLIENTS = (1, MOST_CLIENTS)
ADD_ROUNDS = 3
SEARCH_ROUNDS = 3
WARM_SECONDS = 1
RECALL_QUERIES = 40
LIMIT = 10
START_SECONDS = 8  # what a start is thought to take, for the time left alone


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--shapes", default=SHAPES)
    options.add_argument("--peers", default=",".join(PEERS))
    options.add_argument("--seconds", type=float, default=10, help="of each search window")
    options.add_argument("--locomo", type=Path, nargs=2, metavar=("LOCOMO10.json", "ERRORS.json"), help="also the evidence that each finds there")
    options.add_argument("--home", type=Path, default=REPO / "data/bench-peers")
    options.add_argument("--fresh", action="store_true")
    asked = options.parse_args()
    stop_on_signals()
    home = asked.home.absolute()
    if asked.fresh:
        shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True, exist_ok=True)
    state = State(home / "state.json")
    names = asked.peers.split(",")
    shapes = [Shape(text) for text in asked.shapes.split(",")]
    with kept_postgres(home / "postgresql") as url, Embedder(state.port("embedder")) as embedder:
        os.environ["KEEPSAKE_TEST_DATABASE_URL"] = url
        benches = [Bench(shape, name, home, embedder, state, asked.seconds) for shape in shapes for name in names]
        for bench in benches:
            bench.peer.python()  # installs what is not there yet
        steps = [step for shape in shapes for step in stages([bench for bench in benches if bench.shape is shape])]
        evidence = Evidence(asked.locomo, names, home, state) if asked.locomo else None
        steps += evidence.stages() if evidence else []
        progress = Progress([(what, seconds) for what, seconds, _ in steps])
        for _, _, work in steps:
            progress.step()
            work()
        progress.end()
        seen = {**figures(state, shapes, names), **({"locomo": evidence.figures()} if evidence else {})}
        record("peers", seen, {bench.title: bench.peer.version() for bench in benches})


def stages(benches):
    """[(what, seconds it may take, work)] of what is not done yet: each peer filled, then search rounds in turn."""
    yield from (step for bench in benches for step in bench.filling())
    yield from (step for n in range(SEARCH_ROUNDS) for bench in benches for step in bench.searching(n))
    yield from (step for bench in benches for step in bench.outage())


class Shape:
    def __init__(self, text):
        self.name = text
        self.users, self.items = map(int, text.split("x"))
        if self.users < ASKED_USERS or self.items < 2 * FILLING_STEPS:
            fail(f"a shape has at least {ASKED_USERS} users of {2 * FILLING_STEPS} items: {text}")
        self.bulk = self.items * BULK_STEPS // FILLING_STEPS
        self.all_users = list(range(self.users))
        self.asked_users = list(range(0, self.users, self.users // ASKED_USERS))[:ASKED_USERS]
        self.truths = None

    def truth(self):
        """{user: [(question, the ten items that are nearest)]}, exactly."""
        if self.truths is None:
            self.truths = {}
            for user in self.asked_users:
                texts = [data.item(user, n) for n in range(self.items)]
                questions = [data.query(user, f"recall/{n}", self.items) for n in range(RECALL_QUERIES)]
                likeness = bag_of_words.vectors(questions) @ bag_of_words.vectors(texts).T
                self.truths[user] = [(question, {texts[n] for n in np.argsort(-row)[:LIMIT]}) for question, row in zip(questions, likeness)]
        return self.truths


class State:
    """What is done, on disk after every stage."""

    def __init__(self, path):
        self.path = path
        self.kept = json.loads(path.read_text()) if path.is_file() else {}

    def of(self, shape, peer):
        return self.kept.setdefault(shape, {}).setdefault(peer, {})

    def port(self, name):
        """The same in every run: Keepsake knows an embedder by its address."""
        port = self.kept.setdefault("ports", {}).setdefault(name, free_port())
        self.save()
        return port

    def save(self):
        fresh = self.path.with_suffix(".new")
        fresh.write_text(json.dumps(self.kept))
        fresh.replace(self.path)


class Embedder:
    def __init__(self, port, *more):
        self.command = [sys.executable, HERE / "embedder.py", str(port), *more]
        self.url = f"http://127.0.0.1:{port}/v1"
        self.process = None

    def __enter__(self):
        # Its own work on one core alone, as in any server.
        env = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
        self.process = subprocess.Popen(self.command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        if self.process.stdout.readline() != "ready\n":
            fail(f"the embedder did not start at {self.url}: if its port is taken, begin anew with --fresh")
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


class Bench:
    """One peer at one shape."""

    def __init__(self, shape, name, home, embedder, state, seconds):
        self.shape, self.embedder, self.state, self.seconds = shape, embedder, state, seconds
        module = importlib.import_module(f"adapters.{name}")
        self.peer = module.Peer(name, home / f"{name}_{shape.name}", embedder.url)
        self.title = self.peer.title
        self.done = state.of(shape.name, name)
        self.label = f"{shape.name}, {self.title}"

    def keep(self, **figures):
        self.done.update(figures)
        self.state.save()

    # -- filling

    def filling(self):
        if "filled" in self.done:
            return
        expected = self.shape.users * self.shape.items / self.peer.adds_a_second / FILLING_STEPS
        yield f"{self.label}: start", START_SECONDS, self.begin
        yield from ((f"{self.label}: filling", expected, lambda n=n: self.fill(n)) for n in range(BULK_STEPS))
        yield f"{self.label}: adds by one and by eight", 2 * expected + START_SECONDS, self.measure_adds

    def begin(self):
        self.peer.fresh()
        self.settings = self.peer.start(self.shape.users)
        self.bytes_before = self.peer.bytes_on_disk()
        self.began = self.last_answer = None

    def fill(self, n):
        """One step of the first nine tenths, by eight clients."""
        if n == 0:
            self.fillers = contextlib.ExitStack()
            self.clients = self.fillers.enter_context(crew(self.peer, self.settings, MOST_CLIENTS))
            self.began = time.monotonic()
        first, past = (self.shape.bulk * step // BULK_STEPS for step in (n, n + 1))
        self.clients.all("add", self.shape.all_users, first=first, past=past)
        if n + 1 == BULK_STEPS:
            answered = time.monotonic() - self.began
            self.peer.settle()
            found = time.monotonic() - self.began
            self.fillers.close()
            self.bulk = {"bulk_per_second": round(self.shape.users * self.shape.bulk / answered, 1), "findable_per_second": round(self.shape.users * self.shape.bulk / found, 1)}

    def measure_adds(self):
        """The last tenth of each user's items in rounds: a fifth of them by one client, the rest by eight."""
        rates, times = {count: [] for count in ADD_CLIENTS}, {count: [] for count in ADD_CLIENTS}
        cuts = [self.shape.bulk + (self.shape.items - self.shape.bulk) * n // ADD_ROUNDS for n in range(ADD_ROUNDS + 1)]
        with crew(self.peer, self.settings, 1) as one, crew(self.peer, self.settings, MOST_CLIENTS) as many:
            for clients in (one, many):
                self.warm(clients, f"adds by {len(clients.clients)}")
            for start, end in zip(cuts, cuts[1:]):
                middle = start + max(1, (end - start) // 5)
                for clients, count, first, past in ((one, 1, start, middle), (many, MOST_CLIENTS, middle, end)):
                    answers = clients.all("add", self.shape.asked_users if self.peer.is_apart else self.shape.all_users, first=first, past=past)
                    rates[count].append(sum(len(answer["times"]) / answer["seconds"] for answer in answers))
                    times[count] += [t for answer in answers for t in answer["times"]]
                    self.peer.settle()
            memory_mib = self.peer.memory_mib(one)
        self.peer.tidy()
        self.keep(filled={"adds_per_second": {str(count): spread(rates[count], 1) for count in ADD_CLIENTS},
                          "add_ms": {str(count): percentiles(times[count]) for count in ADD_CLIENTS}, **self.bulk, "memory_mib_filled": memory_mib,
                          "bytes_per_item": round((self.peer.bytes_on_disk() - self.bytes_before) / (self.shape.users * self.shape.items))})
        self.peer.stop()

    # -- searching

    def searching(self, n):
        if n < len(self.done.get("rounds", [])):
            return
        if n == 0:
            yield f"{self.label}: recall", START_SECONDS + ASKED_USERS * RECALL_QUERIES / 20, self.recall
        yield f"{self.label}: searches, round {n + 1}", START_SECONDS + len(CLIENTS) * (WARM_SECONDS + self.seconds), lambda: self.round(n)

    def recall(self):
        settings = self.peer.start(self.shape.users)
        rows, found, near = [], [], []
        with crew(self.peer, settings, 1) as clients:
            for user, questions in self.shape.truth().items():
                for question, exact in questions:
                    answer = answer_of(clients.one("ask", user=user, text=question, limit=LIMIT))
                    rows.append(len(answer))
                    found.append(len(exact & set(answer)) / LIMIT)
                    near.append(len(exact & set(answer_of(clients.one("nearest", user=user, text=question, limit=LIMIT)))) / LIMIT)
        self.peer.stop()
        mean = lambda values: round(statistics.fmean(values), 3)
        self.keep(recall={"rows": mean(rows), "rows_low": min(rows), "answer": mean(found) if self.peer.is_ranked else None, "vectors": mean(near) if self.peer.is_ranked else None})

    def round(self, n):
        settings = self.peer.start(self.shape.users)
        figures = {}
        for count in CLIENTS:
            with crew(self.peer, settings, count) as clients:
                self.warm(clients, f"round {n}, {count}")
                answers = clients.all("search", self.shape.asked_users, series=f"round {n} {count}", items=self.shape.items, seconds=self.seconds)
                if count == 1:
                    figures["memory_mib"] = self.peer.memory_mib(clients)
            times = [t for answer in answers for t in answer["times"]]
            figures[str(count)] = {**percentiles(times), "per_second": round(sum(len(answer["times"]) / answer["seconds"] for answer in answers), 1)}
        self.peer.stop()
        self.keep(rounds=[*self.done.get("rounds", []), figures])

    def warm(self, clients, series):
        clients.all("search", self.shape.asked_users, series=f"warm {series}", items=self.shape.items, seconds=WARM_SECONDS)

    # -- the embedder is down

    def outage(self):
        if "outage" not in self.done:
            yield f"{self.label}: the embedder is down", START_SECONDS + 60, self.fall_out

    def fall_out(self):
        user = self.shape.asked_users[0]
        text = "the lighthouse keeper counted seven grey herons while nobody embedded"
        settings = self.peer.start(self.shape.users)
        with crew(self.peer, settings, 1) as clients:
            ask = lambda text: clients.one("ask", user=user, text=text, limit=LIMIT)
            ask(data.query(user, "before the outage", self.shape.items))
            self.embedder.__exit__()
            try:
                searched = timed(lambda: ask(data.query(user, "outage", self.shape.items)))
                added = timed(lambda: clients.one("put", user=user, text=text))
            finally:
                self.embedder.__enter__()
            deadline = time.monotonic() + 60
            is_kept = False
            while not is_kept and time.monotonic() < deadline:
                is_kept = text in ask(text).get("said", [])
                if "error" in added and not is_kept:
                    break
                time.sleep(0 if is_kept else 1)
        self.peer.stop()
        self.keep(outage={"search": searched.get("error") or f"{len(searched['said'])} rows", "search_answers": "said" in searched, "search_seconds": searched["seconds"],
                          "add": added.get("error") or "accepted", "add_kept": is_kept, "add_seconds": added["seconds"]})


class Evidence:
    """LoCoMo by each peer whose answers are ranked, as bench/quality.py asks it: an item a turn, a user a conversation,
    the question as it stands; MiniLM's vectors for all."""

    def __init__(self, files, names, home, state):
        import quality  # it looks for the database when it is imported
        self.quality, self.home, self.state = quality, home, state
        self.turns, self.questions = quality.read(*(json.loads(file.read_text()) for file in files))
        self.embedder = Embedder(state.port("minilm"), quality.MODEL)
        modules = {name: importlib.import_module(f"adapters.{name}") for name in names}
        self.peers = {name: module.Peer(name, home / f"{name}_locomo", self.embedder.url) for name, module in modules.items() if module.Peer.is_ranked}
        self.turns_of_text = {}
        for user, turn, text in self.turns:
            self.turns_of_text.setdefault((user, text), []).append(turn)

    def stages(self):
        return [(f"LoCoMo, {peer.title}", START_SECONDS + len(self.turns) / peer.adds_a_second + len(self.questions) / 20, lambda name=name, peer=peer: self.ask(name, peer))
                for name, peer in self.peers.items() if not self.state.of("locomo", name)]

    def ask(self, name, peer):
        users = self.turns[-1][0] + 1
        with self.embedder:
            peer.fresh()
            with crew(peer, peer.start(users), 1) as clients:
                for (user, text) in self.turns_of_text:
                    answer_of(clients.one("put", user=user, text=text))
                peer.settle()
                peer.tidy()
                found = [self.turns_found(question.conversation, answer_of(clients.one("ask", user=question.conversation, text=question.text, limit=self.quality.FOUND_MAX)))
                         for question in self.questions]
            peer.stop()
        scores = self.quality.scores(self.questions, found)["1-10"]["all"]
        self.state.of("locomo", name).update({"title": peer.title, **scores, "turns": round(statistics.fmean(map(len, found)), 1)})
        self.state.save()

    def turns_found(self, user, texts):
        return [turn for text in texts for turn in self.turns_of_text.get((user, text), [])]

    def figures(self):
        return {"turns": len(self.turns), "questions": len(self.questions), "asked_for": self.quality.FOUND_MAX,
                "peers": {name: self.state.of("locomo", name) for name in self.peers}}


def answer_of(said):
    if "error" in said:
        raise RuntimeError(said["error"])
    return said["said"]


def timed(call):
    began = time.perf_counter()
    return {**call(), "seconds": round(time.perf_counter() - began, 2)}


def percentiles(times):
    return {name: round(percentile(times, percent), 2) for name, percent in (("p50", 50), ("p95", 95), ("p99", 99))}


def figures(state, shapes, names):
    """What was measured at each shape, peers in the order they were named."""
    def of(peer, done):
        rounds = done["rounds"]
        searches = {str(count): {figure: spread([one[str(count)][figure] for one in rounds], 2) for figure in ("p50", "p95", "p99", "per_second")} for count in CLIENTS}
        return {"title": importlib.import_module(f"adapters.{peer}").Peer.title, **done["filled"], "recall": done["recall"], "searches": searches,
                "memory_mib": spread([one["memory_mib"] for one in rounds], 1), "outage": done["outage"]}
    return {"shapes": {shape.name: {peer: of(peer, state.of(shape.name, peer)) for peer in names} for shape in shapes}}


if __name__ == "__main__":
    main()
