-- When a person undid what an agent had changed since a moment (src/containment), so that they can take it back, and so that
-- these changes are not taken for somebody else's.
CREATE TABLE agent_undos (
    user_id        bigint NOT NULL,
    agent_id       bigint NOT NULL,
    since          timestamptz NOT NULL,
    made_at        timestamptz NOT NULL,  -- when all items were changed
    ended_at       timestamptz NOT NULL,  -- when the last document was
    taken_back_at  timestamptz,           -- likewise, when it was taken back
    back_ended_at  timestamptz,
    PRIMARY KEY (user_id, agent_id, made_at)
);
ALTER TABLE agent_undos ENABLE ROW LEVEL SECURITY;
ALTER TABLE agent_undos FORCE  ROW LEVEL SECURITY;
CREATE POLICY owner  ON agent_undos TO keepsake_owner USING (true) WITH CHECK (true);
CREATE POLICY tenant ON agent_undos TO keepsake_app USING (user_id = (SELECT current_user_id()));
GRANT SELECT, INSERT, UPDATE, DELETE ON agent_undos TO keepsake_app;
INSERT INTO account_tables (name, place) VALUES ('agent_undos', 7);
-- On a database that is distributed already; Citus takes no subquery in a policy.
DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_extension WHERE extname = 'citus')
       AND coalesce(current_setting('keepsake.distributed', true), '') = 'on' THEN
        ALTER POLICY tenant ON agent_undos USING (user_id = current_user_id());
        PERFORM create_distributed_table('agent_undos', 'user_id', colocate_with => 'memory_items');
    END IF;
END $$;
ALTER TABLE agent_undos ADD FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE;
ALTER TABLE agent_undos ADD FOREIGN KEY (user_id, agent_id) REFERENCES agents (user_id, id);
