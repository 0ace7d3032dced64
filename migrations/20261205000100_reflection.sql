-- Reflection: once a week what was remembered and told is read together, and what it was about is written as a memory, which
-- stands on what it was written from and goes with it.

ALTER TABLE memory_items
    DROP CONSTRAINT memory_items_type_check,
    ADD CONSTRAINT memory_items_type_check
        CHECK (type IN ('preference', 'fact', 'instruction', 'summary', 'other', 'reflection', 'turn', 'document', 'episode'));
CREATE INDEX memory_items_reflection_idx ON memory_items (user_id, created_at DESC) WHERE type = 'reflection';

-- What a derived memory was written from, and the session that an episode among it told of. No foreign keys: an episode that has
-- expired leaves its number and its session, by which the memory still goes.
CREATE TABLE memory_origins (
    user_id    bigint NOT NULL,
    item_id    bigint NOT NULL,
    source_id  bigint NOT NULL,
    session_id bigint,
    PRIMARY KEY (user_id, item_id, source_id),
    FOREIGN KEY (user_id, item_id) REFERENCES memory_items (user_id, id) ON DELETE CASCADE
);
CREATE INDEX memory_origins_source_idx ON memory_origins (user_id, source_id);
CREATE INDEX memory_origins_session_idx ON memory_origins (user_id, session_id);

-- When a job that comes round by a schedule was done last for a user, and when what could not be done is tried again.
CREATE TABLE job_rounds (
    user_id     bigint NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    job         text NOT NULL,
    done_at     timestamptz,
    next_try_at timestamptz,
    PRIMARY KEY (user_id, job)
);
INSERT INTO job_rounds (user_id, job, done_at)
SELECT user_id, 'fade', faded_at FROM fading_settings WHERE faded_at IS NOT NULL
UNION ALL SELECT user_id, 'enrich', enriched_at FROM entity_settings WHERE enriched_at IS NOT NULL;
ALTER TABLE fading_settings DROP COLUMN faded_at;
ALTER TABLE entity_settings DROP COLUMN enriched_at;
GRANT SELECT ON job_rounds TO keepsake_system;

DO $$
DECLARE
    one text;
BEGIN
    FOREACH one IN ARRAY ARRAY['memory_origins', 'job_rounds'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', one);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', one);
        EXECUTE format('CREATE POLICY owner ON %I TO keepsake_owner USING (true) WITH CHECK (true)', one);
        EXECUTE format('CREATE POLICY tenant ON %I TO keepsake_app USING (user_id = (SELECT current_user_id()))', one);
        EXECUTE format('GRANT SELECT, INSERT, UPDATE ON %I TO keepsake_app', one);
    END LOOP;
END $$;
CREATE POLICY system ON job_rounds FOR SELECT TO keepsake_system USING (true);
INSERT INTO account_tables (name, place) VALUES ('memory_origins', 8), ('job_rounds', NULL);

-- Users for whom the job was done last, or who began to remember, before the round that came in their time zone.
CREATE FUNCTION users_due(of_job text, zones text[], rounds timestamptz[], now timestamptz) RETURNS TABLE (user_id bigint)
    LANGUAGE sql STABLE AS $$
    SELECT u.id FROM users u
    JOIN memory_revisions r ON r.user_id = u.id
    JOIN unnest(zones, rounds) AS n (zone, at) ON n.zone = u.time_zone
    LEFT JOIN job_rounds d ON d.user_id = u.id AND d.job = of_job
    WHERE u.erasing_at IS NULL AND u.disabled_at IS NULL AND u.memory_enabled
      AND coalesce(d.done_at, (SELECT e.at FROM memory_item_events e WHERE e.user_id = u.id ORDER BY e.id LIMIT 1), u.created_at) < n.at
      AND (d.next_try_at IS NULL OR d.next_try_at <= now)
$$;

ALTER TABLE chat_spend_purposes
    DROP CONSTRAINT chat_spend_purposes_purpose_check,
    ADD CONSTRAINT chat_spend_purposes_purpose_check
        CHECK (purpose IN ('facts', 'enrichment', 'summary', 'reflection', 'evaluation', 'earlier'));

-- Counts by name, added up.
CREATE FUNCTION totals(one jsonb, other jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
    SELECT coalesce(jsonb_object_agg(key, total), '{}')
    FROM (SELECT key, sum(value::bigint) AS total
          FROM (SELECT * FROM jsonb_each_text(one) UNION ALL SELECT * FROM jsonb_each_text(other)) each
          GROUP BY key) of_all
$$;

CREATE OR REPLACE FUNCTION remove_item(me bigint, removed_item bigint) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    theme    bigint;
    n        bigint;
    derived  bigint;
    gone     jsonb := '{}';
BEGIN
    SELECT theme_id INTO theme FROM memory_items
    WHERE user_id = me AND id = removed_item AND type <> 'turn' FOR UPDATE;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    -- What was derived from it goes too.
    FOR derived IN DELETE FROM memory_origins WHERE user_id = me AND source_id = removed_item RETURNING item_id LOOP
        gone := totals(gone, remove_item(me, derived));
    END LOOP;
    UPDATE memory_items SET superseded_by = NULL WHERE user_id = me AND superseded_by = removed_item;
    GET DIAGNOSTICS n = ROW_COUNT;
    gone := totals(gone, jsonb_build_object('links', n));
    -- In the history of others its number stands no more.
    UPDATE memory_item_events SET was_superseded_by = NULL WHERE user_id = me AND was_superseded_by = removed_item;
    PERFORM note_changes(ARRAY[removed_item]);
    SELECT count(*) INTO n FROM entity_mentions WHERE user_id = me AND source_id = removed_item;
    gone := totals(gone, jsonb_build_object('entity_mentions', n));
    PERFORM forget_mentions(me, ARRAY[removed_item]);
    DELETE FROM memory_embeddings WHERE user_id = me AND source_id = removed_item;
    GET DIAGNOSTICS n = ROW_COUNT;
    gone := totals(gone, jsonb_build_object('memory_embeddings', n));
    DELETE FROM memory_passages WHERE user_id = me AND source_id = removed_item;
    GET DIAGNOSTICS n = ROW_COUNT;
    gone := totals(gone, jsonb_build_object('memory_passages', n));
    DELETE FROM memory_item_events WHERE user_id = me AND item_id = removed_item;
    GET DIAGNOSTICS n = ROW_COUNT;
    gone := totals(gone, jsonb_build_object('memory_item_events', n));
    UPDATE activity SET item_ids = array_remove(item_ids, removed_item), query = NULL
    WHERE user_id = me AND removed_item = ANY (item_ids);
    GET DIAGNOSTICS n = ROW_COUNT;
    gone := totals(gone, jsonb_build_object('mentions', n));
    -- The summary that stands on it loses its text with this.
    DELETE FROM memory_summary_items WHERE user_id = me AND item_id = removed_item;
    GET DIAGNOSTICS n = ROW_COUNT;
    gone := totals(gone, jsonb_build_object('memory_summary_items', n));
    DELETE FROM memory_items WHERE user_id = me AND id = removed_item;
    gone := totals(gone, jsonb_build_object('memory_items', 1));
    n := 0;
    IF NOT EXISTS (SELECT FROM memory_items WHERE user_id = me AND theme_id = theme) THEN
        DELETE FROM memory_themes WHERE user_id = me AND id = theme;
        n := 1;
    END IF;
    RETURN totals(gone, jsonb_build_object('memory_themes', n));
END $$;

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
            gone := totals(gone, remove_item(me, item));
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
    gone := totals(gone, jsonb_build_object('episodes', n));
    -- Whoever derives something from them now is waited for.
    PERFORM FROM memory_items WHERE user_id = me AND id = ANY (turns) AND type = 'episode' ORDER BY id FOR UPDATE;
    FOR item IN SELECT DISTINCT item_id FROM memory_origins WHERE user_id = me AND session_id = erased_session LOOP
        gone := totals(gone, remove_item(me, item));
    END LOOP;
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

CREATE OR REPLACE FUNCTION untell(item bigint) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    me        CONSTANT bigint := current_user_id();
    concerned bigint[];
    derived   bigint;
BEGIN
    FOR derived IN SELECT DISTINCT item_id FROM memory_origins WHERE user_id = me AND source_id = item LOOP
        PERFORM remove_item(me, derived);
    END LOOP;
    concerned := drop_relation_sources(me, ARRAY(
        SELECT id FROM entity_relation_sources WHERE user_id = me AND source_id = item));
    PERFORM recount_names(me, '{}', concerned || ARRAY(
        SELECT DISTINCT n.entity_id FROM entity_mentions m JOIN entity_names n ON n.user_id = me AND n.id = m.name_id
        WHERE m.user_id = me AND m.source_id = item));
    DELETE FROM entity_enriched WHERE user_id = me AND source_id = item;
    DELETE FROM memory_summary_items WHERE user_id = me AND item_id = item;
END $$;
