-- Whoever acts is judged again inside the transaction that acts (src/db/actor.rs): between the
-- first look and the last byte of a request's body an admin may be demoted, a user disabled, a
-- token revoked. Each function returns nothing, or raises KS001 with the reason as its message.

-- An agent's token, for its own user.
CREATE FUNCTION require_token(account bigint, token bigint, at timestamptz) RETURNS void
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    reason text;
BEGIN
    SELECT CASE WHEN t.revoked_at IS NOT NULL THEN 'revoked'
                WHEN t.expires_at <= at THEN 'expired'
                WHEN u.disabled_at IS NOT NULL THEN 'disabled'
                WHEN NOT u.memory_enabled THEN 'memory_off_user'
                WHEN NOT a.memory_enabled THEN 'memory_off_agent'
                ELSE 'none' END
    INTO reason
    FROM agent_tokens t
    JOIN users u ON u.id = t.user_id
    JOIN agents a ON a.user_id = t.user_id AND a.id = t.agent_id
    WHERE t.user_id = account AND t.id = token;
    IF reason IS DISTINCT FROM 'none' THEN
        RAISE EXCEPTION USING ERRCODE = 'KS001', MESSAGE = coalesce(reason, 'unknown');
    END IF;
END $$;
REVOKE ALL ON FUNCTION require_token(bigint, bigint, timestamptz) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION require_token(bigint, bigint, timestamptz) TO keepsake_app, keepsake_system;

-- An operator's token; `account` is NULL while its user is being made.
CREATE FUNCTION require_service_token(account bigint, token bigint, at timestamptz) RETURNS void
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
REVOKE ALL ON FUNCTION require_service_token(bigint, bigint, timestamptz) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION require_service_token(bigint, bigint, timestamptz) TO keepsake_app, keepsake_system;

-- A web session and its user. An admin's row is locked until the act commits, so that a
-- demotion at the same moment comes before it or after it, never in between.
CREATE FUNCTION require_session(account bigint, session bytea, is_admin_act boolean) RETURNS void
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
REVOKE ALL ON FUNCTION require_session(bigint, bytea, boolean) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION require_session(bigint, bytea, boolean) TO keepsake_app, keepsake_system;

-- Everybody's pages show memories and change none; deletion stays on *Your data*.
ALTER TABLE system_settings ADD COLUMN read_only_browser boolean NOT NULL DEFAULT false;

-- Raises KS001 where memories are not changed in the browser. The row is locked until the act commits,
-- so that the setting at the same moment comes before it or after it.
CREATE FUNCTION require_open_browser() RETURNS void
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    PERFORM FROM system_settings WHERE NOT read_only_browser FOR SHARE;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'KS001', MESSAGE = 'read_only_browser';
    END IF;
END $$;
REVOKE ALL ON FUNCTION require_open_browser() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION require_open_browser() TO keepsake_app, keepsake_system;

-- A link that sets the password of an account: an invitation that makes no account.
ALTER TABLE invitations
    ADD COLUMN resets bigint REFERENCES users (id) ON DELETE CASCADE, -- whose password; NULL: it makes an account
    ALTER COLUMN role DROP NOT NULL;
ALTER TABLE invitations
    ADD CONSTRAINT invitations_kind_check CHECK (
        CASE WHEN resets IS NULL THEN role IS NOT NULL ELSE role IS NULL AND email IS NULL END);
CREATE INDEX invitations_resets_idx ON invitations (resets) WHERE resets IS NOT NULL;

-- More of what admins do is recorded. An operator's name is kept elsewhere; what was done stays when they go.
ALTER TABLE admin_events
    ADD COLUMN operator_id bigint REFERENCES operators (id) ON DELETE SET NULL,
    ADD COLUMN job text, -- what a `…_job` is about; NULL: all jobs
    DROP CONSTRAINT admin_events_action_check,
    ADD CONSTRAINT admin_events_action_check CHECK (action IN (
    'invite_member', 'invite_admin', 'revoke_invitation', 'accept_invitation',
    'disable', 'enable', 'promote', 'demote',
    'make_reset_link', 'use_reset_link', 'set_password',
    'make_operator', 'change_operator', 'make_service_token', 'revoke_service_token',
    'set_provider', 'remove_provider', 'set_chat', 'remove_chat',
    'builtin_on', 'builtin_off', 'allow_endpoint', 'disallow_endpoint', 'close_browser', 'open_browser',
    'run_job', 'pause_job', 'resume_job', 'retry_job', 'schedule_job', 'unschedule_job', 'retry_vectors'));
CREATE INDEX admin_events_operator_idx ON admin_events (operator_id) WHERE operator_id IS NOT NULL;

-- A name of the IANA database; the server knows which there are. Which zones are in use the sweep asks
-- every minute.
ALTER TABLE users ADD COLUMN time_zone text NOT NULL DEFAULT 'UTC';
GRANT UPDATE (time_zone) ON users TO keepsake_app;
CREATE INDEX users_time_zone_idx ON users (time_zone) WHERE time_zone <> 'UTC';
