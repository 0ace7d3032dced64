-- What agents and the server have stored, for its person to look at; and what that person says is not worth keeping.

CREATE TABLE learned_seen (
    user_id bigint PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    seen_id bigint NOT NULL          -- memories up to it were looked at
);
-- Looked at singly, above that.
CREATE TABLE learned_kept (
    user_id bigint NOT NULL,
    item_id bigint NOT NULL,
    PRIMARY KEY (user_id, item_id),
    FOREIGN KEY (user_id, item_id) REFERENCES memory_items (user_id, id) ON DELETE CASCADE
);
-- Told to the model that reads sessions. Of a memory that was forgotten it is the beginning, and goes with it.
CREATE TABLE unwanted (
    user_id bigint NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    id      bigint GENERATED ALWAYS AS IDENTITY,
    item_id bigint,
    text    text NOT NULL,
    PRIMARY KEY (user_id, id),
    CONSTRAINT unwanted_item_key UNIQUE (user_id, item_id),
    FOREIGN KEY (user_id, item_id) REFERENCES memory_items (user_id, id) ON DELETE CASCADE
);
ALTER TABLE unwanted ALTER COLUMN text SET STATISTICS 0;
-- Whoever is here already begins with what comes.
INSERT INTO learned_seen (user_id, seen_id) SELECT user_id, max(id) FROM memory_items GROUP BY user_id;

DO $$
DECLARE
    one text;
BEGIN
    FOREACH one IN ARRAY ARRAY['learned_seen', 'learned_kept', 'unwanted'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', one);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', one);
        EXECUTE format('CREATE POLICY owner ON %I TO keepsake_owner USING (true) WITH CHECK (true)', one);
        EXECUTE format('CREATE POLICY tenant ON %I TO keepsake_app USING (user_id = (SELECT current_user_id()))', one);
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO keepsake_app', one);
    END LOOP;
END $$;
INSERT INTO account_tables (name, place) VALUES ('learned_seen', NULL), ('learned_kept', 7), ('unwanted', 7);

CREATE INDEX memory_items_learned_idx ON memory_items (user_id, id DESC) WHERE theme_id IS NOT NULL AND status = 'active';
