-- What a restore repeats beside erasures: what was revoked, left or switched off since the backup, and switched on again.
-- Each line beside the backups is authenticated together with the line before it.
ALTER TABLE erasure_notes DROP CONSTRAINT erasure_notes_what_check, ADD CONSTRAINT erasure_notes_what_check CHECK (what IN (
    'memory', 'session', 'document', 'account',
    'token_revoked', 'service_token_revoked', 'account_disabled', 'account_enabled', 'admin_demoted', 'admin_promoted',
    'team_left', 'webhook_deleted', 'agent_off', 'agent_on', 'memory_off', 'memory_on', 'chat_off', 'chat_on',
    'embeddings_off', 'embeddings_on', 'chat_endpoint_removed', 'embedding_endpoint_removed',
    'endpoint_disallowed', 'endpoint_allowed'));
ALTER TABLE erasure_notes
    ADD COLUMN name text,                    -- of an allowed endpoint, which has no id
    ADD COLUMN mac  text;                    -- of its line, from when it is about to be written
ALTER TABLE backup_state ADD COLUMN notes_mac text;  -- of the last line
GRANT UPDATE (mac) ON erasure_notes TO keepsake_system;

-- A restore has switched them off: the user may have removed their own endpoint since the backup.
ALTER TABLE embedding_settings ADD COLUMN paused_at timestamptz;
ALTER TABLE chat_settings      ADD COLUMN paused_at timestamptz;
