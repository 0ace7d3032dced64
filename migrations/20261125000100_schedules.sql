-- Schedules: the time zone of each user, and what an admin has set in place of a job's default.

-- A name of the IANA database; the server knows which there are.
ALTER TABLE users ADD COLUMN time_zone text NOT NULL DEFAULT 'UTC';
GRANT UPDATE (time_zone) ON users TO keepsake_app;
-- Which zones are in use: the sweep asks every minute.
CREATE INDEX users_time_zone_idx ON users (time_zone) WHERE time_zone <> 'UTC';

ALTER TABLE job_settings ADD COLUMN at_time time;    -- local time of each user; NULL: the job's default
ALTER TABLE job_settings ADD COLUMN weekday smallint -- 1: Monday, 7: Sunday; NULL: every day
    CONSTRAINT job_settings_weekday_check CHECK (weekday BETWEEN 1 AND 7);

-- They were jobs of the server; now they have a row for each user with work.
DELETE FROM job_queue WHERE user_id = 0 AND job IN ('complete', 'expire');

ALTER TABLE admin_events DROP CONSTRAINT admin_events_action_check;
ALTER TABLE admin_events ADD CONSTRAINT admin_events_action_check CHECK (action IN (
    'invite_member', 'invite_admin', 'revoke_invitation', 'accept_invitation',
    'disable', 'enable', 'promote', 'demote',
    'make_reset_link', 'use_reset_link', 'set_password',
    'make_operator', 'change_operator', 'make_service_token', 'revoke_service_token',
    'set_provider', 'remove_provider', 'set_chat', 'remove_chat',
    'builtin_on', 'builtin_off', 'allow_endpoint', 'disallow_endpoint',
    'run_job', 'pause_job', 'resume_job', 'retry_job', 'schedule_job', 'unschedule_job', 'retry_vectors'));
