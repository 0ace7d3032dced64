-- What was derived follows its source. Where a memory was said again: each message, of any session, that repeated it. The first
-- one stands in memory_items.
CREATE TABLE memory_repeats (
    user_id    bigint NOT NULL,
    item_id    bigint NOT NULL,
    session_id bigint NOT NULL,
    position   integer NOT NULL,             -- of the message in the session; 0: unknown
    PRIMARY KEY (user_id, item_id, session_id, position)
);
CREATE INDEX memory_repeats_session_idx ON memory_repeats (user_id, session_id, position);
ALTER TABLE memory_repeats ENABLE ROW LEVEL SECURITY;
ALTER TABLE memory_repeats FORCE ROW LEVEL SECURITY;
CREATE POLICY owner ON memory_repeats TO keepsake_owner USING (true) WITH CHECK (true);
CREATE POLICY tenant ON memory_repeats TO keepsake_app USING (user_id = (SELECT current_user_id()));
GRANT SELECT, INSERT ON memory_repeats TO keepsake_app;
INSERT INTO account_tables (name, place) VALUES ('memory_repeats', 7);
-- On a database that is distributed already; Citus takes no subquery in a policy.
DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_extension WHERE extname = 'citus')
       AND coalesce(current_setting('keepsake.distributed', true), '') = 'on' THEN
        ALTER POLICY tenant ON memory_repeats USING (user_id = current_user_id());
        PERFORM create_distributed_table('memory_repeats', 'user_id', colocate_with => 'memory_items');
    END IF;
END $$;
ALTER TABLE memory_repeats
    ADD FOREIGN KEY (user_id, item_id) REFERENCES memory_items (user_id, id) ON DELETE CASCADE,
    ADD FOREIGN KEY (user_id, session_id) REFERENCES sessions (user_id, id) ON DELETE CASCADE;
