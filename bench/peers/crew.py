"""The clients of one peer: processes that all do the same at the same time, each for users of its own."""
import contextlib
import json
import os
import select
import subprocess

from peer import HERE, PYTHONPATH

STOP_SECONDS = 20
HEAR_SECONDS = 1800


@contextlib.contextmanager
def crew(peer, settings, count):
    """So many clients of a peer that has been started, ready to work."""
    with (peer.folder / "clients.log").open("a") as log:
        command = [peer.python(), HERE / "client.py", peer.filled_by or peer.name, json.dumps(settings)]
        env = {**os.environ, "PYTHONPATH": PYTHONPATH, **peer.client_variables}
        clients = [Client(command, env, log) for _ in range(count)]
        try:
            for client in clients:
                client.hear()
            yield Crew(clients)
        finally:
            for client in clients:
                client.stop()


class Client:
    def __init__(self, command, env, log):
        self.process = subprocess.Popen(command, env=env, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log)

    def tell(self, name, arguments):
        print(json.dumps([name, arguments]), file=self.process.stdin, flush=True)

    def hear(self):
        if not select.select([self.process.stdout], [], [], HEAR_SECONDS)[0]:
            raise RuntimeError(f"a client said nothing for {HEAR_SECONDS} s")
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("a client ended before its answer: see clients.log")
        return json.loads(line)

    def stop(self):
        with contextlib.suppress(BrokenPipeError):  # it may have ended by itself
            self.process.stdin.close()
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


class Crew:
    def __init__(self, clients):
        self.clients = clients
        self.pids = [client.process.pid for client in clients]

    def all(self, name, users, **arguments):
        """Every client its share of the users; one answer a client."""
        for n, client in enumerate(self.clients):
            client.tell(name, {**arguments, "users": users[n::len(self.clients)]})
        answers = [client.hear() for client in self.clients]
        for answer in answers:
            if "error" in answer:
                raise RuntimeError(answer["error"])
        return [answer["said"] for answer in answers]

    def one(self, name, **arguments):
        """The first client's answer, which may be an error: {"said": …} or {"error": …}."""
        self.clients[0].tell(name, arguments)
        return self.clients[0].hear()
