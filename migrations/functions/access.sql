-- Whom a transaction acts for, and what that agent sees. `keepsake.user_id`, `keepsake.agent` and `keepsake.scope` are set at its start
-- (src/core/db/actor.rs); row security reads them. KS001: the actor may not act; the message is the reason.

-- The user of this transaction. NULL, which no row has, where none was set.
CREATE OR REPLACE FUNCTION current_user_id() RETURNS bigint
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN NULLIF(current_setting('keepsake.user_id', true), '')::bigint;

-- Sets the user. A function, because Citus' workers learn of it in another way (src/core/db/citus/store.rs).
CREATE OR REPLACE FUNCTION for_user(account bigint) RETURNS void LANGUAGE sql VOLATILE AS $$
    SELECT set_config('keepsake.user_id', account::text, true)
$$;

-- Sets the agent and its scope.
CREATE OR REPLACE FUNCTION act_for(agent bigint, scope text) RETURNS void LANGUAGE sql VOLATILE AS $$
    SELECT set_config('keepsake.agent', agent::text, true), set_config('keepsake.scope', scope, true)
$$;

-- Sets the agent with its scope from its settings.
CREATE OR REPLACE FUNCTION enter_scope(account bigint, agent bigint) RETURNS void
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    scope text;
BEGIN
    SELECT coalesce(settings ->> 'memory_scope', 'shared') INTO scope FROM agents WHERE user_id = account AND id = agent;
    -- An agent that is gone sees nothing.
    PERFORM act_for(agent, coalesce(scope, 'own_only'));
END $$;

-- The acting agent. NULL for a person or a job, who see everything.
CREATE OR REPLACE FUNCTION scope_agent() RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT nullif(current_setting('keepsake.agent', true), '')::bigint
$$;

-- Whether the agent sees what is shared: not with the scope 'own_only'.
CREATE OR REPLACE FUNCTION sees_shared() RETURNS boolean LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT current_setting('keepsake.scope', true) IS DISTINCT FROM 'own_only'
$$;

-- The agent that owns what is written. NULL: shared. A correction belongs to the owner of what it corrects (`write_as`).
CREATE OR REPLACE FUNCTION new_owner() RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN current_setting('keepsake.owner', true) <> '' THEN nullif(current_setting('keepsake.owner', true), 'shared')::bigint
                WHEN current_setting('keepsake.scope', true) IN ('own_first', 'own_only') THEN scope_agent() END
$$;

-- The agent whose copy comes before a shared one of the same text, key or path. NULL: nobody's.
CREATE OR REPLACE FUNCTION own_before_shared() RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN current_setting('keepsake.scope', true) = 'own_first' THEN scope_agent() END
$$;

-- Sets the owner of what the transaction writes from here on. NULL: shared.
CREATE OR REPLACE FUNCTION write_as(owner bigint) RETURNS void LANGUAGE sql VOLATILE AS $$
    SELECT set_config('keepsake.owner', coalesce(owner::text, 'shared'), true)
$$;

-- Raises KS001 unless the token is valid and its user and agent may act. Sets the agent and its scope.
CREATE OR REPLACE FUNCTION require_token(account bigint, token bigint, at timestamptz) RETURNS void
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    reason text;
    agent  bigint;
    scope  text;
BEGIN
    SELECT CASE WHEN t.revoked_at IS NOT NULL THEN 'revoked'
                WHEN t.expires_at <= at THEN 'expired'
                WHEN u.disabled_at IS NOT NULL THEN 'disabled'
                WHEN NOT u.memory_enabled THEN 'memory_off_user'
                WHEN NOT a.memory_enabled THEN 'memory_off_agent'
                ELSE 'none' END,
           a.id, coalesce(a.settings ->> 'memory_scope', 'shared')
    INTO reason, agent, scope
    FROM agent_tokens t
    JOIN users u ON u.id = t.user_id
    JOIN agents a ON a.user_id = t.user_id AND a.id = t.agent_id
    WHERE t.user_id = account AND t.id = token;
    IF reason IS DISTINCT FROM 'none' THEN
        RAISE EXCEPTION USING ERRCODE = 'KS001', MESSAGE = coalesce(reason, 'unknown');
    END IF;
    PERFORM act_for(agent, scope);
END $$;

-- The same for an operator's token. `account` is NULL while its user is being created.
CREATE OR REPLACE FUNCTION require_service_token(account bigint, token bigint, at timestamptz) RETURNS void
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    reason text;
BEGIN
    SELECT CASE WHEN t.revoked_at IS NOT NULL THEN 'revoked'
                WHEN t.expires_at <= at THEN 'expired'
                WHEN u.disabled_at IS NOT NULL THEN 'disabled'
                WHEN NOT u.memory_enabled THEN 'memory_off_user'
                ELSE 'none' END
    INTO reason
    FROM service_tokens t
    LEFT JOIN users u ON u.id = account AND u.operator_id = t.operator_id
    WHERE t.id = token;
    IF reason IS DISTINCT FROM 'none' THEN
        RAISE EXCEPTION USING ERRCODE = 'KS001', MESSAGE = coalesce(reason, 'unknown');
    END IF;
END $$;

-- Raises KS001 unless the web session is the user's. An admin's row is locked until the transaction ends, so that a demotion at
-- the same moment comes before it or after it.
CREATE OR REPLACE FUNCTION require_session(account bigint, session bytea, is_admin_act boolean) RETURNS void
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    account_role text;
BEGIN
    IF is_admin_act THEN
        PERFORM FROM users WHERE id = account FOR SHARE;
    END IF;
    SELECT u.role INTO account_role
    FROM web_sessions s JOIN users u ON u.id = s.user_id
    WHERE s.id_hash = session AND u.id = account AND u.disabled_at IS NULL;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'KS001', MESSAGE = 'signed_out';
    ELSIF is_admin_act AND account_role <> 'admin' THEN
        RAISE EXCEPTION USING ERRCODE = 'KS001', MESSAGE = 'not_admin';
    END IF;
END $$;

-- Raises KS001 where memories cannot be changed in the browser. The setting's row is locked until the transaction ends.
CREATE OR REPLACE FUNCTION require_open_browser() RETURNS void
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    PERFORM FROM system_settings WHERE NOT read_only_browser FOR SHARE;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'KS001', MESSAGE = 'read_only_browser';
    END IF;
END $$;
