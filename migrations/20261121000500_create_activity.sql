-- Activity: which agent called which tool, when, how it ended, and which items it got
-- or touched. Append-only: the app may add and read. Two functions of the owner are the
-- only other ways to change it, and neither lets its caller choose what is lost.

-- Whether the words of searches are kept beside them; read where they are written.
ALTER TABLE users ADD COLUMN activity_queries boolean NOT NULL DEFAULT false;

CREATE TABLE activity (
    user_id     bigint NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    id          bigint GENERATED ALWAYS AS IDENTITY,
    at          timestamptz NOT NULL,                   -- when the call came in
    agent_id    bigint,
    tool        text NOT NULL,                          -- 'unknown' for a name that is none
    outcome     text NOT NULL,                          -- 'ok', the problem's code, or 'cancelled'
    duration_us integer NOT NULL CHECK (duration_us >= 0),
    item_ids    bigint[] NOT NULL CHECK (cardinality(item_ids) <= 50),
    query       text CHECK (char_length(query) <= 500), -- only while users.activity_queries
    PRIMARY KEY (user_id, id),
    FOREIGN KEY (user_id, agent_id) REFERENCES agents (user_id, id)
);
-- The one index. A user keeps 100,000 rows, and has more only until the next pruning; a
-- filter that matches none of them reads them all, in 30 ms. GIN on item_ids would not be used (`@>` is not leakproof, and
-- row security comes first), and a table of items made writing four times as dear.
CREATE INDEX activity_newest_idx ON activity (user_id, at DESC, id DESC);
-- Few have any: whether there are words to forget is asked at each look at the page.
CREATE INDEX activity_queries_idx ON activity (user_id) WHERE query IS NOT NULL;

ALTER TABLE activity ENABLE ROW LEVEL SECURITY;
ALTER TABLE activity FORCE  ROW LEVEL SECURITY;
CREATE POLICY owner  ON activity TO keepsake_owner USING (true) WITH CHECK (true);
CREATE POLICY tenant ON activity TO keepsake_app USING (user_id = (SELECT current_user_id()));
GRANT SELECT, INSERT ON activity TO keepsake_app;
GRANT UPDATE (activity_queries) ON users TO keepsake_app;

-- One step of pruning: what is older than 90 days, and past the newest 100,000 of a user.
-- It goes by user, so that the one index finds what is old; an index on `at` alone would
-- be written with each call, and BRIN never narrows a range again whose rows are gone.
-- A step looks at 100 users after `after_user` and removes 10,000 rows at most; where
-- the next begins is `next_after`, null when this was the last, or another server prunes.
-- 20,000 users with 2 million rows take 0.5 s in all.
CREATE FUNCTION prune_activity(after_user bigint, OUT pruned bigint, OUT next_after bigint)
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    past    CONSTANT timestamptz := now() - interval '90 days';
    looked  bigint := 0;
    removed bigint;
    one     bigint;
    last_at timestamptz;
    last_id bigint;
BEGIN
    pruned := 0;
    IF NOT pg_try_advisory_xact_lock(hashtextextended('keepsake prune_activity', 0)) THEN
        RETURN;
    END IF;
    FOR one IN SELECT id FROM users WHERE id > after_user ORDER BY id LIMIT 100 LOOP
        last_at := NULL;
        -- Who had no call since the day before yesterday has not become too many since then.
        IF EXISTS (SELECT FROM activity WHERE user_id = one AND at > now() - interval '2 days') THEN
            SELECT at, id INTO last_at, last_id FROM activity WHERE user_id = one
            ORDER BY at DESC, id DESC OFFSET 100000 LIMIT 1;
        END IF;
        IF last_at IS NULL OR last_at < past THEN
            last_at := past;
            last_id := 0;
        END IF;
        DELETE FROM activity WHERE user_id = one AND ctid = ANY (ARRAY(
            SELECT ctid FROM activity WHERE user_id = one AND (at, id) <= (last_at, last_id)
            ORDER BY at, id LIMIT 10000 - pruned));
        GET DIAGNOSTICS removed = ROW_COUNT;
        pruned := pruned + removed;
        IF pruned >= 10000 THEN
            next_after := one - 1;
            RETURN;
        END IF;
        looked := looked + 1;
        next_after := one;
    END LOOP;
    IF looked < 100 THEN
        next_after := NULL;
    END IF;
END $$;
REVOKE ALL ON FUNCTION prune_activity(bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION prune_activity(bigint) TO keepsake_system;

-- The words of the current user's searches; the rows stay. Returns how many there were.
CREATE FUNCTION forget_activity_queries() RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    forgotten bigint;
BEGIN
    UPDATE activity SET query = NULL WHERE user_id = current_user_id() AND query IS NOT NULL;
    GET DIAGNOSTICS forgotten = ROW_COUNT;
    RETURN forgotten;
END $$;
REVOKE ALL ON FUNCTION forget_activity_queries() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION forget_activity_queries() TO keepsake_app;
