"""The product's search statement, as it stands in src/search/store.rs, to be prepared and run by hand."""
import re

from run import REPO

TYPES = ("bigint, text[], text[], text, text[], text, timestamptz, bigint, bigint, bit(1024), halfvec, bigint, float8, "
         "bigint, bigint, text, bigint, timestamptz, boolean[], bigint")


def prepare():
    statement = (REPO / "src/search/store.rs").read_text().split('r#"')[2].split('"#')[0]
    return f"PREPARE search ({TYPES}) AS " + re.sub(r'AS "(\w+)[!?]"', r"AS x_\1", statement)


def execute(user, words, fragments, space, bits, half):
    """Words and fragments as plain text; no filter but `active`, and the limits of src/search/store.rs."""
    queries = ",".join(f"$q$'{word}'$q$" for word in dict.fromkeys(words))
    patterns = ",".join(f"$q$%{fragment}%$q$" for fragment in fragments)
    return (f"EXECUTE search ({user}, ARRAY[{queries}]::text[], ARRAY[{patterns}]::text[], NULL, NULL, 'active', NULL, 50, "
            f"{space}, B'{bits}', '{half}', 1000, 600, 200, 250, NULL, 25000, now(), "
            f"'{{false,true}}', 1000)")
