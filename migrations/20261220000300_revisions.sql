-- Of a document's revisions so many with a text stay; of those without one, what is among the newest twice as many. Returns how
-- many bytes went.
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
    WITH gone AS (
        DELETE FROM document_revisions
        WHERE user_id = me AND document_id = of_document AND (revision < first OR revision < textless AND content IS NULL)
        RETURNING octet_length(content) AS bytes)
    SELECT coalesce(sum(bytes), 0) INTO n FROM gone;
    UPDATE documents SET kept_bytes = kept_bytes - n WHERE user_id = me AND id = of_document AND n > 0;
    RETURN n;
END $$;
