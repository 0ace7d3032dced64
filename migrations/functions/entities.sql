-- Entities, their names and relations.

-- Removes sources of relations, and relations without a source. Returns the entities at their ends.
CREATE OR REPLACE FUNCTION drop_relation_sources(me bigint, gone bigint[]) RETURNS bigint[]
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    touched bigint[];
    ends    bigint[];
BEGIN
    touched := ARRAY(SELECT DISTINCT relation_id FROM entity_relation_sources WHERE user_id = me AND id = ANY (gone));
    DELETE FROM entity_relation_sources WHERE user_id = me AND id = ANY (gone);
    WITH removed AS (
        DELETE FROM entity_relations r WHERE r.user_id = me AND r.id = ANY (touched)
            AND NOT EXISTS (SELECT FROM entity_relation_sources s WHERE s.user_id = me AND s.relation_id = r.id)
        RETURNING subject_id, object_id)
    SELECT array_agg(DISTINCT e.id) INTO ends
    FROM removed, LATERAL (VALUES (subject_id), (object_id)) AS e (id) WHERE e.id IS NOT NULL;
    RETURN coalesce(ends, '{}');
END $$;

-- Removes the mentions of these sources.
CREATE OR REPLACE FUNCTION forget_mentions(me bigint, sources bigint[]) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    named     bigint[];
    ends      bigint[];
    concerned bigint[];
BEGIN
    named := ARRAY(SELECT DISTINCT name_id FROM entity_mentions WHERE user_id = me AND source_id = ANY (sources));
    DELETE FROM entity_mentions WHERE user_id = me AND source_id = ANY (sources);
    ends := drop_relation_sources(me, ARRAY(
        SELECT id FROM entity_relation_sources WHERE user_id = me AND source_id = ANY (sources)));
    concerned := ARRAY(SELECT DISTINCT entity_id FROM entity_names WHERE user_id = me AND id = ANY (named)) || ends;
    PERFORM recount_names(me, named, concerned, sources);
END $$;

-- Counts names again after mentions went; removes names and entities without a mention.
CREATE OR REPLACE FUNCTION recount_names(me bigint, named bigint[], concerned bigint[], gone bigint[] DEFAULT NULL) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    went    text[];
    renamed bigint[];
BEGIN
    UPDATE entity_names n SET mentions = c.mentions, first_seen = c.first, last_seen = c.last
    FROM (SELECT w.id, count(i.id) AS mentions, min(i.created_at) AS first, max(i.created_at) AS last
          FROM unnest(named) AS w (id)
          LEFT JOIN entity_mentions m ON m.user_id = me AND m.name_id = w.id
          LEFT JOIN memory_items i ON i.user_id = me AND i.id = m.source_id
          GROUP BY w.id) c
    WHERE n.user_id = me AND n.id = c.id;
    -- What it is called was in what went.
    WITH removed AS (
        DELETE FROM entity_names n
        WHERE n.user_id = me AND n.id = ANY (named) AND n.mentions = 0 AND NOT n.by_person
          AND NOT EXISTS (SELECT FROM entities e WHERE e.user_id = me AND e.id = n.entity_id AND e.protected)
        RETURNING n.name)
    SELECT array_agg(DISTINCT name) INTO went FROM removed;
    -- An entity that nobody mentions goes, with what was merged into it; one that relations of other sources name stays.
    DELETE FROM entities e
    WHERE e.user_id = me AND e.id = ANY (concerned) AND NOT e.protected
      AND NOT EXISTS (SELECT FROM entity_names n WHERE n.user_id = me AND n.entity_id = e.id AND n.mentions > 0)
      AND NOT EXISTS (SELECT FROM entity_relations r WHERE r.user_id = me AND (r.subject_id = e.id OR r.object_id = e.id));
    -- A name that went is another's turn.
    WITH best AS (
        SELECT e.id, (SELECT n.name FROM entity_names n WHERE n.user_id = me AND n.entity_id = e.id
                      ORDER BY n.name = e.name DESC, n.mentions DESC, n.id LIMIT 1) AS name
        FROM entities e WHERE e.user_id = me AND e.id = ANY (concerned) AND NOT e.protected
          AND (NOT e.by_person OR e.name = ANY (went))),
    given AS (
        UPDATE entities e SET name = b.name FROM best b
        WHERE e.user_id = me AND e.id = b.id AND b.name <> e.name RETURNING e.id)
    SELECT array_agg(id) INTO renamed FROM given;
    IF went IS NOT NULL THEN
        PERFORM forget_names(me, went);
    END IF;
    -- A summary tells what it was written from, and the name.
    UPDATE entities e SET summary = NULL, summary_vector = NULL, summary_mentions = 0, summary_items = NULL
    WHERE e.user_id = me AND e.id = ANY (concerned)
      AND (gone IS NULL OR e.summary_items IS NULL OR e.summary_items && gone OR e.id = ANY (renamed));
END $$;

-- Removes a name from merged entities and from the history of decisions, whose undo would restore it.
CREATE OR REPLACE FUNCTION forget_names(me bigint, went text[]) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    merged record;
    best   text;
BEGIN
    FOR merged IN SELECT m.id, m.name, m.merged_into FROM entities m
                  WHERE m.user_id = me AND m.merged_into IS NOT NULL AND m.name = ANY (went) AND NOT m.protected ORDER BY m.id LOOP
        -- Its turn is of the names that its merge moved; without any, there is nothing to undo.
        best := (SELECT n.name FROM entity_names n
                 WHERE n.user_id = me AND n.id IN (
                     SELECT moved.id::bigint FROM entity_events v, jsonb_array_elements_text(v.detail -> 'names') AS moved (id)
                     WHERE v.user_id = me AND v.event = 'merged' AND v.undone_at IS NULL AND v.detail ->> 'from' = merged.id::text
                       AND v.entity_id IN (SELECT e.id FROM entities e
                                           WHERE e.user_id = me AND (e.id = merged.merged_into OR e.merged_into = merged.merged_into)))
                 ORDER BY n.name = merged.name DESC, n.mentions DESC, n.id LIMIT 1);
        IF best IS NULL THEN
            DELETE FROM entities WHERE user_id = me AND id = merged.id;
        ELSE
            UPDATE entities SET name = best WHERE user_id = me AND id = merged.id AND name <> best;
        END IF;
    END LOOP;
    UPDATE entity_events v SET detail = v.detail - 'name'
    WHERE v.user_id = me AND v.detail ->> 'name' = ANY (went)
      AND NOT EXISTS (SELECT FROM entity_names n WHERE n.user_id = me AND n.name = v.detail ->> 'name');
END $$;

-- Whether the transaction knows all names of an entity. A reader of lent memory knows those in what is lent.
CREATE OR REPLACE FUNCTION sees_all_names() RETURNS boolean LANGUAGE sql STABLE SET search_path = public, pg_temp AS $$
    SELECT NOT is_lent()
        AND (scope_agent() IS NULL OR current_setting('keepsake.writes', true) IS NOT DISTINCT FROM 'on'
            OR NOT EXISTS (SELECT FROM agents WHERE user_id = current_user_id() AND coalesce(settings ->> 'memory_scope', 'shared') <> 'shared')
               AND NOT EXISTS (SELECT FROM whole_memory WHERE owner_agent_id IS NOT NULL))
$$;

-- An entity's name as the acting agent knows it: its own name where it sees it somewhere, or another that it sees.
CREATE OR REPLACE FUNCTION seen_name(entity bigint, known text) RETURNS text
    LANGUAGE sql STABLE SET search_path = public, pg_temp AS $$
    SELECT coalesce((SELECT name FROM entity_names WHERE user_id = current_user_id() AND entity_id = entity
                     ORDER BY name = known DESC, mentions DESC, id LIMIT 1), known)
$$;

-- Removes an entity with its names and what was merged into it.
CREATE OR REPLACE FUNCTION remove_entity(me bigint, removed bigint) RETURNS jsonb
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
