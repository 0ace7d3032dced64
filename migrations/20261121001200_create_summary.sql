-- The summary: one narrative a user, written by the user's chat model from active items, and
-- which items it stands on. The text never outlives one of them: whatever takes an item away
-- takes the text as well, by the trigger below. It is then written anew.

CREATE TABLE memory_summaries (
    user_id      bigint PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    body         text,                          -- NULL: none was written yet, or it was dropped
    made_at      timestamptz,
    model        text,                          -- as its endpoint calls it
    facts_hash   bytea,                         -- of what it stands on: the same facts are not asked about twice
    facts_total  bigint NOT NULL DEFAULT 0,     -- active items at the time: it may stand on fewer
    made_event   bigint NOT NULL DEFAULT 0,     -- it is true up to this event of the items' history
    tried_event  bigint NOT NULL DEFAULT 0,     -- nothing is due for what happened up to this one
    next_try_at  timestamptz,                   -- it is to be written then
    lease_until  timestamptz,                   -- somebody is at it until then
    started_at   timestamptz,                   -- the last attempt; who ends it names it
    attempts     integer NOT NULL DEFAULT 0,    -- that failed since the last that did not
    failure      text,                          -- why the last attempt failed: a clause for people
    CONSTRAINT memory_summaries_made_check CHECK ((body IS NULL) = (made_at IS NULL))
);
CREATE INDEX memory_summaries_due_idx ON memory_summaries (next_try_at, user_id) WHERE next_try_at IS NOT NULL;

CREATE TABLE memory_summary_items (
    user_id bigint NOT NULL REFERENCES memory_summaries (user_id) ON DELETE CASCADE,
    item_id bigint NOT NULL,
    PRIMARY KEY (user_id, item_id),
    FOREIGN KEY (user_id, item_id) REFERENCES memory_items (user_id, id) ON DELETE CASCADE
);

-- Due since it was made: at once. Whoever writes it anew replaces the items first, and then the text.
CREATE FUNCTION drop_summary_without_its_items() RETURNS trigger
    LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
    UPDATE memory_summaries
    SET body = NULL, made_at = NULL, model = NULL, facts_hash = NULL, made_event = 0, next_try_at = made_at,
        attempts = 0, failure = NULL
    WHERE user_id IN (SELECT user_id FROM gone) AND body IS NOT NULL;
    RETURN NULL;
END $$;
CREATE TRIGGER drop_summary AFTER DELETE ON memory_summary_items REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION drop_summary_without_its_items();

ALTER TABLE memory_summaries     ENABLE ROW LEVEL SECURITY;
ALTER TABLE memory_summaries     FORCE  ROW LEVEL SECURITY;
ALTER TABLE memory_summary_items ENABLE ROW LEVEL SECURITY;
ALTER TABLE memory_summary_items FORCE  ROW LEVEL SECURITY;

CREATE POLICY owner ON memory_summaries     TO keepsake_owner USING (true) WITH CHECK (true);
CREATE POLICY owner ON memory_summary_items TO keepsake_owner USING (true) WITH CHECK (true);

CREATE POLICY tenant ON memory_summaries     TO keepsake_app USING (user_id = (SELECT current_user_id()));
CREATE POLICY tenant ON memory_summary_items TO keepsake_app USING (user_id = (SELECT current_user_id()));

GRANT SELECT, INSERT, UPDATE ON memory_summaries TO keepsake_app;
GRANT SELECT, INSERT, DELETE ON memory_summary_items TO keepsake_app;

-- For the sweep: whose memory changed since it was last looked at, and who wants a summary. When
-- something happened, never what nor to which item.
CREATE POLICY system ON memory_summaries   FOR SELECT TO keepsake_system USING (true);
CREATE POLICY system ON memory_item_events FOR SELECT TO keepsake_system USING (true);
GRANT SELECT (user_id, tried_event, next_try_at, lease_until, started_at) ON memory_summaries TO keepsake_system;
GRANT SELECT (user_id, id, at) ON memory_item_events TO keepsake_system;
GRANT SELECT (enabled, own_enabled, summary_enabled) ON chat_settings TO keepsake_system;

INSERT INTO account_tables (name, place) VALUES ('memory_summary_items', 35), ('memory_summaries', NULL);

-- As for all texts: ANALYZE keeps no samples of them.
ALTER TABLE memory_summaries
    ALTER COLUMN body SET STATISTICS 0, ALTER COLUMN model SET STATISTICS 0,
    ALTER COLUMN facts_hash SET STATISTICS 0, ALTER COLUMN failure SET STATISTICS 0;
