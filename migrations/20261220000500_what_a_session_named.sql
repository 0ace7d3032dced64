-- With an erased session go the names that it told, and no others. What earlier ones say of Citus is done where they were late.

-- In small letters, without accents.
CREATE FUNCTION folded(words text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
    $$ SELECT regexp_replace(normalize(lower(words), NFD), '[\u0300-\u036f]', '', 'g') $$;
-- Whether each word of a name occurs in a folded text. In PL/pgSQL, since Citus may make it on a worker before `folded`.
CREATE FUNCTION has_words_of(words text, name text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
    RETURN (SELECT bool_and(position(w.word IN words) > 0)
            FROM regexp_split_to_table(public.folded(name), '[^[:alnum:]]+') AS w (word));
END $$;
REVOKE ALL ON FUNCTION folded(text), has_words_of(text, text) FROM PUBLIC;

CREATE INDEX entity_relations_subject_idx ON entity_relations (user_id, subject_id);
CREATE INDEX entity_events_name_idx ON entity_events (user_id, (detail ->> 'name')) WHERE detail ->> 'name' IS NOT NULL;

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
    INSERT INTO erasure_receipts (public_id, kind, user_id, found, erased, requested_at, finished_at)
    VALUES (receipt, 'session', me, gone, gone, at, at);
    RETURN gone;
END $$;

-- Of a document's revisions so many with a text stay; of those without one, what is among the newest twice as many. Returns how
-- many bytes went.
CREATE OR REPLACE FUNCTION trim_revisions(of_document bigint, kept integer) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    me       CONSTANT bigint := current_user_id();
    first    integer;
    textless integer;
    n        bigint;
BEGIN
    -- The first that stays has a text, since those after it may have none of their own.
    SELECT revision INTO first FROM document_revisions
    WHERE user_id = me AND document_id = of_document AND content IS NOT NULL
    ORDER BY revision DESC OFFSET kept - 1 LIMIT 1;
    SELECT revision INTO textless FROM document_revisions
    WHERE user_id = me AND document_id = of_document
    ORDER BY revision DESC OFFSET 2 * kept - 1 LIMIT 1;
    -- Citus fails where a condition is of NULL alone.
    first := coalesce(first, 0);
    textless := coalesce(textless, 0);
    WITH gone AS (
        DELETE FROM document_revisions
        WHERE user_id = me AND document_id = of_document AND (revision < first OR revision < textless AND content IS NULL)
        RETURNING octet_length(content) AS bytes)
    SELECT coalesce(sum(bytes), 0) INTO n FROM gone;
    UPDATE documents SET kept_bytes = kept_bytes - n WHERE user_id = me AND id = of_document AND n > 0;
    RETURN n;
END $$;

-- As in src/db/citus/store.rs, on a database that was distributed before these were made: there the app role acts.
DO $$
DECLARE
    one regprocedure;
BEGIN
    IF coalesce(current_setting('keepsake.distributed', true), '') = 'on' THEN
        CREATE OR REPLACE FUNCTION forget_lent_reads(gone bigint[]) RETURNS void LANGUAGE plpgsql AS 'BEGIN END';
        FOR one IN SELECT oid FROM pg_proc WHERE pronamespace = 'public'::regnamespace AND proname IN (
            'erase_session', 'folded', 'forget_lent_reads', 'forget_names', 'forget_reads', 'has_words_of', 'recount_names',
            'remove_document', 'remove_item', 'still_there', 'trim_revisions') LOOP
            EXECUTE format('ALTER FUNCTION %s SECURITY INVOKER', one);
            EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO keepsake_app, keepsake_system', one);
        END LOOP;
    END IF;
END $$;
