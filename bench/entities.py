#!/usr/bin/env python3
"""What finding names costs an add, and what it brings a search, for bench/README.md.

    tools/with_postgres.py python3 bench/entities.py adds
    tools/with_postgres.py python3 bench/entities.py search LOCOMO10.json ERRORS.json ["short facts" …]

*adds*: two users in turn, one of whom wants no names (entity_settings.by_rules), one client, the same texts.
*search*: the product's own answers with and without entities in search (entity_settings.in_search): LoCoMo's turns by
category, its short facts, and long texts (bench/kinds.py). Needs numpy and `make build`.
"""
import json
import random
import statistics
import sys
import time
from pathlib import Path

from locomo import read
from run import REPO, keepsake
from sql import sql

ADDS, ROUNDS = 400, 5
NAMES = ["Anna Lindqvist", "Marta Helgesen", "Quentin Okonkwo", "Project Aurora", "Northwind Traders Inc.", "Bergen", "Lyon", "PostgreSQL",
         "Robert King", "Fatima", "OPS-142", "Contoso Foods", "Zurich", "Claude Code"]


def main(what, *files):
    {"adds": adds, "search": search}[what](*files)


def adds():
    random.seed(7)
    with keepsake() as server:
        server.run("user", "create", "--email", "without@example.com", "--password-stdin", input="a long password\n")
        without = server.run("token", "create", "--email", "without@example.com", "--agent", "bench")
        sql("INSERT INTO entity_settings (user_id, by_rules) SELECT id, false FROM users WHERE email = 'without@example.com'")
        times = {"with names": [], "without": []}
        for _ in range(ROUNDS):
            for n in range(ADDS):
                text = f"{random.choice(NAMES)} met {random.choice(NAMES)} about number {random.random()} and {random.choice(NAMES)} in the harbour, and they talked for long."
                for name, token in (("with names", server.token), ("without", without)):
                    started = time.perf_counter()
                    server.call("memory_add", {"type": "fact", "content": text}, token=token)
                    times[name].append(1e3 * (time.perf_counter() - started))
        for name, of in times.items():
            of.sort()
            print(f"{name:12} p50 {statistics.median(of):.2f} ms, p95 {of[int(0.95 * len(of))]:.2f} ms")


def search(locomo, errors, *only):
    from kinds import long_texts, short_facts
    from quality import PRINTED, asked, load, new_user, scores
    samples = json.load(open(locomo))
    turns, questions = read(samples, json.load(open(errors)))
    facts, fact_questions, told = short_facts(samples, questions)
    own = lambda question, found: found
    kinds = {"LoCoMo, turns": (turns, questions, own), "short facts": (facts, fact_questions, told),
             "long texts": long_texts(next(Path.home().glob(".cargo/registry/src/*")))}
    for kind in only or kinds:
        items, questions, evidence = kinds[kind]
        with keepsake(KEEPSAKE_DATA_DIR=str(REPO / "data")) as server:
            tokens = [new_user(server, f"{kind.split()[0].strip(chr(44)).lower()}{n}@example.com") for n in range(10)]
            ids = load(server, tokens, items)
            while int(sql("SELECT count(*) FROM entity_names WHERE filled_at IS NULL")):
                sql("INSERT INTO job_queue (user_id, job, run_at, waiting_since) SELECT DISTINCT user_id, 'entities', now(), now() FROM entity_names WHERE filled_at IS NULL ON CONFLICT (user_id, job) DO UPDATE SET run_at = now() WHERE job_queue.lease IS NULL")
                time.sleep(1)
            named = sql("SELECT count(*) || ' entities, ' || (SELECT count(*) FROM entity_mentions) || ' mentions' FROM entities")
            print(f"{kind}: {len(items)} items, {len(questions)} questions, {named}\n{'':28}" + "  ".join(f"{name:>8}" for name in PRINTED), flush=True)
            server.call.args[0].close()  # the server has closed what was idle; the next call connects
            for name, wanted in (("without", "false"), ("with entities", "true")):
                sql(f"INSERT INTO entity_settings (user_id, in_search) SELECT id, {wanted} FROM users ON CONFLICT (user_id) DO UPDATE SET in_search = {wanted}")
                found = [evidence(question, asked(server, tokens, ids, question, "hybrid")) for question in questions]
                for category, of in scores(questions, found)["1-10"].items():
                    print(f"{name:16} {str(category):11}" + "  ".join(f"{of[measure]:8.1f}" for measure in PRINTED), flush=True)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(*sys.argv[1:])
