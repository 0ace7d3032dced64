-- Episodes: what a session, or a stretch of one, was about. An episode is a source that search finds: a row of memory_items
-- without a theme, which goes with its session and when its time is over.

CREATE TABLE episodes (
    user_id        bigint NOT NULL,
    source_id      bigint NOT NULL,
    session_id     bigint NOT NULL,
    first_position integer NOT NULL,         -- of the messages that it tells of
    last_position  integer NOT NULL,
    abstract       text NOT NULL,            -- one sentence
    made_by        text NOT NULL CONSTRAINT episodes_made_by_check CHECK (made_by IN ('extract', 'model', 'agent')),
    began_at       timestamptz NOT NULL,
    ended_at       timestamptz NOT NULL,
    promoted_at    timestamptz,              -- what lasts of it was taken into a document
    PRIMARY KEY (user_id, source_id),
    -- One of each stretch.
    CONSTRAINT episodes_stretch_key UNIQUE (user_id, session_id, first_position),
    FOREIGN KEY (user_id, source_id) REFERENCES memory_items (user_id, id) ON DELETE CASCADE,
    FOREIGN KEY (user_id, session_id) REFERENCES sessions (user_id, id) ON DELETE CASCADE
);
-- What the agent itself says a session was about.
ALTER TABLE session_extractions ADD COLUMN summary text;
-- Days that an episode stays.
ALTER TABLE users ADD COLUMN episode_days integer NOT NULL DEFAULT 90
    CONSTRAINT users_episode_days_check CHECK (episode_days BETWEEN 1 AND 36500);
GRANT UPDATE (episode_days) ON users TO keepsake_app;

ALTER TABLE memory_items
    DROP CONSTRAINT memory_items_type_check, DROP CONSTRAINT memory_items_theme_check,
    ADD CONSTRAINT memory_items_type_check
        CHECK (type IN ('preference', 'fact', 'instruction', 'summary', 'other', 'turn', 'document', 'episode')),
    ADD CONSTRAINT memory_items_theme_check CHECK ((theme_id IS NULL) = (type IN ('turn', 'document', 'episode')));

ALTER TABLE episodes ALTER COLUMN abstract SET STATISTICS 0;
ALTER TABLE session_extractions ALTER COLUMN summary SET STATISTICS 0;
ALTER TABLE episodes ENABLE ROW LEVEL SECURITY;
ALTER TABLE episodes FORCE  ROW LEVEL SECURITY;
CREATE POLICY owner  ON episodes TO keepsake_owner USING (true) WITH CHECK (true);
CREATE POLICY tenant ON episodes TO keepsake_app USING (user_id = (SELECT current_user_id()));
GRANT SELECT, INSERT, UPDATE ON episodes TO keepsake_app;
INSERT INTO account_tables (name, place) VALUES ('episodes', 9);

-- Some of the current user's episodes, with what they named and their vectors. How many.
CREATE FUNCTION remove_episodes(gone bigint[]) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    me  CONSTANT bigint := current_user_id();
    ids CONSTANT bigint[] := ARRAY(SELECT id FROM memory_items WHERE user_id = me AND id = ANY (gone) AND type = 'episode');
BEGIN
    IF ids = '{}' THEN
        RETURN 0;
    END IF;
    PERFORM note_changes(ids);
    PERFORM forget_mentions(me, ids);
    DELETE FROM memory_items WHERE user_id = me AND id = ANY (ids);
    RETURN cardinality(ids);
END $$;
REVOKE ALL ON FUNCTION remove_episodes(bigint[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION remove_episodes(bigint[]) TO keepsake_app;

CREATE OR REPLACE FUNCTION erase_session(erased_session bigint, with_memories boolean, receipt text, at timestamptz)
    RETURNS jsonb LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    me    CONSTANT bigint := current_user_id();
    item  bigint;
    turns bigint[];
    n     bigint;
    gone  jsonb := '{}';
BEGIN
    -- Waits for whoever is adding to it, or keeping what was read in it; they find it gone afterwards.
    PERFORM FROM sessions WHERE user_id = me AND id = erased_session FOR UPDATE;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    IF with_memories THEN
        FOR item IN SELECT id FROM memory_items
                    WHERE user_id = me AND session_id = erased_session ORDER BY id LOOP
            SELECT jsonb_object_agg(key, total) INTO gone
            FROM (SELECT key, sum(value::bigint) AS total
                  FROM (SELECT * FROM jsonb_each_text(gone)
                        UNION ALL SELECT * FROM jsonb_each_text(remove_item(me, item))) each
                  GROUP BY key) of_all;
        END LOOP;
    ELSE
        UPDATE memory_items SET source_context = NULL, message_id = NULL, session_id = NULL
        WHERE user_id = me AND session_id = erased_session;
        GET DIAGNOSTICS n = ROW_COUNT;
        gone := gone || jsonb_build_object('quotes', n);
    END IF;
    -- Its turns are what was said itself, its episodes tell of it. Calls that found them stay, without them and their words.
    turns := ARRAY(SELECT id FROM memory_items WHERE user_id = me AND turn_session_id = erased_session)
             || ARRAY(SELECT source_id FROM episodes WHERE user_id = me AND session_id = erased_session);
    SELECT count(*) INTO n FROM episodes WHERE user_id = me AND session_id = erased_session;
    gone := gone || jsonb_build_object('episodes', n);
    IF turns <> '{}' THEN
        UPDATE activity SET item_ids = ARRAY(SELECT other.id FROM unnest(item_ids) AS other (id) WHERE other.id <> ALL (turns)), query = NULL
        WHERE user_id = me AND item_ids && turns;
        PERFORM note_changes(turns);
        PERFORM forget_mentions(me, turns);
        DELETE FROM memory_embeddings WHERE user_id = me AND source_id = ANY (turns);
        DELETE FROM memory_passages WHERE user_id = me AND source_id = ANY (turns);
        DELETE FROM memory_items WHERE user_id = me AND id = ANY (turns);
        gone := gone || jsonb_build_object('turns', cardinality(turns) - n);
    END IF;
    -- The sentences that relations were read from go with it; with its memories, those that stood on it alone go too.
    IF with_memories THEN
        PERFORM recount_names(me, '{}', drop_relation_sources(me, ARRAY(
            SELECT id FROM entity_relation_sources WHERE user_id = me AND session_id = erased_session)));
    ELSE
        UPDATE entity_relation_sources SET sentence = NULL, session_id = NULL, position = NULL
        WHERE user_id = me AND session_id = erased_session;
    END IF;
    DELETE FROM session_extractions WHERE user_id = me AND session_id = erased_session;
    GET DIAGNOSTICS n = ROW_COUNT;
    gone := gone || jsonb_build_object('session_extractions', n);
    DELETE FROM session_messages WHERE user_id = me AND session_id = erased_session;
    GET DIAGNOSTICS n = ROW_COUNT;
    gone := gone || jsonb_build_object('session_messages', n);
    DELETE FROM sessions WHERE user_id = me AND id = erased_session;
    gone := gone || jsonb_build_object('sessions', 1);
    INSERT INTO erasure_receipts (public_id, kind, user_id, found, erased, requested_at, finished_at)
    VALUES (receipt, 'session', me, gone, gone, at, at);
    RETURN gone;
END $$;
