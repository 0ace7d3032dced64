-- Recall: what came into which conversation by itself, so that nothing comes twice; and the settings of an agent.

-- An object with GoClaw's names; what is missing is as the server has it.
ALTER TABLE agents ADD COLUMN settings jsonb NOT NULL DEFAULT '{}'
    CONSTRAINT agents_settings_check CHECK (jsonb_typeof(settings) = 'object');
GRANT UPDATE (settings) ON agents TO keepsake_app;

CREATE TABLE recall_sessions (
    user_id  bigint NOT NULL,
    agent_id bigint NOT NULL,
    name     bytea NOT NULL,               -- SHA-256 of the agent's id of the session, which need not be known here
    told     bigint[] NOT NULL,            -- sources, and 0 for the summary; at most 500
    at       timestamptz NOT NULL,
    PRIMARY KEY (user_id, agent_id, name),
    FOREIGN KEY (user_id, agent_id) REFERENCES agents (user_id, id) ON DELETE CASCADE
);
CREATE INDEX recall_sessions_at_idx ON recall_sessions (at);
ALTER TABLE recall_sessions ENABLE ROW LEVEL SECURITY;
ALTER TABLE recall_sessions FORCE  ROW LEVEL SECURITY;
CREATE POLICY owner  ON recall_sessions TO keepsake_owner USING (true) WITH CHECK (true);
CREATE POLICY tenant ON recall_sessions TO keepsake_app USING (user_id = (SELECT current_user_id()));
GRANT SELECT, INSERT, UPDATE ON recall_sessions TO keepsake_app;
INSERT INTO account_tables (name, place) VALUES ('recall_sessions', 9);

-- Removes some of those that nobody has gone on in since. How many.
CREATE FUNCTION prune_recall_sessions(oldest timestamptz) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    n bigint;
BEGIN
    DELETE FROM recall_sessions r USING (
        SELECT user_id, agent_id, name FROM recall_sessions WHERE at < oldest LIMIT 10000
    ) gone
    WHERE r.user_id = gone.user_id AND r.agent_id = gone.agent_id AND r.name = gone.name;
    GET DIAGNOSTICS n = ROW_COUNT;
    RETURN n;
END $$;
REVOKE ALL ON FUNCTION prune_recall_sessions(timestamptz) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION prune_recall_sessions(timestamptz) TO keepsake_system;

-- One tool for everything, for models that several confuse.
ALTER TABLE agents
    DROP CONSTRAINT agents_tool_profile_check,
    ADD CONSTRAINT agents_tool_profile_check CHECK (tool_profile IN ('core', 'full', 'single'));
ALTER TABLE operators
    DROP CONSTRAINT operators_tool_profile_check,
    ADD CONSTRAINT operators_tool_profile_check CHECK (tool_profile IN ('core', 'full', 'single'));
