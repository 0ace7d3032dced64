#!/usr/bin/env python3
"""Keepsake beside what one would pick instead: on one machine, in one run, with one embedder.

    make bench-peers                                  all of it; hours
    python3 bench/peers/run.py [--shapes 10x10000,100x1000] [--peers keepsake,sql,…] [--seconds 10] [--fresh]
                               [--minutes 40] [--locomo LOCOMO10.json ERRORS.json] [--home data/bench-peers]

A shape is USERSxITEMS (of each user; 8 users or more). For each shape every peer is filled, alone: nine tenths of
the items by 8 clients (in batches where a peer takes them), the last tenth one by one, in rounds of 1 and 8 clients,
whose adds a second are the ones reported.
Then each is asked for its recall, and after all loads, in one go and in rounds, each peer in its turn is started, warmed
and searched by 1, 2 and 8 clients; at last it is asked while the embedder is down. A client is a process of its own
with the peer's own library in it.

What is finished is kept in HOME/state.json and not done again; --fresh begins anew. --minutes stops at a clean place
about then and says what is left: a load goes on there, in portions. One that a signal ended begins anew, as do the
rounds of a shape unless all its peers have had all of theirs in one go; what a killed run left running is ended first.
Figures of all shapes in HOME go to bench/results/peers.json, beside those of other shapes that are there already, and
from there to RESULTS.md. Peers are installed from
their own packages into data/runtime/venv-peers-*.
"""
import argparse
import contextlib
import fcntl
import importlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Callable, NamedTuple

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
from common import fail, say  # noqa: E402
from crew import crew  # noqa: E402
from database import kept_postgres  # noqa: E402
from leftovers import end_leftovers  # noqa: E402
from results import FOLDER, Progress, commit, machine, percentile, record, spread  # noqa: E402
from with_postgres import free_port, stop_on_signals  # noqa: E402

PEERS = ["keepsake", "sql", "langgraph", "langgraph_iterative", "mem0", "mem0_iterative", "chroma", "chroma_each", "reference", "hindsight"]
SHAPES = "10x10000,100x1000"
CLIENTS = (1, 2, 8)
MOST_CLIENTS = max(CLIENTS)
# Of so many users things are asked: as many as there are clients, so that all have the same to do.
ASKED_USERS = MOST_CLIENTS
FILLING_STEPS = 20
BULK_STEPS = 18
ADD_CLIENTS = (1, MOST_CLIENTS)
ADD_ROUNDS = 3
ADD_WAYS_MOST = 4
LEAST_ITEMS = FILLING_STEPS // (FILLING_STEPS - BULK_STEPS) * ADD_ROUNDS * ADD_WAYS_MOST  # one of each user in each round and way
SEARCH_ROUNDS = 3
WARM_SECONDS = 1
RECALL_QUERIES = 40
LIMIT = 10
START_SECONDS, CREW_SECONDS = 8, 3  # what a start of a peer and of its clients is thought to take, for the time left alone


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--shapes", default=SHAPES)
    options.add_argument("--peers", default=",".join(PEERS))
    options.add_argument("--seconds", type=float, default=10, help="of each search window")
    options.add_argument("--locomo", type=Path, nargs=2, metavar=("LOCOMO10.json", "ERRORS.json"), help="also the evidence that each finds there")
    options.add_argument("--home", type=Path, default=REPO / "data/bench-peers")
    options.add_argument("--minutes", type=float, help="after which it stops at a clean place; the next run goes on")
    options.add_argument("--fresh", action="store_true")
    asked = options.parse_args()
    until = time.time() + asked.minutes * 60 if asked.minutes else float("inf")
    stop_on_signals()
    home = asked.home.resolve()
    home.mkdir(parents=True, exist_ok=True)
    with alone_in(home):
        end_leftovers(home)
        if asked.fresh:
            for path in home.iterdir():
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        failed, left = measure(asked, home, State(home / "state.json"), until)
    if left:
        say(f"left for the next run: {in_words(left)}")
        if seconds_of(left[0]) > asked.minutes * 60:
            fail(f"{left[0][0].what} and what belongs to it takes some {Progress.duration(seconds_of(left[0]))} in one go: give more --minutes, or none")
    if failed:
        sys.exit(f"✗ left out, because they did not end well: {', '.join(failed)}")


@contextlib.contextmanager
def alone_in(home):
    """No two runs in one folder."""
    with (home.parent / f".{home.name}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            fail(f"another run is at work in {home}")
        yield


def measure(asked, home, state, until):
    """Does what is to do, as far as there is time for it, and writes down what is whole; returns who failed and which blocks are left."""
    names = asked.peers.split(",")
    shapes = [Shape(text) for text in asked.shapes.split(",")]
    with kept_postgres(home / "postgresql") as url, Embedder(state.port("embedder")) as embedder, contextlib.ExitStack() as at_end:
        os.environ["KEEPSAKE_TEST_DATABASE_URL"] = url
        benches = [Bench(shape, name, home, embedder, state, asked.seconds) for shape in shapes for name in names]
        for bench in benches:
            bench.peer.python()  # installs what is not there yet
            if bench.peer.filled_by and not bench.filled() and bench.peer.filled_by not in names:
                fail(f"{bench.peer.name} searches what {bench.peer.filled_by} was given: name that too")
        blocks = [block for shape in shapes for block in stages([bench for bench in benches if bench.shape is shape])]
        if asked.locomo:
            import quality  # it looks for the database when it is imported
            from minilm import MODEL
            minilm = Embedder(state.port("minilm"), MODEL)
            at_end.push(minilm)
            ranked = [bench.peer for bench in benches if bench.shape is shapes[0] and bench.peer.is_ranked]
            blocks += [Evidence(peer, asked.locomo, minilm, state, home).stages() for peer in ranked]
        failed, left = work_off(blocks, until)
        figures, versions = whole(state)
        if figures["shapes"]:
            record("peers", *with_earlier(figures, versions))
            subprocess.run([sys.executable, REPO / "bench/report.py"], check=True)
    return failed, left


def whole(state):
    """The figures of all that was ever measured here to its end, and the versions they are of."""
    shapes, versions = {}, {}
    for shape, peers in state.kept.get("shapes", {}).items():
        last_go = max((done["go"]["at"] for done in peers.values() if "go" in done), default=None)
        seen = {name: done for name, done in peers.items() if "go" in done and done["go"]["at"] == last_go and "outage" in done}
        if seen:
            go = next(iter(seen.values()))["go"]
            shapes[shape] = {**go, "peers": {name: figures(done, peers) for name, done in seen.items()}}
            versions |= {done["title"]: done["version"] for done in seen.values()}
    return {"shapes": shapes, **({"locomo": state.kept["locomo"]} if state.kept.get("locomo") else {})}, versions


def with_earlier(figures, versions):
    """And what results/peers.json says of shapes that were measured in another home, or on another machine."""
    path = FOLDER / "peers.json"
    if not path.is_file():
        return figures, versions
    earlier = json.loads(path.read_text())
    merged = {part: {**earlier["figures"].get(part, {}), **figures.get(part, {})} for part in ("shapes", "locomo")}
    return {part: of for part, of in merged.items() if of}, {**earlier["versions"], **versions}


def figures(done, peers):
    rounds = done["rounds"]
    searches = {str(count): {figure: spread([one[str(count)][figure] for one in rounds], 2) for figure in ("p50", "p95", "p99", "per_second")} for count in CLIENTS}
    return {"title": done["title"], "note": done.get("note", ""), "filled_by": done["filled_by"], **peers[done["filled_by"] or done["name"]]["filled"], "recall": done["recall"], "searches": searches,
            "memory_mib": spread([one["memory_mib"] for one in rounds], 1), "outage": done["outage"]}


class Step(NamedTuple):
    what: str
    seconds: float  # that it may take
    work: Callable
    owner: Any


def stages(benches):
    """What is not done yet, in blocks, between any two of which one can stop: each step of each peer's filling, its recall;
    then all search rounds, in turn; then the embedder taken from each."""
    yield from ([step] for bench in benches for step in bench.filling())
    yield from ([step] for bench in benches for step in bench.recalling())
    yield list(Go(benches).steps())
    yield from ([step] for bench in benches for step in bench.outage())


def work_off(blocks, until):
    """Does the steps, a peer's until one of them fails; returns whose did, and the blocks there was no time for."""
    blocks = [block for block in blocks if block]
    steps = [step for block in blocks for step in block]
    progress, failed, took, left = Progress([(step.what, step.seconds) for step in steps]), [], {}, []
    try:
        for n, block in enumerate(blocks):
            # The steps of one filling are alike: what the last took is what the next will.
            if time.time() + sum(took.get(step.what, step.seconds) for step in block if step.owner.label not in failed) > until:
                left = [block for block in blocks[n:] if block[0].owner.label not in failed]
                left[0][0].owner.pause()
                break
            for step in block:
                progress.step()
                if step.owner.label in failed:
                    continue
                began = time.time()
                try:
                    step.work()
                except (Exception, SystemExit) as error:
                    if isinstance(getattr(error, "code", None), int):  # a signal's
                        raise
                    say(f"{step.what}: {error}")
                    failed.append(step.owner.label)
                    step.owner.abandon()
                took[step.what] = time.time() - began
    finally:
        for owner in {id(step.owner): step.owner for step in steps}.values():
            owner.abandon()
    progress.end()
    return failed, left


def seconds_of(block):
    return sum(step.seconds for step in block)


def in_words(blocks):
    """What is left of each peer's filling, of rounds and so on, and how long it may take."""
    left = {}
    for block in blocks:
        left[block[0].what] = left.get(block[0].what, 0) + 1
    whole = sum(map(seconds_of, blocks))
    return "; ".join(f"{what}{f' ({count} steps)' if count > 1 else ''}" for what, count in left.items()) + f": some {Progress.duration(whole)}"


class Shape:
    def __init__(self, text):
        self.name = text
        self.users, self.items = map(int, text.split("x"))
        if self.users < ASKED_USERS or self.items < LEAST_ITEMS:
            fail(f"a shape has at least {ASKED_USERS} users of {LEAST_ITEMS} items: {text}")
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
        return self.kept.setdefault("shapes", {}).setdefault(shape, {}).setdefault(peer, {})

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
        self.start()
        return self

    def start(self):
        """Unless it runs."""
        if self.process:
            return
        # Its own work on one core alone, as in any server.
        env = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
        self.process = subprocess.Popen(self.command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        if self.process.stdout.readline() != "ready\n":
            fail(f"the embedder did not start at {self.url}: if its port is taken, begin anew with --fresh")

    def __exit__(self, *_):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process.stdout.close()
            self.process = None


class Bench:
    """One peer at one shape."""

    def __init__(self, shape, name, home, embedder, state, seconds):
        self.shape, self.embedder, self.state, self.seconds = shape, embedder, state, seconds
        self.peer = importlib.import_module(f"adapters.{name}").Peer(name, shape.name, home, embedder.url)
        self.done = state.of(shape.name, name)
        self.label = f"{shape.name}, {self.peer.title}"
        self.fillers = contextlib.ExitStack()
        self.loaded = None  # how far a filling of this run is
        self.rounds = []

    def keep(self, **figures):
        self.done.update(figures)
        self.state.save()

    def abandon(self):
        """Nothing of it runs on, whatever happened."""
        self.fillers.close()
        self.peer.stop()

    def filled(self):
        """The figures of its filling, or of the peer's whose items it searches."""
        return self.state.of(self.shape.name, self.peer.filled_by or self.peer.name).get("filled")

    # -- filling

    def filling(self):
        if self.filled() or self.peer.filled_by:
            return
        items_a_step = self.shape.users * self.shape.items / FILLING_STEPS
        expected = items_a_step / self.peer.adds_a_second
        yield Step(f"{self.label}: start", START_SECONDS, self.begin, self)
        for n in range(self.done.get("loaded", {}).get("steps", 0), BULK_STEPS):
            yield Step(f"{self.label}: filling", expected, lambda n=n: self.fill(n), self)
        yield Step(f"{self.label}: adds by one and by eight", (FILLING_STEPS - BULK_STEPS) * items_a_step / by_one(self.peer) + START_SECONDS, self.measure_adds, self)

    def begin(self):
        """Starts with a store that is empty, or as an earlier run left it at a clean place."""
        # From here on it is known no more what is in the store, unless `pause` says so.
        before = self.done.pop("loaded", None)
        self.state.save()
        if not before:
            self.peer.fresh()
        self.settings = self.peer.start(self.shape.users)
        self.loaded = before or {"steps": 0, "portions": 0, "seconds": 0, "bytes_before": self.peer.bytes_on_disk()}
        self.clients = None

    def fill(self, n):
        """One step of the first nine tenths, by eight clients."""
        if not self.clients:
            self.clients = self.fillers.enter_context(crew(self.peer, self.settings, MOST_CLIENTS))
            self.began = time.monotonic()
        first, past = (self.shape.bulk * step // BULK_STEPS for step in (n, n + 1))
        self.clients.all("fill", self.shape.all_users, first=first, past=past)
        self.loaded["steps"] = n + 1
        if n + 1 == BULK_STEPS:
            self.end_portion()

    def end_portion(self):
        self.peer.settle()
        self.loaded["seconds"] += time.monotonic() - self.began
        self.loaded["portions"] += 1
        self.fillers.close()
        self.clients = None

    def pause(self):
        """At a clean place of a filling, if it is in one: the next run goes on from here."""
        if self.loaded and not self.filled():
            if self.clients:
                self.end_portion()
            self.keep(loaded=self.loaded)

    def measure_adds(self):
        """The last tenth of each user's items in rounds: a fifth of them by one client, the rest by eight, each in the ways the peer has."""
        ways = ("add", "add_later") if self.peer.later_title else ("add",)
        rates, times, findable = ({(way, count): [] for way in ways for count in ADD_CLIENTS} for _ in range(3))
        users = self.shape.asked_users if self.peer.is_apart else self.shape.all_users
        cuts = [self.shape.bulk + (self.shape.items - self.shape.bulk) * n // ADD_ROUNDS for n in range(ADD_ROUNDS + 1)]
        with crew(self.peer, self.settings, 1) as one, crew(self.peer, self.settings, MOST_CLIENTS) as many:
            for clients in (one, many):
                self.warm(clients, f"adds by {len(clients.clients)}")
            for start, end in zip(cuts, cuts[1:]):
                for (way, count), first, past in portions(rates, start, end):
                    began = time.monotonic()
                    answers = (one if count == 1 else many).all(way, users, first=first, past=past)
                    added = sum(len(answer["times"]) for answer in answers)
                    rates[way, count].append(added / max(answer["seconds"] for answer in answers))
                    times[way, count] += [t for answer in answers for t in answer["times"]]
                    self.peer.settle()
                    findable[way, count].append(added / (time.monotonic() - began))
            memory_mib = self.peer.memory_mib(one)
        self.peer.tidy()
        seen = {way: {"adds_per_second": {str(count): spread(rates[way, count], 1) for count in ADD_CLIENTS}, "add_ms": {str(count): percentiles(times[way, count]) for count in ADD_CLIENTS}}
                for way in ways}
        filled = {**seen["add"], "memory_mib_filled": memory_mib, "portions": self.loaded["portions"],
                  "bytes_per_item": round((self.peer.bytes_on_disk() - self.loaded["bytes_before"]) / (self.shape.users * self.shape.bulk + len(users) * (self.shape.items - self.shape.bulk))),
                  "findable_per_second": seen["add"]["adds_per_second"][str(MOST_CLIENTS)]["median"] if self.peer.is_found_at_once else round(self.shape.users * self.shape.bulk / self.loaded["seconds"], 1)}
        if self.peer.later_title:
            filled["later"] = {"title": self.peer.later_title, **seen["add_later"], "findable_per_second": round(statistics.median(findable["add_later", MOST_CLIENTS]), 1)}
        self.keep(filled=filled)
        self.peer.stop()

    # -- searching

    def recalling(self):
        if "recall" not in self.done:
            yield Step(f"{self.label}: recall", START_SECONDS + ASKED_USERS * RECALL_QUERIES / 20, self.recall, self)

    def searching(self):
        return Step(f"{self.label}: searches", START_SECONDS + len(CLIENTS) * (CREW_SECONDS + WARM_SECONDS + self.seconds), self.round, self)

    def start(self):
        if not self.filled():
            raise RuntimeError("its items are not all there")
        return self.peer.start(self.shape.users)

    def recall(self):
        settings = self.start()
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

    def round(self):
        n = len(self.rounds) + 1
        settings = self.start()
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
        self.rounds.append(figures)

    def warm(self, clients, series):
        clients.all("search", self.shape.asked_users, series=f"warm {series}", items=self.shape.items, seconds=WARM_SECONDS)

    # -- the embedder is down

    def outage(self):
        if "outage" not in self.done:
            yield Step(f"{self.label}: the embedder is down", START_SECONDS + 10, self.fall_out, self)

    def fall_out(self):
        user = self.shape.asked_users[0]
        text = "the lighthouse keeper counted seven grey herons while nobody embedded"
        settings = self.start()
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


class Go:
    """All search rounds of the peers of one shape, in turn: kept together once the last is over, or not at all."""

    def __init__(self, benches):
        self.benches = benches
        self.label = f"{benches[0].shape.name}: searches"

    def steps(self):
        if len({json.dumps(bench.done.get("go")) for bench in self.benches}) == 1 and "go" in self.benches[0].done:
            return
        for _ in range(SEARCH_ROUNDS):
            yield from (bench.searching() for bench in self.benches)
        yield Step(f"{self.label} are kept", 0, self.keep, self)

    def keep(self):
        go = {"at": datetime.now(timezone.utc).isoformat(timespec="seconds"), "commit": commit(), "machine": machine(), "seconds_a_window": self.benches[0].seconds,
              "without": [bench.peer.title for bench in self.benches if len(bench.rounds) < SEARCH_ROUNDS]}
        for bench in self.benches:
            if len(bench.rounds) == SEARCH_ROUNDS:
                peer = bench.peer
                bench.keep(rounds=bench.rounds, go=go, name=peer.name, title=peer.title, filled_by=peer.filled_by, note=peer.note, version=peer.version())

    def pause(self):
        """Before it began there is nothing to keep."""

    abandon = pause


class Evidence:
    """LoCoMo by one peer, as bench/quality.py asks it: an item a turn, a user a conversation, the question as it
    stands; MiniLM's vectors for all, each text's made once."""

    def __init__(self, peer, files, minilm, state, home):
        import quality
        self.quality, self.state, self.minilm = quality, state, minilm
        self.turns, self.questions = quality.read(*(json.loads(file.read_text()) for file in files))
        self.peer = type(peer)(peer.name, "locomo", home, minilm.url)
        self.label = f"LoCoMo, {self.peer.title}"
        self.done = state.kept.setdefault("locomo", {}).get(self.peer.name)
        self.turns_of_text = {}
        for user, turn, text in self.turns:
            self.turns_of_text.setdefault((user, text), []).append(turn)

    def stages(self):
        adding = 0 if self.peer.filled_by else len(self.turns) / by_one(self.peer)
        return [] if self.done else [Step(self.label, START_SECONDS + adding + len(self.questions) / 20, self.ask, self)]

    def ask(self):
        self.minilm.start()
        if not self.peer.filled_by:
            self.peer.fresh()
        with crew(self.peer, self.peer.start(self.turns[-1][0] + 1), 1) as clients:
            if not self.peer.filled_by:
                for user, text in self.turns_of_text:
                    answer_of(clients.one("put", user=user, text=text))
                self.peer.settle()
                self.peer.tidy()
            found = [self.turns_found(question, answer_of(clients.one("ask", user=question.conversation, text=question.text, limit=self.quality.FOUND_MAX)))
                     for question in self.questions]
        self.peer.stop()
        self.state.kept["locomo"][self.peer.name] = {
            "title": self.peer.title, "turns": len(self.turns), "questions": len(self.questions), "asked_for": self.quality.FOUND_MAX,
            "returned": round(statistics.fmean(map(len, found)), 1), **self.quality.scores(self.questions, found)["1-10"]["all"]}
        self.state.save()

    def turns_found(self, question, texts):
        return [turn for text in texts for turn in self.turns_of_text.get((question.conversation, text), [])]

    def pause(self):
        """Before it began there is nothing to keep."""

    def abandon(self):
        self.peer.stop()


def by_one(peer):
    return peer.adds_by_one_a_second or peer.adds_a_second


def portions(ways, start, end):
    """(way, first, past) of the items from `start` to before `end`: a fifth goes to the ways of one client, the rest to those of many."""
    kinds = len(ways) // len(ADD_CLIENTS)
    few = max(1, (end - start) // (5 * kinds))
    sizes = [few if count == 1 else (end - start) // kinds - few for _, count in ways]
    pasts = [start + sum(sizes[:n + 1]) for n in range(len(sizes))]
    yield from zip(ways, [start, *pasts], [*pasts[:-1], end])


def answer_of(said):
    if "error" in said:
        raise RuntimeError(said["error"])
    return said["said"]


def timed(call):
    began = time.perf_counter()
    return {**call(), "seconds": round(time.perf_counter() - began, 2)}


def percentiles(times):
    return {name: round(percentile(times, percent), 2) for name, percent in (("p50", 50), ("p95", 95), ("p99", 99))}


if __name__ == "__main__":
    main()
