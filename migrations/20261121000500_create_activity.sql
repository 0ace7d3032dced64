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
    outcome     text NOT NULL,                          -- 'ok', or the problem's code
    duration_us integer NOT NULL CHECK (duration_us >= 0),
    item_ids    bigint[] NOT NULL CHECK (cardinality(item_ids) <= 50),
    query       text CHECK (char_length(query) <= 500), -- only while users.activity_queries
    PRIMARY KEY (user_id, id),
    FOREIGN KEY (user_id, agent_id) REFERENCES agents (user_id, id)
);
-- The one index. A user has 100,000 rows at most, and a filter that matches none of them
-- reads them all in 30 ms. GIN on item_ids would not be used (`@>` is not leakproof, and
-- row security comes first), and a table of items made writing four times as dear.
CREATE INDEX activity_newest_idx ON activity (user_id, at DESC, id DESC);
-- Few have any: whether there are words to forget is asked at each look at the page.
CREATE INDEX activity_queries_idx ON activity (user_id) WHERE query IS NOT NULL;

ALTER TABLE activity ENABLE ROW LEVEL SECURITY;
ALTER TABLE activity FORCE  ROW LEVEL SECURITY;
CREATE POLICY owner  ON activity TO keepsake_owner USING (true) WITH CHECK (true);
CREATE POLICY tenant ON activity TO keepsake_app USING (user_id = (SELECT current_user_id()));
GRANT SELECT, INSERT ON activity TO keepsake_app;

-- What is older than 90 days, and past the newest 100,000 of a user. Returns how many went.
CREATE FUNCTION prune_activity() RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    crowded bigint;
    pruned  bigint;
    more    bigint;
BEGIN
    DELETE FROM activity WHERE at < now() - interval '90 days';
    GET DIAGNOSTICS pruned = ROW_COUNT;
    FOR crowded IN SELECT user_id FROM activity GROUP BY user_id HAVING count(*) > 100000 LOOP
        DELETE FROM activity a
        USING (SELECT at, id FROM activity WHERE user_id = crowded
               ORDER BY at DESC, id DESC OFFSET 100000 LIMIT 1) oldest
        WHERE a.user_id = crowded AND (a.at, a.id) <= (oldest.at, oldest.id);
        GET DIAGNOSTICS more = ROW_COUNT;
        pruned := pruned + more;
    END LOOP;
    RETURN pruned;
END $$;
REVOKE ALL ON FUNCTION prune_activity() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION prune_activity() TO keepsake_system;

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
