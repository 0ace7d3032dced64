-- What a database that Citus distributes by user (docs/scaling.md) refuses goes; all of it serves one PostgreSQL as well.
-- `keepsake migrate --citus` replaces what is different there (src/db/citus/).

-- What a transaction says of its user and of its agent: by these, since Citus' workers learn it in another way.
CREATE FUNCTION for_user(account bigint) RETURNS void LANGUAGE sql VOLATILE AS $$
    SELECT set_config('keepsake.user_id', account::text, true)
$$;
CREATE FUNCTION act_for(agent bigint, scope text) RETURNS void LANGUAGE sql VOLATILE AS $$
    SELECT set_config('keepsake.agent', agent::text, true), set_config('keepsake.scope', scope, true)
$$;
CREATE OR REPLACE FUNCTION enter_scope(account bigint, agent bigint) RETURNS void
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    scope text;
BEGIN
    SELECT coalesce(settings ->> 'memory_scope', 'shared') INTO scope FROM agents WHERE user_id = account AND id = agent;
    -- An agent that is gone sees nothing.
    PERFORM act_for(agent, coalesce(scope, 'own_only'));
END $$;
CREATE OR REPLACE FUNCTION require_token(account bigint, token bigint, at timestamptz) RETURNS void
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    reason text;
    agent  bigint;
    scope  text;
BEGIN
    SELECT CASE WHEN t.revoked_at IS NOT NULL THEN 'revoked'
                WHEN t.expires_at <= at THEN 'expired'
                WHEN u.disabled_at IS NOT NULL THEN 'disabled'
                WHEN NOT u.memory_enabled THEN 'memory_off_user'
                WHEN NOT a.memory_enabled THEN 'memory_off_agent'
                ELSE 'none' END,
           a.id, coalesce(a.settings ->> 'memory_scope', 'shared')
    INTO reason, agent, scope
    FROM agent_tokens t
    JOIN users u ON u.id = t.user_id
    JOIN agents a ON a.user_id = t.user_id AND a.id = t.agent_id
    WHERE t.user_id = account AND t.id = token;
    IF reason IS DISTINCT FROM 'none' THEN
        RAISE EXCEPTION USING ERRCODE = 'KS001', MESSAGE = coalesce(reason, 'unknown');
    END IF;
    PERFORM act_for(agent, scope);
END $$;

-- The leader of the team that this agent is in: whose memory its calls read too.
CREATE FUNCTION leader_of(account bigint, agent bigint) RETURNS TABLE (user_id bigint, id bigint, name text)
    LANGUAGE sql STABLE AS $$
    SELECT l.user_id, l.id, l.name FROM team_members m JOIN agents l ON l.user_id = m.leader_user AND l.id = m.leader_agent
    WHERE m.member_user = account AND m.member_agent = agent
$$;

-- A summary goes with one of the memories that it stands on, and is due since it was made. What took them away was a trigger.
DROP TRIGGER drop_summary ON memory_summary_items;
DROP FUNCTION drop_summary_without_its_items();
CREATE FUNCTION drop_summary_of(me bigint, item bigint) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    n bigint;
BEGIN
    DELETE FROM memory_summary_items WHERE user_id = me AND item_id = item;
    GET DIAGNOSTICS n = ROW_COUNT;
    IF n > 0 THEN
        UPDATE memory_summaries
        SET body = NULL, made_at = NULL, model = NULL, facts_hash = NULL, made_event = 0, tried_event = 0,
            next_try_at = made_at, attempts = 0, failure = NULL
        WHERE user_id = me AND body IS NOT NULL;
    END IF;
    RETURN n;
END $$;
REVOKE ALL ON FUNCTION drop_summary_of(bigint, bigint) FROM PUBLIC;
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
    PERFORM drop_summary_of(me, item);
END $$;

-- Functions of SQL that read users' rows are planned with their arguments unknown.
CREATE OR REPLACE FUNCTION fading_items(account bigint, at timestamptz, rates jsonb)
    RETURNS TABLE (item_id bigint, strength double precision, rate double precision, last_used timestamptz, access_count bigint)
    LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY
    SELECT i.id, strength_of(i.confidence, i.rate, i.last_used, at), i.rate, i.last_used, i.access_count
    FROM (SELECT i.id, i.confidence, decay_rate_of(i.type, i.protected, i.decay_rate, rates) AS rate,
                 greatest(i.created_at, i.last_verified_at, m.last_accessed) AS last_used, coalesce(m.access_count, 0) AS access_count
          FROM memory_items i LEFT JOIN memory_uses m ON m.user_id = account AND m.item_id = i.id
          WHERE i.user_id = account AND i.theme_id IS NOT NULL AND is_live(i.status, i.live_until, at)) i
    WHERE i.rate > 0;
END $$;
CREATE OR REPLACE FUNCTION users_due(of_job text, zones text[], rounds timestamptz[], now timestamptz) RETURNS TABLE (user_id bigint)
    LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY
    SELECT u.id FROM memory_revisions r
    JOIN users u ON u.id = r.user_id
    JOIN unnest(zones, rounds) AS n (zone, at) ON n.zone = u.time_zone
    LEFT JOIN job_rounds d ON d.user_id = r.user_id AND d.job = of_job
    WHERE u.erasing_at IS NULL AND u.disabled_at IS NULL AND u.memory_enabled
      AND coalesce(d.done_at, greatest(u.created_at, (SELECT e.at FROM memory_item_events e WHERE e.user_id = r.user_id ORDER BY e.id LIMIT 1))) < n.at
      AND (d.next_try_at IS NULL OR d.next_try_at <= now);
END $$;

-- A statement that draws a row's number by itself names it, where Citus would otherwise have it drawn by a worker.
GRANT USAGE ON SEQUENCE agents_id_seq, agent_tokens_id_seq, entity_names_id_seq, entity_relation_sources_id_seq, unwanted_id_seq
    TO keepsake_app, keepsake_system;
