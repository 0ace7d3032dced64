-- Of memory that a conversation brings back, ids are kept (src/sessions/given.rs). Sessions from before say from where on; the job
-- `turns` converts them.
ALTER TABLE sessions ADD COLUMN ids_kept_from integer DEFAULT 0;
ALTER TABLE sessions ALTER COLUMN ids_kept_from DROP DEFAULT;
CREATE INDEX sessions_unconverted_idx ON sessions (user_id, id) WHERE ids_kept_from IS NOT NULL;
GRANT SELECT (ids_kept_from) ON sessions TO keepsake_system;
GRANT UPDATE (content) ON session_messages TO keepsake_app;
