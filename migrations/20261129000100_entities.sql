-- People, projects, organisations, places: what sources name, and how these stand to each other, since when and by
-- whose word. An entity has names; a mention is of a name, so that to merge two entities moves a few names.

CREATE TABLE entities (
    user_id          bigint NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    id               bigint GENERATED ALWAYS AS IDENTITY,
    name             text NOT NULL CONSTRAINT entities_name_check CHECK (length(name) BETWEEN 1 AND 200),
    type             text NOT NULL CONSTRAINT entities_type_check CHECK (type IN (
        'person', 'project', 'organization', 'location', 'product', 'date', 'email', 'url', 'other')),
    is_user          boolean NOT NULL DEFAULT false, -- the person whose memory it is
    by_person        boolean NOT NULL DEFAULT false, -- a person has named it, or said its type
    summary          text,                           -- by the chat model, of what mentions it alone
    summary_at       timestamptz,
    summary_mentions bigint NOT NULL DEFAULT 0,      -- when it was written
    summary_vector   halfvec,                        -- of name and summary …
    summary_space    bigint,                         -- … in this space
    protected        boolean NOT NULL DEFAULT false, -- stays when nothing mentions it, and is merged by a person alone
    owner_agent_id   bigint,                         -- NULL: shared
    created_at       timestamptz NOT NULL,
    compared_at      timestamptz,                    -- with the others; NULL: still to be
    merged_into      bigint,                         -- its names are there
    PRIMARY KEY (user_id, id),
    FOREIGN KEY (user_id, owner_agent_id) REFERENCES agents (user_id, id),
    FOREIGN KEY (user_id, merged_into) REFERENCES entities (user_id, id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX entities_user_key ON entities (user_id) WHERE is_user;
CREATE INDEX entities_merged_idx ON entities (user_id, merged_into) WHERE merged_into IS NOT NULL;
CREATE INDEX entities_uncompared_idx ON entities (user_id, id) WHERE compared_at IS NULL;

CREATE TABLE entity_names (
    user_id    bigint NOT NULL,
    id         bigint GENERATED ALWAYS AS IDENTITY,
    entity_id  bigint NOT NULL,
    name       text NOT NULL,                  -- as it was written first
    normal     text NOT NULL,                  -- what counts of it: src/memories/mentions/normal.rs
    mentions   bigint NOT NULL DEFAULT 0,      -- sources
    first_seen timestamptz,                    -- dates of sources; NULL: none was seen
    last_seen  timestamptz,
    by_person  boolean NOT NULL DEFAULT false,
    filled_at  timestamptz,                    -- sources that name it in small letters are linked; NULL: still to be
    PRIMARY KEY (user_id, id),
    FOREIGN KEY (user_id, entity_id) REFERENCES entities (user_id, id) ON DELETE CASCADE
);
CREATE INDEX entity_names_entity_idx ON entity_names (user_id, entity_id);
CREATE INDEX entity_names_normal_idx ON entity_names (user_id, normal);
CREATE INDEX entity_names_unfilled_idx ON entity_names (user_id, id) WHERE filled_at IS NULL;

CREATE TABLE entity_mentions (
    user_id    bigint NOT NULL,
    source_id  bigint NOT NULL,
    name_id    bigint NOT NULL,
    start      integer NOT NULL,  -- characters of the text before it, where it stands first
    length     integer NOT NULL,
    found_by   text NOT NULL CONSTRAINT entity_mentions_found_by_check CHECK (found_by IN ('rules', 'model', 'known')),
    confidence smallint NOT NULL CONSTRAINT entity_mentions_confidence_check CHECK (confidence BETWEEN 0 AND 100),
    PRIMARY KEY (user_id, source_id, name_id),
    FOREIGN KEY (user_id, source_id) REFERENCES memory_items (user_id, id) ON DELETE CASCADE,
    FOREIGN KEY (user_id, name_id) REFERENCES entity_names (user_id, id) ON DELETE CASCADE
);
CREATE INDEX entity_mentions_name_idx ON entity_mentions (user_id, name_id, source_id);

-- Either an entity or a value stands at its end. Of single-valued predicates one holds at a time: the database
-- refuses two; src/entities/ decides by trust and date which ends.
CREATE TABLE entity_relations (
    user_id     bigint NOT NULL,
    id          bigint GENERATED ALWAYS AS IDENTITY,
    subject_id  bigint NOT NULL,
    predicate   text NOT NULL,
    words       text,                   -- of related_to: how
    object_id   bigint,
    value       text,
    is_single   boolean NOT NULL,
    valid_from  timestamptz,            -- either side may be open
    valid_until timestamptz,
    confidence  smallint NOT NULL CONSTRAINT entity_relations_confidence_check CHECK (confidence BETWEEN 0 AND 100),
    trust       text NOT NULL CONSTRAINT entity_relations_trust_check CHECK (trust IN ('user', 'agent', 'tool', 'external')),
    stated_at   timestamptz NOT NULL,   -- when it was last said
    recorded_at timestamptz NOT NULL,
    retired_at  timestamptz,            -- since when it is held for true no more
    retired_for bigint,                 -- which took its place; NULL: a person's act, or its sources are gone
    PRIMARY KEY (user_id, id),
    FOREIGN KEY (user_id, subject_id) REFERENCES entities (user_id, id) ON DELETE CASCADE,
    FOREIGN KEY (user_id, object_id) REFERENCES entities (user_id, id) ON DELETE CASCADE,
    CONSTRAINT entity_relations_end_check CHECK ((object_id IS NULL) <> (value IS NULL)),
    CONSTRAINT entity_relations_valid_check CHECK (valid_until > valid_from),
    CONSTRAINT entity_relations_single_excl EXCLUDE USING gist (
        user_id WITH =, subject_id WITH =, predicate WITH =, tstzrange(valid_from, valid_until) WITH &&)
        WHERE (is_single AND retired_at IS NULL)
);
CREATE UNIQUE INDEX entity_relations_current_key
    ON entity_relations (user_id, subject_id, predicate, object_id, value, words, valid_from) NULLS NOT DISTINCT
    WHERE retired_at IS NULL;
CREATE INDEX entity_relations_object_idx ON entity_relations (user_id, object_id) WHERE object_id IS NOT NULL;

-- What a relation stands on: the sentence, and the item, or the message of a session, that has it.
CREATE TABLE entity_relation_sources (
    user_id     bigint NOT NULL,
    id          bigint GENERATED ALWAYS AS IDENTITY,
    relation_id bigint NOT NULL,
    source_id   bigint,
    session_id  bigint,
    position    integer,                -- of the message in the session
    sentence    text,
    trust       text NOT NULL CONSTRAINT entity_relation_sources_trust_check CHECK (trust IN ('user', 'agent', 'tool', 'external')),
    at          timestamptz NOT NULL,
    PRIMARY KEY (user_id, id),
    FOREIGN KEY (user_id, relation_id) REFERENCES entity_relations (user_id, id) ON DELETE CASCADE,
    FOREIGN KEY (user_id, source_id) REFERENCES memory_items (user_id, id) ON DELETE CASCADE
);
CREATE INDEX entity_relation_sources_relation_idx ON entity_relation_sources (user_id, relation_id);
CREATE INDEX entity_relation_sources_source_idx ON entity_relation_sources (user_id, source_id) WHERE source_id IS NOT NULL;
CREATE INDEX entity_relation_sources_session_idx ON entity_relation_sources (user_id, session_id) WHERE session_id IS NOT NULL;

-- Two that may be one: a person says.
CREATE TABLE entity_pairs (
    user_id    bigint NOT NULL,
    one_id     bigint NOT NULL,
    other_id   bigint NOT NULL,
    why        text NOT NULL,
    found_at   timestamptz NOT NULL,
    decided_at timestamptz,             -- they are two
    PRIMARY KEY (user_id, one_id, other_id),
    FOREIGN KEY (user_id, one_id) REFERENCES entities (user_id, id) ON DELETE CASCADE,
    FOREIGN KEY (user_id, other_id) REFERENCES entities (user_id, id) ON DELETE CASCADE,
    CONSTRAINT entity_pairs_order_check CHECK (one_id < other_id)
);
CREATE INDEX entity_pairs_other_idx ON entity_pairs (user_id, other_id);

-- What was decided about an entity, with the numbers of the rows that it moved: undo puts them back.
CREATE TABLE entity_events (
    user_id   bigint NOT NULL,
    id        bigint GENERATED ALWAYS AS IDENTITY,
    entity_id bigint NOT NULL,
    event     text NOT NULL CONSTRAINT entity_events_event_check CHECK (event IN (
        'merged', 'split', 'renamed', 'protected', 'unprotected', 'apart')),
    by_person boolean NOT NULL,
    detail    jsonb NOT NULL DEFAULT '{}',
    at        timestamptz NOT NULL,
    undone_at timestamptz,
    PRIMARY KEY (user_id, id),
    FOREIGN KEY (user_id, entity_id) REFERENCES entities (user_id, id) ON DELETE CASCADE
);
CREATE INDEX entity_events_entity_idx ON entity_events (user_id, entity_id);

-- What a user has set. No row means the defaults.
CREATE TABLE entity_settings (
    user_id   bigint PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    by_rules  boolean NOT NULL DEFAULT true,
    by_model  boolean NOT NULL DEFAULT true,
    in_search boolean NOT NULL DEFAULT false,
    is_full   boolean NOT NULL DEFAULT false, -- no more are made
    enriched_at timestamptz                   -- when memories were last read for entities, at night
);

-- Items that the chat model has read for entities.
CREATE TABLE entity_enriched (
    user_id   bigint NOT NULL,
    source_id bigint NOT NULL,
    at        timestamptz NOT NULL,
    PRIMARY KEY (user_id, source_id),
    FOREIGN KEY (user_id, source_id) REFERENCES memory_items (user_id, id) ON DELETE CASCADE
);

DO $$
DECLARE
    one text;
BEGIN
    FOREACH one IN ARRAY ARRAY['entities', 'entity_names', 'entity_mentions', 'entity_relations', 'entity_relation_sources',
                               'entity_pairs', 'entity_events', 'entity_settings', 'entity_enriched'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', one);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', one);
        EXECUTE format('CREATE POLICY owner ON %I TO keepsake_owner USING (true) WITH CHECK (true)', one);
        EXECUTE format('CREATE POLICY tenant ON %I TO keepsake_app USING (user_id = (SELECT current_user_id()))', one);
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO keepsake_app', one);
    END LOOP;
END $$;
-- Ids are drawn before the row is written, so that one statement writes what refers to it.
GRANT USAGE ON SEQUENCE entities_id_seq TO keepsake_app;
-- For the sweep: who has something to do. Never a name.
CREATE POLICY system ON entities     FOR SELECT TO keepsake_system USING (true);
CREATE POLICY system ON entity_names FOR SELECT TO keepsake_system USING (true);
GRANT SELECT (user_id, compared_at) ON entities TO keepsake_system;
GRANT SELECT (user_id, filled_at) ON entity_names TO keepsake_system;
CREATE POLICY system ON entity_settings FOR SELECT TO keepsake_system USING (true);
GRANT SELECT (user_id, enriched_at) ON entity_settings TO keepsake_system;
CREATE POLICY system ON memory_revisions FOR SELECT TO keepsake_system USING (true);
GRANT SELECT (user_id) ON memory_revisions TO keepsake_system;

ALTER TABLE entities ALTER COLUMN summary SET STATISTICS 0, ALTER COLUMN summary_vector SET STATISTICS 0;
ALTER TABLE entity_relations ALTER COLUMN value SET STATISTICS 0, ALTER COLUMN words SET STATISTICS 0;
ALTER TABLE entity_relation_sources ALTER COLUMN sentence SET STATISTICS 0;

INSERT INTO account_tables (name, place) VALUES
    ('entity_mentions', 11), ('entity_relation_sources', 12), ('entity_relations', 13), ('entity_enriched', 14),
    ('entity_pairs', 17), ('entity_events', 18), ('entity_names', 19), ('entities', 21), ('entity_settings', NULL);

-- What relations stood on; those that stand on nothing any more go. Returns the entities at their ends.
CREATE FUNCTION drop_relation_sources(me bigint, gone bigint[]) RETURNS bigint[]
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
REVOKE ALL ON FUNCTION drop_relation_sources(bigint, bigint[]) FROM PUBLIC;

-- What sources named that go: their mentions, what stood on them alone, and whatever nothing mentions any more.
-- Called before the sources are deleted, by the functions that delete them.
CREATE FUNCTION forget_mentions(me bigint, sources bigint[]) RETURNS void
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
    PERFORM recount_names(me, named, concerned);
END $$;

-- After mentions of names went.
CREATE FUNCTION recount_names(me bigint, named bigint[], concerned bigint[]) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
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
    -- A summary may tell what went; a name that went is another's turn.
    UPDATE entities e
    SET summary = NULL, summary_vector = NULL, summary_mentions = 0,
        name = CASE WHEN e.by_person OR e.protected THEN e.name
                    ELSE coalesce((SELECT n.name FROM entity_names n WHERE n.user_id = me AND n.entity_id = e.id
                                   ORDER BY n.name = e.name DESC, n.mentions DESC, n.id LIMIT 1), e.name) END
    WHERE e.user_id = me AND e.id = ANY (concerned);
END $$;
REVOKE ALL ON FUNCTION forget_mentions(bigint, bigint[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION recount_names(bigint, bigint[], bigint[]) FROM PUBLIC;

-- What goes with an item, a session, turns: as before, and what they named.
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
    SELECT count(*) INTO n FROM entity_mentions WHERE user_id = me AND source_id = removed_item;
    gone := gone || jsonb_build_object('entity_mentions', n);
    PERFORM forget_mentions(me, ARRAY[removed_item]);
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
        PERFORM forget_mentions(me, turns);
        DELETE FROM memory_embeddings WHERE user_id = me AND source_id = ANY (turns);
        DELETE FROM memory_passages WHERE user_id = me AND source_id = ANY (turns);
        DELETE FROM memory_items WHERE user_id = me AND id = ANY (turns);
        gone := gone || jsonb_build_object('turns', cardinality(turns));
    END IF;
    -- The sentences that relations were read from go with it; with its memories, those that stood on it alone go too.
    IF with_memories THEN
        PERFORM recount_names(me, '{}', drop_relation_sources(me, ARRAY(
            SELECT id FROM entity_relation_sources WHERE user_id = me AND session_id = erased_session)));
    ELSE
        UPDATE entity_relation_sources SET sentence = NULL, session_id = NULL, position = NULL
        WHERE user_id = me AND session_id = erased_session;
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
    PERFORM forget_mentions(me, gone);
    DELETE FROM memory_items WHERE user_id = me AND id = ANY (gone);
    RETURN cardinality(gone);
END $$;

-- Names are found in what is there already by the job that makes passages, once.
INSERT INTO memory_passages_due (user_id, sources) SELECT user_id, count(*) FROM memory_items GROUP BY user_id
ON CONFLICT (user_id) DO UPDATE SET source_id = 0, done = 0;
