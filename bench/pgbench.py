"""Statements in pgbench: what PostgreSQL alone takes for them, as the role and under the settings of a request."""
import os
import subprocess
import tempfile
from pathlib import Path

from sql import PG_BIN, URL

# As src/db/mod.rs asks for.
SESSION = {"PGOPTIONS": "-c role=keepsake_app -c jit=off -c plan_cache_mode=force_generic_plan -c enable_seqscan=off "
           "-c client_connection_check_interval=500"}
TIMEOUT = " -c statement_timeout=5000"


def pgbench(prepare, transactions, clients=1, seconds=None, count=None, rate=None, user=1, first=None):
    """Each of `transactions` (lists of statements) is a script, picked at random; `prepare` runs once a connection, and `first`
    in the message that begins each transaction.
    For so many seconds, or so many transactions a client; at `rate` a second, or each again at once.
    Returns the ms that each took (less what it began late) and how many there were a second."""
    with tempfile.TemporaryDirectory() as folder:
        scripts = []
        for n, statements in enumerate(transactions):
            path = Path(folder) / f"{n}.sql"
            # In one message, as the server sends them.
            begin = "\\;\n".join(["BEGIN", f"SET LOCAL keepsake.user_id = {user}", *([first] if first else [])])
            path.write_text(f"\\if :is_new\n{prepare};\n\\set is_new 0\n\\endif\n\\set n random(1, 1000000000000)\n"
                            f"{begin};\n" + "".join(map(ended, [*statements, "COMMIT"])))
            scripts += ["-f", path]
        length = ["-T", str(seconds)] if seconds else ["-t", str(count)]
        command = [PG_BIN / "pgbench", "-n", "-c", str(clients), *length, "-D", "is_new=1", "-l", f"--log-prefix={folder}/log",
                   *(["-R", str(rate)] if rate else []), *scripts, URL]
        done = subprocess.run(command, env={**os.environ, "PGOPTIONS": SESSION["PGOPTIONS"] + TIMEOUT}, text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        if done.returncode or "aborted" in done.stderr:
            raise SystemExit(f"pgbench failed: {done.stderr[-400:]}")
        lines = [line.split() for log in Path(folder).glob("log*") for line in log.read_text().splitlines()]
    took = [(int(line[2]) - (int(line[6]) if rate else 0)) / 1e3 for line in lines]
    ends = [int(line[4]) + int(line[5]) / 1e6 for line in lines]
    begun = min(end - int(line[2]) / 1e6 for end, line in zip(ends, lines))
    return took, len(lines) / (max(ends) - begun)


def ended(statement):
    return statement + ("\n" if statement.endswith("\\gset") else ";\n")
