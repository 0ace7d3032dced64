-- Teams and global pools: memory of another user that an agent may read, and never write. A leader lends what is its own
-- alone; an operator's pool lends what is shared in the memory of one of the operator's users.

-- Member agents of a leader agent, of the leader's user or of others who have accepted an invitation. Found from both sides,
-- so that it is of no one user. An agent is in one team.
CREATE TABLE team_members (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    leader_user  bigint NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    leader_agent bigint NOT NULL,
    member_user  bigint NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    member_agent bigint NOT NULL,
    created_at   timestamptz NOT NULL,
    CONSTRAINT team_members_member_key UNIQUE (member_user, member_agent),
    CONSTRAINT team_members_others_check CHECK ((leader_user, leader_agent) <> (member_user, member_agent))
);
CREATE INDEX team_members_leader_idx ON team_members (leader_user, leader_agent);

-- What a leader's person hands to another: good for one agent of whoever has the code.
CREATE TABLE team_invitations (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    code_hash    bytea NOT NULL,        -- SHA-256 of the code, which is nowhere
    leader_user  bigint NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    leader_agent bigint NOT NULL,
    created_at   timestamptz NOT NULL,
    expires_at   timestamptz NOT NULL,
    CONSTRAINT team_invitations_code_key UNIQUE (code_hash)
);
CREATE INDEX team_invitations_leader_idx ON team_invitations (leader_user, leader_agent);

ALTER TABLE team_members     ENABLE ROW LEVEL SECURITY;
ALTER TABLE team_members     FORCE  ROW LEVEL SECURITY;
ALTER TABLE team_invitations ENABLE ROW LEVEL SECURITY;
ALTER TABLE team_invitations FORCE  ROW LEVEL SECURITY;
CREATE POLICY owner ON team_members     TO keepsake_owner USING (true) WITH CHECK (true);
CREATE POLICY owner ON team_invitations TO keepsake_owner USING (true) WITH CHECK (true);
CREATE POLICY system ON team_members TO keepsake_system USING (true);
GRANT SELECT ON team_members TO keepsake_system;
-- Whoever leads adds agents of their own; either side ends it. Others join by `join_team` alone.
CREATE POLICY team ON team_members TO keepsake_app
    USING ((SELECT current_user_id()) IN (leader_user, member_user))
    WITH CHECK (leader_user = (SELECT current_user_id()) AND member_user = (SELECT current_user_id())
                AND EXISTS (SELECT FROM agents a WHERE a.user_id = leader_user AND a.id = leader_agent)
                AND EXISTS (SELECT FROM agents a WHERE a.user_id = member_user AND a.id = member_agent));
CREATE POLICY team ON team_invitations TO keepsake_app
    USING (leader_user = (SELECT current_user_id()))
    WITH CHECK (EXISTS (SELECT FROM agents a WHERE a.user_id = leader_user AND a.id = leader_agent));
GRANT SELECT, INSERT, DELETE ON team_members, team_invitations TO keepsake_app;

-- The user, as the operator calls it, whose memory all others of the operator fall back to.
ALTER TABLE operators ADD COLUMN pool text;     -- NULL: there is none
GRANT UPDATE (pool) ON operators TO keepsake_system;

-- Whether the agent that this transaction acts for may read this user's memory, and as what: the leader's number; 0: as
-- nobody, who sees what is shared; NULL: it may not.
CREATE FUNCTION lends_to_me(lender bigint) RETURNS bigint
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
REVOKE ALL ON FUNCTION lends_to_me(bigint) FROM PUBLIC;

-- From here to its end the transaction, which must be read only, reads of this user's memory what is lent to the agent that it
-- acts for; KS002 where nothing is. The one way from one user to another.
CREATE FUNCTION enter_lent(lender bigint) RETURNS void
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
REVOKE ALL ON FUNCTION enter_lent(bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION enter_lent(bigint) TO keepsake_app;

CREATE FUNCTION is_lent() RETURNS boolean LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT current_setting('keepsake.lent', true) IS NOT DISTINCT FROM 'on'
$$;
-- Whoever is lent something knows the names in it and no others.
CREATE OR REPLACE FUNCTION sees_all_names() RETURNS boolean LANGUAGE sql STABLE SET search_path = public, pg_temp AS $$
    SELECT NOT is_lent()
        AND (scope_agent() IS NULL OR current_setting('keepsake.writes', true) IS NOT DISTINCT FROM 'on'
            OR NOT EXISTS (SELECT FROM agents WHERE user_id = current_user_id() AND coalesce(settings ->> 'memory_scope', 'shared') <> 'shared')
               AND NOT EXISTS (SELECT FROM whole_memory WHERE owner_agent_id IS NOT NULL))
$$;

-- Teams that the current user's agents lead or are in, with the names that neither side may read by itself. `person` is the
-- other side's, NULL where it is the user.
CREATE FUNCTION my_teams() RETURNS TABLE (
    id bigint, leads boolean, agent_id bigint, other_agent text, other_agent_id bigint, person text, since timestamptz)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT m.id, side.leads, CASE WHEN side.leads THEN m.leader_agent ELSE m.member_agent END, a.name, a.id,
           CASE WHEN u.id <> current_user_id() THEN u.email END, m.created_at
    FROM team_members m
    CROSS JOIN (VALUES (true), (false)) side (leads)
    JOIN users u ON u.id = CASE WHEN side.leads THEN m.member_user ELSE m.leader_user END
    JOIN agents a ON a.user_id = u.id AND a.id = CASE WHEN side.leads THEN m.member_agent ELSE m.leader_agent END
    WHERE CASE WHEN side.leads THEN m.leader_user ELSE m.member_user END = current_user_id() AND u.erasing_at IS NULL
    ORDER BY m.created_at, m.id
$$;
REVOKE ALL ON FUNCTION my_teams() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION my_teams() TO keepsake_app;

-- Whose invitation a code is; nothing where it is unknown or has expired.
CREATE FUNCTION find_invitation(hash bytea, at timestamptz) RETURNS TABLE (agent text, person text)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT a.name, CASE WHEN u.id <> current_user_id() THEN u.email END
    FROM team_invitations i
    JOIN users u ON u.id = i.leader_user AND u.disabled_at IS NULL
    JOIN agents a ON a.user_id = i.leader_user AND a.id = i.leader_agent
    WHERE i.code_hash = hash AND i.expires_at > at
$$;
REVOKE ALL ON FUNCTION find_invitation(bytea, timestamptz) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION find_invitation(bytea, timestamptz) TO keepsake_app;

-- An agent of the current user joins whose invitation this is, which is used up: 'joined', or why not.
CREATE FUNCTION join_team(hash bytea, agent bigint, members_max bigint, at timestamptz) RETURNS text
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
REVOKE ALL ON FUNCTION join_team(bytea, bigint, bigint, timestamptz) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION join_team(bytea, bigint, bigint, timestamptz) TO keepsake_app;

-- Which member has read what the user's agent lends: the row is in both users' activity.
ALTER TABLE activity
    ADD COLUMN member_user  bigint,     -- NULL: the agent itself. A number that is nobody's once that user is erased
    ADD COLUMN member_agent bigint,
    ADD COLUMN lent_ids     bigint[];   -- Those of item_ids that are lent to the agent, in its own user's row; NULL: none

CREATE INDEX activity_members_idx ON activity (user_id, at DESC, id DESC) WHERE member_user IS NOT NULL;

-- As before; of what members have read the newest 10,000 rows of a user stay, so that they push nothing else out.
CREATE OR REPLACE FUNCTION prune_activity(after_user bigint, OUT pruned bigint, OUT next_after bigint)
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    past    CONSTANT timestamptz := now() - interval '90 days';
    looked  bigint := 0;
    removed bigint;
    one     bigint;
    last_at timestamptz;
    last_id bigint;
    since_at timestamptz;
    since_id bigint;
BEGIN
    pruned := 0;
    IF NOT pg_try_advisory_xact_lock(hashtextextended('keepsake prune_activity', 0)) THEN
        RETURN;
    END IF;
    FOR one IN SELECT id FROM users WHERE id > after_user ORDER BY id LIMIT 100 LOOP
        last_at := NULL;
        since_at := NULL;
        -- Who had no call since the day before yesterday has not become too many since then.
        IF EXISTS (SELECT FROM activity WHERE user_id = one AND at > now() - interval '2 days') THEN
            SELECT at, id INTO last_at, last_id FROM activity WHERE user_id = one AND member_user IS NULL
            ORDER BY at DESC, id DESC OFFSET 100000 LIMIT 1;
            SELECT at, id INTO since_at, since_id FROM activity WHERE user_id = one AND member_user IS NOT NULL
            ORDER BY at DESC, id DESC OFFSET 10000 LIMIT 1;
        END IF;
        IF last_at IS NULL OR last_at < past THEN
            last_at := past;
            last_id := 0;
        END IF;
        DELETE FROM activity WHERE user_id = one AND ctid = ANY (ARRAY(
            SELECT ctid FROM activity WHERE user_id = one AND (at, id) <= (last_at, last_id)
            ORDER BY at, id LIMIT 10000 - pruned));
        GET DIAGNOSTICS removed = ROW_COUNT;
        pruned := pruned + removed;
        IF since_at IS NOT NULL THEN
            DELETE FROM activity WHERE user_id = one AND ctid = ANY (ARRAY(
                SELECT ctid FROM activity WHERE user_id = one AND member_user IS NOT NULL AND (at, id) <= (since_at, since_id)
                ORDER BY at, id LIMIT 10000 - pruned));
            GET DIAGNOSTICS removed = ROW_COUNT;
            pruned := pruned + removed;
        END IF;
        IF pruned >= 10000 THEN
            next_after := one - 1;
            RETURN;
        END IF;
        looked := looked + 1;
        next_after := one;
    END LOOP;
    IF looked < 100 THEN
        next_after := NULL;
    END IF;
END $$;

-- What a member in the current user's activity is called: its agent, and its person where that is somebody else.
CREATE FUNCTION member_name(account bigint, agent bigint) RETURNS text
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT a.name || CASE WHEN u.id <> current_user_id() THEN ' (' || u.email || ')' ELSE '' END
    FROM agents a JOIN users u ON u.id = a.user_id
    WHERE a.user_id = account AND a.id = agent
      AND EXISTS (SELECT FROM activity c WHERE c.user_id = current_user_id() AND c.member_user = account AND c.member_agent = agent)
$$;
REVOKE ALL ON FUNCTION member_name(bigint, bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION member_name(bigint, bigint) TO keepsake_app;
