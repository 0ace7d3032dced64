-- Of memory that a conversation brings back, ids are kept (src/sessions/given.rs). Sessions from before say from where on; the job
-- `turns` converts them.
ALTER TABLE sessions ADD COLUMN ids_kept_from integer DEFAULT 0;
ALTER TABLE sessions ALTER COLUMN ids_kept_from DROP DEFAULT;
CREATE INDEX sessions_unconverted_idx ON sessions (user_id, id) WHERE ids_kept_from IS NOT NULL;
GRANT SELECT (ids_kept_from) ON sessions TO keepsake_system;

-- Of a message that has not been looked at: the text with ids in place of memory.
CREATE FUNCTION keep_ids(of_session bigint, at_position integer, kept text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    me CONSTANT bigint := current_user_id();
BEGIN
    PERFORM FROM sessions WHERE user_id = me AND id = of_session AND ids_kept_from < at_position;
    IF FOUND AND kept LIKE '%<keepsake-memory %/>%' THEN
        UPDATE session_messages SET content = kept
        WHERE user_id = me AND session_id = of_session AND position = at_position;
    END IF;
END $$;
REVOKE ALL ON FUNCTION keep_ids(bigint, integer, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION keep_ids(bigint, integer, text) TO keepsake_app;
