-- One stream of what happened, for programs: `GET /api/v1/changes` and webhooks. It is `memory_item_events` and, in one order
-- with them, what is no event of an item. Ids of both come from one sequence and are drawn under the lock of the user's
-- revision, so that of one user they commit in order: who has read up to an id has missed nothing before it.

CREATE TABLE feed_events (
    user_id        bigint NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    id             bigint NOT NULL,
    event          text NOT NULL CONSTRAINT feed_events_event_check CHECK (event IN ('erased', 'dream_proposed', 'job_failed')),
    at             timestamptz NOT NULL,
    item_id        bigint,                   -- of the memory that is gone
    owner_agent_id bigint,                   -- whose it was; NULL: shared
    dream_id       bigint,
    job            text,
    PRIMARY KEY (user_id, id)
);
CREATE INDEX feed_events_at_idx ON feed_events (at);

CREATE TABLE webhooks (
    user_id           bigint NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    id                bigint GENERATED ALWAYS AS IDENTITY,
    url               text NOT NULL,
    sealed_secret     bytea NOT NULL,
    sealed_old_secret bytea,                 -- signs beside the new one until then
    old_secret_until  timestamptz,
    events            text[] NOT NULL,       -- types that it is told
    includes_text     boolean NOT NULL,
    state             text NOT NULL CONSTRAINT webhooks_state_check CHECK (state IN ('on', 'paused', 'off')),
    position          bigint NOT NULL,       -- the last event that it was told, or that does not concern it
    created_at        timestamptz NOT NULL,
    delivered_at      timestamptz,           -- last
    failing_since     timestamptz,           -- NULL: the last delivery succeeded
    attempts          integer NOT NULL DEFAULT 0, -- since then
    next_try_at       timestamptz,
    PRIMARY KEY (user_id, id)
);

ALTER TABLE webhooks ALTER COLUMN url SET STATISTICS 0;

-- The last deliveries of each, for its page.
CREATE TABLE webhook_deliveries (
    user_id    bigint NOT NULL,
    id         bigint GENERATED ALWAYS AS IDENTITY,
    webhook_id bigint NOT NULL,
    event      text NOT NULL,
    at         timestamptz NOT NULL,
    took_ms    integer NOT NULL,
    status     smallint,                     -- NULL: there was no answer
    problem    text,                         -- NULL: it was accepted
    PRIMARY KEY (user_id, id),
    FOREIGN KEY (user_id, webhook_id) REFERENCES webhooks (user_id, id) ON DELETE CASCADE
);
CREATE INDEX webhook_deliveries_webhook_idx ON webhook_deliveries (user_id, webhook_id, id);

DO $$
DECLARE
    one text;
BEGIN
    FOREACH one IN ARRAY ARRAY['feed_events', 'webhooks', 'webhook_deliveries'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', one);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', one);
        EXECUTE format('CREATE POLICY owner ON %I TO keepsake_owner USING (true) WITH CHECK (true)', one);
        EXECUTE format('CREATE POLICY tenant ON %I TO keepsake_app USING (user_id = (SELECT current_user_id()))', one);
    END LOOP;
    -- They are the person's own.
    FOREACH one IN ARRAY ARRAY['webhooks', 'webhook_deliveries'] LOOP
        EXECUTE format('CREATE POLICY scope ON %I AS RESTRICTIVE TO keepsake_app USING ((SELECT scope_agent()) IS NULL)', one);
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO keepsake_app', one);
    END LOOP;
END $$;
-- An agent learns that a memory is gone if it saw it. Dreams and jobs are the person's own.
CREATE POLICY scope ON feed_events AS RESTRICTIVE FOR SELECT TO keepsake_app USING (
    (SELECT scope_agent()) IS NULL
    OR item_id IS NOT NULL AND (owner_agent_id = (SELECT scope_agent()) OR owner_agent_id IS NULL AND (SELECT sees_shared())));
GRANT SELECT, INSERT ON feed_events TO keepsake_app;
GRANT USAGE ON SEQUENCE memory_item_events_id_seq TO keepsake_app;

-- Whose webhooks have something to tell.
CREATE POLICY system ON webhooks FOR SELECT TO keepsake_system USING (true);
CREATE POLICY system ON feed_events TO keepsake_system USING (true);
GRANT SELECT (user_id, id, state, position, next_try_at) ON webhooks TO keepsake_system;
GRANT SELECT (user_id, id, at), DELETE ON feed_events TO keepsake_system;

INSERT INTO account_tables (name, place) VALUES ('feed_events', 21), ('webhooks', NULL), ('webhook_deliveries', NULL);

-- Tells that a job of a user has begun to fail; the tries that follow tell nothing. To be called before the job's row is
-- locked: who changes a memory locks the revision first, too.
CREATE FUNCTION note_job_failure(account bigint, failed_job text, moment timestamptz) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM job_queue q JOIN users u ON u.id = q.user_id
                   WHERE q.user_id = account AND q.job = failed_job AND q.problem IS NULL AND u.disabled_at IS NULL) THEN
        RETURN;
    END IF;
    INSERT INTO memory_revisions (user_id, revision) VALUES (account, 0) ON CONFLICT DO NOTHING;
    PERFORM FROM memory_revisions WHERE user_id = account FOR UPDATE;
    INSERT INTO feed_events (user_id, id, event, at, job)
    VALUES (account, nextval('memory_item_events_id_seq'), 'job_failed', moment, failed_job);
END $$;
REVOKE ALL ON FUNCTION note_job_failure(bigint, text, timestamptz) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION note_job_failure(bigint, text, timestamptz) TO keepsake_system;

-- As before, and tells the stream.
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
