#!/usr/bin/env python3
"""Vectors in one table beside vectors in 16 partitions by user, for docs/scaling.md: what a search costs, how many locks it
takes, how long VACUUM and an index take; and whether what erases an account would erase somebody else's rows there.

    python3 tools/with_postgres.py python3 bench/partitions.py     after `make build`; a minute

The partitioned table is made for the measurement alone: Keepsake has no migration that makes one. Needs psycopg.
"""
import os
import random
import time

import psycopg

import results
from run import common_words
from scaling import postmaster_of_the_primary
from sql import URL, sql
from standby import QUERIES, cost, psql, statements
from statement import prepare
from vectors import filled

ITEMS, USERS = 1_000, 20
PARTITIONS = 16
TABLE = "memory_embeddings"
COPIED = ("users", "memory_themes", "embedding_spaces", "memory_items", TABLE)


def main():
    random.seed(7)
    with filled(ITEMS) as server, psycopg.connect(URL, autocommit=True) as db:
        copy_to_others(db)
        queries = [common_words(2) for _ in range(QUERIES)]
        figures = {"one table": look(db, queries)}
        expected = answers(queries)
        partition(db)
        figures[f"{PARTITIONS} partitions"] = look(db, queries)
        figures |= {"answers_differ": answers(queries) != expected, "rows_of_others_erased": erase(db)}
    for name, figure in figures.items():
        print(f"{name:22} {figure}", flush=True)
    results.record("partitions", figures)


def columns(db, table):
    rows = db.execute("SELECT quote_ident(attname) FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0 "
                      "AND NOT attisdropped AND attgenerated = '' ORDER BY attnum", (table,))
    return [name for name, in rows]


def copy_to_others(db):
    """What user 1 has, twenty users have, mixed as it is when it comes over time."""
    db.execute("SET session_replication_role = replica")
    for table in COPIED:
        names = columns(db, table)
        key = "id" if table == "users" else "user_id"
        values = ["u" if name == key else "'u' || u" if table == "users" and name == "email" else name for name in names]
        order = "" if table in ("users", "memory_themes", "embedding_spaces") else "ORDER BY md5(u::text || " + ("item_id" if table == TABLE else "id") + "::text)"
        db.execute(f"INSERT INTO {table} ({', '.join(names)}) OVERRIDING SYSTEM VALUE SELECT {', '.join(values)} "
                   f"FROM {table}, generate_series(2, {USERS}) AS u WHERE {key} = 1 {order}")
    db.execute("RESET session_replication_role")
    db.execute("VACUUM ANALYZE")


def look(db, queries):
    figures = {"search_core_ms": cost(queries, URL, postmaster_of_the_primary()), "locks": locks(queries)}
    some = TABLE if not is_partitioned(db) else f"{TABLE}_0"
    for name, statement in (("vacuum_ms", f"VACUUM (FREEZE) {some}"), ("reindex_ms", f"REINDEX TABLE {some}")):
        start = time.perf_counter()
        db.execute(statement)
        figures[name] = round((time.perf_counter() - start) * 1e3, 1)
    db.execute(f"VACUUM ANALYZE {TABLE}")
    return figures


def is_partitioned(db):
    return db.execute("SELECT relkind = 'p' FROM pg_class WHERE oid = %s::regclass", (TABLE,)).fetchone()[0]


def locks(queries):
    """That one search's transaction holds."""
    script = next(statements(queries)).replace("COMMIT;", "SELECT 'locks ' || count(*) FROM pg_locks WHERE pid = pg_backend_pid(); COMMIT;")
    told = psql(URL, f"{prepare()};\n{script}")
    return int(next(line for line in told.splitlines() if line.startswith("locks ")).split()[1])


def answers(queries):
    return sorted(psql(URL, f"{prepare()};\n" + "\n".join(statements(queries))).splitlines())


def partition(db):
    """The same columns, indexes, keys, policies and rights, in partitions."""
    one = lambda statement: [row[0] for row in db.execute(statement)]
    made = one(f"SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = '{TABLE}'::regclass AND NOT indisprimary")
    keys = one(f"SELECT format('ALTER TABLE {TABLE} ADD CONSTRAINT %I %s', conname, pg_get_constraintdef(oid)) FROM pg_constraint "
               f"WHERE conrelid = '{TABLE}'::regclass AND contype IN ('p', 'f')")
    policies = one(f"SELECT format('CREATE POLICY %I ON {TABLE} FOR %s TO %s USING (%s)', policyname, cmd, array_to_string(roles, ','), qual) "
                   f"FROM pg_policies WHERE tablename = '{TABLE}'")
    names = ", ".join(columns(db, TABLE))
    with db.transaction():
        db.execute(f"ALTER TABLE {TABLE} RENAME TO unpartitioned")
        db.execute(f"CREATE TABLE {TABLE} (LIKE unpartitioned INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING GENERATED INCLUDING STORAGE) PARTITION BY HASH (user_id)")
        for n in range(PARTITIONS):
            db.execute(f"CREATE TABLE {TABLE}_{n} PARTITION OF {TABLE} FOR VALUES WITH (MODULUS {PARTITIONS}, REMAINDER {n})")
        db.execute(f"INSERT INTO {TABLE} ({names}) SELECT {names} FROM unpartitioned")
        db.execute("DROP TABLE unpartitioned")
        for statement in made + keys + policies:
            db.execute(statement)
        db.execute(f"ALTER TABLE {TABLE} OWNER TO keepsake_owner; ALTER TABLE {TABLE} ENABLE ROW LEVEL SECURITY; ALTER TABLE {TABLE} FORCE ROW LEVEL SECURITY;"
                   f"GRANT SELECT, INSERT, UPDATE, DELETE ON {TABLE} TO keepsake_app; GRANT SELECT (user_id, space_id, source_id, state, updated_at) ON {TABLE} TO keepsake_system")
        for n in range(PARTITIONS):
            db.execute(f"ALTER TABLE {TABLE}_{n} OWNER TO keepsake_owner")
    db.execute(f"VACUUM ANALYZE {TABLE}")


def erase(db):
    """Erases user 2 as the workers do; how many rows of others went with it."""
    others = lambda: db.execute(f"SELECT count(*) FROM {TABLE} WHERE user_id <> 2").fetchone()[0]
    before = others()
    with db.transaction():
        db.execute("SELECT begin_account_erasure(2, 'receipt', now())")
        while db.execute("SELECT erase_account_step(500, now())").fetchone()[0] == "more" and others() == before:
            pass
    return before - others()


if __name__ == "__main__":
    main()
