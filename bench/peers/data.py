"""What is remembered and what is asked, the same for every peer: made from numbers alone, so that any process
can make any of it again. Standard library only: every peer's environment imports it.

All users speak of the same 200 subjects, as people do, each of 40 of them. An item has 12 to 26 words, most of
them of its subject; a question has some words of one item and one word besides."""
import functools
import itertools
import random

SUBJECTS, SUBJECTS_OF_USER, WORDS_OF_SUBJECT = 200, 40, 30
SYLLABLES = ("ba", "co", "di", "fu", "ge", "lo", "mi", "pa", "ru", "se", "ta", "vo")
ENDINGS = ("ker", "lan", "mor", "nit", "pol", "ras", "ston", "tev", "vin", "zel", "dak", "rum")
WORDS = ["".join(parts) for parts in itertools.product(SYLLABLES, SYLLABLES, ENDINGS)]
COMMON_WORDS = 60  # the first of them, of any subject


def item(user, n):
    """Item n of a user. No two are alike, and none is longer than what an answer quotes."""
    dice = random.Random(f"item {user} {n}")
    subject = words_of(dice.choice(subjects_of(user)))
    words = [dice.choice(subject) if dice.random() < 0.7 else common_word(dice) for _ in range(dice.randrange(12, 27))]
    return f"{' '.join(words)} {n}"


def query(user, name, items):
    """A question of a user who has so many items; another for every name."""
    dice = random.Random(f"query {user} {name}")
    words = item(user, dice.randrange(items)).split()[:-1]
    asked = dice.sample(words, dice.randrange(4, 8))
    return " ".join([*asked, dice.choice(WORDS)])


@functools.lru_cache(maxsize=4096)
def subjects_of(user):
    return random.Random(f"user {user}").sample(range(SUBJECTS), SUBJECTS_OF_USER)


@functools.lru_cache(maxsize=SUBJECTS)
def words_of(subject):
    return random.Random(f"subject {subject}").sample(WORDS[COMMON_WORDS:], WORDS_OF_SUBJECT)


def common_word(dice):
    """Few words come often and many seldom, as in real text."""
    return WORDS[min(int(dice.expovariate(1 / 15)), COMMON_WORDS - 1)]
