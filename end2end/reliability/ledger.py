"""What the server has acknowledged, kept by who was told so, and held against what is in the database.

Whatever was asked for and not answered may have happened or not; asked for again, it must have happened once."""

ACTIVE, ARCHIVED, ERASED = "active", "archived", "erased"


class Ledger:
    """One user's."""

    def __init__(self):
        self.items = {}  # id → text, as acknowledged
        self.status = {}  # id → the statuses that it may have now
        self.unanswered = set()  # texts of adds that nobody answered
        self.models = {"none"}  # the model that was confirmed last, and those asked for since without an answer

    def added(self, item_id, text):
        self.unanswered.discard(text)
        self.items[item_id] = text
        self.status.setdefault(item_id, {ACTIVE})

    def begins(self, item_id, status):
        """Asked for: from here on it may be so."""
        self.status[item_id] = self.status[item_id] | {status}

    def done(self, item_id, status):
        self.status[item_id] = {status}

    def certain(self, status):
        return [item_id for item_id, may_be in self.status.items() if may_be == {status}]

    def lost(self, rows):
        """Sentences about what is not as it was acknowledged. `rows`: id → (text, status) of all items there are."""
        for item_id, text in self.items.items():
            found = rows.get(item_id)
            if found is None:
                if ERASED not in self.status[item_id]:
                    yield f"item {item_id} is gone"
            elif found[0] != text:
                yield f"item {item_id} has another text"
            elif found[1] not in self.status[item_id]:
                yield f"item {item_id} is {found[1]} and was acknowledged {' or '.join(self.status[item_id])}"
        known = set(self.items.values())
        texts = [text for text, _ in rows.values()]
        for text in set(texts):
            if text not in known and text not in self.unanswered:
                yield "there is an item that nobody added"
        if len(texts) != len(set(texts)):
            yield f"{len(texts) - len(set(texts))} texts are stored twice"
