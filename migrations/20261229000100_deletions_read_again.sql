-- For the search of what is to be deleted: whether so many of these regular expressions match the folded text. In PL/pgSQL, since
-- Citus may make it on a worker before `folded`.
CREATE FUNCTION has_patterns(words text, patterns text[], wanted bigint) RETURNS boolean
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
REVOKE ALL ON FUNCTION has_patterns(text, text[], bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION has_patterns(text, text[], bigint) TO keepsake_app;

-- A reading under way has read the message that is removed: its result is discarded, and the stretch is read again without it.
DO $$
DECLARE
    now_is CONSTANT text := pg_get_functiondef('remove_message(bigint, bigint, integer, text)'::regprocedure);
    keeps  CONSTANT text := 'UPDATE session_extractions SET summary = NULL';
BEGIN
    ASSERT position(keeps IN now_is) > 0;
    EXECUTE replace(now_is, keeps, keeps ||
        ', attempts = attempts + CASE WHEN reading_since IS NULL THEN 0 ELSE 1 END, reading_since = NULL');
END $$;
