-- What a person deletes permanently in one act: one memory, or all about something (src/erasure/). It waits for Undo; then workers
-- erase it in steps, and its receipt is written.

CREATE TABLE deletions (
    user_id           bigint NOT NULL,
    receipt           text NOT NULL,              -- the public id of its receipt
    kind              text NOT NULL CONSTRAINT deletions_kind_check CHECK (kind IN ('item', 'chosen')),
    memories          bigint[] NOT NULL,          -- and episodes and documents, whose ids are of one sequence
    sessions          bigint[] NOT NULL,
    message_sessions  bigint[] NOT NULL,          -- messages: the session of each …
    message_positions integer[] NOT NULL,         -- … and its position there
    entities          bigint[] NOT NULL,
    calls             bigint[] NOT NULL,          -- whose search query goes
    with_summary      boolean NOT NULL,
    found             jsonb NOT NULL,             -- how much of each was chosen
    erased            jsonb NOT NULL DEFAULT '{}',
    stays             jsonb NOT NULL,             -- how much was found and not chosen
    requested_at      timestamptz NOT NULL,
    due_at            timestamptz NOT NULL,
    PRIMARY KEY (user_id, receipt)
);
ALTER TABLE deletions ALTER COLUMN receipt SET STATISTICS 0;
CREATE INDEX deletions_due_idx ON deletions (due_at);
ALTER TABLE deletions ENABLE ROW LEVEL SECURITY;
ALTER TABLE deletions FORCE  ROW LEVEL SECURITY;
CREATE POLICY owner  ON deletions TO keepsake_owner USING (true) WITH CHECK (true);
CREATE POLICY tenant ON deletions TO keepsake_app USING (user_id = (SELECT current_user_id()));
CREATE POLICY system ON deletions FOR SELECT TO keepsake_system USING (true);
GRANT SELECT, INSERT, DELETE ON deletions TO keepsake_app;
GRANT SELECT ON deletions TO keepsake_system;
INSERT INTO account_tables (name, place) VALUES ('deletions', 7);

ALTER TABLE erasure_receipts ADD COLUMN stays jsonb NOT NULL DEFAULT '{}';
ALTER TABLE erasure_receipts DROP CONSTRAINT erasure_receipts_kind_check;
ALTER TABLE erasure_receipts ADD CONSTRAINT erasure_receipts_kind_check
    CHECK (kind IN ('item', 'session', 'document', 'account', 'chosen'));
ALTER TABLE erasure_notes ADD COLUMN position integer;  -- of a message in its session
ALTER TABLE erasure_notes DROP CONSTRAINT erasure_notes_what_check, ADD CONSTRAINT erasure_notes_what_check CHECK (what IN (
    'memory', 'session', 'document', 'account', 'message', 'entity',
    'token_revoked', 'service_token_revoked', 'account_disabled', 'account_enabled', 'admin_demoted', 'admin_promoted',
    'team_left', 'webhook_deleted', 'agent_off', 'agent_on', 'memory_off', 'memory_on', 'chat_off', 'chat_on',
    'embeddings_off', 'embeddings_on', 'chat_endpoint_removed', 'embedding_endpoint_removed',
    'endpoint_disallowed', 'endpoint_allowed'));

-- Those that are waiting for Undo on the day of the upgrade.
INSERT INTO deletions (user_id, receipt, kind, memories, sessions, message_sessions, message_positions, entities, calls,
                       with_summary, found, stays, requested_at, due_at)
SELECT user_id, replace(gen_random_uuid()::text, '-', ''), 'item', ARRAY[id], '{}', '{}', '{}', '{}', '{}', false,
       '{"memory_items": 1}', '{}', delete_at - interval '10 seconds', delete_at
FROM memory_items WHERE delete_at IS NOT NULL
ON CONFLICT DO NOTHING;

-- For the search of what is to be deleted.
GRANT EXECUTE ON FUNCTION folded(text) TO keepsake_app;

CREATE FUNCTION note_message_erasure(session bigint, at_position integer, at timestamptz) RETURNS void
    LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    INSERT INTO erasure_notes (what, account_id, object_id, position, with_memories, at)
    VALUES ('message', current_user_id(), session, at_position, false, at);
$$;
REVOKE ALL ON FUNCTION note_message_erasure(bigint, integer, timestamptz) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION note_message_erasure(bigint, integer, timestamptz) TO keepsake_app;

-- A session that is erased as a part of more has no receipt of its own.
DO $$
DECLARE
    now_is CONSTANT text := pg_get_functiondef('erase_session(bigint, boolean, text, timestamptz)'::regprocedure);
    begins CONSTANT text := '    INSERT INTO erasure_receipts';
BEGIN
    ASSERT position(begins IN now_is) > 0;
    EXECUTE replace(now_is, begins, E'    IF receipt IS NULL THEN\n        RETURN gone;\n    END IF;\n' || begins);
END $$;

-- A message's words, where it was called with them too, and what search has of it. It stays in its place, without them.
CREATE FUNCTION remove_message(me bigint, of_session bigint, at_position integer, instead text) RETURNS jsonb
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
    UPDATE session_extractions SET summary = NULL
    WHERE user_id = me AND session_id = of_session AND at_position BETWEEN first_position AND last_position;
    called := (SELECT jsonb_agg(call || '{"arguments": ""}') FROM jsonb_array_elements(called) AS c (call));
    UPDATE session_messages SET content = instead, tool_calls = called
    WHERE user_id = me AND session_id = of_session AND position = at_position;
    RETURN jsonb_build_object('session_messages', 1, 'turns', cardinality(turns));
END $$;
REVOKE ALL ON FUNCTION remove_message(bigint, bigint, integer, text) FROM PUBLIC;

-- An entity with its names, and what was merged into it.
CREATE FUNCTION remove_entity(me bigint, removed bigint) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    went text[];
    n    bigint;
BEGIN
    went := ARRAY(SELECT name FROM entity_names WHERE user_id = me AND entity_id = removed
                  UNION SELECT name FROM entities WHERE user_id = me AND (id = removed OR merged_into = removed));
    DELETE FROM entities WHERE user_id = me AND id = removed;
    GET DIAGNOSTICS n = ROW_COUNT;
    IF n > 0 THEN
        PERFORM forget_names(me, went);
    END IF;
    RETURN jsonb_build_object('entities', n);
END $$;
REVOKE ALL ON FUNCTION remove_entity(bigint, bigint) FROM PUBLIC;

-- Some of what is due of a deletion of the current user; of each kind so much, and one session. Returns whether more is left; NULL
-- where there is nothing due.
CREATE FUNCTION erase_chosen(of_receipt text, most integer, instead text, now_at timestamptz) RETURNS boolean
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
REVOKE ALL ON FUNCTION erase_chosen(text, integer, text, timestamptz) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION erase_chosen(text, integer, text, timestamptz) TO keepsake_app;

-- For a restore: a message or an entity again.
CREATE FUNCTION erase_again(is_message boolean, object bigint, at_position integer, instead text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    me   CONSTANT bigint := current_user_id();
    gone jsonb;
BEGIN
    gone := CASE WHEN is_message THEN remove_message(me, object, at_position, instead) ELSE remove_entity(me, object) END;
    RETURN gone <> '{}' AND gone <> '{"entities": 0}';
END $$;
REVOKE ALL ON FUNCTION erase_again(boolean, bigint, integer, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION erase_again(boolean, bigint, integer, text) TO keepsake_app;

-- On a database that is distributed already; Citus takes no subquery in a policy, and there the app role acts.
DO $$
DECLARE
    one regprocedure;
BEGIN
    IF EXISTS (SELECT FROM pg_extension WHERE extname = 'citus')
       AND coalesce(current_setting('keepsake.distributed', true), '') = 'on' THEN
        ALTER POLICY tenant ON deletions USING (user_id = current_user_id());
        PERFORM create_distributed_table('deletions', 'user_id', colocate_with => 'memory_items');
        FOR one IN SELECT oid FROM pg_proc WHERE pronamespace = 'public'::regnamespace AND proname IN (
            'remove_message', 'remove_entity', 'erase_chosen', 'erase_again', 'keep_ids') LOOP
            EXECUTE format('ALTER FUNCTION %s SECURITY INVOKER', one);
            EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO keepsake_app, keepsake_system', one);
        END LOOP;
        GRANT UPDATE ON deletions, session_messages, session_extractions TO keepsake_app;
    END IF;
END $$;
