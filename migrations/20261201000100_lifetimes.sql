-- How long what was said stays: days of episodes (users.episode_days) and of turns. An episode that was imported has no session.

ALTER TABLE users ADD COLUMN turn_days integer          -- NULL: as long as their sessions
    CONSTRAINT users_turn_days_check CHECK (turn_days BETWEEN 1 AND 36500);
GRANT UPDATE (turn_days) ON users TO keepsake_app;
-- Whose turns are too old; the sweep looks.
GRANT SELECT (created_at) ON memory_items TO keepsake_system;

ALTER TABLE episodes ALTER COLUMN session_id DROP NOT NULL;

-- Some of the current user's turns: all of a user who has switched them off, else what was said before `oldest`. How many.
DROP FUNCTION remove_turns(integer);
CREATE FUNCTION remove_turns(rows_max integer, oldest timestamptz) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    me     CONSTANT bigint := current_user_id();
    is_off boolean;
    gone   bigint[];
BEGIN
    SELECT NOT turns_searched INTO is_off FROM users WHERE id = me FOR SHARE;
    IF is_off IS NULL OR NOT is_off AND oldest IS NULL THEN
        RETURN 0;
    END IF;
    gone := ARRAY(SELECT id FROM memory_items WHERE user_id = me AND is_turn AND (is_off OR created_at < oldest)
                  ORDER BY created_at LIMIT rows_max);
    PERFORM note_changes(gone);
    PERFORM forget_mentions(me, gone);
    DELETE FROM memory_items WHERE user_id = me AND id = ANY (gone);
    RETURN cardinality(gone);
END $$;
REVOKE ALL ON FUNCTION remove_turns(integer, timestamptz) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION remove_turns(integer, timestamptz) TO keepsake_app;
