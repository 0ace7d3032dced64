#!/usr/bin/env python3
"""One client of one peer, a process of its own in that peer's environment; crew.py starts it and tells it, a
line of JSON at a time, what to do. Times are taken around the peer's call alone, in ms.

    client.py PEER SETTINGS
"""
import importlib
import json
import os
import sys
import time

import data


BATCH = 100


class Work:
    def __init__(self, client):
        self.client = client

    def fill(self, users, first, past):
        """The same items as `add` would, many at once where the peer can: this is not measured."""
        if not hasattr(self.client, "add_many"):
            return self.add(users, first, past)
        for start in range(first, past, BATCH):
            for user in users:
                self.client.add_many(user, [data.item(user, n) for n in range(start, min(start + BATCH, past))])

    def add(self, users, first, past):
        """Items `first` to before `past` of each of its users."""
        return self.add_by(self.client.add, users, first, past)

    def add_later(self, users, first, past):
        """The same by a call that is answered before the item can be found."""
        return self.add_by(self.client.add_later, users, first, past)

    def add_by(self, call, users, first, past):
        return timed(lambda user, n, text: call(user, text), ((user, n, data.item(user, n)) for n in range(first, past) for user in users))

    def search(self, users, series, items, seconds):
        """For so long, and each user once at the least; each time something that nobody has asked before."""
        until = time.perf_counter() + seconds
        def asked():
            n = 0
            while n < len(users) or time.perf_counter() < until:
                user = users[n % len(users)]
                yield user, n, data.query(user, f"{series}/{n}", items)
                n += 1
        return timed(lambda user, n, text: self.client.search(user, text, 10), asked())

    def put(self, user, text):
        self.client.add(user, text)

    def ask(self, user, text, limit):
        return self.client.search(user, text, limit)

    def nearest(self, user, text, limit):
        """What the peer's vectors alone find, where it can say so."""
        return getattr(self.client, "nearest", self.client.search)(user, text, limit)


def timed(call, rows):
    times, began = [], time.perf_counter()
    for row in rows:
        start = time.perf_counter()
        call(*row)
        times.append(round((time.perf_counter() - start) * 1e3, 3))
    return {"times": times, "seconds": time.perf_counter() - began}


def main(peer, settings):
    # What a library prints is no answer of ours.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    work = Work(importlib.import_module(f"adapters.{peer}").Client(json.loads(settings)))
    print(json.dumps("ready"), file=answers, flush=True)
    for line in sys.stdin:
        name, arguments = json.loads(line)
        try:
            said = {"said": getattr(work, name)(**arguments)}
        except Exception as error:  # whatever a peer raises is its answer
            said = {"error": f"{type(error).__name__}: {error}"[:400]}
        print(json.dumps(said), file=answers, flush=True)
    getattr(work.client, "stop", lambda: None)()


if __name__ == "__main__":
    main(*sys.argv[1:])
