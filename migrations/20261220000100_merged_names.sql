-- A name that went with what was erased stands nowhere: not on the row of an entity that was merged into another, and not in
-- the history of decisions, whose undo would bring it back.
CREATE FUNCTION forget_names(me bigint, went text[]) RETURNS void
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
REVOKE ALL ON FUNCTION forget_names(bigint, text[]) FROM PUBLIC;

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

-- What was erased before this: names that rules had found and that are of no row any more, and summaries from before a merge.
UPDATE entities SET summary = NULL, summary_vector = NULL, summary_mentions = 0, summary_items = NULL
WHERE merged_into IS NOT NULL AND summary IS NOT NULL;
DO $$
DECLARE
    one record;
BEGIN
    FOR one IN
        SELECT w.user_id, array_agg(DISTINCT w.name) AS went
        FROM (SELECT m.user_id, m.name FROM entities m WHERE m.merged_into IS NOT NULL AND NOT m.by_person AND NOT m.protected
              UNION ALL
              SELECT v.user_id, v.detail ->> 'name' FROM entity_events v
              JOIN entities e ON e.user_id = v.user_id AND e.id = v.entity_id AND NOT e.protected
              WHERE v.detail ? 'name' AND v.detail ->> 'by_person' IS DISTINCT FROM 'true') AS w (user_id, name)
        WHERE NOT EXISTS (SELECT FROM entity_names n WHERE n.user_id = w.user_id AND n.name = w.name)
        GROUP BY w.user_id LOOP
        PERFORM forget_names(one.user_id, one.went);
    END LOOP;
    -- As in src/db/citus/store.rs: there the app role acts.
    IF coalesce(current_setting('keepsake.distributed', true), '') = 'on' THEN
        ALTER FUNCTION forget_names(bigint, text[]) SECURITY INVOKER;
        ALTER FUNCTION recount_names(bigint, bigint[], bigint[], bigint[]) SECURITY INVOKER;
        GRANT EXECUTE ON FUNCTION forget_names(bigint, text[]) TO keepsake_app, keepsake_system;
    END IF;
END $$;
