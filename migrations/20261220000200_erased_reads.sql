-- What is erased is named by no call any more: not by those of others whom it was lent to, and not by one that is recorded
-- afterwards. With a session goes what it alone has named.

-- Reads of what others lend, by what was read; few calls are such.
CREATE INDEX activity_lent_idx ON activity USING gin (lent_ids) WHERE lent_ids IS NOT NULL;

-- Which of these are rows of this user still: of the transaction's user, or of one who lends to an agent of theirs. They are
-- locked, so that an erasure waits for the call that names them and finds it; what is being erased is none any more.
CREATE FUNCTION still_there(account bigint, ids bigint[]) RETURNS SETOF bigint
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    me CONSTANT bigint := current_user_id();
BEGIN
    -- Before their rows, as who erases an account locks them.
    PERFORM FROM users WHERE id = me FOR KEY SHARE;
    IF account IS DISTINCT FROM me THEN
        IF NOT EXISTS (SELECT FROM team_members WHERE leader_user = account AND member_user = me)
           AND NOT EXISTS (SELECT FROM users u JOIN operators o ON o.id = u.operator_id
                           JOIN users p ON p.operator_id = o.id AND p.external_id = o.pool
                           WHERE u.id = me AND p.id = account) THEN
            RETURN;
        END IF;
    END IF;
    RETURN QUERY SELECT i.id FROM memory_items i WHERE i.user_id = account AND i.id = ANY (ids) FOR KEY SHARE SKIP LOCKED;
    RETURN QUERY SELECT d.id FROM documents d WHERE d.user_id = account AND d.id = ANY (ids) FOR KEY SHARE SKIP LOCKED;
END $$;
REVOKE ALL ON FUNCTION still_there(bigint, bigint[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION still_there(bigint, bigint[]) TO keepsake_app;

-- Calls that found what goes stay, without it and their words: those of agents that it was lent to …
CREATE FUNCTION forget_lent_reads(gone bigint[]) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    UPDATE activity
    SET item_ids = ARRAY(SELECT other.id FROM unnest(item_ids) AS other (id) WHERE other.id <> ALL (gone)), query = NULL,
        lent_ids = nullif(ARRAY(SELECT other.id FROM unnest(lent_ids) AS other (id) WHERE other.id <> ALL (gone)), '{}')
    WHERE lent_ids && gone;
END $$;
REVOKE ALL ON FUNCTION forget_lent_reads(bigint[]) FROM PUBLIC;
-- … and the user's own; how many of these.
CREATE FUNCTION forget_reads(me bigint, gone bigint[]) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    n bigint;
BEGIN
    UPDATE activity
    SET item_ids = ARRAY(SELECT other.id FROM unnest(item_ids) AS other (id) WHERE other.id <> ALL (gone)), query = NULL
    WHERE user_id = me AND item_ids && gone;
    GET DIAGNOSTICS n = ROW_COUNT;
    PERFORM forget_lent_reads(gone);
    RETURN n;
END $$;
REVOKE ALL ON FUNCTION forget_reads(bigint, bigint[]) FROM PUBLIC;

CREATE OR REPLACE FUNCTION remove_item(me bigint, removed_item bigint) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    theme    bigint;
    owner    bigint;
    n        bigint;
    derived  bigint;
    gone     jsonb := '{}';
BEGIN
    SELECT theme_id, owner_agent_id INTO theme, owner FROM memory_items
    WHERE user_id = me AND id = removed_item AND type <> 'turn' FOR UPDATE;
    IF NOT FOUND THEN
        -- What a dream wrote is a document.
        RETURN remove_document(me, removed_item);
    END IF;
    -- What was derived from it goes too.
    FOR derived IN DELETE FROM memory_origins WHERE user_id = me AND source_id = removed_item RETURNING item_id LOOP
        gone := totals(gone, remove_item(me, derived));
    END LOOP;
    DELETE FROM memory_origins WHERE user_id = me AND item_id = removed_item;
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
    gone := totals(gone, jsonb_build_object('mentions', forget_reads(me, ARRAY[removed_item])));
    -- The summary that stands on it loses its text with this.
    gone := totals(gone, jsonb_build_object('memory_summary_items', drop_summary_of(me, removed_item)));
    DELETE FROM memory_items WHERE user_id = me AND id = removed_item;
    gone := totals(gone, jsonb_build_object('memory_items', 1));
    -- Of a memory: whoever follows the stream deletes their copy. The transaction tells the time (src/memories/feed/).
    IF theme IS NOT NULL THEN
        INSERT INTO feed_events (user_id, id, event, at, item_id, owner_agent_id)
        VALUES (me, nextval('memory_item_events_id_seq'), 'erased',
                coalesce(nullif(current_setting('keepsake.at', true), '')::timestamptz, clock_timestamp()), removed_item, owner);
    END IF;
    n := 0;
    IF NOT EXISTS (SELECT FROM memory_items WHERE user_id = me AND theme_id = theme) THEN
        DELETE FROM memory_themes WHERE user_id = me AND id = theme;
        n := 1;
    END IF;
    RETURN totals(gone, jsonb_build_object('memory_themes', n));
END $$;

CREATE OR REPLACE FUNCTION remove_document(me bigint, erased_document bigint) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    parts bigint[];
    n     bigint;
    gone  jsonb := '{}';
BEGIN
    PERFORM FROM documents WHERE user_id = me AND id = erased_document FOR UPDATE;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    -- Whoever records a call that found them is waited for.
    PERFORM FROM memory_items WHERE user_id = me AND document_id = erased_document ORDER BY id FOR UPDATE;
    parts := ARRAY(SELECT id FROM memory_items WHERE user_id = me AND document_id = erased_document);
    gone := gone || jsonb_build_object('mentions', forget_reads(me, parts || erased_document));
    DELETE FROM memory_embeddings WHERE user_id = me AND source_id = ANY (parts);
    GET DIAGNOSTICS n = ROW_COUNT;
    gone := gone || jsonb_build_object('memory_embeddings', n);
    SELECT count(*) INTO n FROM memory_passages WHERE user_id = me AND source_id = ANY (parts);
    gone := gone || jsonb_build_object('memory_passages', n);
    SELECT count(*) INTO n FROM entity_mentions WHERE user_id = me AND source_id = ANY (parts);
    gone := gone || jsonb_build_object('entity_mentions', n, 'parts', cardinality(parts));
    PERFORM remove_parts(parts);
    DELETE FROM document_revisions WHERE user_id = me AND document_id = erased_document;
    GET DIAGNOSTICS n = ROW_COUNT;
    gone := gone || jsonb_build_object('document_revisions', n);
    DELETE FROM memory_origins WHERE user_id = me AND item_id = erased_document;
    DELETE FROM documents WHERE user_id = me AND id = erased_document;
    gone := gone || jsonb_build_object('documents', 1);
    RETURN gone;
END $$;

CREATE OR REPLACE FUNCTION erase_session(erased_session bigint, with_memories boolean, receipt text, at timestamptz)
    RETURNS jsonb LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    me    CONSTANT bigint := current_user_id();
    item  bigint;
    turns bigint[];
    named bigint[];
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
    -- What readings named and no memory mentions was told in sessions alone.
    named := ARRAY(SELECT n.id FROM entity_names n JOIN entities e ON e.user_id = me AND e.id = n.entity_id
                   WHERE n.user_id = me AND n.mentions = 0 AND NOT n.by_person AND NOT e.protected
                     AND NOT EXISTS (SELECT FROM entity_relations r
                                     WHERE r.user_id = me AND (r.subject_id = e.id OR r.object_id = e.id)));
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
