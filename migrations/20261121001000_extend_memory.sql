-- What an item is known by and how long it holds: keys that supersede, provenance, expiry; and
-- which tools an agent is told of. The items' columns are there from the beginning: what comes
-- here guards them.

-- The key belongs to what makes an exact duplicate: two facts of the same value ("true") under two
-- keys are two items. With the expiry in it, counts by theme leave out what has expired off the index.
DROP INDEX memory_items_active_content_key;
CREATE UNIQUE INDEX memory_items_active_content_key
    ON memory_items (user_id, theme_id, content_hash, key)
    INCLUDE (expires_at) NULLS NOT DISTINCT WHERE status = 'active';
-- One active item of a key in its theme: of two that supersede it at once, one waits for the other.
CREATE UNIQUE INDEX memory_items_active_key_key
    ON memory_items (user_id, theme_id, key) WHERE status = 'active' AND key IS NOT NULL;
-- What has expired and is not archived yet: the sweep looks for it among all users.
CREATE INDEX memory_items_expiring_idx
    ON memory_items (expires_at, user_id) WHERE status = 'active' AND expires_at IS NOT NULL;
GRANT SELECT (status, expires_at) ON memory_items TO keepsake_system;

-- superseded: another item of its key took its place. named: it was given its key.
ALTER TABLE memory_item_events DROP CONSTRAINT memory_item_events_event_check;
ALTER TABLE memory_item_events ADD CONSTRAINT memory_item_events_event_check
    CHECK (event IN ('added', 'archived', 'imported', 'superseded', 'confirmed', 'expired', 'named'));

-- Which tools are listed for an agent; what it may do, its tokens' scopes say.
ALTER TABLE agents ADD COLUMN tool_profile text NOT NULL DEFAULT 'core'
    CONSTRAINT agents_tool_profile_check CHECK (tool_profile IN ('core', 'full'));
GRANT UPDATE (tool_profile) ON agents TO keepsake_app;
-- Of an operator, for all of its users.
ALTER TABLE operators ADD COLUMN tool_profile text NOT NULL DEFAULT 'core'
    CONSTRAINT operators_tool_profile_check CHECK (tool_profile IN ('core', 'full'));
GRANT UPDATE (tool_profile) ON operators TO keepsake_system;
