-- The page Admin › Jobs: the last run of each job, and what admins do about jobs is recorded.

CREATE INDEX job_runs_last_idx ON job_runs (job, ended_at);

ALTER TABLE admin_events ADD COLUMN job text; -- what a `…_job` is about; NULL: all jobs
ALTER TABLE admin_events DROP CONSTRAINT admin_events_action_check;
ALTER TABLE admin_events ADD CONSTRAINT admin_events_action_check CHECK (action IN (
    'invite_member', 'invite_admin', 'revoke_invitation', 'accept_invitation',
    'disable', 'enable', 'promote', 'demote',
    'make_reset_link', 'use_reset_link', 'set_password',
    'make_operator', 'change_operator', 'make_service_token', 'revoke_service_token',
    'set_provider', 'remove_provider', 'set_chat', 'remove_chat',
    'builtin_on', 'builtin_off', 'allow_endpoint', 'disallow_endpoint',
    'run_job', 'pause_job', 'resume_job', 'retry_job', 'retry_vectors'));
