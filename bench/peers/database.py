"""The PostgreSQL of all peers that need one: that of data/runtime, with its data kept between two runs, durable as
a user's is. Each peer has a database of its own in it."""
import contextlib
import os
import secrets
import signal
import time
from urllib.parse import urlsplit, urlunsplit

import with_postgres
from common import fail
from fetch_postgres import fetch
from peer import Peer, REPO

SETTINGS = {name: with_postgres.SETTINGS[name] for name in ("listen_addresses", "unix_socket_directories", "max_connections", "shared_buffers")}

VACUUMS_MAX = 30
# Large tables alone: a queue's never rests.
UNMARKED = ("SELECT FROM pg_class WHERE relkind = 'r' AND relnamespace NOT IN ('pg_catalog'::regnamespace, 'information_schema'::regnamespace) "
            "AND relpages > 1000 AND relallvisible < 0.99 * relpages LIMIT 1")


@contextlib.contextmanager
def kept_postgres(home):
    """Yields the superuser's address."""
    owner = with_postgres.unprivileged_user()
    is_new = not (home / "data/PG_VERSION").is_file()
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    if owner:
        os.chown(home, owner.pw_uid, owner.pw_gid)
    bin_dir = fetch(REPO / "data/runtime")
    try:
        bin_dir = with_postgres.reachable(bin_dir, home, owner)
        if is_new:
            with_postgres.initdb(bin_dir, home, owner, secrets.token_hex(16))
        server, port = with_postgres.start(bin_dir, home, owner, SETTINGS)
    except PermissionError as error:
        fail(f"PostgreSQL runs as {owner.pw_name}, who cannot reach {home}: name another folder with --home ({error.strerror})")
    try:
        yield f"postgres://postgres:{(home / 'password').read_text()}@127.0.0.1:{port}/postgres"
    finally:
        server.send_signal(signal.SIGINT)
        server.wait()


def connect(url):
    import psycopg
    return psycopg.connect(url, autocommit=True)


class OnPostgres(Peer):
    """A peer whose rows are in a database of its own; KEEPSAKE_TEST_DATABASE_URL is the superuser's."""

    @property
    def database(self):
        return self.folder.name

    @property
    def url(self):
        return urlunsplit(urlsplit(os.environ["KEEPSAKE_TEST_DATABASE_URL"])._replace(path=f"/{self.database}", scheme="postgresql"))

    def fresh(self):
        super().fresh()
        with connect(os.environ["KEEPSAKE_TEST_DATABASE_URL"]) as db:
            db.execute(f'DROP DATABASE IF EXISTS "{self.database}" WITH (FORCE)')
            db.execute(f'CREATE DATABASE "{self.database}"')

    def tidy(self):
        """Vacuumed, as autovacuum does a minute later; and again where an older transaction of the peer's kept pages from
        being marked as seen by all, which for whoever reads an index alone is twice the time."""
        with connect(self.url) as db:
            for _ in range(VACUUMS_MAX):
                db.execute("VACUUM ANALYZE")
                if not db.execute(UNMARKED).fetchone():
                    return
                time.sleep(1)

    def bytes_on_disk(self):
        """Less what an empty database has."""
        with connect(self.url) as db:
            return db.execute("SELECT pg_database_size(current_database()) - pg_database_size('template1')").fetchone()[0]


# The same rows, with pgvector's index read on until enough of them are the user's: a setting that no peer makes itself,
# here in the environment of a client's libpq.
ITERATIVE = {"PGOPTIONS": "-c hnsw.iterative_scan=relaxed_order"}
