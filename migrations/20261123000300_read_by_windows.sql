-- Reading a session goes on where the day's tokens ran out, and a session's calls of tools are counted.

-- A message may be longer than a day's tokens: what was read of it is not paid for again.
ALTER TABLE session_extractions ADD COLUMN windows_read integer NOT NULL DEFAULT 0;

-- Calls without arguments are small on the wire and not in memory: a session has a limit of them.
ALTER TABLE sessions ADD COLUMN tool_call_count integer NOT NULL DEFAULT 0;
UPDATE sessions s SET tool_call_count = (
    SELECT coalesce(sum(jsonb_array_length(m.tool_calls)), 0) FROM session_messages m
    WHERE m.user_id = s.user_id AND m.session_id = s.id);

-- With its text goes the note of what it was tried for: one that is erased while nobody may write
-- is written again when somebody may.
CREATE OR REPLACE FUNCTION drop_summary_without_its_items() RETURNS trigger
    LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
    UPDATE memory_summaries
    SET body = NULL, made_at = NULL, model = NULL, facts_hash = NULL, made_event = 0, tried_event = 0,
        next_try_at = made_at, attempts = 0, failure = NULL
    WHERE user_id IN (SELECT user_id FROM gone) AND body IS NOT NULL;
    RETURN NULL;
END $$;
