"""Statements in pgbench: what PostgreSQL alone takes for them, as the role and under the settings of a request."""
import os
import subprocess
import tempfile
from pathlib import Path

from sql import PG_BIN, URL

# As src/core/db/mod.rs asks for.
SESSION = {"PGOPTIONS": "-c role=keepsake_app -c jit=off -c plan_cache_mode=force_generic_plan -c enable_seqscan=off "
           "-c client_connection_check_interval=500 -c statement_timeout=5000"}


def pgbench(prepare, transactions, clients, seconds, first):
    """Each of `transactions` of user 1 (lists of statements) is a script, picked at random; `prepare` runs once a connection,
    and those of `first` in the message that begins each transaction. Returns the ms that each took and how many there were a second."""
    with tempfile.TemporaryDirectory() as folder:
        scripts = []
        for n, statements in enumerate(transactions):
            path = Path(folder) / f"{n}.sql"
            # In one message, as the server sends them.
            begin = "\\;\n".join(["BEGIN", "SELECT for_user(1)", *first])
            path.write_text(f"\\if :is_new\n{prepare};\n\\set is_new 0\n\\endif\n\\set n random(1, 1000000000000)\n"
                            f"{begin};\n" + "".join(f"{statement};\n" for statement in [*statements, "COMMIT"]))
            scripts += ["-f", path]
        command = [PG_BIN / "pgbench", "-n", "-c", str(clients), "-T", str(seconds), "-D", "is_new=1", "-l", f"--log-prefix={folder}/log", *scripts, URL]
        done = subprocess.run(command, env={**os.environ, **SESSION}, text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        if done.returncode or "aborted" in done.stderr:
            raise SystemExit(f"pgbench failed: {done.stderr[-400:]}")
        lines = [line.split() for log in Path(folder).glob("log*") for line in log.read_text().splitlines()]
    took = [int(line[2]) / 1e3 for line in lines]
    ends = [int(line[4]) + int(line[5]) / 1e6 for line in lines]
    begun = min(end - ms / 1e3 for end, ms in zip(ends, took))
    return took, len(lines) / (max(ends) - begun)
