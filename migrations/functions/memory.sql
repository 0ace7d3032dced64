-- Items and turns (`memory_items`): when they are live, what they are worth, how they are erased.

-- Whether an item or turn is live. The planner inlines it.
CREATE OR REPLACE FUNCTION is_live(status text, live_until timestamptz, at timestamptz) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT status = 'active' AND live_until > at $$;

-- Whether the period contains the time: half-open, an unknown end is open (docs/time.md). The planner inlines it.
CREATE OR REPLACE FUNCTION holds(valid_from timestamptz, valid_until timestamptz, at timestamptz) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$ SELECT coalesce(valid_from <= at, true) AND coalesce(at < valid_until, true) $$;

-- Whether the period has ended.
CREATE OR REPLACE FUNCTION is_over(valid_until timestamptz, at timestamptz) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT coalesce(valid_until <= at, false) $$;

-- Whether of two values of one key one replaces the other: both are over, hold, or are ahead, and there is a time in both periods.
CREATE OR REPLACE FUNCTION periods_meet(a_from timestamptz, a_until timestamptz, b_from timestamptz, b_until timestamptz, at timestamptz)
    RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$ SELECT is_over(a_until, at) = is_over(b_until, at) AND holds(a_from, a_until, at) = holds(b_from, b_until, at)
             AND coalesce(a_from < b_until, true) AND coalesce(b_from < a_until, true) $$;

-- When an item next begins or ends to hold. The job `expire` then lets it replace what held, and what was written from memories is due.
CREATE OR REPLACE FUNCTION next_turn(valid_from timestamptz, valid_until timestamptz, at timestamptz) RETURNS timestamptz
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$ SELECT CASE WHEN valid_from > at THEN valid_from WHEN valid_until > at THEN valid_until END $$;

-- Whether a shared item gives way to one of the acting agent's own with the same key or text, in the same project and time.
CREATE OR REPLACE FUNCTION is_shadowed(owner bigint, theme bigint, of_key text, hash bytea, project bigint, since timestamptz, until timestamptz,
                                       at timestamptz) RETURNS boolean
    LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = public, pg_temp AS $$
DECLARE
    own CONSTANT bigint := own_before_shared();
BEGIN
    RETURN own IS NOT NULL AND owner IS NULL AND theme IS NOT NULL AND EXISTS (
        SELECT FROM memory_items i WHERE i.user_id = current_user_id() AND i.theme_id = theme AND i.owner_agent_id = own
          AND i.status = 'active' AND (replace(i.key, '_', '') = replace(of_key, '_', '') OR i.content_hash = hash) AND i.project_id IS NOT DISTINCT FROM project
          AND periods_meet(i.valid_from, i.valid_until, since, until, at));
END $$;

-- The strength that an item loses a day, 0 to 1.
CREATE OR REPLACE FUNCTION decay_rate_of(type text, protected boolean, own double precision, rates jsonb) RETURNS double precision
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN protected OR type IN ('instruction', 'reflection') THEN 0
                ELSE coalesce(own, (rates ->> type)::double precision, 0) END
$$;

-- Strength, 0 to 1.
CREATE OR REPLACE FUNCTION strength_of(confidence smallint, rate double precision, last_used timestamptz, at timestamptz) RETURNS double precision
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT confidence / 100.0::double precision
         * exp(-least(rate * greatest(extract(epoch FROM at - last_used)::double precision / 86400, 0), 500))
$$;

-- Items that fade, with their strength and daily rate.
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

-- 'ready' when all passages of a source have an embedding in this space, 'pending', 'error'; NULL without passages.
CREATE OR REPLACE FUNCTION embedding_state(owner bigint, space bigint, source bigint) RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE SET search_path = public, pg_temp AS $$
    SELECT CASE WHEN bool_or(state = 'pending') THEN 'pending' WHEN bool_or(state = 'error') THEN 'error'
                WHEN count(*) > 0 THEN 'ready' END
    FROM memory_embeddings WHERE user_id = owner AND space_id = space AND source_id = source
$$;

-- Records that these sources of the current user change at this transaction's revision, so that search indexes read them again.
CREATE OR REPLACE FUNCTION note_changes(sources bigint[]) RETURNS void
    LANGUAGE plpgsql VOLATILE SET search_path = public, pg_temp AS $$
DECLARE
    me  CONSTANT bigint := current_user_id();
    now bigint;
BEGIN
    IF sources = '{}' THEN
        RETURN;
    END IF;
    SELECT revision INTO now FROM memory_revisions WHERE user_id = me AND xmin = pg_current_xact_id()::xid;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'a memory is changed by a transaction that has not raised its revision';
    END IF;
    INSERT INTO memory_changes (user_id, revision, source_id)
    SELECT me, now, id FROM unnest(sources) AS s (id) ON CONFLICT DO NOTHING;
END $$;

-- Removes the records of a day ago and more, for some users. Returns the number of users; 0 when none are left.
CREATE OR REPLACE FUNCTION prune_changes(at timestamptz) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    one   record;
    users bigint := 0;
BEGIN
    FOR one IN SELECT user_id, revision, day_revision FROM memory_revisions
               WHERE day_began <= at - interval '1 day' AND revision > told_from ORDER BY user_id LIMIT 20 LOOP
        DELETE FROM memory_changes WHERE user_id = one.user_id AND revision <= one.day_revision;
        UPDATE memory_revisions SET told_from = greatest(told_from, one.day_revision), day_revision = one.revision, day_began = at
        WHERE user_id = one.user_id;
        users := users + 1;
    END LOOP;
    RETURN users;
END $$;

-- Undoes what was read out of an item that is no longer active: what was derived, its relations and names, the summary.
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

-- Calls that found these sources lose them and their query. Returns the number of the user's own calls.
CREATE OR REPLACE FUNCTION forget_reads(me bigint, gone bigint[]) RETURNS bigint
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

-- The ids that are still rows of this user: of the transaction's user, or of one who lends to its agent. They are locked, so that an
-- erasure waits for the call that names them and finds it; what is being erased is not among them.
CREATE OR REPLACE FUNCTION still_there(account bigint, ids bigint[]) RETURNS SETOF bigint
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

-- A summary loses its text with an item of it, and the note of when it was tried, so that it is written again.
CREATE OR REPLACE FUNCTION drop_summary_of(me bigint, item bigint) RETURNS bigint
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

-- Removes an item with its embeddings, mentions and history. Returns the number of rows by table; NULL if there is no such item.
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
    -- Other items' history loses its id.
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
    gone := totals(gone, jsonb_build_object('memory_summary_items', drop_summary_of(me, removed_item)));
    DELETE FROM memory_items WHERE user_id = me AND id = removed_item;
    gone := totals(gone, jsonb_build_object('memory_items', 1));
    -- Whoever follows the feed deletes their copy (src/core/memories/feed/).
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

-- `remove_item` for the current user, with a receipt.
CREATE OR REPLACE FUNCTION erase_item(erased_item bigint, receipt text, at timestamptz) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    me       CONSTANT bigint := current_user_id();
    gone     CONSTANT jsonb := remove_item(me, erased_item);
BEGIN
    IF gone IS NOT NULL THEN
        INSERT INTO erasure_receipts (public_id, kind, user_id, found, erased, requested_at, finished_at)
        VALUES (receipt, 'item', me, gone, gone, at, at);
    END IF;
    RETURN gone;
END $$;

-- Lower case, without accents.
CREATE OR REPLACE FUNCTION folded(words text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
    $$ SELECT regexp_replace(normalize(lower(words), NFD), '[\u0300-\u036f]', '', 'g') $$;

-- Whether each word of a name occurs in a folded text. PL/pgSQL, since Citus may create it on a worker before `folded`.
CREATE OR REPLACE FUNCTION has_words_of(words text, name text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
    RETURN (SELECT bool_and(position(w.word IN words) > 0)
            FROM regexp_split_to_table(public.folded(name), '[^[:alnum:]]+') AS w (word));
END $$;

-- Whether so many of the regular expressions match the folded text. PL/pgSQL for the same reason.
CREATE OR REPLACE FUNCTION has_patterns(words text, patterns text[], wanted bigint) RETURNS boolean
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
    folded text;
BEGIN
    IF patterns = '{}' THEN
        RETURN false;
    END IF;
    folded := public.folded(words);
    RETURN wanted <= (SELECT count(*) FROM unnest(patterns) AS p (pattern) WHERE folded ~ p.pattern);
END $$;
