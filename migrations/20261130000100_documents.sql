-- Documents: text files that agents write, each change a revision. Of those in Markdown each part is a source that search
-- finds: a row of memory_items without a theme, which goes with its document. Of what lists, counts or changes
-- items (`theme_id IS NOT NULL`) it is no part, as a turn is none.

CREATE TABLE documents (
    user_id        bigint NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    id             bigint NOT NULL,          -- of the sequence of all sources
    path           text NOT NULL CONSTRAINT documents_path_check CHECK (length(path) BETWEEN 1 AND 512),
    revision       integer NOT NULL,         -- the newest
    bytes          integer NOT NULL,         -- of its text
    kept_bytes     bigint NOT NULL,          -- of all its revisions
    trust          text NOT NULL CONSTRAINT documents_trust_check CHECK (trust IN ('user', 'agent', 'tool', 'external')),
    owner_agent_id bigint,                   -- NULL: shared
    created_at     timestamptz NOT NULL,
    updated_at     timestamptz NOT NULL,
    archived_at    timestamptz,              -- deleted by an agent; its person may restore it
    PRIMARY KEY (user_id, id),
    FOREIGN KEY (user_id, owner_agent_id) REFERENCES agents (user_id, id)
);
CREATE UNIQUE INDEX documents_path_key ON documents (user_id, path, owner_agent_id) NULLS NOT DISTINCT WHERE archived_at IS NULL;

-- Written once and changed never. content: NULL where it is as in the one before.
CREATE TABLE document_revisions (
    user_id     bigint NOT NULL,
    document_id bigint NOT NULL,
    revision    integer NOT NULL,
    event       text NOT NULL CONSTRAINT document_revisions_event_check
                CHECK (event IN ('created', 'edited', 'renamed', 'archived', 'restored', 'imported')),
    path        text NOT NULL,
    content     text,
    trust       text NOT NULL CONSTRAINT document_revisions_trust_check CHECK (trust IN ('user', 'agent', 'tool', 'external')),
    agent_id    bigint,                      -- NULL: its person, or an import
    at          timestamptz NOT NULL,
    PRIMARY KEY (user_id, document_id, revision),
    FOREIGN KEY (user_id, document_id) REFERENCES documents (user_id, id) ON DELETE CASCADE,
    FOREIGN KEY (user_id, agent_id) REFERENCES agents (user_id, id)
);

ALTER TABLE memory_items DROP CONSTRAINT memory_items_type_check, DROP CONSTRAINT memory_items_turn_check;
ALTER TABLE memory_items
    ADD COLUMN document_id bigint,           -- that it is a part of …
    ADD COLUMN first_line integer,           -- … from this line, counted from 1,
    ADD COLUMN last_line integer,            -- to this one
    ADD CONSTRAINT memory_items_type_check
        CHECK (type IN ('preference', 'fact', 'instruction', 'summary', 'other', 'turn', 'document')),
    ADD CONSTRAINT memory_items_turn_check CHECK (CASE type
        WHEN 'turn' THEN theme_id IS NULL AND key IS NULL AND status = 'active' AND session_id IS NULL
                         AND num_nulls(turn_session_id, turn_position, turn_part) = 0
        ELSE num_nonnulls(turn_session_id, turn_position, turn_part) = 0 END),
    ADD CONSTRAINT memory_items_document_check CHECK (CASE type
        WHEN 'document' THEN theme_id IS NULL AND key IS NULL AND status = 'active' AND session_id IS NULL
                             AND num_nulls(document_id, first_line, last_line) = 0
        ELSE num_nonnulls(document_id, first_line, last_line) = 0 END),
    ADD CONSTRAINT memory_items_theme_check CHECK ((theme_id IS NULL) = (type IN ('turn', 'document'))),
    ADD CONSTRAINT memory_items_document_fkey FOREIGN KEY (user_id, document_id)
        REFERENCES documents (user_id, id) ON DELETE CASCADE;
CREATE INDEX memory_items_document_idx ON memory_items (user_id, document_id) WHERE document_id IS NOT NULL;
GRANT SELECT (theme_id) ON memory_items TO keepsake_system;

-- As for all texts: ANALYZE keeps no samples of them.
ALTER TABLE documents ALTER COLUMN path SET STATISTICS 0;
ALTER TABLE document_revisions ALTER COLUMN path SET STATISTICS 0, ALTER COLUMN content SET STATISTICS 0;

ALTER TABLE documents          ENABLE ROW LEVEL SECURITY;
ALTER TABLE documents          FORCE  ROW LEVEL SECURITY;
ALTER TABLE document_revisions ENABLE ROW LEVEL SECURITY;
ALTER TABLE document_revisions FORCE  ROW LEVEL SECURITY;
CREATE POLICY owner  ON documents          TO keepsake_owner USING (true) WITH CHECK (true);
CREATE POLICY owner  ON document_revisions TO keepsake_owner USING (true) WITH CHECK (true);
CREATE POLICY tenant ON documents          TO keepsake_app USING (user_id = (SELECT current_user_id()));
CREATE POLICY tenant ON document_revisions TO keepsake_app USING (user_id = (SELECT current_user_id()));
GRANT SELECT, INSERT, UPDATE ON documents TO keepsake_app;
GRANT SELECT, INSERT ON document_revisions TO keepsake_app;

INSERT INTO account_tables (name, place) VALUES ('document_revisions', 41), ('documents', 42);

-- Parts of the current user's documents that are there no more, with what they named and their vectors.
CREATE FUNCTION remove_parts(gone bigint[]) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    me    CONSTANT bigint := current_user_id();
    parts CONSTANT bigint[] := ARRAY(SELECT id FROM memory_items WHERE user_id = me AND id = ANY (gone) AND type = 'document');
BEGIN
    IF parts = '{}' THEN
        RETURN;
    END IF;
    PERFORM note_changes(parts);
    PERFORM forget_mentions(me, parts);
    DELETE FROM memory_items WHERE user_id = me AND id = ANY (parts);
END $$;
REVOKE ALL ON FUNCTION remove_parts(bigint[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION remove_parts(bigint[]) TO keepsake_app;

-- The oldest revisions of a document of the current user, of which so many with a text stay. Returns how many bytes went.
CREATE FUNCTION trim_revisions(of_document bigint, kept integer) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    me    CONSTANT bigint := current_user_id();
    first integer;
    n     bigint;
BEGIN
    -- The first that stays has a text, since those after it may have none of their own.
    SELECT revision INTO first FROM document_revisions
    WHERE user_id = me AND document_id = of_document AND content IS NOT NULL
    ORDER BY revision DESC OFFSET kept - 1 LIMIT 1;
    IF NOT FOUND THEN
        RETURN 0;
    END IF;
    WITH gone AS (
        DELETE FROM document_revisions WHERE user_id = me AND document_id = of_document AND revision < first
        RETURNING octet_length(content) AS bytes)
    SELECT coalesce(sum(bytes), 0) INTO n FROM gone;
    UPDATE documents SET kept_bytes = kept_bytes - n WHERE user_id = me AND id = of_document AND n > 0;
    RETURN n;
END $$;
REVOKE ALL ON FUNCTION trim_revisions(bigint, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION trim_revisions(bigint, integer) TO keepsake_app;

ALTER TABLE erasure_receipts DROP CONSTRAINT erasure_receipts_kind_check;
ALTER TABLE erasure_receipts ADD CONSTRAINT erasure_receipts_kind_check
    CHECK (kind IN ('item', 'session', 'document', 'account'));

-- One document of the current user with all its revisions and parts. Calls that found it stay, without it and their words.
-- NULL where there is no such document.
CREATE FUNCTION erase_document(erased_document bigint, receipt text, at timestamptz) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    me    CONSTANT bigint := current_user_id();
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
    DELETE FROM documents WHERE user_id = me AND id = erased_document;
    gone := gone || jsonb_build_object('documents', 1);
    INSERT INTO erasure_receipts (public_id, kind, user_id, found, erased, requested_at, finished_at)
    VALUES (receipt, 'document', me, gone, gone, at, at);
    RETURN gone;
END $$;
REVOKE ALL ON FUNCTION erase_document(bigint, text, timestamptz) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION erase_document(bigint, text, timestamptz) TO keepsake_app;
