-- When what a memory says is true in the world, apart from when it was recorded. Either side may be open.
ALTER TABLE memory_items
    ADD COLUMN valid_from timestamptz,
    ADD COLUMN valid_until timestamptz,     -- the first moment at which it is true no more
    ADD CONSTRAINT memory_items_valid_check CHECK (valid_until > valid_from);

-- What an event changed, as it was before, beside the columns that are there for that.
ALTER TABLE memory_item_events
    ADD COLUMN was_trust text,
    ADD COLUMN was_tags text[],
    ADD COLUMN was_valid_from timestamptz,
    ADD COLUMN was_valid_until timestamptz;
