-- Dreams: what several sessions were about is read together, and what lasts of it is written as a document, which stands on
-- them and goes with them. A dream also proposes which memories say the same, and which give way; its person decides.

CREATE TABLE dream_settings (
    user_id      bigint PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    applies      boolean NOT NULL,           -- what it proposes holds at once
    episodes_min smallint NOT NULL CONSTRAINT dream_settings_episodes_min_check CHECK (episodes_min BETWEEN 2 AND 10)
);

CREATE TABLE dreams (
    user_id        bigint NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    id             bigint GENERATED ALWAYS AS IDENTITY,
    document_id    bigint,                   -- NULL: nothing lasted
    owner_agent_id bigint,                   -- NULL: of what is shared
    episodes       smallint NOT NULL,        -- that it read
    dreamt_at      timestamptz NOT NULL,
    PRIMARY KEY (user_id, id),
    FOREIGN KEY (user_id, document_id) REFERENCES documents (user_id, id) ON DELETE CASCADE,
    FOREIGN KEY (user_id, owner_agent_id) REFERENCES agents (user_id, id)
);
CREATE INDEX dreams_document_idx ON dreams (user_id, document_id);

-- Of two memories one gives way to the other. It goes with either of them.
CREATE TABLE dream_proposals (
    user_id    bigint NOT NULL,
    dream_id   bigint NOT NULL,
    n          smallint NOT NULL,
    kind       text NOT NULL CONSTRAINT dream_proposals_kind_check CHECK (kind IN ('merge', 'supersede', 'contradiction')),
    gone_id    bigint NOT NULL,
    kept_id    bigint NOT NULL,              -- of a contradiction its person says which is which
    why        text NOT NULL,
    state      text NOT NULL DEFAULT 'open' CONSTRAINT dream_proposals_state_check
               CHECK (state IN ('open', 'applied', 'dismissed', 'undone', 'void')),
    decided_at timestamptz,                  -- the events of both memories are of this moment
    by_dream   boolean NOT NULL DEFAULT false, -- it was applied without its person
    PRIMARY KEY (user_id, dream_id, n),
    FOREIGN KEY (user_id, dream_id) REFERENCES dreams (user_id, id) ON DELETE CASCADE,
    FOREIGN KEY (user_id, gone_id) REFERENCES memory_items (user_id, id) ON DELETE CASCADE,
    FOREIGN KEY (user_id, kept_id) REFERENCES memory_items (user_id, id) ON DELETE CASCADE
);
CREATE INDEX dream_proposals_gone_idx ON dream_proposals (user_id, gone_id);
CREATE INDEX dream_proposals_kept_idx ON dream_proposals (user_id, kept_id);
ALTER TABLE dream_proposals ALTER COLUMN why SET STATISTICS 0;

DO $$
DECLARE
    one text;
BEGIN
    FOREACH one IN ARRAY ARRAY['dream_settings', 'dreams', 'dream_proposals'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', one);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', one);
        EXECUTE format('CREATE POLICY owner ON %I TO keepsake_owner USING (true) WITH CHECK (true)', one);
        EXECUTE format('CREATE POLICY tenant ON %I TO keepsake_app USING (user_id = (SELECT current_user_id()))', one);
        EXECUTE format('CREATE POLICY scope ON %I AS RESTRICTIVE TO keepsake_app USING ((SELECT scope_agent()) IS NULL)', one);
        EXECUTE format('GRANT SELECT, INSERT, UPDATE ON %I TO keepsake_app', one);
    END LOOP;
END $$;
CREATE POLICY system ON dream_settings FOR SELECT TO keepsake_system USING (true);
GRANT SELECT ON dream_settings TO keepsake_system;
INSERT INTO account_tables (name, place) VALUES ('dream_settings', NULL), ('dream_proposals', 5), ('dreams', 6);

-- When it was written here, whenever its session was.
ALTER TABLE episodes ADD COLUMN kept_at timestamptz;
UPDATE episodes SET kept_at = ended_at;
ALTER TABLE episodes ALTER COLUMN kept_at SET NOT NULL;
CREATE INDEX episodes_waiting_idx ON episodes (user_id) WHERE promoted_at IS NULL;
CREATE POLICY system ON episodes FOR SELECT TO keepsake_system USING (true);
GRANT SELECT (user_id, source_id, promoted_at, kept_at) ON episodes TO keepsake_system;
GRANT SELECT (owner_agent_id) ON memory_items TO keepsake_system;

-- merged: another says the same, and stands for it.
ALTER TABLE memory_item_events
    DROP CONSTRAINT memory_item_events_event_check,
    ADD CONSTRAINT memory_item_events_event_check
        CHECK (event IN ('added', 'archived', 'imported', 'superseded', 'put_aside', 'confirmed', 'expired', 'named',
                         'restored', 'unconfirmed', 'changed', 'shared', 'owned', 'faded', 'merged'));
ALTER TABLE chat_spend_purposes
    DROP CONSTRAINT chat_spend_purposes_purpose_check,
    ADD CONSTRAINT chat_spend_purposes_purpose_check
        CHECK (purpose IN ('facts', 'enrichment', 'summary', 'reflection', 'dreaming', 'evaluation', 'earlier'));

-- What is derived may be a document.
ALTER TABLE memory_origins DROP CONSTRAINT memory_origins_user_id_item_id_fkey;

-- A document of a user with all its revisions and parts. Calls that found it stay, without it and their words.
-- NULL where there is no such document.
CREATE FUNCTION remove_document(me bigint, erased_document bigint) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    parts bigint[];
    all_ids bigint[];
    n     bigint;
    gone  jsonb := '{}';
BEGIN
    PERFORM FROM documents WHERE user_id = me AND id = erased_document FOR UPDATE;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    parts := ARRAY(SELECT id FROM memory_items WHERE user_id = me AND document_id = erased_document);
    all_ids := parts || erased_document;
    UPDATE activity SET item_ids = ARRAY(SELECT other.id FROM unnest(item_ids) AS other (id) WHERE other.id <> ALL (all_ids)), query = NULL
    WHERE user_id = me AND item_ids && all_ids;
    GET DIAGNOSTICS n = ROW_COUNT;
    gone := gone || jsonb_build_object('mentions', n);
    DELETE FROM memory_embeddings WHERE user_id = me AND source_id = ANY (parts);
    GET DIAGNOSTICS n = ROW_COUNT;
    gone := gone || jsonb_build_object('memory_embeddings', n);
    SELECT count(*) INTO n FROM memory_passages WHERE user_id = me AND source_id = ANY (parts);
    gone := gone || jsonb_build_object('memory_passages', n);
    SELECT count(*) INTO n FROM entity_mentions WHERE user_id = me AND source_id = ANY (parts);
    gone := gone || jsonb_build_object('entity_mentions', n, 'parts', cardinality(parts));
    PERFORM remove_parts(parts);
    DELETE FROM document_revisions WHERE user_id = me AND document_id = erased_document;
    GET DIAGNOSTICS n = ROW_COUNT;
    gone := gone || jsonb_build_object('document_revisions', n);
    DELETE FROM memory_origins WHERE user_id = me AND item_id = erased_document;
    DELETE FROM documents WHERE user_id = me AND id = erased_document;
    gone := gone || jsonb_build_object('documents', 1);
    RETURN gone;
END $$;
REVOKE ALL ON FUNCTION remove_document(bigint, bigint) FROM PUBLIC;

CREATE OR REPLACE FUNCTION erase_document(erased_document bigint, receipt text, at timestamptz) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    me   CONSTANT bigint := current_user_id();
    gone CONSTANT jsonb := remove_document(me, erased_document);
BEGIN
    IF gone IS NOT NULL THEN
        INSERT INTO erasure_receipts (public_id, kind, user_id, found, erased, requested_at, finished_at)
        VALUES (receipt, 'document', me, gone, gone, at, at);
    END IF;
    RETURN gone;
END $$;

CREATE OR REPLACE FUNCTION remove_item(me bigint, removed_item bigint) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    theme    bigint;
    n        bigint;
    derived  bigint;
    gone     jsonb := '{}';
BEGIN
    SELECT theme_id INTO theme FROM memory_items
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
    n := 0;
    IF NOT EXISTS (SELECT FROM memory_items WHERE user_id = me AND theme_id = theme) THEN
        DELETE FROM memory_themes WHERE user_id = me AND id = theme;
        n := 1;
    END IF;
    RETURN totals(gone, jsonb_build_object('memory_themes', n));
END $$;
