-- What each user takes on the disk (src/quota): counted now and then over all tables with a user, and what was reserved since.
CREATE TABLE user_storage (
    user_id    bigint PRIMARY KEY,
    bytes      bigint NOT NULL DEFAULT 0,     -- at the last count
    added      bigint NOT NULL DEFAULT 0,     -- reserved since it began; an estimate
    parts      jsonb NOT NULL DEFAULT '{}',   -- bytes by table, at the last count
    counted_at timestamptz,                   -- NULL: not yet
    took_ms    integer NOT NULL DEFAULT 0,
    recount_at timestamptz NOT NULL
);
CREATE INDEX user_storage_recount_idx ON user_storage (recount_at);

ALTER TABLE user_storage ENABLE ROW LEVEL SECURITY;
ALTER TABLE user_storage FORCE  ROW LEVEL SECURITY;
CREATE POLICY owner  ON user_storage TO keepsake_owner USING (true) WITH CHECK (true);
CREATE POLICY tenant ON user_storage TO keepsake_app USING (user_id = (SELECT current_user_id()));
CREATE POLICY system ON user_storage FOR SELECT TO keepsake_system USING (true);
GRANT SELECT, INSERT, UPDATE ON user_storage TO keepsake_app;
GRANT SELECT ON user_storage TO keepsake_system;
INSERT INTO account_tables (name, place) VALUES ('user_storage', NULL);
-- Whoever is there already is counted soon.
INSERT INTO user_storage (user_id, recount_at) SELECT id, created_at FROM users ON CONFLICT DO NOTHING;
-- On a database that is distributed already; Citus takes no subquery in a policy.
DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_extension WHERE extname = 'citus')
       AND coalesce(current_setting('keepsake.distributed', true), '') = 'on' THEN
        ALTER POLICY tenant ON user_storage USING (user_id = current_user_id());
        PERFORM create_distributed_table('user_storage', 'user_id', colocate_with => 'memory_items');
    END IF;
END $$;
ALTER TABLE user_storage ADD FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE;

-- What a user may take, in bytes; an admin sets it.
ALTER TABLE system_settings
    ADD COLUMN bytes_per_user bigint NOT NULL DEFAULT 4294967296
    CONSTRAINT system_settings_bytes_per_user_check CHECK (bytes_per_user BETWEEN 1048576 AND 1099511627776);

ALTER TABLE admin_events
    DROP CONSTRAINT admin_events_action_check,
    ADD CONSTRAINT admin_events_action_check CHECK (action IN (
    'invite_member', 'invite_admin', 'revoke_invitation', 'accept_invitation',
    'disable', 'enable', 'promote', 'demote',
    'make_reset_link', 'use_reset_link', 'set_password',
    'make_operator', 'change_operator', 'make_service_token', 'revoke_service_token',
    'set_provider', 'remove_provider', 'set_chat', 'remove_chat',
    'builtin_on', 'builtin_off', 'builtin_multilingual', 'builtin_english', 'late_on', 'late_off',
    'allow_endpoint', 'disallow_endpoint', 'close_browser', 'open_browser', 'set_storage',
    'run_job', 'pause_job', 'resume_job', 'retry_job', 'schedule_job', 'unschedule_job', 'retry_vectors'));
