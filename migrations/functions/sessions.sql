-- Sessions, their messages, and what was made from them.

-- Replaces a message's text by one with ids in place of memories, if it was not extracted yet.
CREATE OR REPLACE FUNCTION keep_ids(of_session bigint, at_position integer, kept text) RETURNS void
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

-- Removes some expired turns of sessions. Returns their number.
CREATE OR REPLACE FUNCTION remove_turns(rows_max integer, oldest timestamptz) RETURNS bigint
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

-- Removes episodes of the current user, with their mentions and embeddings. Returns their number.
CREATE OR REPLACE FUNCTION remove_episodes(gone bigint[]) RETURNS bigint
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

-- Removes the text of a message, of its tool calls, and what search holds of it. The row stays in its place.
CREATE OR REPLACE FUNCTION remove_message(me bigint, of_session bigint, at_position integer, instead text) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    turns  bigint[];
    called jsonb;
BEGIN
    SELECT tool_calls INTO called FROM session_messages
    WHERE user_id = me AND session_id = of_session AND position = at_position FOR UPDATE;
    IF NOT FOUND THEN
        RETURN '{}';
    END IF;
    turns := ARRAY(SELECT id FROM memory_items
                   WHERE user_id = me AND turn_session_id = of_session AND turn_position = at_position);
    IF turns <> '{}' THEN
        PERFORM FROM memory_items WHERE user_id = me AND id = ANY (turns) ORDER BY id FOR UPDATE;
        PERFORM forget_reads(me, turns);
        PERFORM note_changes(turns);
        PERFORM forget_mentions(me, turns);
        DELETE FROM memory_embeddings WHERE user_id = me AND source_id = ANY (turns);
        DELETE FROM memory_passages WHERE user_id = me AND source_id = ANY (turns);
        DELETE FROM memory_items WHERE user_id = me AND id = ANY (turns);
    END IF;
    UPDATE memory_items SET source_context = NULL WHERE user_id = me AND session_id = of_session AND message_id = at_position;
    UPDATE entity_relation_sources SET sentence = NULL
    WHERE user_id = me AND session_id = of_session AND position = at_position;
    UPDATE session_extractions SET summary = NULL, attempts = attempts + CASE WHEN reading_since IS NULL THEN 0 ELSE 1 END, reading_since = NULL
    WHERE user_id = me AND session_id = of_session AND at_position BETWEEN first_position AND last_position;
    called := (SELECT jsonb_agg(call || '{"arguments": ""}') FROM jsonb_array_elements(called) AS c (call));
    UPDATE session_messages SET content = instead, tool_calls = called
    WHERE user_id = me AND session_id = of_session AND position = at_position;
    RETURN jsonb_build_object('session_messages', 1, 'turns', cardinality(turns));
END $$;

-- Removes a session of the current user, with its memories if asked, and adds a receipt if it has an id.
CREATE OR REPLACE FUNCTION erase_session(erased_session bigint, with_memories boolean, receipt text, at timestamptz)
    RETURNS jsonb LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    me    CONSTANT bigint := current_user_id();
    item  bigint;
    turns bigint[];
    said  text;
    named bigint[];
    are_noted boolean;
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
    -- Whoever derives something from them now, or records a call that found them, is waited for.
    PERFORM FROM memory_items WHERE user_id = me AND id = ANY (turns) ORDER BY id FOR UPDATE;
    FOR item IN SELECT DISTINCT item_id FROM memory_origins WHERE user_id = me AND session_id = erased_session LOOP
        gone := totals(gone, remove_item(me, item));
    END LOOP;
    IF turns <> '{}' THEN
        PERFORM forget_reads(me, turns);
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
    -- Names that its readings found and no memory has. Where mentions are not noted, or not yet, so many texts are asked.
    are_noted := coalesce((SELECT by_rules FROM entity_settings WHERE user_id = me), true);
    said := (SELECT folded(string_agg(concat_ws(' ', content, tool_calls), ' ')) FROM session_messages
             WHERE user_id = me AND session_id = erased_session);
    named := ARRAY(SELECT n.id FROM entity_names n JOIN entities e ON e.user_id = me AND e.id = n.entity_id
                   WHERE n.user_id = me AND n.mentions = 0 AND NOT n.by_person AND NOT e.by_person AND NOT e.protected
                     AND NOT EXISTS (SELECT FROM entity_relations r WHERE r.user_id = me AND r.subject_id = e.id)
                     AND NOT EXISTS (SELECT FROM entity_relations r WHERE r.user_id = me AND r.object_id = e.id)
                     AND has_words_of(said, n.name)
                     AND (n.filled_at IS NOT NULL AND are_noted
                          OR NOT EXISTS (SELECT FROM (SELECT content FROM memory_items WHERE user_id = me LIMIT 100000) i
                                         WHERE position(lower(n.name) IN lower(i.content)) > 0)));
    PERFORM recount_names(me, named, ARRAY(
        SELECT n.entity_id FROM entity_names n
        WHERE n.user_id = me AND n.id = ANY (named)
          AND NOT EXISTS (SELECT FROM entity_names p WHERE p.user_id = me AND p.entity_id = n.entity_id AND p.by_person)), '{}');
    DELETE FROM session_extractions WHERE user_id = me AND session_id = erased_session;
    GET DIAGNOSTICS n = ROW_COUNT;
    gone := gone || jsonb_build_object('session_extractions', n);
    DELETE FROM session_messages WHERE user_id = me AND session_id = erased_session;
    GET DIAGNOSTICS n = ROW_COUNT;
    gone := gone || jsonb_build_object('session_messages', n);
    DELETE FROM sessions WHERE user_id = me AND id = erased_session;
    gone := gone || jsonb_build_object('sessions', 1);
    IF receipt IS NULL THEN
        RETURN gone;
    END IF;
    INSERT INTO erasure_receipts (public_id, kind, user_id, found, erased, requested_at, finished_at)
    VALUES (receipt, 'session', me, gone, gone, at, at);
    RETURN gone;
END $$;

-- Removes some recall sessions that nothing was recalled in since. Returns their number.
CREATE OR REPLACE FUNCTION prune_recall_sessions(oldest timestamptz) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    n bigint;
BEGIN
    DELETE FROM recall_sessions r USING (
        SELECT user_id, agent_id, name FROM recall_sessions WHERE at < oldest LIMIT 10000
    ) gone
    WHERE r.user_id = gone.user_id AND r.agent_id = gone.agent_id AND r.name = gone.name;
    GET DIAGNOSTICS n = ROW_COUNT;
    RETURN n;
END $$;
