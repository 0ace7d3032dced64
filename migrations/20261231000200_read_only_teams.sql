-- A leader may make its team strictly read-only: its members then write nothing at all, not even in their own memory.
ALTER TABLE agents ADD COLUMN members_read_only boolean NOT NULL DEFAULT false;
GRANT UPDATE (members_read_only) ON agents TO keepsake_app;

-- For a transaction in which an agent writes, after `require_token`, which says which agent it is.
CREATE FUNCTION require_team_writes() RETURNS void
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    team team_members%ROWTYPE;
BEGIN
    SELECT * INTO team FROM team_members WHERE member_user = current_user_id() AND member_agent = scope_agent();
    IF FOUND AND EXISTS (SELECT FROM agents WHERE user_id = team.leader_user AND id = team.leader_agent AND members_read_only) THEN
        RAISE EXCEPTION USING ERRCODE = 'KS001', MESSAGE = 'read_only_team';
    END IF;
END $$;
REVOKE ALL ON FUNCTION require_team_writes() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION require_team_writes() TO keepsake_app;

-- As before, with what the team's leader allows.
DROP FUNCTION my_teams();
CREATE FUNCTION my_teams() RETURNS TABLE (
    id bigint, leads boolean, agent_id bigint, other_agent text, other_agent_id bigint, person text, since timestamptz, read_only boolean)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT m.id, side.leads, CASE WHEN side.leads THEN m.leader_agent ELSE m.member_agent END, a.name, a.id,
           CASE WHEN u.id <> current_user_id() THEN u.email END, m.created_at, l.members_read_only
    FROM team_members m
    CROSS JOIN (VALUES (true), (false)) side (leads)
    JOIN users u ON u.id = CASE WHEN side.leads THEN m.member_user ELSE m.leader_user END
    JOIN agents a ON a.user_id = u.id AND a.id = CASE WHEN side.leads THEN m.member_agent ELSE m.leader_agent END
    JOIN agents l ON l.user_id = m.leader_user AND l.id = m.leader_agent
    WHERE CASE WHEN side.leads THEN m.leader_user ELSE m.member_user END = current_user_id() AND u.erasing_at IS NULL
    ORDER BY m.created_at, m.id
$$;
REVOKE ALL ON FUNCTION my_teams() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION my_teams() TO keepsake_app;

DROP FUNCTION find_invitation(bytea, timestamptz);
CREATE FUNCTION find_invitation(hash bytea, at timestamptz) RETURNS TABLE (agent text, person text, read_only boolean)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT a.name, CASE WHEN u.id <> current_user_id() THEN u.email END, a.members_read_only
    FROM team_invitations i
    JOIN users u ON u.id = i.leader_user AND u.disabled_at IS NULL
    JOIN agents a ON a.user_id = i.leader_user AND a.id = i.leader_agent
    WHERE i.code_hash = hash AND i.expires_at > at
$$;
REVOKE ALL ON FUNCTION find_invitation(bytea, timestamptz) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION find_invitation(bytea, timestamptz) TO keepsake_app;

-- A restore of an older backup repeats it.
ALTER TABLE erasure_notes DROP CONSTRAINT erasure_notes_what_check, ADD CONSTRAINT erasure_notes_what_check CHECK (what IN (
    'memory', 'session', 'document', 'account', 'message', 'entity',
    'token_revoked', 'service_token_revoked', 'account_disabled', 'account_enabled', 'admin_demoted', 'admin_promoted',
    'team_left', 'team_read_only', 'team_writable', 'webhook_deleted', 'agent_off', 'agent_on', 'memory_off', 'memory_on',
    'chat_off', 'chat_on', 'embeddings_off', 'embeddings_on', 'chat_endpoint_removed', 'embedding_endpoint_removed',
    'endpoint_disallowed', 'endpoint_allowed'));
