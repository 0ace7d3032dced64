-- Late interaction: of a first passage the signs of its tokens' vectors, where the model gives them (src/embedding/tokens.rs).
ALTER TABLE memory_embeddings ADD COLUMN token_signs bytea;
ALTER TABLE memory_embeddings ALTER COLUMN token_signs SET STORAGE EXTERNAL, ALTER COLUMN token_signs SET STATISTICS 0;
-- Which of a space's first passages have theirs; 'some' while they are made or removed.
ALTER TABLE embedding_spaces
    ADD COLUMN token_signs text NOT NULL DEFAULT 'none' CHECK (token_signs IN ('none', 'some', 'all'));
ALTER TABLE system_settings ADD COLUMN late_interaction boolean NOT NULL DEFAULT true;
GRANT SELECT (token_signs) ON embedding_spaces TO keepsake_system;

ALTER TABLE admin_events
    DROP CONSTRAINT admin_events_action_check,
    ADD CONSTRAINT admin_events_action_check CHECK (action IN (
    'invite_member', 'invite_admin', 'revoke_invitation', 'accept_invitation',
    'disable', 'enable', 'promote', 'demote',
    'make_reset_link', 'use_reset_link', 'set_password',
    'make_operator', 'change_operator', 'make_service_token', 'revoke_service_token',
    'set_provider', 'remove_provider', 'set_chat', 'remove_chat',
    'builtin_on', 'builtin_off', 'late_on', 'late_off', 'allow_endpoint', 'disallow_endpoint', 'close_browser', 'open_browser',
    'run_job', 'pause_job', 'resume_job', 'retry_job', 'schedule_job', 'unschedule_job', 'retry_vectors'));
