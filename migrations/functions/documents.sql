-- Documents, their parts and revisions.

-- Removes parts of the current user's documents, with their mentions and embeddings.
CREATE OR REPLACE FUNCTION remove_parts(gone bigint[]) RETURNS void
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

-- Keeps so many revisions with a text, and revisions without one among twice as many of the newest. Returns the bytes removed.
CREATE OR REPLACE FUNCTION trim_revisions(of_document bigint, kept integer) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    me       CONSTANT bigint := current_user_id();
    first    integer;
    textless integer;
    n        bigint;
BEGIN
    -- The first that stays has a text, since those after it may have none of their own.
    SELECT revision INTO first FROM document_revisions
    WHERE user_id = me AND document_id = of_document AND content IS NOT NULL
    ORDER BY revision DESC OFFSET kept - 1 LIMIT 1;
    SELECT revision INTO textless FROM document_revisions
    WHERE user_id = me AND document_id = of_document
    ORDER BY revision DESC OFFSET 2 * kept - 1 LIMIT 1;
    -- Citus fails where a condition is of NULL alone.
    first := coalesce(first, 0);
    textless := coalesce(textless, 0);
    WITH gone AS (
        DELETE FROM document_revisions
        WHERE user_id = me AND document_id = of_document AND (revision < first OR revision < textless AND content IS NULL)
        RETURNING octet_length(content) AS bytes)
    SELECT coalesce(sum(bytes), 0) INTO n FROM gone;
    UPDATE documents SET kept_bytes = kept_bytes - n WHERE user_id = me AND id = of_document AND n > 0;
    RETURN n;
END $$;

-- Removes a document with its parts and revisions.
CREATE OR REPLACE FUNCTION remove_document(me bigint, erased_document bigint) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    parts bigint[];
    n     bigint;
    gone  jsonb := '{}';
BEGIN
    PERFORM FROM documents WHERE user_id = me AND id = erased_document FOR UPDATE;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    -- Whoever records a call that found them is waited for.
    PERFORM FROM memory_items WHERE user_id = me AND document_id = erased_document ORDER BY id FOR UPDATE;
    parts := ARRAY(SELECT id FROM memory_items WHERE user_id = me AND document_id = erased_document);
    gone := gone || jsonb_build_object('mentions', forget_reads(me, parts || erased_document));
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

-- `remove_document` for the current user, with a receipt.
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
