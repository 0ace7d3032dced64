"""The product's statements, as they stand in its source, to be prepared and run by hand."""
import re

from run import REPO
from sql import sql

SEARCH_TYPES = ("bigint, text[], text[], text, text[], text, timestamptz, bigint, bigint, bit(1024), halfvec, bigint, float8, "
                "bigint, bigint, text, bigint, timestamptz, boolean[], bigint, text[], bigint, bigint, float8")


def source_of(path, function):
    """The SQL in a function of src/: its first string that begins as a statement does."""
    body = (REPO / path).read_text().split(f"fn {function}(")[1]
    statement = re.search(r'r#"((?:WITH|INSERT|SELECT) .*?)"#|"((?:WITH|INSERT|SELECT) [^"]*)"', body, re.DOTALL)
    return re.sub(r'AS "(\w+)[!?]"', r"AS x_\1", statement[1] or statement[2])


def prepare():
    return f"PREPARE search ({SEARCH_TYPES}) AS " + source_of("src/search/store.rs", "find")


def execute(user, words, fragments, space, bits, half):
    """Words and fragments as plain text; no filter but `active`, and the limits of src/search/store.rs."""
    queries = ",".join(f"$q$'{word}'$q$" for word in dict.fromkeys(words))
    patterns = ",".join(f"$q$%{fragment}%$q$" for fragment in fragments)
    return (f"EXECUTE search ({user}, ARRAY[{queries}]::text[], ARRAY[{patterns}]::text[], NULL, NULL, 'active', NULL, 50, "
            f"{space}, B'{bits}', '{half}', 1000, 600, 200, 250, NULL, 25000, now(), "
            f"'{{false,true}}', 1000, '{{}}', 5, 2, 3600)")


def searches(queries, user=1):
    """An EXECUTE for each query (a list of words), with a vector that the user has."""
    some = sql(f"SELECT space_id, bits, embedding FROM memory_embeddings WHERE user_id = {user} AND state = 'ready' ORDER BY space_id DESC, source_id LIMIT {len(queries)}")
    return [execute(user, query, query[:1], *row.split("|")) for query, row in zip(queries, some.splitlines())]
