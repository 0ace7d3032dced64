-- Which builtin model is wanted. Spaces of the other one serve until theirs are made (src/embedding/spaces.rs).
ALTER TABLE system_settings
    ADD COLUMN builtin_model text NOT NULL DEFAULT 'multilingual-e5-small'
    CONSTRAINT system_settings_builtin_model_check CHECK (builtin_model IN ('multilingual-e5-small', 'all-MiniLM-L6-v2'));

ALTER TABLE admin_events
    DROP CONSTRAINT admin_events_action_check,
    ADD CONSTRAINT admin_events_action_check CHECK (action IN (
    'invite_member', 'invite_admin', 'revoke_invitation', 'accept_invitation',
    'disable', 'enable', 'promote', 'demote',
    'make_reset_link', 'use_reset_link', 'set_password',
    'make_operator', 'change_operator', 'make_service_token', 'revoke_service_token',
    'set_provider', 'remove_provider', 'set_chat', 'remove_chat',
    'builtin_on', 'builtin_off', 'builtin_multilingual', 'builtin_english', 'late_on', 'late_off',
    'allow_endpoint', 'disallow_endpoint', 'close_browser', 'open_browser',
    'run_job', 'pause_job', 'resume_job', 'retry_job', 'schedule_job', 'unschedule_job', 'retry_vectors'));
