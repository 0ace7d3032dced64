"""Memories written by SQL, as the API would write them but in seconds: a million through the API take half an hour.
Texts are of run.py's words, vectors are MiniLM's of tools/demo/memories.jsonl and mixtures of two of those."""
import contextlib
import functools
import hashlib
import itertools
import json
import random
import struct
import time
import zlib
from collections import Counter
from types import SimpleNamespace

import numpy as np
import psycopg

import vectors
from minilm import MODEL, MiniLM, cached
from run import REPO, WORDS, common_words, free_port, keepsake, rare_word
from sql import URL, sql

TABLES = ("memory_items", "memory_passages", "memory_embeddings")
ITEMS_OF_OTHERS = 1_000
FIRST_ID = 1_000_000
TEXTS = 2_000
BASE_TEXTS = 200
# A text of fewer words may be in any language of its script, one of so many in none (src/core/languages/recognised.rs).
WORDS_OF_OTHERS = 24
KNOWN_TEXTS = [" ".join([rare_word(0), *WORDS[:count]]) for count in (WORDS_OF_OTHERS - 2, WORDS_OF_OTHERS - 1, len(WORDS))]
STATES_NOTHING = zlib.crc32(b"?:")
NEW_YEAR_2026 = 9_497 * 86_400  # as PostgreSQL counts seconds: since 2000
accounts = itertools.count(1)
dice = np.random.default_rng(7)


@contextlib.contextmanager
def memories(provider=vectors.Provider):
    """The release server, a stand-in for its provider, and what writes users and their items."""
    port = free_port()
    vectors.start_provider(port, provider)
    with keepsake(KEEPSAKE_LLAMACPP_URL=f"http://127.0.0.1:{port}") as server, psycopg.connect(URL, autocommit=True) as db:
        server.provider_port = port
        yield Memories(server, db)


class Memories:
    def __init__(self, server, db):
        texts = [json.loads(line)["content"] for line in open(REPO / "tools/demo/memories.jsonl")]
        self.base = cached(MiniLM(MODEL), texts[:BASE_TEXTS])
        self.server, self.db, self.count, self.halves = server, db, 0, halves(grown(self.base, 10_000))
        db.execute("SET session_replication_role = replica; SET maintenance_work_mem = '1GB'")
        self.learn_stems()

    def learn_stems(self):
        for text in (*WORDS, *KNOWN_TEXTS):
            self.server.call("memory_add", {"type": "fact", "theme": "words", "content": text})
        made = dict(self.db.execute("SELECT content, terms FROM memory_items JOIN memory_passages USING (user_id) WHERE memory_items.id = source_id").fetchall())
        learn_stems(made.get)
        for table in (*TABLES, "memory_themes"):
            self.db.execute(f"DELETE FROM {table}")

    def of(self, size, themes=20, memory_each=1, fill=True):
        """A user who can be asked, whose first item came through the API and made the space. Of `memory_each` items
        one is a memory, the others are turns."""
        email = f"filled{next(accounts)}@example.com"
        self.server.run("user", "create", "--email", email, "--password-stdin", input="a long password\n")
        token = self.server.run("token", "create", "--email", email, "--agent", "bench")
        self.server.call("memory_add", {"type": "fact", "theme": "theme-0", "content": KNOWN_TEXTS[0]}, token=token)
        id = int(sql(f"SELECT id FROM users WHERE email = '{email}'"))
        while not int(sql(f"SELECT count(*) FROM memory_embeddings WHERE state = 'ready' AND user_id = {id}")):
            time.sleep(0.1)
        for table in (*TABLES, "memory_themes"):
            self.db.execute(f"DELETE FROM {table} WHERE user_id = %s", (id,))
        user = SimpleNamespace(id=id, email=email, token=token, size=size, themes=themes, memory_each=memory_each, vectors=grown(self.base, size))
        if fill:
            self.fill([user])
        return user

    def others_until(self, total):
        """Users who are never asked, of ITEMS_OF_OTHERS each."""
        missing = max(0, total - self.count)
        others = [SimpleNamespace(id=FIRST_ID + next(accounts), size=ITEMS_OF_OTHERS, themes=20, memory_each=1, vectors=None) for _ in range(-(-missing // ITEMS_OF_OTHERS))]
        for user in others:
            self.db.execute("INSERT INTO users (id, email, password_hash, role, created_at, updated_at) OVERRIDING SYSTEM VALUE "
                            "VALUES (%s, %s, '', 'member', now(), now())", (user.id, f"other{user.id}@example.com"))
        self.fill(others)

    def fill(self, users):
        """Their rows lie mixed, as when they are added over time."""
        for user in users:
            user.first, user.space = FIRST_ID + self.count, int(sql(f"SELECT coalesce(max(id), 1) FROM embedding_spaces WHERE user_id = {user.id}"))
            user.halves = self.halves if user.vectors is None else halves(user.vectors)
            self.db.execute("INSERT INTO memory_themes (user_id, id, slug, display_name, created_at, updated_at) OVERRIDING SYSTEM VALUE "
                            "SELECT %s, 1000 + n, 'theme-' || n, 'theme-' || n, now(), now() FROM generate_series(0, %s) n", (user.id, user.themes - 1))
            self.count += user.size
        by_id = {user.id: user for user in users}
        order = sorted(((n + random.random()) / user.size, user.id, n) for user in users for n in range(user.size))

        def rows():
            for at, id, n in order:
                user = by_id[id]
                theme = None if n % user.memory_each else 1_000 + n % user.themes
                yield id, user.space, user.first + n, theme, text(user.first + n), int(at * 1e6), user.halves[n % len(user.halves)]
        with self.without_indexes():
            copy(self.db, rows)
        sql("VACUUM ANALYZE")

    @contextlib.contextmanager
    def without_indexes(self):
        """Making them anew is several times faster than writing into them."""
        made = self.db.execute("SELECT indexrelid::regclass::text, pg_get_indexdef(indexrelid) FROM pg_index "
                               "WHERE indrelid = ANY (%s::regclass[]) AND NOT indisprimary", (list(TABLES),)).fetchall()
        for name, _ in made:
            self.db.execute(f"DROP INDEX {name}")
        yield
        for _, definition in made:
            self.db.execute(definition)


def copy(db, rows):
    """Writes what `rows` gives, each time it is called: (user, space, id, theme, text, second, half); without a theme it
    is a turn."""
    long = lambda n: struct.pack(">q", n)
    with db.cursor().copy("COPY memory_items (user_id, id, theme_id, type, content, content_hash, source, created_at, updated_at, "
                          "turn_session_id, turn_position, turn_part) FROM STDIN") as items:
        for user, _, id, theme, content, second, _ in rows():
            when = f"2026-01-{1 + second // 86_400:02} {second // 3_600 % 24:02}:{second // 60 % 60:02}:{second % 60:02}+00"
            place = (None, None, None) if theme else (1, id, 1)
            items.write_row((user, id, theme, "fact" if theme else "turn", content, id.to_bytes(32, "big"), "agent", when, when, *place))
    with db.cursor().copy("COPY memory_passages (user_id, source_id, n, start, length, content_hash, terms) FROM STDIN") as passages:
        for user, _, id, _, content, *_ in rows():
            passages.write_row((user, id, 0, 0, len(content), hashlib.sha256(content.encode()).digest()[:16], terms(content)))
    users = set()
    with db.cursor().copy("COPY memory_embeddings (user_id, space_id, source_id, state, is_turn, embedding, updated_at) FROM STDIN (FORMAT BINARY)") as made:
        made.write(b"PGCOPY\n\xff\r\n\0" + bytes(8))
        for user, space, id, theme, _, second, half in rows():
            users.add(user)
            fields = [long(user), long(space), long(id), b"ready", struct.pack("?", not theme), half, long((NEW_YEAR_2026 + second) * 1_000_000)]
            made.write(struct.pack(">h", len(fields)) + b"".join(struct.pack(">i", len(f)) + f for f in fields))
        made.write(struct.pack(">h", -1))
    tell(db, users)


def tell(db, users):
    """A server that has these users' memories in RAM reads all of them anew."""
    db.execute("INSERT INTO memory_revisions (user_id, revision, told_from) SELECT id, 1, 1 FROM unnest(%s::bigint[]) AS u (id) "
               "ON CONFLICT (user_id) DO UPDATE SET revision = memory_revisions.revision + 1, told_from = memory_revisions.revision + 1", (list(users),))


# Of each word the numbers of its lexemes in a short text. A rare word has none beside its own.
stems = {}


def learn_stems(made):
    """Asks for the terms that the product makes (`made`): which stems a word has in a short text, in all languages of its script.
    Then it must make the same of whole texts."""
    for word in WORDS:
        count = len(made(word)) // 5
        stems[word] = {*struct.unpack(f"<{count}I", made(word)[:4 * count])} - {STATES_NOTHING}
    for text in KNOWN_TEXTS:
        assert made(text) == terms(text), f"the product makes other terms: {text}"


def terms(text):
    """What a text is found by (src/core/memories/passages/terms.rs). In a long text, of no known language, run.py's words
    have their English stems alone: those in -s another."""
    words = text.split()
    if len(words) < WORDS_OF_OTHERS:
        counts = Counter(number for word in words for number in stems.get(word) or (zlib.crc32(word.encode()),))
    else:
        counts = Counter(zlib.crc32(lexeme.encode()) for word in words for lexeme in {word, word.removesuffix("s")})
    found = sorted(counts.items())
    return struct.pack(f"<{len(found)}I", *(number for number, _ in found)) + bytes(min(count, 255) for _, count in found)


def text(number):
    return f"{rare_word(number)} {tail(number % TEXTS)}"


@functools.cache
def tail(_):
    return " ".join(common_words(random.randrange(10, 40)))


def grown(base, size):
    """Rows of `base`, and past them mixtures of two."""
    count = max(0, size - len(base))
    one, other = (base[dice.integers(0, len(base), count)] for _ in range(2))
    share = dice.uniform(0.2, 0.5, (count, 1))
    mixed = (1 - share) * one + share * other + dice.normal(0, 0.01, (count, base.shape[1]))
    rows = base[dice.permutation(len(base))[:size]]
    return np.vstack([rows, mixed / np.linalg.norm(mixed, axis=1, keepdims=True)]).astype(np.float32)


def halves(rows):
    """As pgvector's halfvec is sent."""
    head = struct.pack(">hh", rows.shape[1], 0)
    return [head + row.tobytes() for row in rows.astype(">f2")]


def queries_of(user, count):
    """Of one rare word, of a rare and a common one, and of two common ones."""
    rare = lambda: rare_word(user.first + random.randrange(user.size))
    kinds = (lambda: [rare()], lambda: [rare(), *common_words(1)], lambda: common_words(2))
    return [" ".join(kind()) for kind in kinds * (count // len(kinds))]
