-- Erasure of an account and of what a person chose; receipts and notes.

-- Adds up counts by name.
CREATE OR REPLACE FUNCTION totals(one jsonb, other jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
    SELECT coalesce(jsonb_object_agg(key, total), '{}')
    FROM (SELECT key, sum(value::bigint) AS total
          FROM (SELECT * FROM jsonb_each_text(one) UNION ALL SELECT * FROM jsonb_each_text(other)) each
          GROUP BY key) of_all
$$;

-- Rows of an account, by table.
CREATE OR REPLACE FUNCTION account_rows(account bigint) RETURNS jsonb
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    one     text;
    n       bigint;
    counted jsonb := '{}';
BEGIN
    FOR one IN SELECT name FROM account_tables LOOP
        EXECUTE format('SELECT count(*) FROM %I WHERE user_id = $1', one) INTO n USING account;
        counted := counted || jsonb_build_object(one, n);
    END LOOP;
    RETURN counted || jsonb_build_object('users', (SELECT count(*) FROM users WHERE id = account));
END $$;

-- Closes the account: sessions, tokens, keys and links end at once, rows follow in steps. 'begun'; 'last_admin' where others would be
-- left without an admin; 'gone' where there is no such account or its erasure has begun.
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

-- Removes at most so many rows of the account. 'more', 'waiting' for another job of the account, 'finished', 'nothing'.
CREATE OR REPLACE FUNCTION erase_account_step(account bigint, rows_max integer, at timestamptz) RETURNS text
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

-- Removes a part of a due deletion of the current user: so many of each kind, and one session. Returns whether more is left; NULL if
-- nothing is due.
CREATE OR REPLACE FUNCTION erase_chosen(of_receipt text, most integer, instead text, now_at timestamptz) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    me         CONSTANT bigint := current_user_id();
    of_kind    text;
    items      bigint[];
    talks      bigint[];
    of_talks   bigint[];
    positions  integer[];
    named      bigint[];
    asked      bigint[];
    summarised boolean;
    gone       jsonb;
    stayed     jsonb;
    asked_at   timestamptz;
    one        bigint;
    n          bigint;
    part       jsonb;
BEGIN
    SELECT kind, memories, sessions, message_sessions, message_positions, entities, calls, with_summary, erased, stays, requested_at
    INTO of_kind, items, talks, of_talks, positions, named, asked, summarised, gone, stayed, asked_at
    FROM deletions WHERE user_id = me AND receipt = of_receipt AND due_at <= now_at FOR UPDATE;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    FOREACH one IN ARRAY items[1:most] LOOP
        part := remove_item(me, one);
        IF part IS NOT NULL THEN
            gone := totals(gone, part);
            PERFORM note_erasure('memory', one, false, now_at);
        END IF;
    END LOOP;
    FOREACH one IN ARRAY talks[1:1] LOOP
        part := erase_session(one, false, NULL, now_at);
        IF part IS NOT NULL THEN
            gone := totals(gone, part);
            PERFORM note_erasure('session', one, false, now_at);
        END IF;
    END LOOP;
    FOR n IN 1 .. least(most, cardinality(of_talks)) LOOP
        part := remove_message(me, of_talks[n], positions[n], instead);
        IF part <> '{}' THEN
            gone := totals(gone, part);
            PERFORM note_message_erasure(of_talks[n], positions[n], now_at);
        END IF;
    END LOOP;
    FOREACH one IN ARRAY named[1:most] LOOP
        gone := totals(gone, remove_entity(me, one));
        PERFORM note_erasure('entity', one, false, now_at);
    END LOOP;
    asked := asked[1:most] || '{}'::bigint[];
    IF asked <> '{}' THEN
        UPDATE activity SET query = NULL WHERE user_id = me AND id = ANY (asked) AND query IS NOT NULL;
        GET DIAGNOSTICS n = ROW_COUNT;
        gone := totals(gone, jsonb_build_object('queries', n));
    END IF;
    IF summarised THEN
        UPDATE memory_summaries
        SET body = NULL, made_at = NULL, model = NULL, facts_hash = NULL, made_event = 0, tried_event = 0,
            next_try_at = made_at, attempts = 0, failure = NULL
        WHERE user_id = me AND body IS NOT NULL;
        GET DIAGNOSTICS n = ROW_COUNT;
        gone := totals(gone, jsonb_build_object('memory_summaries', n));
    END IF;
    SELECT calls INTO asked FROM deletions WHERE user_id = me AND receipt = of_receipt;
    items := items[most + 1:];
    talks := talks[2:];
    of_talks := of_talks[most + 1:];
    positions := positions[most + 1:];
    named := named[most + 1:];
    asked := asked[most + 1:];
    IF cardinality(items) + cardinality(talks) + cardinality(of_talks) + cardinality(named) + cardinality(asked) > 0 THEN
        UPDATE deletions
        SET memories = items, sessions = talks, message_sessions = of_talks, message_positions = positions, entities = named,
            calls = asked, with_summary = false, erased = gone
        WHERE user_id = me AND receipt = of_receipt;
        RETURN true;
    END IF;
    DELETE FROM deletions WHERE user_id = me AND receipt = of_receipt;
    -- Of what somebody else has deleted meanwhile there is another receipt.
    IF gone <> '{}' THEN
        INSERT INTO erasure_receipts (public_id, kind, user_id, found, erased, stays, requested_at, finished_at)
        VALUES (of_receipt, of_kind, me, gone, gone, stayed, asked_at, now_at);
    END IF;
    RETURN false;
END $$;

-- For a restore: removes a message or an entity that was erased after the backup.
CREATE OR REPLACE FUNCTION erase_again(is_message boolean, object bigint, at_position integer, instead text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    me   CONSTANT bigint := current_user_id();
    gone jsonb;
BEGIN
    gone := CASE WHEN is_message THEN remove_message(me, object, at_position, instead) ELSE remove_entity(me, object) END;
    RETURN gone <> '{}' AND gone <> '{"entities": 0}';
END $$;

-- Records an erasure for restores, in its transaction.
CREATE OR REPLACE FUNCTION note_erasure(what text, object_id bigint, with_memories boolean, at timestamptz) RETURNS void
    LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    INSERT INTO erasure_notes (what, account_id, object_id, with_memories, at)
    VALUES (what, current_user_id(), object_id, with_memories, at);
$$;

-- The same for a message.
CREATE OR REPLACE FUNCTION note_message_erasure(session bigint, at_position integer, at timestamptz) RETURNS void
    LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    INSERT INTO erasure_notes (what, account_id, object_id, position, with_memories, at)
    VALUES ('message', current_user_id(), session, at_position, false, at);
$$;
