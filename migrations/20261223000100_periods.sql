-- One value of a key at each moment (docs/time.md): what is over or has not begun stands beside what holds.

-- What the planner puts in its place, wherever it is asked. Half-open; an end that is not known is open.
CREATE FUNCTION holds(valid_from timestamptz, valid_until timestamptz, at timestamptz) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$ SELECT coalesce(valid_from <= at, true) AND coalesce(at < valid_until, true) $$;
CREATE FUNCTION is_over(valid_until timestamptz, at timestamptz) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT coalesce(valid_until <= at, false) $$;
-- Two values of one key, of which one gives way: both are over, or hold, or are ahead, and there is a moment of both.
CREATE FUNCTION periods_meet(a_from timestamptz, a_until timestamptz, b_from timestamptz, b_until timestamptz, at timestamptz)
    RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$ SELECT is_over(a_until, at) = is_over(b_until, at) AND holds(a_from, a_until, at) = holds(b_from, b_until, at)
             AND coalesce(a_from < b_until, true) AND coalesce(b_from < a_until, true) $$;

DROP INDEX memory_items_active_content_key, memory_items_active_key_key;
CREATE UNIQUE INDEX memory_items_active_content_key
    ON memory_items (user_id, theme_id, content_hash, key, owner_agent_id, valid_from, valid_until)
    INCLUDE (live_until) NULLS NOT DISTINCT WHERE status = 'active' AND theme_id IS NOT NULL;
CREATE UNIQUE INDEX memory_items_active_key_key
    ON memory_items (user_id, theme_id, key, owner_agent_id, valid_from, valid_until) NULLS NOT DISTINCT
    WHERE status = 'active' AND key IS NOT NULL;

CREATE OR REPLACE VIEW whole_memory AS
    SELECT user_id, id, theme_id, agent_id, owner_agent_id, type, turn_session_id, status, live_until, created_at, key, tags, content,
           valid_from, trust, valid_until
    FROM memory_items WHERE user_id = (SELECT current_user_id());

-- When a memory next begins or ends to hold: then the job `expire` lets it take the place of what held, and what was
-- written from memories is due again.
CREATE FUNCTION next_turn(valid_from timestamptz, valid_until timestamptz, at timestamptz) RETURNS timestamptz
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$ SELECT CASE WHEN valid_from > at THEN valid_from WHEN valid_until > at THEN valid_until END $$;
ALTER TABLE memory_items ADD COLUMN turns_at timestamptz;
UPDATE memory_items SET turns_at = next_turn(valid_from, valid_until, now())
WHERE status = 'active' AND next_turn(valid_from, valid_until, now()) IS NOT NULL;
CREATE INDEX memory_items_turns_idx ON memory_items (turns_at, user_id) WHERE status = 'active' AND turns_at IS NOT NULL;
GRANT SELECT (turns_at) ON memory_items TO keepsake_system;

ALTER TABLE memory_item_events
    DROP CONSTRAINT memory_item_events_event_check,
    ADD CONSTRAINT memory_item_events_event_check
        CHECK (event IN ('added', 'archived', 'imported', 'superseded', 'put_aside', 'confirmed', 'expired', 'named',
                         'restored', 'unconfirmed', 'changed', 'shared', 'owned', 'faded', 'merged', 'began', 'ended'));
