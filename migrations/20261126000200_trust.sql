-- Whose word a memory is (DESIGN §8): a class of its own beside the source, which says how it came.

-- One rewrite gives old rows their class; from then on whoever writes a row says it.
ALTER TABLE memory_items
    ADD COLUMN trust text NOT NULL GENERATED ALWAYS AS (CASE
        WHEN type = 'turn' AND source = 'user' OR source = 'user_explicit' THEN 'user'
        WHEN source IN ('tool_call', 'auto_discovery') THEN 'tool'
        WHEN source = 'web' THEN 'external'
        ELSE 'agent' END) STORED;
ALTER TABLE memory_items
    ALTER COLUMN trust DROP EXPRESSION,
    ALTER COLUMN trust SET DEFAULT 'agent',
    ADD CONSTRAINT memory_items_trust_check CHECK (trust IN ('user', 'agent', 'tool', 'external'));

-- changed: it was said again, or corrected, with other tags, dates, confidence or trust.
-- put_aside: it came when an item that it contradicts held, and never held itself.
ALTER TABLE memory_item_events DROP CONSTRAINT memory_item_events_event_check;
ALTER TABLE memory_item_events ADD CONSTRAINT memory_item_events_event_check
    CHECK (event IN ('added', 'archived', 'imported', 'superseded', 'put_aside', 'confirmed', 'expired', 'named',
                     'restored', 'unconfirmed', 'changed'));
UPDATE memory_item_events e SET event = 'put_aside'
WHERE e.event = 'superseded' AND EXISTS (
    SELECT FROM memory_item_events a
    WHERE a.user_id = e.user_id AND a.item_id = e.item_id AND a.event = 'added' AND a.at = e.at);
