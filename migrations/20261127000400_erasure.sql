-- What erasure removes beside what it did: passages, changes, jobs, links and copies of keys.

-- Where no place is given: few rows, which go with their user, or as the user goes.
UPDATE account_tables SET name = 'memory_embeddings' WHERE name = 'memory_item_embeddings';
INSERT INTO account_tables (name, place) VALUES
    ('memory_passages', 15), ('memory_changes', 16), ('memory_revisions', NULL), ('memory_passages_due', NULL),
    ('job_runs', 105), ('job_queue', NULL), ('evaluation_questions', NULL), ('evaluation_requests', NULL);

-- From here on nobody is signed in to the account, no token opens it, no vector is made
-- for it, and rows go; at once all copies of its providers' keys, the links that it made as an
-- admin, and invitations that were bound to its address. 'last_admin' where others would be left without an admin, 'gone'
-- where there is no such account or its erasure has begun.
CREATE OR REPLACE FUNCTION begin_account_erasure(account bigint, receipt text, at timestamptz) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    account_role text;
    account_email text;
    ended        jsonb := '{}';
    found_rows   jsonb;
    n            bigint;
BEGIN
    -- The lock of whoever changes who is an admin (accounts::store::lock_admins): two do not go at once
    -- and leave none.
    PERFORM pg_advisory_xact_lock(hashtext('keepsake admins'));
    SELECT role, email INTO account_role, account_email FROM users WHERE id = account AND erasing_at IS NULL FOR UPDATE;
    IF NOT FOUND THEN
        RETURN 'gone';
    END IF;
    IF account_role = 'admin'
       AND NOT EXISTS (SELECT FROM users WHERE role = 'admin' AND id <> account AND disabled_at IS NULL)
       AND EXISTS (SELECT FROM users WHERE id <> account AND erasing_at IS NULL) THEN
        RETURN 'last_admin';
    END IF;
    found_rows := account_rows(account);
    UPDATE users SET erasing_at = at, disabled_at = coalesce(disabled_at, at), memory_enabled = false
    WHERE id = account;
    DELETE FROM web_sessions WHERE user_id = account;
    GET DIAGNOSTICS n = ROW_COUNT;
    ended := ended || jsonb_build_object('web_sessions', n);
    DELETE FROM agent_tokens WHERE user_id = account;
    GET DIAGNOSTICS n = ROW_COUNT;
    ended := ended || jsonb_build_object('agent_tokens', n);
    -- Nothing is embedded any more: otherwise a worker would make anew what goes here.
    INSERT INTO embedding_settings (user_id, enabled, updated_at) VALUES (account, false, at)
    ON CONFLICT (user_id) DO UPDATE SET enabled = false, sealed_key = NULL;
    -- Every copy of a provider's key, and what a chat model would still be sent.
    UPDATE embedding_spaces SET sealed_key = NULL WHERE user_id = account AND sealed_key IS NOT NULL;
    UPDATE chat_settings SET enabled = false, sealed_key = NULL WHERE user_id = account;
    -- Links that they made end; those that hold their address, or set their password, go.
    UPDATE invitations SET revoked_at = at
    WHERE invited_by = account AND used_at IS NULL AND revoked_at IS NULL;
    DELETE FROM invitations WHERE email = account_email OR resets = account;
    INSERT INTO erasure_receipts (public_id, kind, user_id, found, erased, requested_at)
    VALUES (receipt, 'account', account, found_rows, ended, at);
    RETURN 'begun';
END $$;

-- One item of a user and all that derives from it, and how much that was. The calls that were
-- about it stay, without its number and without their words. Its theme goes where nothing else
-- is in it. NULL where there is no such item; a turn goes with its
-- session. For the functions that erase, which say whose it is.
CREATE OR REPLACE FUNCTION remove_item(me bigint, removed_item bigint) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    theme    bigint;
    n        bigint;
    gone     jsonb := '{}';
BEGIN
    SELECT theme_id INTO theme FROM memory_items
    WHERE user_id = me AND id = removed_item AND type <> 'turn' FOR UPDATE;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    UPDATE memory_items SET superseded_by = NULL WHERE user_id = me AND superseded_by = removed_item;
    GET DIAGNOSTICS n = ROW_COUNT;
    gone := gone || jsonb_build_object('links', n);
    -- In the history of others its number stands no more.
    UPDATE memory_item_events SET was_superseded_by = NULL WHERE user_id = me AND was_superseded_by = removed_item;
    PERFORM note_changes(ARRAY[removed_item]);
    DELETE FROM memory_embeddings WHERE user_id = me AND source_id = removed_item;
    GET DIAGNOSTICS n = ROW_COUNT;
    gone := gone || jsonb_build_object('memory_embeddings', n);
    DELETE FROM memory_passages WHERE user_id = me AND source_id = removed_item;
    GET DIAGNOSTICS n = ROW_COUNT;
    gone := gone || jsonb_build_object('memory_passages', n);
    DELETE FROM memory_item_events WHERE user_id = me AND item_id = removed_item;
    GET DIAGNOSTICS n = ROW_COUNT;
    gone := gone || jsonb_build_object('memory_item_events', n);
    UPDATE activity SET item_ids = array_remove(item_ids, removed_item), query = NULL
    WHERE user_id = me AND removed_item = ANY (item_ids);
    GET DIAGNOSTICS n = ROW_COUNT;
    gone := gone || jsonb_build_object('mentions', n);
    -- The summary that stands on it loses its text with this.
    DELETE FROM memory_summary_items WHERE user_id = me AND item_id = removed_item;
    GET DIAGNOSTICS n = ROW_COUNT;
    gone := gone || jsonb_build_object('memory_summary_items', n);
    DELETE FROM memory_items WHERE user_id = me AND id = removed_item;
    gone := gone || jsonb_build_object('memory_items', 1);
    n := 0;
    IF NOT EXISTS (SELECT FROM memory_items WHERE user_id = me AND theme_id = theme) THEN
        DELETE FROM memory_themes WHERE user_id = me AND id = theme;
        n := 1;
    END IF;
    RETURN gone || jsonb_build_object('memory_themes', n);
END $$;

-- One session of the current user: its messages, its ledger, and in the memories that came of it
-- the words they came from, or those memories as well. NULL where there is no such session.
-- Only src/erasure/store.rs calls it.
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
    -- Its turns are what was said itself. Calls that found them stay, without them and their words.
    turns := ARRAY(SELECT id FROM memory_items WHERE user_id = me AND turn_session_id = erased_session);
    IF turns <> '{}' THEN
        UPDATE activity SET item_ids = ARRAY(SELECT other.id FROM unnest(item_ids) AS other (id) WHERE other.id <> ALL (turns)), query = NULL
        WHERE user_id = me AND item_ids && turns;
        PERFORM note_changes(turns);
        DELETE FROM memory_embeddings WHERE user_id = me AND source_id = ANY (turns);
        DELETE FROM memory_passages WHERE user_id = me AND source_id = ANY (turns);
        DELETE FROM memory_items WHERE user_id = me AND id = ANY (turns);
        gone := gone || jsonb_build_object('turns', cardinality(turns));
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

-- Some of the current user's turns, once they have switched them off, with their vectors; how
-- many. Until it ends nobody switches them on again. The app itself may delete no item.
CREATE OR REPLACE FUNCTION remove_turns(rows_max integer) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    me   CONSTANT bigint := current_user_id();
    gone bigint[];
BEGIN
    PERFORM FROM users WHERE id = me AND NOT turns_searched FOR SHARE;
    IF NOT FOUND THEN
        RETURN 0;
    END IF;
    gone := ARRAY(SELECT id FROM memory_items WHERE user_id = me AND is_turn LIMIT rows_max);
    PERFORM note_changes(gone);
    DELETE FROM memory_items WHERE user_id = me AND id = ANY (gone);
    RETURN cardinality(gone);
END $$;

-- A bounded step of an account's erasure: `rows_max` rows, table by table, and at last the user, once
-- next to nothing else is left. 'more', 'finished', 'waiting' for a job of the account that runs, or
-- 'nothing' to do. The receipt grows in the same transaction.
DROP FUNCTION erase_account_step(integer, timestamptz);
CREATE FUNCTION erase_account_step(account bigint, rows_max integer, at timestamptz) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    receipt erasure_receipts;
    one     text;
    n       bigint;
    rest    jsonb;
    budget  bigint := rows_max;
BEGIN
    SELECT * INTO receipt FROM erasure_receipts
    WHERE user_id = account AND kind = 'account' AND finished_at IS NULL ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN 'nothing';
    END IF;
    -- Waits for whoever was let in before and is adding just now, and holds off all others
    -- until this step ends: whoever writes has the revision, and every row that is added locks its user.
    PERFORM FROM memory_revisions WHERE user_id = account FOR UPDATE;
    PERFORM FROM users WHERE id = account FOR UPDATE;
    UPDATE memory_items SET superseded_by = NULL WHERE user_id = account AND ctid = ANY (ARRAY(
        SELECT ctid FROM memory_items WHERE user_id = account AND superseded_by IS NOT NULL LIMIT rows_max));
    GET DIAGNOSTICS n = ROW_COUNT;
    budget := budget - n;
    FOR one IN SELECT name FROM account_tables WHERE place IS NOT NULL ORDER BY place LOOP
        IF budget <= 0 THEN
            RETURN 'more';
        END IF;
        EXECUTE format('DELETE FROM %1$I WHERE user_id = $1 AND ctid = ANY (ARRAY(
                            SELECT ctid FROM %1$I WHERE user_id = $1 LIMIT $2))', one)
            USING account, budget;
        GET DIAGNOSTICS n = ROW_COUNT;
        budget := budget - n;
        UPDATE erasure_receipts
        SET erased = erased || jsonb_build_object(one, coalesce((erased->>one)::bigint, 0) + n)
        WHERE id = receipt.id AND n > 0;
    END LOOP;
    -- What another job of the account writes would outlive it.
    IF EXISTS (SELECT FROM job_queue WHERE user_id = account AND job <> 'erase'
                                       AND lease_until BETWEEN at AND at + interval '1 minute') THEN
        RETURN 'waiting';
    END IF;
    -- What was written meanwhile goes with the user.
    rest := account_rows(account);
    SELECT sum(value::bigint) INTO n FROM jsonb_each_text(rest);
    IF n > rows_max THEN
        RETURN 'more';
    END IF;
    UPDATE operators SET users_count = users_count - 1
    WHERE id = (SELECT operator_id FROM users WHERE users.id = account);
    DELETE FROM job_queue WHERE user_id = account;
    DELETE FROM job_runs WHERE user_id = account;
    DELETE FROM users WHERE id = account;
    UPDATE erasure_receipts
    SET finished_at = at,
        erased = (SELECT jsonb_object_agg(key, coalesce((erased->>key)::bigint, 0) + value::bigint)
                  FROM jsonb_each_text(rest))
    WHERE id = receipt.id;
    UPDATE erasure_receipts SET user_id = NULL WHERE user_id = account;
    RETURN 'finished';
END $$;
REVOKE ALL ON FUNCTION erase_account_step(bigint, integer, timestamptz) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION erase_account_step(bigint, integer, timestamptz) TO keepsake_system;
