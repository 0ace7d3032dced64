-- Teams: what a leader's agent lends to its members.

-- The leader of the agent's team: calls of the agent read the leader's memory too.
CREATE OR REPLACE FUNCTION leader_of(account bigint, agent bigint) RETURNS TABLE (user_id bigint, id bigint, name text)
    LANGUAGE sql STABLE AS $$
    SELECT l.user_id, l.id, l.name FROM team_members m JOIN agents l ON l.user_id = m.leader_user AND l.id = m.leader_agent
    WHERE m.member_user = account AND m.member_agent = agent
$$;

-- Whether the acting agent may read this user's memory, and as whom: the leader's agent; 0: as nobody, who sees what is shared; NULL:
-- it may not.
CREATE OR REPLACE FUNCTION lends_to_me(lender bigint) RETURNS bigint
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT CASE WHEN m.id IS NOT NULL AND a.memory_enabled THEN a.id
                WHEN p.external_id IS NOT NULL AND p.external_id = o.pool AND p.id <> u.id THEN 0 END
    FROM users p
    JOIN users u ON u.id = current_user_id()
    LEFT JOIN team_members m
        ON m.member_user = u.id AND m.member_agent = scope_agent() AND m.leader_user = p.id
    LEFT JOIN agents a ON a.user_id = m.leader_user AND a.id = m.leader_agent
    LEFT JOIN operators o ON o.id = u.operator_id AND o.id = p.operator_id
    WHERE p.id = lender AND p.disabled_at IS NULL AND p.memory_enabled
$$;

-- From here on the transaction, which must be read-only, reads what this user lends to the acting agent; KS002 if nothing is lent. The
-- only way from one user to another.
CREATE OR REPLACE FUNCTION enter_lent(lender bigint) RETURNS void
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    sees_as CONSTANT bigint := lends_to_me(lender);
BEGIN
    IF sees_as IS NULL OR current_setting('transaction_read_only') <> 'on' THEN
        RAISE EXCEPTION USING ERRCODE = 'KS002', MESSAGE = 'not_lent';
    END IF;
    PERFORM set_config('keepsake.lent', 'on', true),
            set_config('keepsake.user_id', lender::text, true), set_config('keepsake.agent', sees_as::text, true),
            set_config('keepsake.scope', CASE sees_as WHEN 0 THEN 'shared' ELSE 'own_only' END, true);
END $$;

-- Whether the transaction reads another user's memory.
CREATE OR REPLACE FUNCTION is_lent() RETURNS boolean LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT current_setting('keepsake.lent', true) IS NOT DISTINCT FROM 'on'
$$;

-- Raises KS001 in a team whose members only read. After `require_token`, which sets the agent.
CREATE OR REPLACE FUNCTION require_team_writes() RETURNS void
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    team team_members%ROWTYPE;
BEGIN
    SELECT * INTO team FROM team_members WHERE member_user = current_user_id() AND member_agent = scope_agent();
    IF FOUND AND EXISTS (SELECT FROM agents WHERE user_id = team.leader_user AND id = team.leader_agent AND members_read_only) THEN
        RAISE EXCEPTION USING ERRCODE = 'KS001', MESSAGE = 'read_only_team';
    END IF;
END $$;

-- Uses up the invitation: the agent of the current user joins. 'joined', or the reason why not.
CREATE OR REPLACE FUNCTION join_team(hash bytea, agent bigint, members_max bigint, at timestamptz) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    me      CONSTANT bigint := current_user_id();
    invited team_invitations%ROWTYPE;
BEGIN
    IF NOT EXISTS (SELECT FROM agents WHERE user_id = me AND id = agent) THEN
        RETURN 'no_agent';
    END IF;
    DELETE FROM team_invitations WHERE code_hash = hash AND expires_at > at RETURNING * INTO invited;
    IF NOT FOUND OR NOT EXISTS (SELECT FROM users WHERE id = invited.leader_user AND disabled_at IS NULL) THEN
        RETURN 'unknown';
    END IF;
    IF (invited.leader_user, invited.leader_agent) = (me, agent) THEN
        RETURN 'leader';
    END IF;
    -- Those who join at once come one after another.
    PERFORM FROM agents WHERE user_id = invited.leader_user AND id = invited.leader_agent FOR UPDATE;
    IF (SELECT count(*) FROM team_members
        WHERE leader_user = invited.leader_user AND leader_agent = invited.leader_agent) >= members_max THEN
        RETURN 'full';
    END IF;
    INSERT INTO team_members (leader_user, leader_agent, member_user, member_agent, created_at)
    VALUES (invited.leader_user, invited.leader_agent, me, agent, at)
    ON CONFLICT ON CONSTRAINT team_members_member_key DO NOTHING;
    RETURN CASE WHEN FOUND THEN 'joined' ELSE 'in_a_team' END;
END $$;

-- The current user's memberships, on either side.
CREATE OR REPLACE FUNCTION my_teams() RETURNS TABLE (
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

-- The open invitation with this hash of its code.
CREATE OR REPLACE FUNCTION find_invitation(hash bytea, at timestamptz) RETURNS TABLE (agent text, person text, read_only boolean)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT a.name, CASE WHEN u.id <> current_user_id() THEN u.email END, a.members_read_only
    FROM team_invitations i
    JOIN users u ON u.id = i.leader_user AND u.disabled_at IS NULL
    JOIN agents a ON a.user_id = i.leader_user AND a.id = i.leader_agent
    WHERE i.code_hash = hash AND i.expires_at > at
$$;

-- A member's name in the current user's activity: its agent, with its person if that is somebody else.
CREATE OR REPLACE FUNCTION member_name(account bigint, agent bigint) RETURNS text
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT a.name || CASE WHEN u.id <> current_user_id() THEN ' (' || u.email || ')' ELSE '' END
    FROM agents a JOIN users u ON u.id = a.user_id
    WHERE a.user_id = account AND a.id = agent
      AND EXISTS (SELECT FROM activity c WHERE c.user_id = current_user_id() AND c.member_user = account AND c.member_agent = agent)
$$;

-- Calls of members that found these sources lose them and their query.
CREATE OR REPLACE FUNCTION forget_lent_reads(gone bigint[]) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    UPDATE activity
    SET item_ids = ARRAY(SELECT other.id FROM unnest(item_ids) AS other (id) WHERE other.id <> ALL (gone)), query = NULL,
        lent_ids = nullif(ARRAY(SELECT other.id FROM unnest(lent_ids) AS other (id) WHERE other.id <> ALL (gone)), '{}')
    WHERE lent_ids && gone;
END $$;
