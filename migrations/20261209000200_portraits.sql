-- What is written about an entity goes with what it was written from, and not with all that ever named it.
ALTER TABLE entities ADD COLUMN summary_items bigint[];   -- the memories it was written from; NULL: nobody knows
ALTER TABLE entities ALTER COLUMN summary_items SET STATISTICS 0;

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

-- After mentions of names went. gone: the sources that are deleted; NULL: any may be told.
DROP FUNCTION recount_names(bigint, bigint[], bigint[]);
CREATE FUNCTION recount_names(me bigint, named bigint[], concerned bigint[], gone bigint[] DEFAULT NULL) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
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
    DELETE FROM entity_names n
    WHERE n.user_id = me AND n.id = ANY (named) AND n.mentions = 0 AND NOT n.by_person
      AND NOT EXISTS (SELECT FROM entities e WHERE e.user_id = me AND e.id = n.entity_id AND e.protected);
    -- An entity that nobody mentions goes, with what was merged into it; one that relations of other sources name stays.
    DELETE FROM entities e
    WHERE e.user_id = me AND e.id = ANY (concerned) AND NOT e.protected
      AND NOT EXISTS (SELECT FROM entity_names n WHERE n.user_id = me AND n.entity_id = e.id AND n.mentions > 0)
      AND NOT EXISTS (SELECT FROM entity_relations r WHERE r.user_id = me AND (r.subject_id = e.id OR r.object_id = e.id));
    -- A name that went is another's turn.
    WITH best AS (
        SELECT e.id, (SELECT n.name FROM entity_names n WHERE n.user_id = me AND n.entity_id = e.id
                      ORDER BY n.name = e.name DESC, n.mentions DESC, n.id LIMIT 1) AS name
        FROM entities e WHERE e.user_id = me AND e.id = ANY (concerned) AND NOT e.by_person AND NOT e.protected),
    given AS (
        UPDATE entities e SET name = b.name FROM best b
        WHERE e.user_id = me AND e.id = b.id AND b.name <> e.name RETURNING e.id)
    SELECT array_agg(id) INTO renamed FROM given;
    -- A summary tells what it was written from, and the name.
    UPDATE entities e SET summary = NULL, summary_vector = NULL, summary_mentions = 0, summary_items = NULL
    WHERE e.user_id = me AND e.id = ANY (concerned)
      AND (gone IS NULL OR e.summary_items IS NULL OR e.summary_items && gone OR e.id = ANY (renamed));
END $$;
REVOKE ALL ON FUNCTION recount_names(bigint, bigint[], bigint[], bigint[]) FROM PUBLIC;
