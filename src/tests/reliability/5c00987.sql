-- A database of Keepsake 5c00987, as `pg_dump --inserts` wrote it (without its comments), filled through that version's
-- API with vectors of the builtin model. Anna's token is ks_dda2e8f5542905118d6cd4ddbc02f14d0929d1d2a4416a059ba160376ab072d05ae4bf8a,
-- Ben's ks_cd335f1ee2169fb8ebf0798b3438cfd63a040418691cf7a8db99e5f6ca0c91a041efd5d0; the password of both is `correct horse battery`.
SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET transaction_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;
CREATE SCHEMA apalis;
ALTER SCHEMA apalis OWNER TO keepsake_owner;
CREATE EXTENSION IF NOT EXISTS btree_gin WITH SCHEMA public;
COMMENT ON EXTENSION btree_gin IS 'support for indexing common datatypes in GIN';
CREATE EXTENSION IF NOT EXISTS hstore WITH SCHEMA public;
COMMENT ON EXTENSION hstore IS 'data type for storing sets of (key, value) pairs';
CREATE EXTENSION IF NOT EXISTS vector WITH SCHEMA public;
COMMENT ON EXTENSION vector IS 'vector data type and ivfflat and hnsw access methods';
CREATE FUNCTION apalis.generate_ulid() RETURNS text
    LANGUAGE plpgsql
    AS $$
DECLARE
  -- Crockford's Base32
  encoding   BYTEA = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
  timestamp  BYTEA = E'\\000\\000\\000\\000\\000\\000';
  output     TEXT = '';
  unix_time  BIGINT;
  ulid       BYTEA;
  rand       BYTEA;
BEGIN
  -- 6 timestamp bytes
  unix_time = (EXTRACT(EPOCH FROM CLOCK_TIMESTAMP()) * 1000)::BIGINT;
  timestamp = SET_BYTE(timestamp, 0, (unix_time >> 40)::BIT(8)::INTEGER);
  timestamp = SET_BYTE(timestamp, 1, (unix_time >> 32)::BIT(8)::INTEGER);
  timestamp = SET_BYTE(timestamp, 2, (unix_time >> 24)::BIT(8)::INTEGER);
  timestamp = SET_BYTE(timestamp, 3, (unix_time >> 16)::BIT(8)::INTEGER);
  timestamp = SET_BYTE(timestamp, 4, (unix_time >> 8)::BIT(8)::INTEGER);
  timestamp = SET_BYTE(timestamp, 5, unix_time::BIT(8)::INTEGER);
  -- 10 entropy bytes, taken from a core gen_random_uuid(). Bytes 1-6 and 11-14
  -- of the UUID are fully random (we skip the version/variant bytes at offsets
  -- 7 and 9), preserving the full 80 bits of ULID entropy.
  rand = uuid_send(gen_random_uuid());
  ulid = timestamp || substr(rand, 1, 6) || substr(rand, 11, 4);
  -- Encode the timestamp
  output = output || CHR(GET_BYTE(encoding, (GET_BYTE(ulid, 0) & 224) >> 5));
  output = output || CHR(GET_BYTE(encoding, (GET_BYTE(ulid, 0) & 31)));
  output = output || CHR(GET_BYTE(encoding, (GET_BYTE(ulid, 1) & 248) >> 3));
  output = output || CHR(GET_BYTE(encoding, ((GET_BYTE(ulid, 1) & 7) << 2) | ((GET_BYTE(ulid, 2) & 192) >> 6)));
  output = output || CHR(GET_BYTE(encoding, (GET_BYTE(ulid, 2) & 62) >> 1));
  output = output || CHR(GET_BYTE(encoding, ((GET_BYTE(ulid, 2) & 1) << 4) | ((GET_BYTE(ulid, 3) & 240) >> 4)));
  output = output || CHR(GET_BYTE(encoding, ((GET_BYTE(ulid, 3) & 15) << 1) | ((GET_BYTE(ulid, 4) & 128) >> 7)));
  output = output || CHR(GET_BYTE(encoding, (GET_BYTE(ulid, 4) & 124) >> 2));
  output = output || CHR(GET_BYTE(encoding, ((GET_BYTE(ulid, 4) & 3) << 3) | ((GET_BYTE(ulid, 5) & 224) >> 5)));
  output = output || CHR(GET_BYTE(encoding, (GET_BYTE(ulid, 5) & 31)));
  -- Encode the entropy
  output = output || CHR(GET_BYTE(encoding, (GET_BYTE(ulid, 6) & 248) >> 3));
  output = output || CHR(GET_BYTE(encoding, ((GET_BYTE(ulid, 6) & 7) << 2) | ((GET_BYTE(ulid, 7) & 192) >> 6)));
  output = output || CHR(GET_BYTE(encoding, (GET_BYTE(ulid, 7) & 62) >> 1));
  output = output || CHR(GET_BYTE(encoding, ((GET_BYTE(ulid, 7) & 1) << 4) | ((GET_BYTE(ulid, 8) & 240) >> 4)));
  output = output || CHR(GET_BYTE(encoding, ((GET_BYTE(ulid, 8) & 15) << 1) | ((GET_BYTE(ulid, 9) & 128) >> 7)));
  output = output || CHR(GET_BYTE(encoding, (GET_BYTE(ulid, 9) & 124) >> 2));
  output = output || CHR(GET_BYTE(encoding, ((GET_BYTE(ulid, 9) & 3) << 3) | ((GET_BYTE(ulid, 10) & 224) >> 5)));
  output = output || CHR(GET_BYTE(encoding, (GET_BYTE(ulid, 10) & 31)));
  output = output || CHR(GET_BYTE(encoding, (GET_BYTE(ulid, 11) & 248) >> 3));
  output = output || CHR(GET_BYTE(encoding, ((GET_BYTE(ulid, 11) & 7) << 2) | ((GET_BYTE(ulid, 12) & 192) >> 6)));
  output = output || CHR(GET_BYTE(encoding, (GET_BYTE(ulid, 12) & 62) >> 1));
  output = output || CHR(GET_BYTE(encoding, ((GET_BYTE(ulid, 12) & 1) << 4) | ((GET_BYTE(ulid, 13) & 240) >> 4)));
  output = output || CHR(GET_BYTE(encoding, ((GET_BYTE(ulid, 13) & 15) << 1) | ((GET_BYTE(ulid, 14) & 128) >> 7)));
  output = output || CHR(GET_BYTE(encoding, (GET_BYTE(ulid, 14) & 124) >> 2));
  output = output || CHR(GET_BYTE(encoding, ((GET_BYTE(ulid, 14) & 3) << 3) | ((GET_BYTE(ulid, 15) & 224) >> 5)));
  output = output || CHR(GET_BYTE(encoding, (GET_BYTE(ulid, 15) & 31)));
  RETURN output;
END
$$;
ALTER FUNCTION apalis.generate_ulid() OWNER TO keepsake_owner;
SET default_tablespace = '';
SET default_table_access_method = heap;
CREATE TABLE apalis.jobs (
    job bytea NOT NULL,
    id text NOT NULL,
    job_type text NOT NULL,
    status text DEFAULT 'Pending'::text NOT NULL,
    attempts integer DEFAULT 0 NOT NULL,
    max_attempts integer DEFAULT 25 NOT NULL,
    run_at timestamp with time zone DEFAULT now() NOT NULL,
    last_result jsonb,
    lock_at timestamp with time zone,
    lock_by text,
    done_at timestamp with time zone,
    priority integer DEFAULT 0,
    idempotency_key text,
    metadata public.hstore
);
ALTER TABLE apalis.jobs OWNER TO keepsake_owner;
CREATE FUNCTION apalis.get_jobs(worker_id text, v_job_type text, v_job_count integer DEFAULT 5) RETURNS SETOF apalis.jobs
    LANGUAGE sql
    AS $$
    WITH jobs AS (
        SELECT id
        FROM apalis.jobs
        WHERE
            (
                status = 'Pending'
                OR (
                    status = 'Failed'
                    AND attempts < max_attempts
                )
            )
            AND run_at < now()
            AND job_type = v_job_type
        ORDER BY priority DESC, run_at ASC
        LIMIT v_job_count
        FOR UPDATE SKIP LOCKED
    )
    UPDATE apalis.jobs j
    SET
        status = 'Queued',
        lock_by = worker_id,
        lock_at = now()
    FROM jobs
    WHERE j.id = jobs.id
    RETURNING j.*;
$$;
ALTER FUNCTION apalis.get_jobs(worker_id text, v_job_type text, v_job_count integer) OWNER TO keepsake_owner;
CREATE FUNCTION apalis.notify_new_jobs() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF NEW.run_at <= now() THEN
        PERFORM pg_notify(
            'apalis::job::insert',
            json_build_object(
                'job_type', NEW.job_type,
                'id', NEW.id,
                'run_at', NEW.run_at
            )::text
        );
    END IF;
    RETURN NEW;
END;
$$;
ALTER FUNCTION apalis.notify_new_jobs() OWNER TO keepsake_owner;
CREATE FUNCTION apalis.push_job(job_type text, job json DEFAULT NULL::json, status text DEFAULT 'Pending'::text, run_at timestamp with time zone DEFAULT now(), max_attempts integer DEFAULT 25, priority integer DEFAULT 0) RETURNS apalis.jobs
    LANGUAGE plpgsql
    AS $$
        DECLARE
            v_job_row apalis.jobs;
            v_job_id text;
        BEGIN
        IF job_type is not NULL and length(job_type) > 512 THEN raise exception 'Job_type is too long (max length: 512).' USING errcode = 'APAJT';
        END IF;
        IF max_attempts < 1 THEN raise exception 'Job maximum attempts must be at least 1.' USING errcode = 'APAMA';
        end IF;
        SELECT
            apalis.generate_ulid() INTO v_job_id;
        INSERT INTO
            apalis.jobs
        VALUES
            (
                job,
                v_job_id,
                job_type,
                status,
                0,
                max_attempts,
                run_at,
                NULL,
                NULL,
                NULL,
                NULL,
                priority
            )
            returning * INTO v_job_row;
            RETURN v_job_row;
END;
$$;
ALTER FUNCTION apalis.push_job(job_type text, job json, status text, run_at timestamp with time zone, max_attempts integer, priority integer) OWNER TO keepsake_owner;
CREATE FUNCTION public.account_rows(account bigint) RETURNS jsonb
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    AS $_$
DECLARE
    one     text;
    n       bigint;
    counted jsonb := '{}';
BEGIN
    FOR one IN SELECT name FROM account_tables LOOP
        EXECUTE format('SELECT count(*) FROM %I WHERE user_id = $1', one) INTO n USING account;
        counted := counted || jsonb_build_object(one, n);
    END LOOP;
    RETURN counted || jsonb_build_object('users', (SELECT count(*) FROM users WHERE id = account));
END $_$;
ALTER FUNCTION public.account_rows(account bigint) OWNER TO keepsake_owner;
CREATE FUNCTION public.begin_account_erasure(account bigint, receipt text, at timestamp with time zone) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    AS $$
DECLARE
    account_role text;
    ended        jsonb := '{}';
    found_rows   jsonb;
    n            bigint;
BEGIN
    -- The lock of whoever changes who is an admin (accounts::store::lock_admins): two do not go at once
    -- and leave none.
    PERFORM pg_advisory_xact_lock(hashtext('keepsake admins'));
    SELECT role INTO account_role FROM users WHERE id = account AND erasing_at IS NULL FOR UPDATE;
    IF NOT FOUND THEN
        RETURN 'gone';
    END IF;
    IF account_role = 'admin'
       AND NOT EXISTS (SELECT FROM users WHERE role = 'admin' AND id <> account AND disabled_at IS NULL)
       AND EXISTS (SELECT FROM users WHERE id <> account AND erasing_at IS NULL) THEN
        RETURN 'last_admin';
    END IF;
    found_rows := account_rows(account);
    UPDATE users SET erasing_at = at, disabled_at = coalesce(disabled_at, at), memory_enabled = false
    WHERE id = account;
    DELETE FROM web_sessions WHERE user_id = account;
    GET DIAGNOSTICS n = ROW_COUNT;
    ended := ended || jsonb_build_object('web_sessions', n);
    DELETE FROM agent_tokens WHERE user_id = account;
    GET DIAGNOSTICS n = ROW_COUNT;
    ended := ended || jsonb_build_object('agent_tokens', n);
    -- Nothing is embedded any more: otherwise a worker would make anew what goes here.
    INSERT INTO embedding_settings (user_id, enabled, updated_at) VALUES (account, false, at)
    ON CONFLICT (user_id) DO UPDATE SET enabled = false, sealed_key = NULL;
    INSERT INTO erasure_receipts (public_id, kind, user_id, found, erased, requested_at)
    VALUES (receipt, 'account', account, found_rows, ended, at);
    RETURN 'begun';
END $$;
ALTER FUNCTION public.begin_account_erasure(account bigint, receipt text, at timestamp with time zone) OWNER TO keepsake_owner;
CREATE FUNCTION public.current_user_id() RETURNS bigint
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN (NULLIF(current_setting('keepsake.user_id'::text, true), ''::text))::bigint;
ALTER FUNCTION public.current_user_id() OWNER TO keepsake_owner;
CREATE FUNCTION public.drop_summary_without_its_items() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'public', 'pg_temp'
    AS $$
BEGIN
    UPDATE memory_summaries
    SET body = NULL, made_at = NULL, model = NULL, facts_hash = NULL, made_event = 0, next_try_at = made_at,
        attempts = 0, failure = NULL
    WHERE user_id IN (SELECT user_id FROM gone) AND body IS NOT NULL;
    RETURN NULL;
END $$;
ALTER FUNCTION public.drop_summary_without_its_items() OWNER TO keepsake_owner;
CREATE FUNCTION public.erase_account_step(rows_max integer, at timestamp with time zone) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    AS $_$
DECLARE
    receipt erasure_receipts;
    one     text;
    n       bigint;
    its_job text;
    rest    jsonb;
    budget  bigint := rows_max;
BEGIN
    SELECT * INTO receipt FROM erasure_receipts WHERE finished_at IS NULL ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN 'nothing';
    END IF;
    -- Waits for whoever was let in before and is adding just now, and holds off all others
    -- until this step ends: every row they add locks its user first.
    PERFORM FROM users WHERE id = receipt.user_id FOR UPDATE;
    UPDATE memory_items SET superseded_by = NULL WHERE user_id = receipt.user_id AND ctid = ANY (ARRAY(
        SELECT ctid FROM memory_items WHERE user_id = receipt.user_id AND superseded_by IS NOT NULL LIMIT rows_max));
    GET DIAGNOSTICS n = ROW_COUNT;
    budget := budget - n;
    FOR one IN SELECT name FROM account_tables WHERE place IS NOT NULL ORDER BY place LOOP
        IF budget <= 0 THEN
            RETURN 'more';
        END IF;
        EXECUTE format('DELETE FROM %1$I WHERE user_id = $1 AND ctid = ANY (ARRAY(
                            SELECT ctid FROM %1$I WHERE user_id = $1 LIMIT $2))', one)
            USING receipt.user_id, budget;
        GET DIAGNOSTICS n = ROW_COUNT;
        budget := budget - n;
        UPDATE erasure_receipts
        SET erased = erased || jsonb_build_object(one, coalesce((erased->>one)::bigint, 0) + n)
        WHERE id = receipt.id AND n > 0;
    END LOOP;
    -- A job that runs may put another on; one that was left running by a worker that is gone, not.
    its_job := format('{"user_id":%s}', receipt.user_id);
    DELETE FROM apalis.jobs WHERE convert_from(job, 'UTF8') = its_job
        AND (status <> 'Running' OR lock_at < at - interval '1 minute');
    IF EXISTS (SELECT FROM apalis.jobs WHERE convert_from(job, 'UTF8') = its_job) THEN
        RETURN 'waiting';
    END IF;
    -- What a worker wrote meanwhile goes with the user.
    rest := account_rows(receipt.user_id);
    SELECT sum(value::bigint) INTO n FROM jsonb_each_text(rest);
    IF n > rows_max THEN
        RETURN 'more';
    END IF;
    UPDATE operators SET users_count = users_count - 1
    WHERE id = (SELECT operator_id FROM users WHERE users.id = receipt.user_id);
    DELETE FROM users WHERE id = receipt.user_id;
    UPDATE erasure_receipts
    SET finished_at = at,
        erased = (SELECT jsonb_object_agg(key, coalesce((erased->>key)::bigint, 0) + value::bigint)
                  FROM jsonb_each_text(rest))
    WHERE id = receipt.id;
    UPDATE erasure_receipts SET user_id = NULL WHERE user_id = receipt.user_id;
    RETURN 'finished';
END $_$;
ALTER FUNCTION public.erase_account_step(rows_max integer, at timestamp with time zone) OWNER TO keepsake_owner;
CREATE FUNCTION public.erase_item(erased_item bigint, receipt text, at timestamp with time zone) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    AS $$
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
ALTER FUNCTION public.erase_item(erased_item bigint, receipt text, at timestamp with time zone) OWNER TO keepsake_owner;
CREATE FUNCTION public.erase_session(erased_session bigint, with_memories boolean, receipt text, at timestamp with time zone) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    AS $$
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
        DELETE FROM memory_item_embeddings WHERE user_id = me AND item_id = ANY (turns);
        DELETE FROM memory_items WHERE user_id = me AND id = ANY (turns);
        gone := gone || jsonb_build_object('turns', cardinality(turns));
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
ALTER FUNCTION public.erase_session(erased_session bigint, with_memories boolean, receipt text, at timestamp with time zone) OWNER TO keepsake_owner;
CREATE FUNCTION public.forget_activity_queries() RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    AS $$
DECLARE
    forgotten bigint;
BEGIN
    UPDATE activity SET query = NULL WHERE user_id = current_user_id() AND query IS NOT NULL;
    GET DIAGNOSTICS forgotten = ROW_COUNT;
    RETURN forgotten;
END $$;
ALTER FUNCTION public.forget_activity_queries() OWNER TO keepsake_owner;
CREATE FUNCTION public.prune_activity(after_user bigint, OUT pruned bigint, OUT next_after bigint) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    AS $$
DECLARE
    past    CONSTANT timestamptz := now() - interval '90 days';
    looked  bigint := 0;
    removed bigint;
    one     bigint;
    last_at timestamptz;
    last_id bigint;
BEGIN
    pruned := 0;
    IF NOT pg_try_advisory_xact_lock(hashtextextended('keepsake prune_activity', 0)) THEN
        RETURN;
    END IF;
    FOR one IN SELECT id FROM users WHERE id > after_user ORDER BY id LIMIT 100 LOOP
        last_at := NULL;
        -- Who had no call since the day before yesterday has not become too many since then.
        IF EXISTS (SELECT FROM activity WHERE user_id = one AND at > now() - interval '2 days') THEN
            SELECT at, id INTO last_at, last_id FROM activity WHERE user_id = one
            ORDER BY at DESC, id DESC OFFSET 100000 LIMIT 1;
        END IF;
        IF last_at IS NULL OR last_at < past THEN
            last_at := past;
            last_id := 0;
        END IF;
        DELETE FROM activity WHERE user_id = one AND ctid = ANY (ARRAY(
            SELECT ctid FROM activity WHERE user_id = one AND (at, id) <= (last_at, last_id)
            ORDER BY at, id LIMIT 10000 - pruned));
        GET DIAGNOSTICS removed = ROW_COUNT;
        pruned := pruned + removed;
        IF pruned >= 10000 THEN
            next_after := one - 1;
            RETURN;
        END IF;
        looked := looked + 1;
        next_after := one;
    END LOOP;
    IF looked < 100 THEN
        next_after := NULL;
    END IF;
END $$;
ALTER FUNCTION public.prune_activity(after_user bigint, OUT pruned bigint, OUT next_after bigint) OWNER TO keepsake_owner;
CREATE FUNCTION public.remove_item(me bigint, removed_item bigint) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    AS $$
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
    DELETE FROM memory_item_embeddings WHERE user_id = me AND item_id = removed_item;
    GET DIAGNOSTICS n = ROW_COUNT;
    gone := gone || jsonb_build_object('memory_item_embeddings', n);
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
    -- Whoever adds to the theme holds it; to wait for them here could be to wait for each other.
    PERFORM FROM memory_themes WHERE user_id = me AND id = theme FOR UPDATE SKIP LOCKED;
    n := 0;
    IF FOUND AND NOT EXISTS (SELECT FROM memory_items WHERE user_id = me AND theme_id = theme) THEN
        DELETE FROM memory_themes WHERE user_id = me AND id = theme;
        n := 1;
    END IF;
    RETURN gone || jsonb_build_object('memory_themes', n);
END $$;
ALTER FUNCTION public.remove_item(me bigint, removed_item bigint) OWNER TO keepsake_owner;
CREATE FUNCTION public.remove_turns(rows_max integer) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    AS $$
DECLARE
    me CONSTANT bigint := current_user_id();
    n  bigint;
BEGIN
    PERFORM FROM users WHERE id = me AND NOT turns_searched FOR SHARE;
    IF NOT FOUND THEN
        RETURN 0;
    END IF;
    DELETE FROM memory_items WHERE user_id = me AND ctid = ANY (ARRAY(
        SELECT ctid FROM memory_items WHERE user_id = me AND is_turn LIMIT rows_max));
    GET DIAGNOSTICS n = ROW_COUNT;
    RETURN n;
END $$;
ALTER FUNCTION public.remove_turns(rows_max integer) OWNER TO keepsake_owner;
CREATE TABLE apalis._sqlx_migrations (
    version bigint NOT NULL,
    description text NOT NULL,
    installed_on timestamp with time zone DEFAULT now() NOT NULL,
    success boolean NOT NULL,
    checksum bytea NOT NULL,
    execution_time bigint NOT NULL
);
ALTER TABLE apalis._sqlx_migrations OWNER TO keepsake_owner;
CREATE TABLE apalis.workers (
    id text NOT NULL,
    worker_type text NOT NULL,
    storage_name text NOT NULL,
    layers text DEFAULT ''::text NOT NULL,
    last_seen timestamp with time zone DEFAULT now() NOT NULL,
    started_at timestamp with time zone
);
ALTER TABLE apalis.workers OWNER TO keepsake_owner;
CREATE TABLE public._sqlx_migrations (
    version bigint NOT NULL,
    description text NOT NULL,
    installed_on timestamp with time zone DEFAULT now() NOT NULL,
    success boolean NOT NULL,
    checksum bytea NOT NULL,
    execution_time bigint NOT NULL
);
ALTER TABLE public._sqlx_migrations OWNER TO keepsake_owner;
CREATE TABLE public.account_tables (
    name text NOT NULL,
    place integer
);
ALTER TABLE ONLY public.account_tables FORCE ROW LEVEL SECURITY;
ALTER TABLE public.account_tables OWNER TO keepsake_owner;
CREATE TABLE public.activity (
    user_id bigint NOT NULL,
    id bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    agent_id bigint,
    tool text NOT NULL,
    outcome text NOT NULL,
    duration_us integer NOT NULL,
    item_ids bigint[] NOT NULL,
    query text,
    CONSTRAINT activity_duration_us_check CHECK ((duration_us >= 0)),
    CONSTRAINT activity_item_ids_check CHECK ((cardinality(item_ids) <= 50)),
    CONSTRAINT activity_query_check CHECK ((char_length(query) <= 500))
);
ALTER TABLE ONLY public.activity ALTER COLUMN query SET STATISTICS 0;
ALTER TABLE ONLY public.activity FORCE ROW LEVEL SECURITY;
ALTER TABLE public.activity OWNER TO keepsake_owner;
ALTER TABLE public.activity ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.activity_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.admin_events (
    id bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    by_command boolean NOT NULL,
    actor_id bigint,
    action text NOT NULL,
    subject_id bigint,
    CONSTRAINT admin_events_action_check CHECK ((action = ANY (ARRAY['invite_member'::text, 'invite_admin'::text, 'revoke_invitation'::text, 'accept_invitation'::text, 'disable'::text, 'enable'::text, 'promote'::text, 'demote'::text])))
);
ALTER TABLE ONLY public.admin_events FORCE ROW LEVEL SECURITY;
ALTER TABLE public.admin_events OWNER TO keepsake_owner;
ALTER TABLE public.admin_events ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.admin_events_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.agent_tokens (
    user_id bigint NOT NULL,
    id bigint NOT NULL,
    agent_id bigint NOT NULL,
    token_hash bytea NOT NULL,
    hint text NOT NULL,
    scopes text[] NOT NULL,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone,
    last_used_at timestamp with time zone,
    revoked_at timestamp with time zone
);
ALTER TABLE ONLY public.agent_tokens ALTER COLUMN token_hash SET STATISTICS 0;
ALTER TABLE ONLY public.agent_tokens ALTER COLUMN hint SET STATISTICS 0;
ALTER TABLE ONLY public.agent_tokens FORCE ROW LEVEL SECURITY;
ALTER TABLE public.agent_tokens OWNER TO keepsake_owner;
ALTER TABLE public.agent_tokens ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.agent_tokens_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.agents (
    user_id bigint NOT NULL,
    id bigint NOT NULL,
    name text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    memory_enabled boolean DEFAULT true NOT NULL,
    tool_profile text DEFAULT 'core'::text NOT NULL,
    CONSTRAINT agents_tool_profile_check CHECK ((tool_profile = ANY (ARRAY['core'::text, 'full'::text])))
);
ALTER TABLE ONLY public.agents ALTER COLUMN name SET STATISTICS 0;
ALTER TABLE ONLY public.agents FORCE ROW LEVEL SECURITY;
ALTER TABLE public.agents OWNER TO keepsake_owner;
ALTER TABLE public.agents ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.agents_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.allowed_endpoints (
    host text NOT NULL,
    port integer NOT NULL,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT allowed_endpoints_port_check CHECK (((port >= 1) AND (port <= 65535)))
);
ALTER TABLE ONLY public.allowed_endpoints FORCE ROW LEVEL SECURITY;
ALTER TABLE public.allowed_endpoints OWNER TO keepsake_owner;
CREATE TABLE public.chat_reservations (
    user_id bigint NOT NULL,
    id bigint NOT NULL,
    day date NOT NULL,
    tokens bigint NOT NULL,
    until timestamp with time zone NOT NULL
);
ALTER TABLE ONLY public.chat_reservations FORCE ROW LEVEL SECURITY;
ALTER TABLE public.chat_reservations OWNER TO keepsake_owner;
ALTER TABLE public.chat_reservations ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.chat_reservations_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.chat_settings (
    user_id bigint NOT NULL,
    enabled boolean DEFAULT true NOT NULL,
    own_enabled boolean DEFAULT false NOT NULL,
    provider_type text DEFAULT 'openai'::text NOT NULL,
    endpoint text DEFAULT ''::text NOT NULL,
    model text DEFAULT ''::text NOT NULL,
    sealed_key bytea,
    daily_token_cap bigint,
    summary_enabled boolean DEFAULT true NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT chat_settings_daily_token_cap_check CHECK (((daily_token_cap >= 1000) AND (daily_token_cap <= 1000000000))),
    CONSTRAINT chat_settings_provider_type_check CHECK ((provider_type = ANY (ARRAY['llamacpp'::text, 'ollama'::text, 'openai'::text])))
);
ALTER TABLE ONLY public.chat_settings ALTER COLUMN endpoint SET STATISTICS 0;
ALTER TABLE ONLY public.chat_settings ALTER COLUMN model SET STATISTICS 0;
ALTER TABLE ONLY public.chat_settings ALTER COLUMN sealed_key SET STATISTICS 0;
ALTER TABLE ONLY public.chat_settings FORCE ROW LEVEL SECURITY;
ALTER TABLE public.chat_settings OWNER TO keepsake_owner;
CREATE TABLE public.chat_spend (
    user_id bigint NOT NULL,
    day date NOT NULL,
    tokens_in bigint DEFAULT 0 NOT NULL,
    tokens_out bigint DEFAULT 0 NOT NULL,
    calls bigint DEFAULT 0 NOT NULL,
    failed_calls bigint DEFAULT 0 NOT NULL
);
ALTER TABLE ONLY public.chat_spend FORCE ROW LEVEL SECURITY;
ALTER TABLE public.chat_spend OWNER TO keepsake_owner;
CREATE TABLE public.data_imports (
    user_id bigint NOT NULL,
    id bigint NOT NULL,
    state text NOT NULL,
    bytes_total bigint NOT NULL,
    bytes_done bigint DEFAULT 0 NOT NULL,
    added bigint DEFAULT 0 NOT NULL,
    known bigint DEFAULT 0 NOT NULL,
    failed bigint DEFAULT 0 NOT NULL,
    problems jsonb DEFAULT '[]'::jsonb NOT NULL,
    error text,
    started_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT data_imports_state_check CHECK ((state = ANY (ARRAY['running'::text, 'done'::text, 'failed'::text])))
);
ALTER TABLE ONLY public.data_imports FORCE ROW LEVEL SECURITY;
ALTER TABLE public.data_imports OWNER TO keepsake_owner;
ALTER TABLE public.data_imports ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.data_imports_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.embedding_settings (
    user_id bigint NOT NULL,
    enabled boolean DEFAULT true NOT NULL,
    own_enabled boolean DEFAULT false NOT NULL,
    provider_type text DEFAULT 'openai'::text NOT NULL,
    endpoint text DEFAULT ''::text NOT NULL,
    model text DEFAULT ''::text NOT NULL,
    dimensions integer,
    query_prefix text DEFAULT ''::text NOT NULL,
    document_prefix text DEFAULT ''::text NOT NULL,
    sealed_key bytea,
    batch_size integer DEFAULT 32 NOT NULL,
    concurrency integer DEFAULT 1 NOT NULL,
    pause_ms integer DEFAULT 0 NOT NULL,
    declined text,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT embedding_settings_batch_size_check CHECK (((batch_size >= 1) AND (batch_size <= 256))),
    CONSTRAINT embedding_settings_concurrency_check CHECK (((concurrency >= 1) AND (concurrency <= 8))),
    CONSTRAINT embedding_settings_dimensions_check CHECK (((dimensions >= 1) AND (dimensions <= 1024))),
    CONSTRAINT embedding_settings_pause_ms_check CHECK (((pause_ms >= 0) AND (pause_ms <= 60000))),
    CONSTRAINT embedding_settings_provider_type_check CHECK ((provider_type = ANY (ARRAY['ollama'::text, 'openai'::text, 'custom_http'::text])))
);
ALTER TABLE ONLY public.embedding_settings ALTER COLUMN endpoint SET STATISTICS 0;
ALTER TABLE ONLY public.embedding_settings ALTER COLUMN model SET STATISTICS 0;
ALTER TABLE ONLY public.embedding_settings ALTER COLUMN query_prefix SET STATISTICS 0;
ALTER TABLE ONLY public.embedding_settings ALTER COLUMN document_prefix SET STATISTICS 0;
ALTER TABLE ONLY public.embedding_settings ALTER COLUMN sealed_key SET STATISTICS 0;
ALTER TABLE ONLY public.embedding_settings ALTER COLUMN declined SET STATISTICS 0;
ALTER TABLE ONLY public.embedding_settings FORCE ROW LEVEL SECURITY;
ALTER TABLE public.embedding_settings OWNER TO keepsake_owner;
CREATE TABLE public.embedding_spaces (
    user_id bigint NOT NULL,
    id bigint NOT NULL,
    provider_type text NOT NULL,
    endpoint text NOT NULL,
    model text NOT NULL,
    requested_dimensions integer,
    dimensions integer,
    query_prefix text NOT NULL,
    document_prefix text NOT NULL,
    sealed_key bytea,
    system_provider_id bigint,
    state text NOT NULL,
    problem text,
    failures integer DEFAULT 0 NOT NULL,
    retry_at timestamp with time zone,
    lease_until timestamp with time zone,
    is_full boolean DEFAULT false NOT NULL,
    created_at timestamp with time zone NOT NULL,
    activated_at timestamp with time zone,
    retired_at timestamp with time zone,
    CONSTRAINT embedding_spaces_provider_type_check CHECK ((provider_type = ANY (ARRAY['llamacpp'::text, 'ollama'::text, 'openai'::text, 'custom_http'::text, 'builtin'::text]))),
    CONSTRAINT embedding_spaces_state_check CHECK ((state = ANY (ARRAY['building'::text, 'active'::text, 'retired'::text])))
);
ALTER TABLE ONLY public.embedding_spaces ALTER COLUMN endpoint SET STATISTICS 0;
ALTER TABLE ONLY public.embedding_spaces ALTER COLUMN model SET STATISTICS 0;
ALTER TABLE ONLY public.embedding_spaces ALTER COLUMN query_prefix SET STATISTICS 0;
ALTER TABLE ONLY public.embedding_spaces ALTER COLUMN document_prefix SET STATISTICS 0;
ALTER TABLE ONLY public.embedding_spaces ALTER COLUMN sealed_key SET STATISTICS 0;
ALTER TABLE ONLY public.embedding_spaces ALTER COLUMN problem SET STATISTICS 0;
ALTER TABLE ONLY public.embedding_spaces FORCE ROW LEVEL SECURITY;
ALTER TABLE public.embedding_spaces OWNER TO keepsake_owner;
ALTER TABLE public.embedding_spaces ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.embedding_spaces_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.erasure_receipts (
    id bigint NOT NULL,
    public_id text NOT NULL,
    kind text NOT NULL,
    user_id bigint,
    found jsonb NOT NULL,
    erased jsonb DEFAULT '{}'::jsonb NOT NULL,
    requested_at timestamp with time zone NOT NULL,
    finished_at timestamp with time zone,
    CONSTRAINT erasure_receipts_kind_check CHECK ((kind = ANY (ARRAY['item'::text, 'session'::text, 'account'::text])))
);
ALTER TABLE ONLY public.erasure_receipts ALTER COLUMN public_id SET STATISTICS 0;
ALTER TABLE ONLY public.erasure_receipts FORCE ROW LEVEL SECURITY;
ALTER TABLE public.erasure_receipts OWNER TO keepsake_owner;
ALTER TABLE public.erasure_receipts ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.erasure_receipts_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.evaluations (
    user_id bigint NOT NULL,
    space_id bigint NOT NULL,
    side text NOT NULL,
    measured_at timestamp with time zone NOT NULL,
    provider_type text NOT NULL,
    model text NOT NULL,
    items bigint NOT NULL,
    questions integer NOT NULL,
    questions_by_model integer NOT NULL,
    found integer[] NOT NULL,
    found_by_meaning integer[] NOT NULL,
    CONSTRAINT evaluations_found_by_meaning_check CHECK ((cardinality(found_by_meaning) = 3)),
    CONSTRAINT evaluations_found_check CHECK ((cardinality(found) = 3)),
    CONSTRAINT evaluations_side_check CHECK ((side = ANY (ARRAY['now'::text, 'before'::text])))
);
ALTER TABLE ONLY public.evaluations ALTER COLUMN model SET STATISTICS 0;
ALTER TABLE ONLY public.evaluations FORCE ROW LEVEL SECURITY;
ALTER TABLE public.evaluations OWNER TO keepsake_owner;
CREATE TABLE public.invitations (
    id bigint NOT NULL,
    token_hash bytea NOT NULL,
    email text,
    role text NOT NULL,
    invited_by bigint,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    revoked_at timestamp with time zone,
    used_at timestamp with time zone,
    used_by bigint,
    CONSTRAINT invitations_email_lower_check CHECK ((email = lower(email))),
    CONSTRAINT invitations_role_check CHECK ((role = ANY (ARRAY['admin'::text, 'member'::text])))
);
ALTER TABLE ONLY public.invitations FORCE ROW LEVEL SECURITY;
ALTER TABLE public.invitations OWNER TO keepsake_owner;
ALTER TABLE public.invitations ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.invitations_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.memory_item_embeddings (
    user_id bigint NOT NULL,
    space_id bigint NOT NULL,
    item_id bigint NOT NULL,
    state text NOT NULL,
    theme_id bigint,
    item_type text NOT NULL,
    item_live_until timestamp with time zone NOT NULL,
    item_created_at timestamp with time zone NOT NULL,
    content_hash bytea NOT NULL,
    truncated boolean DEFAULT false NOT NULL,
    attempts smallint DEFAULT 0 NOT NULL,
    error text,
    bits bit(1024),
    embedding public.halfvec,
    updated_at timestamp with time zone NOT NULL,
    is_turn boolean GENERATED ALWAYS AS ((item_type = 'turn'::text)) STORED NOT NULL,
    CONSTRAINT memory_item_embeddings_ready_check CHECK (((state <> 'ready'::text) OR ((bits IS NOT NULL) AND (embedding IS NOT NULL)))),
    CONSTRAINT memory_item_embeddings_state_check CHECK ((state = ANY (ARRAY['pending'::text, 'ready'::text, 'error'::text])))
)
WITH (autovacuum_vacuum_scale_factor='0.02', autovacuum_vacuum_insert_scale_factor='0.02');
ALTER TABLE ONLY public.memory_item_embeddings ALTER COLUMN content_hash SET STATISTICS 0;
ALTER TABLE ONLY public.memory_item_embeddings ALTER COLUMN error SET STATISTICS 0;
ALTER TABLE ONLY public.memory_item_embeddings ALTER COLUMN bits SET STATISTICS 0;
ALTER TABLE ONLY public.memory_item_embeddings ALTER COLUMN embedding SET STATISTICS 0;
ALTER TABLE ONLY public.memory_item_embeddings FORCE ROW LEVEL SECURITY;
ALTER TABLE public.memory_item_embeddings OWNER TO keepsake_owner;
CREATE TABLE public.memory_item_events (
    user_id bigint NOT NULL,
    id bigint NOT NULL,
    item_id bigint NOT NULL,
    agent_id bigint,
    event text NOT NULL,
    at timestamp with time zone NOT NULL,
    CONSTRAINT memory_item_events_event_check CHECK ((event = ANY (ARRAY['added'::text, 'archived'::text, 'imported'::text, 'superseded'::text, 'confirmed'::text, 'expired'::text, 'named'::text])))
);
ALTER TABLE ONLY public.memory_item_events FORCE ROW LEVEL SECURITY;
ALTER TABLE public.memory_item_events OWNER TO keepsake_owner;
ALTER TABLE public.memory_item_events ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.memory_item_events_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.memory_items (
    user_id bigint NOT NULL,
    id bigint NOT NULL,
    theme_id bigint,
    agent_id bigint,
    type text NOT NULL,
    key text,
    content text NOT NULL,
    content_hash bytea NOT NULL,
    tags text[] DEFAULT '{}'::text[] NOT NULL,
    status text DEFAULT 'active'::text NOT NULL,
    source text NOT NULL,
    source_context text,
    session_id bigint,
    message_id bigint,
    confidence smallint DEFAULT 100 NOT NULL,
    protected boolean DEFAULT false NOT NULL,
    expires_at timestamp with time zone,
    last_verified_at timestamp with time zone,
    attributes jsonb DEFAULT '{}'::jsonb NOT NULL,
    superseded_by bigint,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    content_tsv tsvector NOT NULL,
    is_turn boolean GENERATED ALWAYS AS ((type = 'turn'::text)) STORED NOT NULL,
    turn_session_id bigint,
    turn_position integer,
    turn_part smallint,
    CONSTRAINT memory_items_confidence_check CHECK (((confidence >= 0) AND (confidence <= 100))),
    CONSTRAINT memory_items_status_check CHECK ((status = ANY (ARRAY['active'::text, 'archived'::text]))),
    CONSTRAINT memory_items_turn_check CHECK (
CASE type
    WHEN 'turn'::text THEN ((theme_id IS NULL) AND (key IS NULL) AND (status = 'active'::text) AND (session_id IS NULL) AND (num_nulls(turn_session_id, turn_position, turn_part) = 0))
    ELSE ((theme_id IS NOT NULL) AND (num_nonnulls(turn_session_id, turn_position, turn_part) = 0))
END),
    CONSTRAINT memory_items_type_check CHECK ((type = ANY (ARRAY['preference'::text, 'fact'::text, 'instruction'::text, 'summary'::text, 'other'::text, 'turn'::text])))
);
ALTER TABLE ONLY public.memory_items ALTER COLUMN key SET STATISTICS 0;
ALTER TABLE ONLY public.memory_items ALTER COLUMN content SET STATISTICS 0;
ALTER TABLE ONLY public.memory_items ALTER COLUMN content_hash SET STATISTICS 0;
ALTER TABLE ONLY public.memory_items ALTER COLUMN tags SET STATISTICS 0;
ALTER TABLE ONLY public.memory_items ALTER COLUMN source SET STATISTICS 0;
ALTER TABLE ONLY public.memory_items ALTER COLUMN source_context SET STATISTICS 0;
ALTER TABLE ONLY public.memory_items ALTER COLUMN attributes SET STATISTICS 0;
ALTER TABLE ONLY public.memory_items ALTER COLUMN content_tsv SET STATISTICS 0;
ALTER TABLE ONLY public.memory_items FORCE ROW LEVEL SECURITY;
ALTER TABLE public.memory_items OWNER TO keepsake_owner;
ALTER TABLE public.memory_items ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.memory_items_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.memory_summaries (
    user_id bigint NOT NULL,
    body text,
    made_at timestamp with time zone,
    model text,
    facts_hash bytea,
    facts_total bigint DEFAULT 0 NOT NULL,
    made_event bigint DEFAULT 0 NOT NULL,
    tried_event bigint DEFAULT 0 NOT NULL,
    next_try_at timestamp with time zone,
    lease_until timestamp with time zone,
    started_at timestamp with time zone,
    attempts integer DEFAULT 0 NOT NULL,
    failure text,
    CONSTRAINT memory_summaries_made_check CHECK (((body IS NULL) = (made_at IS NULL)))
);
ALTER TABLE ONLY public.memory_summaries ALTER COLUMN body SET STATISTICS 0;
ALTER TABLE ONLY public.memory_summaries ALTER COLUMN model SET STATISTICS 0;
ALTER TABLE ONLY public.memory_summaries ALTER COLUMN facts_hash SET STATISTICS 0;
ALTER TABLE ONLY public.memory_summaries ALTER COLUMN failure SET STATISTICS 0;
ALTER TABLE ONLY public.memory_summaries FORCE ROW LEVEL SECURITY;
ALTER TABLE public.memory_summaries OWNER TO keepsake_owner;
CREATE TABLE public.memory_summary_items (
    user_id bigint NOT NULL,
    item_id bigint NOT NULL
);
ALTER TABLE ONLY public.memory_summary_items FORCE ROW LEVEL SECURITY;
ALTER TABLE public.memory_summary_items OWNER TO keepsake_owner;
CREATE TABLE public.memory_themes (
    user_id bigint NOT NULL,
    id bigint NOT NULL,
    slug text NOT NULL,
    display_name text NOT NULL,
    description text DEFAULT ''::text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL
);
ALTER TABLE ONLY public.memory_themes ALTER COLUMN slug SET STATISTICS 0;
ALTER TABLE ONLY public.memory_themes ALTER COLUMN display_name SET STATISTICS 0;
ALTER TABLE ONLY public.memory_themes ALTER COLUMN description SET STATISTICS 0;
ALTER TABLE ONLY public.memory_themes FORCE ROW LEVEL SECURITY;
ALTER TABLE public.memory_themes OWNER TO keepsake_owner;
ALTER TABLE public.memory_themes ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.memory_themes_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.operators (
    id bigint NOT NULL,
    name text NOT NULL,
    users_max integer NOT NULL,
    users_count integer DEFAULT 0 NOT NULL,
    created_at timestamp with time zone NOT NULL,
    tool_profile text DEFAULT 'core'::text NOT NULL,
    CONSTRAINT operators_tool_profile_check CHECK ((tool_profile = ANY (ARRAY['core'::text, 'full'::text]))),
    CONSTRAINT operators_users_max_check CHECK ((users_max > 0))
);
ALTER TABLE ONLY public.operators FORCE ROW LEVEL SECURITY;
ALTER TABLE public.operators OWNER TO keepsake_owner;
ALTER TABLE public.operators ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.operators_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.service_tokens (
    id bigint NOT NULL,
    operator_id bigint NOT NULL,
    token_hash bytea NOT NULL,
    hint text NOT NULL,
    scopes text[] NOT NULL,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone,
    last_used_at timestamp with time zone,
    revoked_at timestamp with time zone,
    CONSTRAINT service_tokens_scopes_check CHECK (('act_as'::text = ANY (scopes)))
);
ALTER TABLE ONLY public.service_tokens FORCE ROW LEVEL SECURITY;
ALTER TABLE public.service_tokens OWNER TO keepsake_owner;
ALTER TABLE public.service_tokens ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.service_tokens_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.session_extractions (
    user_id bigint NOT NULL,
    id bigint NOT NULL,
    session_id bigint NOT NULL,
    first_position integer NOT NULL,
    last_position integer NOT NULL,
    outcome text DEFAULT 'pending'::text NOT NULL,
    reason text,
    stored_count integer DEFAULT 0 NOT NULL,
    merged_count integer DEFAULT 0 NOT NULL,
    superseded_count integer DEFAULT 0 NOT NULL,
    malformed_count integer DEFAULT 0 NOT NULL,
    skipped_chars bigint DEFAULT 0 NOT NULL,
    is_fallback boolean DEFAULT false NOT NULL,
    attempts integer DEFAULT 0 NOT NULL,
    next_try_at timestamp with time zone,
    lease_until timestamp with time zone,
    model text,
    tokens_in bigint DEFAULT 0 NOT NULL,
    tokens_out bigint DEFAULT 0 NOT NULL,
    duration_ms bigint DEFAULT 0 NOT NULL,
    created_at timestamp with time zone NOT NULL,
    started_at timestamp with time zone,
    ended_at timestamp with time zone,
    CONSTRAINT session_extractions_outcome_check CHECK ((outcome = ANY (ARRAY['pending'::text, 'stored'::text, 'nothing'::text, 'failed'::text, 'skipped'::text]))),
    CONSTRAINT session_extractions_positions_check CHECK ((first_position <= last_position))
);
ALTER TABLE ONLY public.session_extractions ALTER COLUMN reason SET STATISTICS 0;
ALTER TABLE ONLY public.session_extractions ALTER COLUMN model SET STATISTICS 0;
ALTER TABLE ONLY public.session_extractions FORCE ROW LEVEL SECURITY;
ALTER TABLE public.session_extractions OWNER TO keepsake_owner;
ALTER TABLE public.session_extractions ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.session_extractions_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.session_messages (
    user_id bigint NOT NULL,
    session_id bigint NOT NULL,
    "position" integer NOT NULL,
    external_id text NOT NULL,
    role text NOT NULL,
    content text NOT NULL,
    tool_calls jsonb,
    tool_call_id text,
    sent_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT session_messages_role_check CHECK ((role = ANY (ARRAY['user'::text, 'assistant'::text, 'tool'::text])))
);
ALTER TABLE ONLY public.session_messages ALTER COLUMN external_id SET STATISTICS 0;
ALTER TABLE ONLY public.session_messages ALTER COLUMN content SET STATISTICS 0;
ALTER TABLE ONLY public.session_messages ALTER COLUMN tool_calls SET STATISTICS 0;
ALTER TABLE ONLY public.session_messages ALTER COLUMN tool_call_id SET STATISTICS 0;
ALTER TABLE ONLY public.session_messages FORCE ROW LEVEL SECURITY;
ALTER TABLE public.session_messages OWNER TO keepsake_owner;
CREATE TABLE public.sessions (
    user_id bigint NOT NULL,
    id bigint NOT NULL,
    agent_id bigint NOT NULL,
    external_id text NOT NULL,
    state text DEFAULT 'open'::text NOT NULL,
    message_count integer DEFAULT 0 NOT NULL,
    ledger_position integer DEFAULT 0 NOT NULL,
    created_at timestamp with time zone NOT NULL,
    opened_at timestamp with time zone NOT NULL,
    last_message_at timestamp with time zone NOT NULL,
    completed_at timestamp with time zone,
    completed_why text,
    turns_position integer DEFAULT 0 NOT NULL,
    CONSTRAINT sessions_completed_check CHECK (((state = 'open'::text) = (completed_at IS NULL))),
    CONSTRAINT sessions_completed_why_check CHECK ((completed_why = ANY (ARRAY['asked'::text, 'another'::text, 'still'::text, 'nightly'::text]))),
    CONSTRAINT sessions_state_check CHECK ((state = ANY (ARRAY['open'::text, 'completed'::text])))
);
ALTER TABLE ONLY public.sessions ALTER COLUMN external_id SET STATISTICS 0;
ALTER TABLE ONLY public.sessions FORCE ROW LEVEL SECURITY;
ALTER TABLE public.sessions OWNER TO keepsake_owner;
ALTER TABLE public.sessions ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.sessions_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.system_chat_provider (
    is_only boolean DEFAULT true NOT NULL,
    provider_type text DEFAULT 'openai'::text NOT NULL,
    endpoint text DEFAULT ''::text NOT NULL,
    model text DEFAULT ''::text NOT NULL,
    sealed_key bytea,
    daily_token_cap bigint DEFAULT 200000 NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT system_chat_provider_daily_token_cap_check CHECK (((daily_token_cap >= 1000) AND (daily_token_cap <= 1000000000))),
    CONSTRAINT system_chat_provider_is_only_check CHECK (is_only),
    CONSTRAINT system_chat_provider_type_check CHECK ((provider_type = ANY (ARRAY['llamacpp'::text, 'ollama'::text, 'openai'::text])))
);
ALTER TABLE ONLY public.system_chat_provider FORCE ROW LEVEL SECURITY;
ALTER TABLE public.system_chat_provider OWNER TO keepsake_owner;
CREATE TABLE public.system_providers (
    id bigint NOT NULL,
    endpoint text NOT NULL,
    model text NOT NULL,
    dimensions integer,
    query_prefix text NOT NULL,
    document_prefix text NOT NULL,
    sealed_key bytea,
    in_force boolean NOT NULL,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT system_providers_dimensions_check CHECK (((dimensions >= 1) AND (dimensions <= 1024)))
);
ALTER TABLE ONLY public.system_providers FORCE ROW LEVEL SECURITY;
ALTER TABLE public.system_providers OWNER TO keepsake_owner;
ALTER TABLE public.system_providers ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.system_providers_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.system_settings (
    is_only boolean DEFAULT true NOT NULL,
    builtin_enabled boolean DEFAULT true NOT NULL,
    batch_size integer DEFAULT 32 NOT NULL,
    concurrency integer DEFAULT 1 NOT NULL,
    pause_ms integer DEFAULT 0 NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT system_settings_batch_size_check CHECK (((batch_size >= 1) AND (batch_size <= 256))),
    CONSTRAINT system_settings_concurrency_check CHECK (((concurrency >= 1) AND (concurrency <= 8))),
    CONSTRAINT system_settings_is_only_check CHECK (is_only),
    CONSTRAINT system_settings_pause_ms_check CHECK (((pause_ms >= 0) AND (pause_ms <= 60000)))
);
ALTER TABLE ONLY public.system_settings FORCE ROW LEVEL SECURITY;
ALTER TABLE public.system_settings OWNER TO keepsake_owner;
CREATE TABLE public.users (
    id bigint NOT NULL,
    email text,
    password_hash text,
    role text NOT NULL,
    disabled_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    operator_id bigint,
    external_id text,
    memory_enabled boolean DEFAULT true NOT NULL,
    activity_queries boolean DEFAULT false NOT NULL,
    last_sign_in_at timestamp with time zone,
    erasing_at timestamp with time zone,
    turns_searched boolean DEFAULT true NOT NULL,
    CONSTRAINT users_email_lower_check CHECK ((email = lower(email))),
    CONSTRAINT users_kind_check CHECK (
CASE
    WHEN (operator_id IS NULL) THEN ((external_id IS NULL) AND (email IS NOT NULL) AND (password_hash IS NOT NULL))
    ELSE ((external_id IS NOT NULL) AND (email IS NULL) AND (password_hash IS NULL) AND (role = 'member'::text))
END),
    CONSTRAINT users_role_check CHECK ((role = ANY (ARRAY['admin'::text, 'member'::text])))
);
ALTER TABLE ONLY public.users ALTER COLUMN email SET STATISTICS 0;
ALTER TABLE ONLY public.users ALTER COLUMN password_hash SET STATISTICS 0;
ALTER TABLE ONLY public.users ALTER COLUMN external_id SET STATISTICS 0;
ALTER TABLE ONLY public.users FORCE ROW LEVEL SECURITY;
ALTER TABLE public.users OWNER TO keepsake_owner;
ALTER TABLE public.users ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.users_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.web_sessions (
    id_hash bytea NOT NULL,
    user_id bigint,
    data jsonb NOT NULL,
    expires_at timestamp with time zone NOT NULL
);
ALTER TABLE ONLY public.web_sessions ALTER COLUMN id_hash SET STATISTICS 0;
ALTER TABLE ONLY public.web_sessions ALTER COLUMN data SET STATISTICS 0;
ALTER TABLE ONLY public.web_sessions FORCE ROW LEVEL SECURITY;
ALTER TABLE public.web_sessions OWNER TO keepsake_owner;
INSERT INTO apalis._sqlx_migrations VALUES (20220530084123, 'jobs workers', '2026-11-23 22:12:34.887125+00', true, '\xd0839c6f57a379769dc27ccd581feb3d2709239c8f138e05271c9e3c760c4517a78a4d8912ab3d63b074b28d15ec74e9', 5148691);
INSERT INTO apalis._sqlx_migrations VALUES (20220709210445, 'add job fn', '2026-11-23 22:12:34.892581+00', true, '\x14f906e53a627f1b27996e74e8e69dbc29ee70519e7af4f0032a27c75ed706a34af8bafecc8f8572855f314cbc5a7ba9', 569678);
INSERT INTO apalis._sqlx_migrations VALUES (20230330210841, 'replace add job fn', '2026-11-23 22:12:34.89329+00', true, '\xd9b6e57e6de60db1647e2447cf36bf0eafbec266f1d482bd196affc97617efbc4c07bad826706c7b3a0b3960cf9f727b', 820606);
INSERT INTO apalis._sqlx_migrations VALUES (20230408110421, 'drop old push job', '2026-11-23 22:12:34.894213+00', true, '\x3656a91fe9c652ca23df775a601409a9252357f47088d6bcf2025fda2dd67e50c99ad94d1d2ca569c91c343189c58e33', 342462);
INSERT INTO apalis._sqlx_migrations VALUES (20230408234928, 'add get jobs fn ', '2026-11-23 22:12:34.894643+00', true, '\x176c3acaf1097ff45da76d4c746af766640027b6721a056b3fc3fcc4ab8192344920b4415e8dae46f5136ee223ed5f6b', 339589);
INSERT INTO apalis._sqlx_migrations VALUES (20240225141841, 'replace add job fn remove jid', '2026-11-23 22:12:34.895077+00', true, '\xc53560b7a312915d696ed6c7e18bda478d9bf1278c4d59e3c53b47c45d8a903f089c728a5ff2e131cd5b629cdfe7d4cb', 676596);
INSERT INTO apalis._sqlx_migrations VALUES (20250210092135, 'include failed in get jobs', '2026-11-23 22:12:34.895852+00', true, '\x810786bd8f1007bf523bec8ed9de0a9ae789e634e5434a1a5cc9c1b766bd758b4d37912ef390dcf95e8de23910eeef55', 324759);
INSERT INTO apalis._sqlx_migrations VALUES (20250223193249, 'fix get jobs conditional', '2026-11-23 22:12:34.896233+00', true, '\xcfda3f3d62b4122b6321af0e45ba162fd3ad5d07f95e4eefe858600551167e31454ebd57d45b62e880336fcfef3ef2a7', 293722);
INSERT INTO apalis._sqlx_migrations VALUES (20250307001101, 'add job priority', '2026-11-23 22:12:34.896582+00', true, '\xb5d318f2da5e909d66db190f58b76ae52f6808733d2a88d180555430d28518fee783fb0ff1e1c37ed1dc79627abd9694', 786396);
INSERT INTO apalis._sqlx_migrations VALUES (20250404160441, 'cleanup old push jobs fn', '2026-11-23 22:12:34.897438+00', true, '\x962242ef0971de54905cafbdefe26a3c1f32c1c52ef13b6937c2920445b1ce97cd2dcf7db9c293becc95dc55412e7a15', 191533);
INSERT INTO apalis._sqlx_migrations VALUES (20250722071207, 'improve notify', '2026-11-23 22:12:34.89768+00', true, '\xb3a1f712f8fbdfe38004134d8f55e49857b764f3277f38dd9d13299d5e0afbc895005b62fa0355b8a0d8595a38be6db7', 401981);
INSERT INTO apalis._sqlx_migrations VALUES (20251018164839, 'update result', '2026-11-23 22:12:34.898139+00', true, '\xe4e3d1efc77746e4db164b49017c90785613b35520da84f9a5a3f8981d60420d9dec3c94af9e8632ab711ffac7c1e199', 3227055);
INSERT INTO apalis._sqlx_migrations VALUES (20251018164912, 'add metadata', '2026-11-23 22:12:34.901554+00', true, '\x803a4510201392a36e20ef81c9b05230ffa734a292c875f87ea65bc73944642b1d260a38741c4bdb88c0096338c152c0', 286566);
INSERT INTO apalis._sqlx_migrations VALUES (20251018165007, 'move to bytes', '2026-11-23 22:12:34.901892+00', true, '\xdcbb8181c56cc4b9511ddc940f81f5bb9420436d0f4edf1bc9978011324e6b8d5437c50830b8651e2168608d04977272', 2961624);
INSERT INTO apalis._sqlx_migrations VALUES (20251018165033, 'add started at', '2026-11-23 22:12:34.905019+00', true, '\x21b1264f3881a4cf4fb209ff2cc75c21946441691745d7cbc9ab1dd812a1e1c08648e47ea8b4de060784da581dab2246', 425564);
INSERT INTO apalis._sqlx_migrations VALUES (20251018165056, 'queue jobs', '2026-11-23 22:12:34.905507+00', true, '\xdd02b7e9c23a7da0f71bff73b469c51b7305d1830e7f4bd6de083c11315e8492801e242755d9981381760a5ace6d8fe7', 316508);
INSERT INTO apalis._sqlx_migrations VALUES (20251018165121, 'notify run at', '2026-11-23 22:12:34.905881+00', true, '\xa99e6c60687ec15c1bf8132763db63a0d9d18e1ee814527254fc95ee733e65bdf2f0ae64ca86cae0d1f232654d189fda', 508104);
INSERT INTO apalis._sqlx_migrations VALUES (20251225090252, 'include primary keys', '2026-11-23 22:12:34.906469+00', true, '\xfd9f16bd772c5682ecb3f6b0a21efed5581a85316770ab8d620b38346e9319ae239ef784e8eb46735d6be735e7b3b5be', 1004860);
INSERT INTO apalis._sqlx_migrations VALUES (20260508093314, 'idempotency key', '2026-11-23 22:12:34.907544+00', true, '\xf2686534e1abbba2fcde715c1ca724e7937a4e1f49d6a9a462ed4f1c2e8b83518f4f78868a111d6451afba770207c2d0', 688615);
INSERT INTO apalis._sqlx_migrations VALUES (20260605000000, 'confine generate ulid to apalis', '2026-11-23 22:12:34.908334+00', true, '\xc56dbd61156387934579af19b51ba95bd0cbe203f9528f0cd619c191730788858eca89044a7aa0622d308b9a3028e2c5', 961191);
INSERT INTO apalis._sqlx_migrations VALUES (20260824233636, 'streamline indices', '2026-11-23 22:12:34.909369+00', true, '\x09c57f5bd9cce210564e8b12da0520289290ad729ef4205cdd55bd2a60ac85f889df8c23b20a4a01d959f0c8b5775a6d', 2227411);
INSERT INTO apalis._sqlx_migrations VALUES (20260826101335, 'metadata hstore', '2026-11-23 22:12:34.911757+00', true, '\xcc38c9e6fd38157b443f6dd584e322405d49dedfd3a60867604102078a99320f97279e6c244cb87f84152ab9be7d41be', 1127234);
INSERT INTO apalis._sqlx_migrations VALUES (20260902075949, 'remove pl in get jobs', '2026-11-23 22:12:34.912953+00', true, '\x0dc0483d69bf530508d451bec9346f7d14be68c37308b130910462d130cab0827eb2825d20072105c83ae3a66ed82c6b', 602366);
INSERT INTO apalis.jobs VALUES ('\x7b22757365725f6964223a317d', '01M857FNX3876H327H81H2GJGY', 'embed', 'Done', 1, 25, '2026-11-23 22:12:35+00', '{"Ok": null}', '2026-11-23 22:12:35.886+00', 'embed-d0f605f9-1b1e-464f-a3a9-41feff0424c0', '2026-11-23 22:12:36.197909+00', 0, NULL, '');
INSERT INTO apalis.jobs VALUES ('\x7b22757365725f6964223a317d', '01M857FP9V1NWVNPJ4PZ7C2CP4', 'embed', 'Done', 1, 25, '2026-11-23 22:12:36+00', '{"Ok": null}', '2026-11-23 22:12:36.297986+00', 'embed-d0f605f9-1b1e-464f-a3a9-41feff0424c0', '2026-11-23 22:12:36.368891+00', 0, NULL, '');
INSERT INTO apalis.jobs VALUES ('\x7b22757365725f6964223a317d', '01M857FPBP8GJRQC7DQEHKEP5J', 'embed', 'Done', 1, 25, '2026-11-23 22:12:36+00', '{"Ok": null}', '2026-11-23 22:12:36.348679+00', 'embed-d0f605f9-1b1e-464f-a3a9-41feff0424c0', '2026-11-23 22:12:36.407764+00', 0, NULL, '');
INSERT INTO apalis.jobs VALUES ('\x7b22757365725f6964223a327d', '01M857FPC6XMKQADHMC83G34WB', 'embed', 'Done', 1, 25, '2026-11-23 22:12:36+00', '{"Ok": null}', '2026-11-23 22:12:36.362887+00', 'embed-d0f605f9-1b1e-464f-a3a9-41feff0424c0', '2026-11-23 22:12:37.326174+00', 0, NULL, '');
INSERT INTO apalis.jobs VALUES ('\x7b22757365725f6964223a317d', '01M857FP72BKZYFR470352P563', 'embed', 'Done', 1, 25, '2026-11-23 22:12:36+00', '{"Ok": null}', '2026-11-23 22:12:36.204192+00', 'embed-d0f605f9-1b1e-464f-a3a9-41feff0424c0', '2026-11-23 22:12:37.337707+00', 0, NULL, '');
INSERT INTO apalis.jobs VALUES ('\x7b22757365725f6964223a317d', '01M857FPD3NYJN2QFJ4802WWEZ', 'embed', 'Done', 1, 25, '2026-11-23 22:12:37.335553+00', '{"Ok": null}', '2026-11-23 22:12:37.337707+00', 'embed-d0f605f9-1b1e-464f-a3a9-41feff0424c0', '2026-11-23 22:12:37.377457+00', 0, NULL, '');
INSERT INTO apalis.workers VALUES ('embed-d0f605f9-1b1e-464f-a3a9-41feff0424c0', 'embed', 'PgStorage', 'tower::limit::concurrency::service::ConcurrencyLimit<apalis_core::task::data::AddExtension<apalis_core::task::data::AddExtension<apalis_core::worker::lifecycle::LifecycleService<apalis_core::task::task_fn::TaskFn<keepsake::jobs::embed::run, keepsake::queue::EmbedJob, (apalis_core::task::attempt::Attempt, apalis_core::task::data::Data<keepsake::jobs::JobContext>, apalis_core::task::data::Data<keepsake::jobs::embed::GoingOn>)>>, keepsake::jobs::embed::GoingOn>, keepsake::jobs::JobContext>>', '2026-11-23 22:12:40.464135+00', NULL);
INSERT INTO public._sqlx_migrations VALUES (20261121000100, 'create accounts', '2026-11-23 22:12:34.692811+00', true, '\x8f346e0178b5d912ec27301a6e2a69d6433c10c7288a0188cb671d28e95bb7ede3ebc832b51f32b3cf32c1050ed5f8dc', 8569072);
INSERT INTO public._sqlx_migrations VALUES (20261121000200, 'create memory', '2026-11-23 22:12:34.70182+00', true, '\xf3d7f17a32902b942994b83d5041f7d0622ed719a83412b3cab21bea5e5eb123b0d90a0bbb90e7bfc007f12bb81a7130', 8070620);
INSERT INTO public._sqlx_migrations VALUES (20261121000300, 'create embedding', '2026-11-23 22:12:34.710106+00', true, '\xc01ab866367a5eb92e897aa5bd848d0da2d8163e147d9275ad4a0bf56a61e44bb27e9848822c2cfa341b9edd8087fc1a', 18451676);
INSERT INTO public._sqlx_migrations VALUES (20261121000400, 'create operators', '2026-11-23 22:12:34.728802+00', true, '\xb45f618fd8c169177cc4bd74ed6e76b3ab37511a5215e878959d29658ac08820faffdd1927a8d20496956629c5bfeb30', 15746803);
INSERT INTO public._sqlx_migrations VALUES (20261121000500, 'create activity', '2026-11-23 22:12:34.749051+00', true, '\x423ea7889d2bb6e4a288fe612900c63ec6634de215aeba7cfa24323b52915723223637255071f4959494531a95fd96d5', 8178667);
INSERT INTO public._sqlx_migrations VALUES (20261121000600, 'create invitations', '2026-11-23 22:12:34.753133+00', true, '\xf0b846e6c667917f08aceb1625955a56f4de77409e0590838d5116bfac3c0ec1b084b4d4946d99fe41a5935d114e7f1e', 13942299);
INSERT INTO public._sqlx_migrations VALUES (20261121000700, 'create erasure', '2026-11-23 22:12:34.767229+00', true, '\xf27956317f880566535be831230ec094d68e2abebe95bdb7fdd586376c64bd8ed234cff90675584add6c00fcfc5219f4', 41091040);
INSERT INTO public._sqlx_migrations VALUES (20261121000800, 'grant operations', '2026-11-23 22:12:34.808637+00', true, '\xa8286985024d153da63811747ad3c8be3498c2f6187602ccc8c3f1659193fdec23ae8c9fd4b08d4e92a986cd3bf754fa', 764185);
INSERT INTO public._sqlx_migrations VALUES (20261121000900, 'create sessions', '2026-11-23 22:12:34.809558+00', true, '\xb67996ec947d8b2def5452e533b9c5b4d1073e97e61ee937499873b5caba42d4e1b25ec30448e1d913de0313a51b8bb7', 15726877);
INSERT INTO public._sqlx_migrations VALUES (20261121001000, 'extend memory', '2026-11-23 22:12:34.825473+00', true, '\xea41a788bb9d6af108efdd688ce1651f872957737d5cd1d6d79ade0322a8821b9490ddeb72a0e71a4e0448b98417da56', 4610457);
INSERT INTO public._sqlx_migrations VALUES (20261121001100, 'create chat', '2026-11-23 22:12:34.833246+00', true, '\x32639f04f453b653997e373b5b248a162564cb8b7a5089286202c0e5bffff82b0b0b140774c4b13519fe3c1fe5d2e0fd', 12183425);
INSERT INTO public._sqlx_migrations VALUES (20261121001200, 'create summary', '2026-11-23 22:12:34.845554+00', true, '\x5cdc1ba225a7e11ee3b0a4cd5785591fabfe31318ed4cba584af935100fe93f0a671f8979b46a36a6cf432e2850d736d', 3809607);
INSERT INTO public._sqlx_migrations VALUES (20261121001300, 'create turns', '2026-11-23 22:12:34.849467+00', true, '\xa8b1527858c6617fcf8e3fdd81df190ae84cd7d5f4e786691550f93f2121c24f6d0b379d2ba8fc70586b4b38a210345e', 11345306);
INSERT INTO public._sqlx_migrations VALUES (20261121001400, 'erase sessions', '2026-11-23 22:12:34.861119+00', true, '\x47ae8a5d2e604f36b457a800a7f0e8fee744e6e33581fa47474e78e5e06a538ebd5543b43fdee194ca7678d1cc01837f', 842121);
INSERT INTO public._sqlx_migrations VALUES (20261121001500, 'create evaluations', '2026-11-23 22:12:34.86196+00', true, '\x6dcdfa9d025db11382c395c34b05362a2a2cc2c3c50182b70b720693075c920148201b1fdaffed910d1594f68002e3da', 2347515);
INSERT INTO public.account_tables VALUES ('memory_item_embeddings', 10);
INSERT INTO public.account_tables VALUES ('memory_item_events', 20);
INSERT INTO public.account_tables VALUES ('activity', 30);
INSERT INTO public.account_tables VALUES ('memory_items', 40);
INSERT INTO public.account_tables VALUES ('memory_themes', 50);
INSERT INTO public.account_tables VALUES ('embedding_spaces', 60);
INSERT INTO public.account_tables VALUES ('agent_tokens', 70);
INSERT INTO public.account_tables VALUES ('agents', 80);
INSERT INTO public.account_tables VALUES ('data_imports', 90);
INSERT INTO public.account_tables VALUES ('web_sessions', 100);
INSERT INTO public.account_tables VALUES ('embedding_settings', NULL);
INSERT INTO public.account_tables VALUES ('session_extractions', 54);
INSERT INTO public.account_tables VALUES ('session_messages', 55);
INSERT INTO public.account_tables VALUES ('sessions', 56);
INSERT INTO public.account_tables VALUES ('chat_settings', NULL);
INSERT INTO public.account_tables VALUES ('chat_spend', NULL);
INSERT INTO public.account_tables VALUES ('chat_reservations', NULL);
INSERT INTO public.account_tables VALUES ('memory_summary_items', 35);
INSERT INTO public.account_tables VALUES ('memory_summaries', NULL);
INSERT INTO public.account_tables VALUES ('evaluations', NULL);
INSERT INTO public.activity OVERRIDING SYSTEM VALUE VALUES (1, 1, '2026-11-23 22:12:35.854617+00', 1, 'memory_add', 'ok', 24709, '{1}', NULL);
INSERT INTO public.activity OVERRIDING SYSTEM VALUE VALUES (1, 2, '2026-11-23 22:12:36.185259+00', 1, 'memory_add', 'ok', 10490, '{3,1}', NULL);
INSERT INTO public.activity OVERRIDING SYSTEM VALUE VALUES (1, 3, '2026-11-23 22:12:36.199358+00', 1, 'memory_add', 'ok', 22570, '{4}', NULL);
INSERT INTO public.activity OVERRIDING SYSTEM VALUE VALUES (1, 4, '2026-11-23 22:12:36.225871+00', 1, 'memory_confirm', 'ok', 1131, '{4}', NULL);
INSERT INTO public.activity OVERRIDING SYSTEM VALUE VALUES (1, 5, '2026-11-23 22:12:36.229268+00', 1, 'memory_add', 'ok', 5120, '{5}', NULL);
INSERT INTO public.activity OVERRIDING SYSTEM VALUE VALUES (1, 6, '2026-11-23 22:12:36.239957+00', 1, 'memory_add', 'ok', 25627, '{6}', NULL);
INSERT INTO public.activity OVERRIDING SYSTEM VALUE VALUES (1, 7, '2026-11-23 22:12:36.298408+00', 1, 'memory_add', 'ok', 1157, '{7}', NULL);
INSERT INTO public.activity OVERRIDING SYSTEM VALUE VALUES (1, 8, '2026-11-23 22:12:36.306029+00', 1, 'memory_add', 'ok', 594, '{8}', NULL);
INSERT INTO public.activity OVERRIDING SYSTEM VALUE VALUES (1, 9, '2026-11-23 22:12:36.313121+00', 1, 'memory_add', 'ok', 531, '{9}', NULL);
INSERT INTO public.activity OVERRIDING SYSTEM VALUE VALUES (1, 10, '2026-11-23 22:12:36.319793+00', 1, 'memory_add', 'ok', 530, '{10}', NULL);
INSERT INTO public.activity OVERRIDING SYSTEM VALUE VALUES (1, 11, '2026-11-23 22:12:36.323479+00', 1, 'memory_archive', 'ok', 6624, '{10}', NULL);
INSERT INTO public.activity OVERRIDING SYSTEM VALUE VALUES (1, 12, '2026-11-23 22:12:36.333185+00', 1, 'memory_add', 'ok', 10081, '{11}', NULL);
INSERT INTO public.activity OVERRIDING SYSTEM VALUE VALUES (2, 13, '2026-11-23 22:12:36.347631+00', 2, 'memory_add', 'ok', 11544, '{12}', NULL);
INSERT INTO public.activity OVERRIDING SYSTEM VALUE VALUES (2, 14, '2026-11-23 22:12:36.362031+00', 2, 'memory_add', 'ok', 940, '{13}', NULL);
INSERT INTO public.activity OVERRIDING SYSTEM VALUE VALUES (1, 15, '2026-11-23 22:12:36.387517+00', 1, 'memory_search', 'ok', 112565, '{4,11,8,7,3}', NULL);
INSERT INTO public.agent_tokens OVERRIDING SYSTEM VALUE VALUES (1, 1, 1, '\xe4abc71fc42d80084f4fb144779e31fafb67ee0e58098ceb419ca1c6b4a80f4d', 'bf8a', '{memory:read,memory:write,sessions:write}', '2026-11-23 22:12:35.24195+00', NULL, '2026-11-23 22:12:35.850275+00', NULL);
INSERT INTO public.agent_tokens OVERRIDING SYSTEM VALUE VALUES (2, 2, 2, '\x2073a11bb9cb49fda415050d7bbfd30f6d82a9734dc7c7c229f0764d8fcebe15', 'd5d0', '{memory:read,memory:write,sessions:write}', '2026-11-23 22:12:35.314962+00', NULL, '2026-11-23 22:12:36.346103+00', NULL);
INSERT INTO public.agents OVERRIDING SYSTEM VALUE VALUES (1, 1, 'desk', '2026-11-23 22:12:35.238818+00', true, 'full');
INSERT INTO public.agents OVERRIDING SYSTEM VALUE VALUES (2, 2, 'phone', '2026-11-23 22:12:35.312301+00', true, 'core');
INSERT INTO public.embedding_spaces OVERRIDING SYSTEM VALUE VALUES (2, 2, 'builtin', '', 'all-MiniLM-L6-v2', NULL, 384, '', '', NULL, NULL, 'active', NULL, 0, NULL, NULL, false, '2026-11-23 22:12:36.400171+00', '2026-11-23 22:12:36.400171+00', NULL);
INSERT INTO public.embedding_spaces OVERRIDING SYSTEM VALUE VALUES (1, 1, 'builtin', '', 'all-MiniLM-L6-v2', NULL, 384, '', '', NULL, NULL, 'active', NULL, 0, NULL, NULL, false, '2026-11-23 22:12:35.920999+00', '2026-11-23 22:12:35.920999+00', NULL);
INSERT INTO public.memory_item_embeddings VALUES (1, 1, 1, 'ready', 1, 'fact', '-infinity', '2026-11-23 22:12:35.861832+00', '\x6bde01f3f970c47d77963278c36d68ccb42e2d23a8a1f96ecb98d257ca01a456', false, 1, NULL, B'0111001110101011000011010010110101011001100101110101111010001100100110000001000011101111001111011011001100110111011011000110001111001111111011110001011000000001001100010010110110111110100011101001110000000111000000010110101010110000011110100101100001101101001000011001100100011001101101111100101111100000101000110000100111011001111010001111111111001101101010011011011101101100000101101000110101110111010111101111001110010011011001001010001100111110111101010100111000010001110000000110000001110010010100010101111101110011101010110000110100101101010110011001011101011110100011001001100000010000111011110011110110110011001101110110110001100011110011111110111100010110000000010011000100101101101111101000111010011100000001110000000101101010101100000111101001011000011011010010000110011001000110011011011111001011111000001010001100001001110110011110100011111111110011011010100110110111011011000001011010001101011101110101111011110011100100110110010010100011001111101111010101001110000100011100000001100000011100100101000101011111', '[0.028305054,-0.00087070465,0.053710938,0.07513428,-0.013710022,0.010475159,0.032226562,-0.03930664,0.0178833,0.0020179749,0.016815186,-0.12768555,-0.07977295,-0.017303467,-0.017822266,0.019561768,0.0076026917,-0.037353516,0.029373169,-0.053985596,-0.09991455,-0.046142578,0.028198242,0.008079529,0.020690918,0.026641846,0.037139893,-0.056640625,-0.015083313,-0.04498291,-0.006023407,-0.000289917,0.0066184998,0.0019817352,0.004169464,0.08843994,-0.03717041,-0.013870239,-0.016937256,-0.024475098,0.022155762,-0.09454346,0.00642395,-0.08959961,0.037719727,-0.005104065,-0.033966064,0.043548584,0.05770874,-0.02734375,-0.11260986,-0.042633057,-0.08062744,-0.011497498,0.05429077,0.060699463,-0.022735596,0.0126953125,0.0037441254,0.075927734,0.07635498,0.018600464,-0.012878418,-0.00356102,0.011726379,0.003118515,0.05456543,0.029296875,0.0413208,-0.0927124,-0.011047363,0.027832031,-0.060272217,0.043670654,0.062683105,-0.030029297,0.037719727,0.03869629,0.031951904,0.010406494,-0.016113281,-0.08581543,0.033172607,0.013961792,-0.012382507,0.0026569366,0.004058838,-0.101135254,0.07727051,-0.036987305,-0.012863159,-0.020019531,-0.052001953,-0.023635864,0.06573486,-0.044403076,-0.08508301,0.072387695,-0.059692383,0.052246094,0.0051231384,0.045532227,0.014862061,0.030258179,-0.113708496,0.014923096,0.054382324,-0.08117676,-0.038024902,0.047088623,-0.039794922,-0.057159424,-0.027175903,-0.06365967,0.029647827,0.028518677,0.0063476562,-0.045288086,0.030944824,-0.013557434,-0.015487671,-0.020935059,-0.042663574,0.053649902,0.0541687,0.09869385,0.05807495,-0,-0.0132369995,-0.013000488,0.033843994,0.06976318,9.506941e-05,-0.032104492,0.0018730164,0.00027370453,-0.07159424,-0.054840088,0.042999268,-0.061553955,-0.0513916,-0.056610107,0.022842407,0.09454346,0.06341553,0.027816772,-0.030517578,0.09790039,0.061431885,-0.0059127808,-0.045135498,0.05722046,0.06451416,0.012680054,0.031036377,-0.0053977966,-0.034423828,0.00012791157,-0.021194458,-0.036499023,-0.022827148,0.01789856,-0.013465881,0.06451416,-0.032928467,0.018341064,-0.054840088,0.1015625,0.036376953,0.024383545,0.096191406,0.028381348,-0.06072998,0.046295166,0.09667969,-0.037750244,0.17956543,-0.023376465,-0.026275635,-0.006790161,-0.1394043,0.076171875,0.059051514,0.08068848,-0.012077332,-0.008621216,0.09869385,0.0011463165,-0.032226562,-0.007888794,-0.022827148,0.05230713,0.058654785,-0.008758545,0.021850586,-0.0019159317,0.014076233,0.056396484,0.030303955,-0.008491516,0.07635498,0.072509766,-0.085998535,0.017410278,-0.035064697,-0.027954102,-0.027877808,-0.0017900467,0.056610107,-0.021713257,0.041107178,0.08795166,0.0025310516,-0.013076782,-0.008644104,-0.03945923,-0.064941406,-0.054901123,0.04006958,0.103515625,0.040618896,-0.09326172,-0.070739746,0,0.0692749,-0.029251099,-0.09234619,-0.016464233,-0.02029419,0.053863525,0.036987305,0.037902832,0.04248047,0.030914307,-0.051818848,-0.06488037,0.06604004,-0.04434204,0.017593384,0.061767578,0.08709717,-0.044891357,0.058135986,-0.050476074,-0.03744507,0.037261963,0.0050582886,0.040374756,-0.0037231445,-0.0021152496,0.095336914,0.08892822,-0.11694336,-0.053710938,0.0038585663,-0.1027832,-0.024261475,-0.011566162,0.0071640015,0.024261475,-0.031311035,-0.00042510033,-0.034942627,0.009498596,0.0010051727,-0.013061523,0.021499634,0.05557251,0.019332886,-0.05053711,0.00089740753,0.070129395,0.025283813,-0.038513184,0.090026855,-0.07128906,-0.005340576,0.0051727295,0.013267517,0.031341553,0.04748535,-0.022888184,0.03463745,-0.008514404,0.031982422,-0.009490967,0.004764557,0.013893127,-0.07611084,-0.02633667,-0.0637207,-0.031311035,-0.0076408386,0.02319336,-0.020843506,-0.04006958,-0.027359009,-0.05038452,-0.06262207,0.062042236,0.020263672,0.04598999,0.12298584,0.0007047653,-0.041625977,-0.013336182,0.036895752,-0.02420044,0.042663574,-0.017974854,-0.059753418,-0.020584106,0.06500244,0.03213501,-0.017120361,-0.0057258606,-0.05795288,-0.15966797,-0.10797119,-0,0.078308105,-0.016952515,-0.049804688,0.019500732,-0.022506714,-0.02696228,0.02003479,-0.030563354,0.010543823,0.10925293,-0.105651855,0.05493164,0.04498291,0.02154541,0.040252686,-0.075927734,0.068847656,0.0418396,-0.083862305,0.038238525,0.016952515,0.01171875,-0.029327393,-0.09838867,-0.04055786,-0.0031871796,0.05331421,0.015266418,0.03125,0.014907837,-0.055541992,0.051971436,-0.005619049,0.01171875,0.028289795,-0.08758545,0.029724121,-0.057403564,-0.10211182,0.038970947,-0.0027160645,-0.02279663,0.0770874,-0.045532227,-0.010803223,-0.012336731,0.048095703,-0.14428711,0.07397461,0.017730713,-0.008361816,0.03213501,-0.041137695,0.12060547,0.025772095,-0.026947021,-0.017364502,-0.07501221,0.07171631,0.07196045,-0.019058228,-0.03567505,-0.05706787,-0.011749268]', '2026-11-23 22:12:36.185714+00', DEFAULT);
INSERT INTO public.memory_item_embeddings VALUES (1, 1, 3, 'ready', 1, 'fact', 'infinity', '2026-11-23 22:12:36.185714+00', '\xe53b52a159ed10d1506d26a036746e8e5e6f96bff008a532999dcdf4b3da85a8', false, 1, NULL, B'1111000110111010000010000010010001001101100010110111111010001000100110000100000011001001010110111011001111111001011011100111000000101111101101000010011000100000100100010010101010111110001101001011110000001111110100010111000000010101011010000000010101111101101101010001100100011001101101111100111111000001101100101010100011011010111001000001111111001001101011111001001101100010000100100000110101011101011111001011001110000010011010001010001000111110110101100010111100010001110000000110110001010011110001000001111111110001101110100000100000100100010011011000101101111110100010001001100001000000110010010101101110110011111110010110111001110000001011111011010000100110001000001001000100101010101111100011010010111100000011111101000101110000000101010110100000000101011111011011010100011001000110011011011111001111110000011011001010101000110110101110010000011111110010011010111110010011011000100001001000001101010111010111110010110011100000100110100010100010001111101101011000101111000100011100000001101100010100111100010000011111', '[-0.009979248,-0.00308609,0.035308838,0.06762695,0.034698486,0.062683105,0.05328369,-0.020309448,-0.023483276,-0.007537842,-0.02218628,-0.028839111,-0.031036377,-0.03213501,-0.027618408,0.058624268,-0.030776978,-0.013435364,-0.010063171,-0.0206604,0.054870605,-0.04901123,0.074035645,0.03314209,0.021835327,0.0067634583,0.06640625,-0.0259552,0.023590088,-0.050567627,-0.027862549,0.053131104,-0.037078857,0.027297974,0.014091492,0.06072998,-0.009849548,0.015075684,-0.041625977,-0.020584106,0.01689148,-0.00982666,0.0053634644,-0.10620117,-0.004787445,-0.047576904,-0.060577393,-0.02973938,0.061401367,0.007648468,-0.041259766,-0.026123047,-0.046203613,-0.018692017,0.08331299,0.11407471,-0.043426514,-0.044128418,-0.0059165955,0.07531738,0.12072754,0.045715332,-0.040985107,0.028793335,-0.00041484833,0.050231934,0.04949951,0.016860962,0.00995636,-0.14746094,0.029281616,0.050567627,-0.030944824,0.07470703,-0.007762909,-0.049682617,0.046325684,-0.005340576,-0.009590149,0.030303955,-0.070739746,-0.055877686,0.024414062,0.049743652,-0.027526855,0.037506104,-0.041900635,-0.057769775,0.04638672,-0.037109375,0.024215698,-0.021255493,-0.025222778,0.052459717,0.071777344,-0.032318115,-0.025558472,0.04067993,-0.043884277,0.062561035,0.009254456,0.057006836,0.08343506,0.021377563,-0.07110596,0.01108551,0.088378906,-0.10839844,-0.099609375,0.06915283,-0.056396484,-0.08294678,0.005584717,0.010940552,0.08105469,-0.044403076,0.06817627,-0.016647339,-0.00071525574,-0.024917603,-0.016616821,0.0023345947,-0.06585693,0.0635376,0.054718018,0.109558105,0.048950195,-0,-0.015609741,0.015159607,0.036743164,0.092285156,-0.005935669,0.010810852,0.018539429,-0.01574707,-0.06707764,-0.0013656616,-0.01448822,0.017593384,-0.05557251,-0.10321045,0.0037441254,0.09057617,0.0132369995,-0.014968872,-0.044677734,0.11029053,0.04272461,0.02734375,-0.07269287,0.026565552,-0.027572632,-0.049682617,0.06359863,0.0039787292,-0.03466797,-0.0010309219,-0.034118652,-0.019058228,0.0010299683,0.007850647,0.00033211708,0.061706543,-0.0036506653,0.028762817,-0.04788208,0.01953125,0.08312988,0.000875473,0.007785797,0.09509277,-0.073791504,0.03378296,0.0357666,-0.0018997192,0.1472168,-0.06304932,-0.010032654,-0.0107421875,-0.20446777,0.08654785,-0.00038599968,0.056549072,-0.028961182,-0.07281494,0.12438965,0.038208008,0.011764526,-0.050445557,-0.007358551,0.03677368,0.051574707,-0.06719971,-0.0033168793,-0.019546509,0.0060310364,0.01966858,0.0006942749,0.004245758,0.040130615,0.08099365,-0.038513184,0.0036258698,-0.084472656,-0.005252838,-0.0052261353,0.0096588135,0.04650879,-0.028839111,0.011108398,0.09442139,0.003692627,-0.06317139,-0.025482178,0.0074806213,-0.060272217,-0.013755798,0.07952881,0.085998535,0.030532837,-0.10119629,-0.08001709,0,0.029968262,-0.059143066,-0.09106445,-0.0014038086,0.056915283,0.04244995,0.04208374,0.017913818,0.043426514,0.007713318,-0.016494751,-0.06518555,0.08886719,-0.002374649,0.077819824,0.004096985,0.12011719,-0.022949219,0.028137207,-0.06616211,-0.038269043,0.00074768066,-0.058776855,-0.00223732,0.019317627,0.057037354,-0.017868042,0.101257324,-0.13696289,0.029388428,0.013069153,-0.0793457,-0.04559326,-0.04006958,-0.023544312,-0.025360107,0.01826477,0.017150879,-0.058929443,-0.09552002,-0.012374878,-0.046691895,0.008773804,0.047973633,0.055786133,-0.009933472,0.00472641,-0.0043907166,0.015457153,-0.0019140244,0.029846191,-0.07373047,0.02999878,0.0137786865,0.007926941,0.040496826,-0.003704071,-0.072631836,0.07672119,0.022903442,0.036071777,0.004962921,-0.031082153,-0.008850098,-0.05886841,-0.07342529,-0.0435791,-0.040527344,0.01890564,-0.0231781,-0.03768921,0.05407715,-0.021057129,-0.07550049,-0.06732178,0.06304932,0.019012451,0.031555176,0.04248047,-0.05316162,-0.044311523,0.020721436,0.0022830963,-0.0113220215,-0.021530151,-0.012184143,0.035827637,-0.020935059,0.028717041,-0.047424316,-0.030731201,-0.0008826256,-0.10284424,-0.1282959,-0.1104126,-0,-0.022506714,0.037506104,-0.056030273,-0.045684814,-0.028564453,0.013298035,0.0027580261,0.022476196,0.055755615,0.05984497,-0.0041160583,0.054626465,0.0680542,0.011108398,0.034576416,-0.04940796,0.08123779,0.027954102,-0.020339966,0.01638794,0.023117065,-0.009941101,-0.023284912,-0.03439331,-0.031341553,0.0072517395,0.03451538,0.031921387,0.08105469,0.03463745,-0.05807495,0.07495117,0.01386261,0.03277588,0.027938843,-0.066711426,0.049804688,-0.046020508,-0.03744507,-0.007637024,0.022964478,-0.0033626556,0.055725098,-0.02255249,0.02508545,-0.0592041,0.08880615,-0.15405273,0.07977295,-0.023544312,-9.1671944e-05,0.041046143,-0.06341553,0.06341553,0.04916382,-0.0513916,-0.044189453,-0.07727051,-2.2172928e-05,0.040649414,-0.043640137,-0.07470703,-0.08154297,0.042633057]', '2026-11-23 22:12:36.515192+00', DEFAULT);
INSERT INTO public.memory_item_embeddings VALUES (1, 1, 4, 'ready', 2, 'preference', 'infinity', '2026-11-23 22:12:36.211101+00', '\xba1c6ed0c9adf5d4a1960aaf18f538f5b6c4c813d7ef2e7fd3450ceb925c07df', false, 1, NULL, B'0110101010100001100100011011010100001001100100011000111100000101000101000011000011110011011011111110011010100111000111100010011011001100101001101111000010010101000010000011110111110100110111010001010000100011100100000011000011000000011000111111110011101100101110101001100100011001101101111100100111110011001011100000010011111110000101011111000101101010111011010011010100000100100110011000110000010101001111111011101011010000011010100111101011101110011101000011101110010000000100001110110101110011111111011000100101101010101000011001000110110101000010011001000110001111000001010001010000110000111100110110111111100110101001110001111000100110110011001010011011110000100101010000100000111101111101001101110100010100001000111001000000110000110000000110001111111100111011001011101010011001000110011011011111001001111100110010111000000100111111100001010111110001011010101110110100110101000001001001100110001100000101010011111110111010110100000110101001111010111011100111010000111011100100000001000011101101011100111111110110001001', '[-0.025527954,0.03552246,0.04925537,0.050933838,0.043884277,0.08666992,0.09277344,0.01713562,0.018096924,-0.019424438,-0.13171387,-0.04055786,-0.07092285,0.027236938,-0.002565384,0.07696533,0.006580353,-0.030288696,-0.0031661987,-0.010437012,-0.01777649,-0.036132812,0.0647583,0.060424805,0.053009033,0.0970459,0.12463379,-0.023544312,-0.0129470825,-0.01486969,-0.05126953,0.03475952,-0.066223145,-0.010116577,-0.13305664,0.07116699,0.035980225,-0.023773193,0.0025310516,-0.06311035,0.013427734,-0.010017395,0.010566711,0.0029087067,-0.00033259392,0.0032348633,-0.028030396,0.03753662,0.0019273758,-0.0005750656,-0.08959961,-0.05053711,-0.09161377,0.024597168,0.103027344,0.013183594,-0.042419434,-0.034362793,0.0385437,0.13000488,-0.018997192,-0.014305115,0.06677246,0.025939941,0.0033493042,0.073791504,-0.06304932,0.082336426,0.008598328,-0.0736084,-0.068237305,0.054260254,0.029785156,-0.053466797,0.010894775,-0.022079468,0.07623291,0.059539795,-0.019332886,0.1048584,-0.052124023,0.06286621,0.047821045,0.0871582,0.013328552,0.06121826,-0.02796936,-0.029907227,0.009346008,-0.051330566,0.008850098,0.014633179,-0.04824829,0.026916504,0.07299805,-0.0059928894,-0.0914917,-0.07373047,0.008369446,-0.024093628,0.039276123,0.09136963,-0.011123657,-0.0046043396,-0.041534424,-0.040740967,0.028930664,-0.06335449,-0.008544922,-0.047454834,-0.029693604,-0.06311035,0.027679443,-0.053894043,-0.03930664,0.1060791,0.044128418,-0.003446579,0.023132324,0.013259888,-0.058502197,-0.08288574,0.0051078796,-0.042144775,0.0045318604,0.052703857,0.035186768,-0,-0.0418396,-0.026947021,0.09454346,0.02748108,0.10638428,-0.08758545,0.048553467,-0.033691406,-0.025009155,-0.07940674,0.01222229,-0.014945984,-0.11303711,-0.08294678,-0.03729248,0.009208679,-0.054351807,0.0670166,-0.014198303,0.078063965,0.09863281,-0.03213501,0.022491455,0.05441284,-0.029922485,-0.02961731,0.09100342,0.09057617,0.039642334,-0.027664185,0.027648926,-0.009567261,-0.04660034,0.023880005,-0.046142578,-0.025115967,-0.03591919,0.048797607,-0.0033130646,0.107299805,0.015434265,0.03805542,0.062805176,0.052368164,-0.07470703,-0.013702393,-0.027374268,-0.015510559,0.10449219,-0.038879395,-0.019042969,0.00066661835,-0.043548584,0.08337402,-0.040985107,-0.053985596,-0.03152466,0.017028809,0.062805176,-0.026397705,-0.079833984,-0.034576416,-0.048065186,0.022232056,0.015960693,-0.014129639,-0.041229248,-0.06341553,0.0015630722,0.027008057,0.08099365,-0.022613525,0.0066490173,-0.014442444,0.010505676,-0.050048828,0.07165527,0.006565094,0.04522705,0.016845703,0.075927734,-0.017440796,0.06402588,0.07348633,-0.044067383,-0.061157227,-0.106933594,0.062042236,0.053009033,-0.050231934,-0.036621094,0.023849487,0.035217285,-0.028274536,-0.101867676,0,0.06964111,-0.048950195,-0.06707764,0.055725098,0.054107666,-0.03326416,0.074523926,-0.0008893013,0.079711914,0.03186035,0.030288696,0.012458801,0.005683899,0.09039307,0.03414917,-0.017471313,0.107055664,0.044677734,0.014579773,0.03338623,-0.023803711,0.008369446,0.0058135986,-0.054534912,0.045013428,0.062805176,0.08331299,0.06378174,-0.0670166,-0.042877197,0.046844482,-0.010063171,-0.06945801,-0.05102539,0.027633667,-0.03189087,-0.0056610107,-0.10308838,-0.012306213,0.03152466,0.08312988,-0.041381836,0.01828003,0.04272461,0.028717041,-0.046539307,-0.04046631,-0.008598328,-0.064453125,0.09655762,0.022140503,0.014381409,-0.0423584,-0.00047445297,0.004776001,-0.054534912,0.014007568,-0.068359375,0.049835205,-0.022338867,-0.03253174,-0.013389587,-0.029022217,-0.07293701,-0.060791016,-0.010528564,-0.0052604675,0.00058460236,0.07446289,-0.01084137,-0.030258179,-0.02583313,-0.015960693,-0.004005432,-0.024627686,0.011428833,-0.020355225,0.008628845,0.056427002,-0.00982666,-0.06915283,0.019119263,0.039794922,-0.06689453,0.026443481,0.009651184,0.020965576,-0.0053520203,-0.0052108765,0.06335449,0.002691269,-0.0960083,-0.079833984,0.049560547,-0.021636963,-0,0.009712219,-0.11395264,-0.012504578,0.11444092,-0.043548584,-0.06951904,0.009735107,-0.014122009,-0.009567261,0.0020370483,0.023605347,0.094177246,0.06774902,-0.0010461807,0.0070495605,-0.06976318,0.07183838,0.034240723,-0.014793396,0.025939941,-0.008773804,-0.037353516,0.048614502,-0.053741455,0.019454956,0.0496521,0.037139893,-0.01335144,-0.04675293,0.03164673,-0.015258789,0.08892822,0.008590698,0.053771973,-0.08087158,-0.121032715,0.08831787,0.050598145,-0.09075928,-0.04135132,-0.0066070557,-0.053009033,-0.010848999,-0.05682373,-0.048339844,-0.070007324,-0.008926392,-0.0418396,0.0869751,0.031982422,0.04724121,0.014587402,0.0022354126,0.03982544,0.023773193,-0.011543274,-0.0019311905,-0.04458618,-0.05731201,-0.040924072,-0.021774292,-0.0037269592,0.032348633,-0.027557373]', '2026-11-23 22:12:36.515192+00', DEFAULT);
INSERT INTO public.memory_item_embeddings VALUES (1, 1, 5, 'ready', 3, 'fact', 'infinity', '2026-11-23 22:12:36.232525+00', '\xb0945059ded0707c58a950a48acd4fafd4fea9dcc04e722cef3aff22021df8fa', false, 1, NULL, B'0000001011000110101001101100000100011011101101100100011001101010000010100001101011010001001001010101001010000110010000110000000100001000111011101010010001000010000000001011011110000000001110111010111101111011110110110101000000101000000001001001110100010001000000110110111001101111100010010011111001010101010001110100010001000000000001101110010110001110110100011000011011000111100010100010101001101010010110100110111000100000110101011000001100000010101001010010011111111111100110100000000100001100111101001100101100000010110001101010011011000001000110111011011001000110011010100000101000011010110100010010010101010010100001100100001100000001000010001110111010100100010000100000000010110111100000000011101110101111011110111101101101010000001010000000010010011101000100010000001101101110011011111000100100111110010101010100011101000100010000000000011011100101100011101101000110000110110001111000101000101010011010100101101001101110001000001101010110000011000000101010010100100111111111111001101000000001000011001111010011001011', '[-0.09667969,0.015899658,-0.013259888,-0.022369385,-0.11541748,-0.05807495,-0.09655762,0.06536865,0.0053253174,0.075805664,0.00868988,-0.039764404,-0.04763794,-0.021881104,-0.0413208,-0.037719727,0.011192322,0.037261963,0.035980225,0.029006958,0.030059814,0.029220581,-0.05770874,-0.052490234,0.14379883,0.07861328,-0.055603027,-0.09283447,0.05307007,0.074157715,-0.007675171,-0.038269043,0.0859375,-0.101989746,0.026657104,-0.020568848,-0.0028648376,0.0066986084,-0.010520935,0.057128906,0.0040359497,-0.010566711,-0.0019512177,-0.008636475,-0.02355957,0.01285553,0.005771637,0.027832031,-0.027755737,0.010551453,-0.009674072,-0.02748108,-0.07849121,0.028778076,-0.07922363,-0.039642334,0.02217102,0.0016841888,-0.030044556,0.027420044,-0.043273926,0.03048706,-0.07110596,0.07537842,-0.008155823,0.03881836,0.013710022,-0.13220215,-0.016403198,-0.01802063,0.051849365,0.006084442,0.14404297,-0.09265137,0.047302246,-0.03111267,0.1381836,0.022537231,-0.06414795,-0.08190918,0.074645996,-0.016067505,0.005393982,0.072387695,0.036468506,-0.036346436,-0.01852417,0.019760132,0.013954163,0.030838013,0.050231934,-0.028259277,-0.020217896,-0.04385376,0.011482239,0.0013065338,0.03744507,0.0074653625,0.10949707,0.06994629,-0.013168335,-0.0034542084,-0.020843506,0.02027893,0.046203613,0.04324341,-0.09136963,-0.027862549,-0.023284912,0.0049934387,-0.05609131,-0.005622864,0.02809143,-0.04083252,-0.035369873,0.038269043,0.021194458,-0.011100769,0.06719971,0.027923584,0.0049934387,0.07598877,-0.10223389,-0.120788574,-0.03857422,-0.027694702,0.07861328,-0,-0.016708374,-0.042266846,0.027023315,-0.07739258,0.043884277,0.034484863,0.022323608,0.06817627,-0.023025513,0.051513672,0.0022640228,-0.04046631,-0.018844604,-0.05053711,-0.13647461,0.068237305,-0.08514404,0.02859497,-0.060546875,0.08886719,0.013793945,-0.14086914,0.03262329,0.14050293,-0.058441162,-0.0019893646,-0.0014572144,-0.05496216,0.023391724,-0.005722046,-0.010292053,-0.005504608,0.13549805,-0.010658264,-0.017593384,0.07330322,0.026519775,-0.08087158,-0.00096702576,-0.019042969,0.040802002,0.04284668,0.026885986,-0.039215088,-0.07287598,-0.00051116943,-0.017532349,0.012557983,0.11413574,0.0065345764,0.04510498,-0.02746582,0.0047683716,0.05923462,0.0017681122,0.01991272,0.03201294,0.05154419,0.028839111,-0.025878906,-0.007205963,-0.032318115,0.04727173,0.042541504,-0.12030029,-0.023620605,-0.005180359,-0.006046295,-0.021255493,-0.0259552,-0.06341553,0.035095215,-0.07305908,-0.08605957,-0.05947876,0.09020996,0.095581055,-0.025650024,0.040130615,0.061798096,0.039154053,-0.011352539,0.059173584,0.033325195,0.036193848,0.08203125,0.022628784,-0.009124756,0.017807007,-0.01247406,-0.00091028214,-0.036132812,-0.014732361,0.012672424,0.097839355,0,-0.023910522,-0.017364502,-0.040008545,0.06591797,-0.0030288696,0.027679443,-0.09588623,0.06530762,-0.016830444,0.044281006,0.018112183,0.066833496,-0.028381348,-0.038116455,0.039855957,0.003435135,0.015975952,-0.08050537,-0.0020999908,0.08227539,0.030853271,0.06225586,-0.014770508,0.017745972,-0.05859375,0.042175293,-0.005355835,-0.041534424,-0.012313843,0.074035645,-0.07800293,-0.0155181885,-0.06750488,0.011375427,-0.003578186,0.06982422,0.021911621,0.012145996,-0.024810791,-0.010536194,0.05633545,0.035827637,0.040374756,0.076293945,0.016357422,-0.04324341,-0.026062012,-0.0009860992,0.06890869,0.05215454,-0.047698975,-0.025405884,-0.0440979,0.03704834,-0.046905518,0.041534424,0.015945435,-0.07965088,0.010406494,-0.021453857,-0.021331787,-0.0037326813,-0.0071487427,-0.044311523,0.009422302,0.041381836,0.0814209,-0.016326904,0.0793457,0.018127441,-0.037872314,0.021148682,-0.022888184,-0.08935547,0.058166504,0.005092621,-0.04135132,0.0016298294,-0.07342529,0.030899048,0.0043258667,-0.018325806,0.023880005,0.06439209,-0.07574463,-0.0690918,0.049713135,0.0051078796,-0.013214111,0.0003194809,-0.02720642,0.061553955,0.012771606,-0.014930725,0.023498535,-0,0.012031555,0.04498291,-0.04095459,0.03829956,0.024383545,-0.10479736,-0.010070801,0.07672119,-0.050354004,0.09552002,0.053894043,0.0021038055,0.030960083,-0.081604004,0.02168274,0.0069770813,-0.058563232,-0.07128906,-0.046081543,-0.0925293,-0.074157715,0.012466431,-0.005016327,-0.05065918,-0.008644104,-0.035888672,-0.05722046,0.11273193,-0.029922485,0.06414795,-0.068115234,0.081848145,0.014587402,-0.06854248,-0.039154053,-0.07757568,0.009712219,-0.011795044,-0.023498535,-0.049194336,0.041046143,0.062805176,-0.0019207001,0.042114258,-0.039245605,0.05117798,-0.10821533,0.044830322,0.020202637,-0.040130615,0.0007610321,0.04333496,-0.046966553,0.029281616,-0.0154800415,-0.042877197,0.025756836,-0.03375244,0.027282715,0.04888916,-0.057159424,-0.09875488,0.03479004,-0.009887695]', '2026-11-23 22:12:36.515192+00', DEFAULT);
INSERT INTO public.memory_item_embeddings VALUES (2, 2, 12, 'ready', 5, 'fact', 'infinity', '2026-11-23 22:12:36.350428+00', '\xa135c6c762debe4c69e478743df15e5bf26e024694ed8e2620174e6fb62851e4', false, 1, NULL, B'0111011101011101001010100111110010101111010001000111111011101101101000111001101000010101001100110001011101101101101111000001111111101111011010011000011011110001100011010110010011011101111111101010001010111011010000010100011110000101001011101011100101111111111010000111111000101011001011000011110001010001001111100010110100111001110001100001110000100001010011101111110110011010001100001010100101100010101111101110001111011101011110010100011011110100011110001110001001101000011011001110010011110111101100100011000101110111010111010010101001111100101011110100010001111110111011011010001110011010000101010011001100010111011011011011110000011111111011110110100110000110111100011000110101100100110111011111111010100010101110110100000101000111100001010010111010111001011111111110100001111110001010110010110000111100010100010011111000101101001110011100011000011100001000010100111011111101100110100011000010101001011000101011111011100011110111010111100101000110111101000111100011100010011010000110110011100100111101111011001000110001', '[0.11602783,0.030014038,-0.010215759,-0.093933105,-0.0042915344,0.013084412,0.0892334,-0.0881958,0.008110046,0.074035645,-0.009422302,-0.04763794,0.06616211,-0.012649536,0.019134521,0.08203125,-0.02508545,0.03125,-0.039367676,0.0154418945,-0.006465912,-0.0047416687,0.10424805,0.060394287,-0.017440796,-0.040740967,0.020874023,-0.05697632,-0.033996582,-0.105529785,0.008979797,-0.066223145,-0.005962372,-0.083862305,-0.0070114136,-0.031402588,0.030212402,0.0101623535,0.05871582,0.043884277,0.0029182434,-0.022750854,-0.013084412,-0.022399902,-0.010002136,0.061431885,-0.022705078,-0.076660156,0.13647461,-0.07110596,0.033813477,0.0005598068,0.029510498,0.08746338,0.020706177,0.031921387,0.044525146,0.013572693,0.030181885,0.021072388,0.099487305,0.06878662,-0.0037956238,-0.05038452,0.07867432,-0.01360321,-0.14758301,-0.030181885,-0.0357666,0.021087646,0.06060791,-0.05316162,-0.075927734,-0.11444092,0.03326416,0.016860962,0.040161133,0.00573349,0.02986145,-0.061828613,-0.06793213,-0.13024902,-0.028259277,0.0758667,-0.008300781,-0.016830444,0.008674622,-0.024261475,-0.05593872,0.05795288,-0.04916382,-0.06842041,0.009140015,-0.007507324,-0.0032653809,-0.054656982,-0.08441162,-0.027938843,0.0053100586,0.05090332,0.011177063,0.015365601,0.023849487,0.010955811,0.0003066063,-0.049713135,-0.042877197,-0.020767212,0.03567505,0.027191162,0.05142212,0.049743652,-0.017684937,0.12805176,-0.054748535,0.066711426,-0.023712158,0.010757446,0.032989502,-0.064331055,0.13549805,0.1373291,0.021469116,0.010734558,0.047576904,-0.032714844,0.02420044,-0,0.030014038,-0.031402588,0.0022029877,0.03515625,0.099243164,0.0859375,-0.10736084,0.019012451,-0.012489319,-0.05569458,-0.10394287,-0.06768799,0.029388428,-0.0647583,0.0014877319,0.015525818,-0.020263672,-0.07696533,0.0049095154,0.016479492,-0.024795532,-0.021621704,-0.07727051,0.053649902,0.033843994,-0.044281006,0.0635376,0.002784729,-0.029922485,0.03845215,0.030471802,-0.03314209,-0.03012085,0.035125732,0.02243042,-0.0008401871,-0.02355957,-0.010322571,-0.0259552,0.020858765,-0.004463196,-0.03768921,0.016571045,0.0440979,0.022766113,0.04083252,0.049560547,0.0715332,-0.04550171,-0.012077332,0.10345459,0.017166138,-0.035827637,0.0259552,-0.035461426,0.0061302185,0.037322998,-0.08227539,-0.009613037,0.009803772,0.09033203,0.03378296,0.029464722,0.043701172,-0.027038574,0.0082092285,-9.5784664e-05,0.032409668,-0.0077667236,0.018936157,-0.062805176,-0.039733887,0.026931763,-0.08544922,-0.110839844,0.02078247,-0.08831787,0.0017652512,-0.022018433,-0.058410645,0.037078857,-0.052368164,0.030166626,0.030197144,-0.055236816,-0.0028800964,-0.01499176,-0.09820557,0.014755249,-0.015220642,0.07678223,-0.021575928,-0.026275635,-0.061767578,-0.0647583,0,-0.032318115,0.017120361,0.07727051,-0.029159546,0.0074653625,-0.076049805,0.027633667,-0.05770874,0.0055770874,-0.013954163,-0.0703125,0.022354126,0.03756714,0.01889038,0.06878662,0.06781006,0.07293701,-0.020202637,0.056915283,-0.014778137,0.05508423,0.01977539,-0.013717651,0.013313293,-0.033813477,0.024795532,-0.032928467,0.024429321,0.039154053,-0.042053223,-0.083740234,-0.11291504,0.042388916,-0.08227539,-0.013252258,0.059265137,-0.02709961,-0.02305603,0.027282715,0.032440186,0.0031642914,-0.039276123,-0.044036865,-0.024383545,0.0076026917,0.058288574,-0.06524658,0.0579834,-0.043395996,0.117614746,0.0546875,0.022079468,-0.03390503,-0.048065186,-0.0129470825,0.0015954971,-0.09124756,0.002954483,0.06939697,-0.015808105,0.04623413,0.04901123,0.10583496,0.09283447,-0.025756836,0.06756592,-0.037078857,0.03375244,0.0050811768,-0.045196533,-0.015304565,0.01979065,0.056152344,0.024841309,-0.07537842,0.16442871,-0.046875,-0.04748535,0.058898926,0.050445557,-0.124816895,-0.03466797,0.06036377,0.11694336,-0.028839111,-0.015991211,0.009094238,0.08337402,0.029281616,0.006427765,0.02722168,0.064086914,0.07879639,0.034454346,0.0015239716,-0,-0.004673004,-0.059661865,-0.06414795,-0.021743774,0.06762695,0.007671356,0.022521973,-0.008094788,0.004398346,-0.0090408325,-0.0362854,0.021469116,-0.047546387,0.03555298,0.020965576,0.015335083,0.039245605,-0.09289551,-0.030975342,0.044036865,-0.05770874,0.06781006,-0.006729126,0.018432617,-0.0032691956,-0.009010315,-0.066833496,0.015914917,0.032165527,0.06793213,0.052215576,0.032592773,-0.03161621,-0.058502197,-0.028945923,0.04953003,-0.048065186,0.03955078,0.08496094,0.029174805,-0.00894928,-0.061340332,0.044677734,0.024902344,-0.035461426,-0.05496216,-0.0077323914,-0.005065918,-0.0010232925,-0.042938232,-0.01663208,0.021606445,0.045898438,0.07513428,0.0287323,-0.021987915,-0.06665039,-0.11340332,0.053375244,0.030654907,-0.06149292,0.005012512,0.011528015,0.021102905]', '2026-11-23 22:12:36.558433+00', DEFAULT);
INSERT INTO public.memory_item_embeddings VALUES (2, 2, 13, 'ready', 5, 'fact', 'infinity', '2026-11-23 22:12:36.362929+00', '\xc4a0e1859aad507b2bba344ada6ff13a81e47013c39247ed09fcfb27b2fb775f', false, 1, NULL, B'1100011110111011110000101010000111111101110101011110010100100111101000001001010101100110000110011000111111100111001101110111110111100100110011111110001111001101110001000000011110000111001110001111111101001001001000000001101101110001110100010001011000110000111000100010010000000000100100011111110111011011111001000101110111101000101101000101010111110001100111100010011000100111101001010011110001000111001010111100110011101001001010110101000101011000111111111110101111110000100000101111100000110010000001000011000111000111101110111100001010100001111111011101010111100101001001111010000010010101011001100001100110001111111001110011011101111101111001001100111111100011110011011100010000000111100001110011100011111111010010010010000000011011011100011101000100010110001100001110001000100100000000001001000111111101110110111110010001011101111010001011010001010101111100011001111000100110001001111010010100111100010001110010101111001100111010010010101101010001010110001111111111101011111100001000001011111000001100100000010000110001', '[0.009529114,-0.039520264,0.00030827522,-0.004257202,0.030593872,0.06665039,-0.041503906,-0.0113220215,-0.03427124,0.020385742,-0.09326172,0.11999512,-0.07281494,-0.0073051453,0.006465912,0.005039215,-0.12359619,0.03137207,-0.056884766,0.0071105957,0.04711914,0.026748657,0.01335907,0.017684937,-0.045898438,0.011955261,0.012817383,-0.10852051,-0.06384277,-0.004825592,-0.06463623,-0.01625061,-0.06173706,-0.059661865,0.08300781,0.04510498,0.06222534,-0.023742676,0.03463745,0.035247803,-0.043792725,0.008300781,-0.035369873,0.10211182,-0.10687256,-0.0072517395,-8.571148e-05,-0.04550171,0.04119873,0.0692749,-0.008094788,-0.059509277,-0.026672363,-0.042144775,0.08520508,0.05960083,0.0074310303,0.0016565323,0.02796936,0.01777649,-0.022583008,-0.0050964355,-0.086242676,0.09277344,0.04537964,0.035369873,-0.04486084,-0.019805908,0.05368042,-0.068237305,-0.091308594,-0.02017212,0.05340576,0.03201294,0.030090332,0.007850647,-0.080322266,-0.0395813,0.052642822,0.01727295,-0.049835205,-0.031433105,-0.027130127,0.0029945374,-0.037200928,0.064941406,0.015007019,0.044128418,0.06732178,0.012184143,0.033203125,0.019073486,0.023284912,0.028900146,-0.07946777,-0.044799805,0.018692017,0.029037476,-0.008270264,0.08251953,0.0524292,0.06173706,0.0035133362,-0.084106445,-0.004398346,-0.036010742,-0.059570312,0.039215088,-0.10583496,-0.07507324,0.02720642,0.010978699,0.035491943,-0.013549805,0.02041626,0.08239746,0.09088135,0.047027588,0.009719849,0.006542206,-0.003929138,0.031982422,0.043884277,-0.06976318,-0.08294678,0.045806885,-0.034240723,-0,-0.03933716,-0.09112549,0.0067596436,-0.02633667,0.009155273,-0.11590576,-0.011222839,0.042755127,-0.02305603,-0.048919678,0.046203613,-0.014160156,-0.02734375,-0.06390381,-0.055267334,-0.001452446,0.06781006,0.07849121,-0.006919861,-0.004009247,0.053009033,-0.0077781677,0.072509766,0.05807495,-0.030090332,-0.044921875,0.026916504,-0.031066895,0.07232666,0.015205383,-0.04586792,-0.049041748,0.122680664,0.04046631,0.066223145,0.049682617,-0.03881836,0.056915283,-0.0050201416,-0.05810547,0.039398193,-0.039794922,-0.10858154,-0.014549255,0.101135254,-0.033203125,0.13305664,0.008972168,0.029876709,-0.08465576,-0.011138916,0.00705719,-0.058898926,-0.009498596,9.435415e-05,0.021209717,0.00894928,0.03668213,0.048706055,-0.07562256,0.093322754,0.053955078,0.07281494,-0.055419922,-0.011581421,-0.03451538,-0.06665039,-0.0803833,0.062072754,0.034576416,0.033935547,0.003686905,-0.0234375,-0.005935669,0.07672119,0.061401367,-0.04537964,-0.0019493103,0.010757446,0.0023651123,0.18164062,-0.046569824,0.054473877,-0.030181885,-0.040100098,-0.058044434,-0.00025773048,0.07385254,-0.08190918,0.0055389404,-0.12145996,-0.053497314,-0.039001465,0.021728516,0.061706543,0,0.009506226,-0.1282959,-0.028182983,0.02180481,-0.061401367,0.0065727234,-0.04046631,-0.009536743,0.04486084,0.05630493,0.043121338,0.007041931,-0.01689148,0.010261536,0.047576904,-0.05206299,0.05215454,0.015838623,-0.0037555695,0.07104492,-0.05847168,0.015457153,-0.008110046,-0.02558899,0.062561035,0.055908203,-0.085998535,-0.042053223,0.04095459,0.0079956055,0.02268982,-0.0670166,-0.025039673,-0.004497528,-0.033569336,-0.022003174,-0.014633179,-0.045318604,0.026794434,0.022369385,0.042175293,0.059387207,-0.014335632,-0.06488037,0.02557373,0.03427124,-0.064819336,0.06933594,0.00075626373,-0.10272217,-0.03543091,-0.06335449,0.028640747,-0.046966553,0.09661865,0.061645508,0.07635498,-0.031677246,0.0073165894,0.028778076,-0.042419434,-0.031311035,-0.07501221,-0.021331787,-0.0071754456,-0.03164673,0.00082588196,0.0446167,-0.014434814,-0.022842407,-0.0043754578,0.00012397766,0.045654297,-0.050842285,-0.10119629,0.09631348,0.08312988,0.055786133,0.011230469,0.026412964,-0.03225708,-0.009544373,-0.06640625,0.06555176,0.05053711,-0.012641907,0.027709961,-0.016098022,0.00084400177,0.07946777,0.008514404,-0.023162842,-0.057861328,0.06726074,0.04711914,-0,0.06713867,-0.023742676,0.006542206,-0.0090789795,0.060638428,-0.0748291,0.023605347,0.04046631,0.0107040405,0.07836914,0.08886719,-0.1003418,-0.00774765,0.029373169,-0.009521484,-0.010345459,0.013511658,-0.02532959,0.012756348,-0.014152527,0.05883789,-0.124572754,0.08343506,0.03692627,0.0032234192,0.03753662,0.033233643,-0.062347412,0.024124146,0.012451172,-0.028305054,0.026885986,-0.060821533,-0.027389526,-0.008285522,0.042175293,0.033172607,-0.034851074,-0.0881958,0.09838867,0.032165527,-0.11682129,0.02973938,0.0074386597,0.045684814,0.024642944,0.0390625,0.0647583,0.009239197,0.08190918,-0.039978027,-0.01828003,0.027770996,-0.03652954,-0.010848999,-0.004852295,0.030395508,-0.05718994,-0.066223145,-0.05227661,-0.0033340454,0.053588867,-0.026504517,-0.008972168]', '2026-11-23 22:12:36.558433+00', DEFAULT);
INSERT INTO public.memory_item_embeddings VALUES (1, 1, 6, 'ready', 1, 'fact', 'infinity', '2026-11-23 22:12:36.265494+00', '\xc4a0e1859aad507b2bba344ada6ff13a81e47013c39247ed09fcfb27b2fb775f', false, 1, NULL, B'1100011110111011110000101010000111111101110101011110010100100111101000001001010101100110000110011000111111100111001101110111110111100100110011111110001111001101110001000000011110000111001110001111111101001001001000000001101101110001110100010001011000110000111000100010010000000000100100011111110111011011111001000101110111101000101101000101010111110001100111100010011000100111101001010011110001000111001010111100110011101001001010110101000101011000111111111110101111110000100000101111100000110010000001000011000111000111101110111100001010100001111111011101010111100101001001111010000010010101011001100001100110001111111001110011011101111101111001001100111111100011110011011100010000000111100001110011100011111111010010010010000000011011011100011101000100010110001100001110001000100100000000001001000111111101110110111110010001011101111010001011010001010101111100011001111000100110001001111010010100111100010001110010101111001100111010010010101101010001010110001111111111101011111100001000001011111000001100100000010000110001', '[0.009529114,-0.039520264,0.00030827522,-0.004257202,0.030593872,0.06665039,-0.041503906,-0.0113220215,-0.03427124,0.020385742,-0.09326172,0.11999512,-0.07281494,-0.0073051453,0.006465912,0.005039215,-0.12359619,0.03137207,-0.056884766,0.0071105957,0.04711914,0.026748657,0.01335907,0.017684937,-0.045898438,0.011955261,0.012817383,-0.10852051,-0.06384277,-0.004825592,-0.06463623,-0.01625061,-0.06173706,-0.059661865,0.08300781,0.04510498,0.06222534,-0.023742676,0.03463745,0.035247803,-0.043792725,0.008300781,-0.035369873,0.10211182,-0.10687256,-0.0072517395,-8.571148e-05,-0.04550171,0.04119873,0.0692749,-0.008094788,-0.059509277,-0.026672363,-0.042144775,0.08520508,0.05960083,0.0074310303,0.0016555786,0.02796936,0.01777649,-0.022583008,-0.0050964355,-0.086242676,0.09277344,0.04537964,0.035369873,-0.04486084,-0.019805908,0.05368042,-0.068237305,-0.091308594,-0.02017212,0.05340576,0.03201294,0.030090332,0.007850647,-0.080322266,-0.0395813,0.052642822,0.01727295,-0.049835205,-0.031433105,-0.027130127,0.00299263,-0.037200928,0.064941406,0.015007019,0.044128418,0.06732178,0.012184143,0.033203125,0.019073486,0.023284912,0.028900146,-0.07946777,-0.044799805,0.018692017,0.029037476,-0.008270264,0.08251953,0.0524292,0.06173706,0.0035152435,-0.084106445,-0.004398346,-0.036010742,-0.059570312,0.039215088,-0.10583496,-0.07507324,0.02720642,0.010978699,0.035491943,-0.013549805,0.02041626,0.08239746,0.09088135,0.047027588,0.009719849,0.006542206,-0.003929138,0.031982422,0.043884277,-0.06976318,-0.08294678,0.045806885,-0.034240723,-0,-0.03933716,-0.09112549,0.0067596436,-0.02633667,0.009155273,-0.11590576,-0.011222839,0.042755127,-0.02305603,-0.048919678,0.046203613,-0.014160156,-0.02734375,-0.06390381,-0.055267334,-0.001452446,0.06781006,0.07849121,-0.006919861,-0.004009247,0.053009033,-0.0077781677,0.072509766,0.05807495,-0.030090332,-0.044921875,0.026916504,-0.031066895,0.07232666,0.015205383,-0.04586792,-0.049041748,0.122680664,0.04046631,0.066223145,0.049682617,-0.03881836,0.056915283,-0.0050201416,-0.05810547,0.039398193,-0.039794922,-0.10858154,-0.014549255,0.101135254,-0.033203125,0.13305664,0.008972168,0.029876709,-0.08465576,-0.011138916,0.00705719,-0.058898926,-0.009498596,9.429455e-05,0.021209717,0.00894928,0.03668213,0.048706055,-0.07562256,0.093322754,0.053955078,0.07281494,-0.055419922,-0.011581421,-0.03451538,-0.06665039,-0.0803833,0.062072754,0.034576416,0.033935547,0.003686905,-0.0234375,-0.005935669,0.07672119,0.061401367,-0.04537964,-0.0019493103,0.010757446,0.0023651123,0.18164062,-0.046569824,0.05444336,-0.030181885,-0.040100098,-0.058044434,-0.00025773048,0.07385254,-0.08190918,0.0055389404,-0.12145996,-0.053497314,-0.039001465,0.021728516,0.061706543,0,0.009506226,-0.1282959,-0.028182983,0.02180481,-0.061401367,0.0065727234,-0.04046631,-0.009536743,0.04486084,0.05630493,0.043121338,0.007041931,-0.01689148,0.010261536,0.047576904,-0.05206299,0.05215454,0.015838623,-0.0037555695,0.07104492,-0.05847168,0.015457153,-0.008110046,-0.02558899,0.062561035,0.055908203,-0.085998535,-0.042053223,0.04095459,0.0079956055,0.02268982,-0.0670166,-0.025039673,-0.004497528,-0.033569336,-0.022003174,-0.014633179,-0.045318604,0.026794434,0.022369385,0.042175293,0.059387207,-0.014335632,-0.06488037,0.02557373,0.034240723,-0.064819336,0.06933594,0.00075626373,-0.10272217,-0.03543091,-0.06335449,0.028640747,-0.046966553,0.09661865,0.061645508,0.07635498,-0.031677246,0.0073165894,0.028778076,-0.042419434,-0.031311035,-0.07501221,-0.021331787,-0.0071754456,-0.03164673,0.00082588196,0.0446167,-0.014434814,-0.022842407,-0.0043754578,0.00012397766,0.045654297,-0.050842285,-0.10119629,0.09631348,0.08312988,0.055786133,0.011230469,0.026412964,-0.03225708,-0.009544373,-0.06640625,0.06555176,0.05053711,-0.012641907,0.027709961,-0.016098022,0.00084400177,0.07946777,0.008514404,-0.023162842,-0.057861328,0.06726074,0.04711914,-0,0.06713867,-0.023742676,0.006542206,-0.0090789795,0.060638428,-0.0748291,0.023605347,0.04046631,0.0107040405,0.07836914,0.08886719,-0.1003418,-0.00774765,0.029373169,-0.009521484,-0.010345459,0.013511658,-0.02532959,0.012756348,-0.014152527,0.05883789,-0.124572754,0.08343506,0.03692627,0.0032234192,0.03753662,0.033233643,-0.062347412,0.024124146,0.012451172,-0.028305054,0.026885986,-0.060821533,-0.027389526,-0.008285522,0.042175293,0.033172607,-0.034851074,-0.0881958,0.09838867,0.032165527,-0.11682129,0.02973938,0.0074386597,0.045684814,0.024642944,0.0390625,0.0647583,0.009239197,0.08190918,-0.039978027,-0.01828003,0.027770996,-0.03652954,-0.010848999,-0.004852295,0.030395508,-0.05718994,-0.066223145,-0.05227661,-0.0033340454,0.053588867,-0.026504517,-0.008972168]', '2026-11-23 22:12:37.330741+00', DEFAULT);
INSERT INTO public.memory_item_embeddings VALUES (1, 1, 7, 'ready', 1, 'fact', 'infinity', '2026-11-23 22:12:36.299486+00', '\xdd4b86cdbd740d344eef5cef0f28c889f0553e752af78588eeb0846aea4cb219', false, 1, NULL, B'0001000110101110001111010011111000011001010100100001111111101100100110010000000001100010001100111010001010110101111010000111001101100100001001000101011010000001100100010001111000111101101100011011110100000011100100010010001000000100011100011101010000101101100100110001101100111011101111100101101111110000001000101100110011011010001011010101001011101001101011101011100101101110101101001010010000010000101100111011101110010000001111001011010010010101110100100010011110010001110010000110011011010011111101110001110000010001101011100011110100111110000110010101001000011111111011001001100100000000011000100011001110100010101101011110100001110011011001000010010001010110100000011001000100011110001111011011000110111101000000111001000100100010000001000111000111010100001011011001001100011011001110111011111001011011111100000010001011001100110110100010110101010010111010011010111010111001011011101011010010100100000100001011001110111011100100000011110010110100100101011101001000100111100100011100100001100110110100111111011100011100', '[0.0015535355,0.0014410019,0.112854004,0.062469482,-0.00018441677,0.0066833496,0.085754395,0.03793335,-0.002231598,0.014152527,-0.029327393,-0.01737976,-0.047821045,-0.018081665,-0.039733887,0.06121826,0.08050537,-0.022491455,-0.036346436,-0.018035889,-0.0007047653,-0.0018167496,0.033416748,-0.022598267,0.011795044,0.03378296,0.07183838,-0.0736084,-0.037475586,-0.025054932,-0.05343628,0.0032806396,-0.066589355,0.0022220612,-0.040374756,0.02015686,-0.057037354,0.011192322,0.06262207,-0.034454346,0.02394104,-0.057006836,0.0007109642,-0.07513428,-0.07183838,-0.026351929,-0.03604126,0.0015516281,0.023834229,-0.026535034,-0.08898926,-0.016418457,-0.0087509155,-0.100097656,0.047973633,0.013771057,-0.023162842,-0.06304932,-0.019760132,0.06161499,0.06365967,0.0043754578,0.027160645,-0.01374054,0.031173706,-0.01235199,0.057617188,0.051330566,0.06744385,-0.019485474,0.043548584,0.046142578,0.0050735474,0.09063721,0.101501465,-0.0072402954,0.054504395,-0.019119263,0.002407074,0.05105591,-0.103881836,-0.045898438,0.05331421,-0.026794434,0.0008893013,0.07006836,-0.02468872,-0.03363037,0.00299263,-0.04248047,-0.016235352,-0.0892334,0.044128418,0.061279297,0.13220215,-0.031402588,-0.06896973,-0.03942871,-0.0715332,0.05316162,-0.013717651,0.042755127,0.023101807,-0.016464233,-0.03366089,-0.009666443,0.0635376,-0.1665039,-0.047332764,0.04425049,0.020233154,-0.056488037,0.06427002,-0.04876709,-0.059051514,0.079711914,0.058532715,-0.052001953,0.02947998,-0.010299683,0.06896973,-0.064453125,-0.06921387,0.06774902,0.07775879,0.05783081,-0.030838013,-0,-0.04550171,0.043273926,0.049194336,0.020370483,0.023040771,0.049743652,-0.0042037964,-0.08532715,0.07434082,-0.035217285,-0.060516357,0.00983429,-0.035064697,-0.095581055,-0.041168213,0.061920166,-0.010665894,0.042175293,-0.01007843,0.07733154,-0.010299683,0.05404663,-0.05709839,0.08288574,-0.095703125,0.03363037,0.06677246,0.0026512146,-0.0002450943,-0.037078857,0.026260376,0.03137207,-0.03881836,0.05810547,-0.00434494,0.032836914,0.026412964,0.038848877,-0.059906006,-0.016036987,0.023742676,-0.019958496,0.05847168,0.045684814,-0.07122803,0.00983429,-0.0021648407,0.004501343,0.07458496,-0.029449463,0.06201172,0.025939941,0.058013916,0.0748291,0.04824829,-0.002609253,0.029815674,-0.06347656,0.04006958,0.05657959,-0.039520264,-0.0390625,-0.0017948151,0.06329346,-0.005290985,-0.017654419,-3.1352043e-05,-0.02041626,-0.02571106,0.09094238,0.024475098,0.009033203,0.020980835,0.07232666,-0.11602783,-0.07373047,-0.018005371,0.025924683,-0.0020141602,0.0060272217,0.10467529,-0.01902771,0.07092285,0.05126953,-0.07873535,-0.013786316,-0.10333252,0.022949219,0.01965332,0.005367279,0.10394287,0.09362793,-0.038208008,0.012001038,-0.121154785,0,-0.042785645,-0.027877808,-0.07745361,0.07849121,0.013694763,0.041503906,0.068847656,0.08782959,0.033111572,-0.031158447,0.051361084,-0.094177246,0.030532837,-0.02722168,0.03277588,0.0579834,0.057861328,0.03729248,0.036895752,-0.044891357,-0.111450195,0.034362793,-0.041168213,0.061828613,0.011192322,0.059326172,0.055236816,0.03579712,-0.14978027,-0.03640747,0.08270264,-0.076293945,-0.048095703,-0.09320068,0.028152466,-0.020767212,-0.050750732,-0.05154419,-0.030227661,-0.062072754,-0.021408081,-0.044281006,0.07751465,0.09875488,0.017822266,0.0098724365,0.033203125,-0.052459717,-0.00012230873,0.027740479,-0.004840851,-0.050201416,0.016998291,-0.05899048,-0.001449585,0.019805908,0.01890564,-0.0063667297,0.10473633,0.05255127,-0.002067566,-0.050354004,0.0054130554,-0.06109619,-0.056793213,-0.011024475,0.023925781,-0.06530762,0.0619812,0.007835388,0.0262146,0.048919678,-0.07269287,-0.04031372,0.0093688965,0.04812622,-9.250641e-05,0.044647217,0.0057411194,-0.061309814,-0.07763672,-0.033111572,0.024902344,0.055419922,0.034088135,0.0069465637,-0.03768921,0.04345703,0.03503418,0.04031372,-0.011581421,-0.024169922,-0.06512451,-0.0541687,-0.05328369,-0,0.07757568,-0.0541687,-0.07373047,-0.046447754,-0.05606079,0.032226562,-0.021499634,0.011390686,-0.02432251,0.057861328,-0.037963867,0.08154297,-0.044158936,0.022613525,0.041503906,-0.06008911,0.0031414032,0.076538086,-0.05215454,0.036712646,-0.01398468,-0.016662598,-0.005847931,-0.061035156,-0.056243896,-0.0020122528,0.020935059,0.051330566,0.06506348,0.00088357925,-0.026046753,0.014854431,0.0022392273,-0.019714355,-0.13452148,-0.06359863,0.058135986,-0.02645874,-0.0019369125,0.020629883,-0.032989502,0.016311646,0.00091171265,-0.03387451,-0.07513428,-0.12133789,-0.034240723,-0.05822754,0.074279785,0.010673523,-0.024017334,0.0335083,-0.039093018,0.025421143,-0.012069702,-0.040985107,0.01398468,-0.040039062,0.035980225,0.054748535,0.008529663,-0.089416504,-0.075683594,0.066223145]', '2026-11-23 22:12:37.330741+00', DEFAULT);
INSERT INTO public.memory_item_embeddings VALUES (1, 1, 8, 'ready', 1, 'fact', 'infinity', '2026-11-23 22:12:36.30657+00', '\xcb95403ac523e57638d51510fc8898551b10b8c223c7776a43506df08418903e', false, 1, NULL, B'1001100011111101001010110000011001001011101110010111111010001011100100110010100110001101001000101000001111101001110010100011000110100100111001101010011100100011010100000111000111111111110011011010101111101001100010010011100011000110011110001100110100111101101100010001100000111001001100100010101001000000101101100010001111010110011111011101111010000111001010101001100111000000001101101010010100001010101101111111000110011010010000001010001000011010111001100110011111000010000110000110011010011000011001010001110110011000111111010010101100000110010010111011100101111110100010111001001100101001100011010010001010000011111010011100101000110001101001001110011010100111001000110101000001110001111111111100110110101011111010011000100100111000110001100111100011001101001111011011000100011000001110010011001000101010010000001011011000100011110101100111110111011110100001110010101010011001110000000011011010100101000010101011011111110001100110100100000010100010000110101110011001100111110000100001100001100110100110000110010100011101', '[-0.07232666,0.10650635,0.03387451,0.023712158,-0.03378296,0.007911682,0.022918701,0.01576233,-0.07751465,0.014732361,-0.016845703,0.03062439,0.02671814,-0.027862549,-0.06112671,0.118896484,0.005592346,0.060699463,-0.05001831,0.03253174,-0.06262207,0.009063721,0.035003662,0.031799316,0.059783936,0.07183838,-0.07977295,-0.02029419,0.0211792,-0.0032978058,-0.062805176,0.07788086,0.015670776,0.012107849,0.0057907104,0.0053520203,-0.021881104,0.06185913,-0.004951477,-0.0690918,0.04006958,0.0069236755,-0.008583069,-0.13000488,0.01373291,0.048339844,0.066223145,-0.011505127,0.09277344,-0.0034751892,-0.024398804,-0.029434204,-0.0006957054,-0.04937744,0.043121338,0.03253174,-0.015853882,-0.018203735,-0.003736496,-0.0014791489,0.14099121,0.048980713,-0.018859863,0.03137207,-0.03100586,0.0005264282,0.099243164,-0.02128601,-0.015258789,-0.0010709763,0.011657715,0.041015625,-0.054870605,0.016494751,0.07458496,0.052642822,0.0034255981,-0.02961731,-0.11975098,0.004573822,-0.11352539,-0.05407715,0.09222412,0.02468872,0.0071029663,0.03677368,0.0546875,-0.052093506,0.036010742,0.0049209595,-0.09289551,-0.09729004,0.039978027,-0.02128601,0.032073975,-0.04473877,-0.020767212,0.035705566,-0.00064468384,0.0082473755,0.039764404,0.104003906,0.081848145,0.0010089874,-0.03656006,0.066711426,0.03982544,-0.0049095154,0.0013275146,0.06970215,0.023452759,-0.08935547,0.015289307,-0.06365967,-0.04196167,-0.000385046,0.013702393,-0.0001026392,-0.003074646,0.051971436,0.06982422,0.015296936,0.016784668,0.042022705,0.012123108,0.027923584,0.001461029,-0,-0.030456543,0.0473938,0.065979004,0.056671143,0.08917236,0.03579712,0.009002686,0.011894226,-0.0014286041,-0.04248047,0.014450073,0.025238037,-0.014801025,-0.12927246,-0.011199951,0.03012085,-0.04171753,-0.057556152,-0.0006766319,0.13757324,-0.024459839,0.03604126,-0.03591919,0.007106781,0.059570312,-0.029678345,0.13464355,0.061828613,-0.030578613,-0.021591187,-0.05996704,0.062469482,0.038085938,0.046295166,-0.06488037,0.018066406,-0.034088135,0.021087646,-0.043548584,-0.034210205,-0.026611328,-0.03842163,0.014801025,0.008384705,-0.03604126,0.014862061,0.09124756,0.027755737,0.036895752,0.006587982,-0.06677246,0.026000977,-0.08496094,0.0657959,-0.01612854,-0.0035705566,0.0053138733,0.013793945,-0.048919678,-7.766485e-05,-0.0102005005,-0.035736084,-0.0005364418,0.12536621,0.026641846,-0.008277893,0.038391113,-0.024810791,-0.004589081,-0.002904892,-0.06542969,-0.037017822,0.009422302,0.05014038,-0.021575928,0.054779053,-0.020004272,-0.0012178421,-0.07910156,-0.101379395,0.0647583,-0.027999878,0.016662598,-0.008239746,-0.04019165,-0.023452759,-0.064697266,0.013000488,-0.008743286,0.027954102,0.03363037,-0.036346436,-0.051086426,0.0028591156,0.0010566711,0,0.057495117,-0.036590576,0.048217773,0.06311035,0.0635376,-0.084472656,-0.008743286,-0.06793213,0.04925537,-0.06732178,0.014770508,-0.10345459,-0.011604309,0.027755737,-0.008773804,0.033996582,0.052764893,-0.08050537,0.0110321045,-0.08093262,-0.0073013306,0.06732178,-0.049591064,0.014862061,-0.015022278,0.018096924,-0.0015687943,-6.425381e-05,-0.050567627,0.011909485,-0.11206055,-0.07891846,0.053771973,0.04748535,-0.013900757,0.054595947,-0.034606934,-0.0059928894,-0.004901886,-0.12011719,0.034820557,-0.057128906,0.03668213,0.06311035,0.1105957,-0.07696533,-0.03665161,0.0055732727,0.017150879,-0.036895752,0.055603027,-0.028045654,0.087402344,-0.027801514,0.023590088,0.027694702,0.09411621,-0.068847656,0.011833191,0.06329346,0.05441284,0.02331543,0.001991272,0.041748047,-0.16394043,-0.068481445,0.0054016113,-0.056762695,-0.036743164,0.0423584,-0.011367798,0.08258057,0.0037231445,-0.038024902,0.03543091,0.032073975,0.008659363,0.028213501,0.018707275,-0.044647217,-0.02330017,-0.04345703,0.05557251,0.0770874,-0.009063721,-0.028289795,0.047607422,-0.026473999,0.044921875,-0.04260254,0.017593384,0.0050354004,-0.029708862,-0.13378906,-0.1303711,-0,0.06976318,-0.08294678,-0.0814209,-0.093688965,-0.013450623,-0.016952515,0.041625977,0.08105469,-0.11407471,0.017822266,-0.0068473816,0.05899048,0.049072266,0.03164673,0.026733398,-0.12695312,0.02760315,0.031585693,-0.036224365,-0.06036377,0.017745972,-0.023468018,0.051452637,0.02305603,-0.051483154,-0.014778137,0.076538086,0.019851685,-0.007873535,0.047027588,-0.036254883,0.011451721,0.0071411133,0.026290894,-0.008850098,-0.13781738,0.033966064,0.022567749,-0.04446411,-0.043945312,-0.0063934326,0.060791016,-0.022003174,-0.055358887,0.03967285,-0.043670654,0.012268066,-0.09277344,0.0541687,-0.06536865,0.09075928,0.035125732,-0.043182373,0.02444458,-0.017501831,0.019485474,0.055603027,-0.029846191,0.017684937,0.06732178,-0.03250122,-0.007133484,0.06237793,-0.024993896]', '2026-11-23 22:12:37.330741+00', DEFAULT);
INSERT INTO public.memory_item_embeddings VALUES (1, 1, 9, 'ready', 1, 'fact', '2026-12-23 22:12:36.313608+00', '2026-11-23 22:12:36.313608+00', '\x44f6609877ef101892aa0cb45484d581430b1d7d36a1dccfe8bc5b8ab41b81b7', false, 1, NULL, B'0111000110111101110011001000110110101111100011001110000011101111100010110101100001101001010010100110111011101111011110101101101000000001101101111110010011101111101001011000000011000010001110100011100111010011011100001101000001111100011011001011111111011101111000100100010110101011100111110111101100011001101010011100010100000111010110010110111111101111111001001010001111111011100000110100101001000011001110111111101001100001110000011100100100010010011101110101101101110000111100001111010001110001111111110100000101110001101111011100110010001101101011111000110011100000111011111000101101011000011010010100101001101110111011110111101011011010000000011011011111100100111011111010010110000000110000100011101000111001110100110111000011010000011111000110110010111111110111011110001001000101101010111001111101111011000110011010100111000101000001110101100101101111111011111110010010100011111110111000001101001010010000110011101111111010011000011100000111001001000100100111011101011011011100001111000011110100011100011111111101000001', '[0.082092285,-0.009185791,0.006126404,0.0005145073,0.023452759,0.017227173,-0.068847656,-0.13012695,-0.016342163,0.031799316,0.03744507,0.036254883,-0.02255249,-0.032287598,0.062683105,-0.056854248,0.08831787,-0.081726074,0.09259033,0.048095703,-0.0062713623,-0.08453369,-0.0061569214,-0.011314392,0.0635376,0.007358551,0.0021820068,0.04473877,0.0690918,-0.009536743,-0.005176544,0.10192871,0.012458801,0.05883789,0.03656006,0.027755737,-0.07171631,-0.07757568,0.004840851,0.0006146431,-0.0574646,-0.0014915466,-0.008506775,0.008514404,-0.019744873,0.010696411,-0.0041389465,-0.01737976,0.044281006,0.05935669,0.05340576,0.051635742,-0.0054779053,0.09033203,-0.027404785,0.051361084,0.0056495667,-0.07702637,-0.016204834,-0.045013428,0.015838623,-0.011795044,-0.030685425,0.02897644,-0.06707764,0.0035953522,-0.011161804,0.04916382,0.08270264,-0.1274414,-0.03237915,0.08270264,0.06060791,-0.052856445,0.058288574,-0.013549805,-0.01991272,-0.004272461,0.12011719,0.015792847,-0.062683105,-0.03161621,0.009422302,0.0069465637,-0.003376007,-0.0073509216,-0.04260254,0.0050964355,-0.08337402,-0.002002716,0.04083252,0.043792725,-0.0014429092,-0.017593384,-0.003435135,-0.01499939,-0.12194824,-0.008613586,0.064941406,0.034362793,-0.021057129,0.06958008,-0.0029563904,0.0063476562,-0.019805908,-0.029876709,0.113464355,-0.012931824,0.010421753,-0.036193848,-0.062438965,0.03488159,0.14660645,0.0057411194,0.00390625,0.099975586,0.10131836,0.00051116943,0.071899414,-0.048980713,0.1430664,0.06542969,0.054779053,0.013320923,-0.049346924,-0.07458496,0.03250122,-0,-0.05404663,0.029800415,-0.037506104,0.0039138794,0.13842773,0.0001322031,0.026519775,0.022064209,0.012641907,-0.051879883,-0.012283325,-0.07672119,1.5199184e-05,-0.079711914,-0.04296875,-0.024841309,0.042419434,0.030410767,-0.014251709,0.021408081,0.039520264,-0.030807495,0.044677734,0.059051514,-0.02243042,0.027328491,0.05709839,0.04864502,0.013999939,0.029907227,-0.077941895,0.018417358,-0.0019493103,0.007080078,-0.036499023,0.008323669,0.039215088,-0.015464783,-0.01209259,-0.032165527,-0.052703857,0.032196045,-0.00969696,0.009178162,-0.028457642,0.027313232,0.06530762,-0.015823364,0.089904785,0.042877197,-0.013595581,-0.032440186,-0.105651855,-0.03302002,-0.038116455,0.0034160614,0.030700684,-0.049438477,0.05758667,-0.016311646,0.044799805,0.05496216,0.00027012825,0.048858643,-0.10296631,-0.09893799,-0.042816162,-0.02432251,0.027511597,-0.02067566,-0.043182373,0.027420044,-0.061462402,-0.057861328,-0.048309326,0.014434814,-0.040283203,-0.01965332,0.017120361,0.06695557,0.06738281,0.019973755,0.06567383,0.034118652,-0.029129028,-0.091552734,0.055633545,0.025039673,-0.039276123,-0.09680176,-0.028320312,-0.022521973,0.08050537,0.031799316,0.033569336,0,0.025604248,-0.036956787,-0.08898926,-0.009864807,0.080444336,-0.027801514,-0.024734497,0.06964111,-0.0018253326,0.023117065,-0.0791626,0.045410156,0.055847168,-0.015617371,0.0418396,0.060913086,0.12213135,-0.051086426,-0.017349243,0.066101074,-0.0146484375,0.094055176,-0.009490967,-0.0791626,-0.057739258,0.026123047,0.10272217,-0.000518322,-0.07476807,0.0025672913,-0.121154785,-0.09033203,-0.07458496,-0.010391235,0.11956787,0.0013313293,0.010261536,0.021728516,-0.09063721,0.024627686,0.1048584,-0.09082031,-0.066833496,0.05368042,0.022384644,-0.0124435425,-0.01361084,-0.03466797,0.04135132,0.05505371,-0.0018787384,-0.06567383,-0.009941101,-0.050323486,-0.02444458,0.03463745,-0.04336548,-0.02444458,0.09118652,0.06341553,-0.026443481,0.005332947,0.02609253,-0.025466919,-0.064453125,0.037231445,0.009117126,0.06100464,0.068603516,0.0680542,-0.025146484,-0.0095825195,-0.06573486,0.046966553,-0.038116455,0.0037326813,0.093811035,0.023498535,0.005432129,-0.052764893,-0.07714844,-0.0015916824,-0.07891846,-0.01626587,0.043945312,-0.046844482,0.0044517517,-0.011421204,-0.047607422,0.0054016113,-0.014678955,-0.03677368,-0.022354126,-0.035308838,0.008728027,-0,0.013313293,-0.035217285,0.03994751,0.0022697449,0.024642944,-0.14880371,0.011695862,0.023132324,0.004753113,0.03463745,0.07684326,0.048614502,0.080566406,-0.047058105,-0.0284729,0.087890625,-0.06866455,-0.014762878,-0.06951904,-0.0725708,-0.031555176,-0.016708374,0.06555176,0.004589081,0.021087646,-0.003484726,-0.06201172,0.0023784637,-0.020874023,-0.05670166,0.01399231,0.06011963,-0.058044434,-0.08673096,-0.0569458,-0.008720398,-0.051818848,0.0024814606,0.053222656,0.013549805,-0.068359375,-0.07910156,-0.0069885254,-0.0027046204,-0.019195557,-0.042938232,0.0024852753,-0.02180481,0.055847168,-0.038024902,-0.07635498,-0.0042266846,-0.05255127,0.07293701,0.016540527,0.039093018,0.04446411,-0.045013428,0.060791016,0.0006327629,-0.025970459,0.02470398,-0.07330322,0.01234436]', '2026-11-23 22:12:37.330741+00', DEFAULT);
INSERT INTO public.memory_item_embeddings VALUES (1, 1, 10, 'ready', 1, 'fact', '-infinity', '2026-11-23 22:12:36.320252+00', '\xa84d8157edfde5a32ff5211ea6fe19f6f7f4c35933d2f5b0d871f5a0fb24622a', false, 1, NULL, B'0011001110100011100001011001010100011111100100000101110011000101100111010000000011001011011010011001000100100011000110101011000001001110011001100110010000000001000100010110000110111010000111011101010101001111000000010011010011011000011110100001110000101111001001011001101100111001101101101101101110010010111101101100011010011010001000101100110111001000101000000010001111001011100111101010110100010111011111001011001111010000011010001010001000001100110101100100011100010000100100001110100011011111110101010001111100110011101000111000010110010101000111111001000001011100110001011001110100000000110010110110100110010001001000110001101010110000010011100110011001100100000000010001000101100001101110100001110111010101010011110000000100110100110110000111101000011100001011110010010110011011001110011011011011011011100100101111011011000110100110100010001011001101110010001010000000100011110010111001111010101101000101110111110010110011110100000110100010100010000011001101011001000111000100001001000011101000110111111101010100011111', '[-0.011047363,0.012496948,0.06903076,0.083984375,-0.055541992,-0.006538391,-0.0031108856,0.061401367,-0.029891968,-0.027938843,-0.07873535,-0.074401855,-0.075927734,0.0012607574,0.017578125,0.024520874,-0.0064697266,0.023284912,0.06451416,0.02961731,-0.0047912598,0.02180481,0.060791016,0.048461914,0.018875122,0.0015029907,0.07556152,-0.06359863,-0.034423828,-0.038208008,-0.076171875,0.032989502,-0.02268982,0.030517578,0.008529663,-0.0032157898,-0.03314209,0.08428955,0.022750854,-0.029418945,-0.031707764,-0.053466797,0.02355957,-0.0024528503,0.0463562,0.012168884,-0.02407837,0.016860962,0.07092285,-0.0104522705,-0.01625061,-0.058044434,-0.07763672,-0.021453857,0.029434204,0.1060791,-0.042633057,-0.030151367,0.053131104,0.055755615,0.08648682,0.006000519,0.035095215,0.0009522438,-0.012374878,0.0041503906,0.02709961,-0.03262329,-0.025299072,-0.09515381,0.03753662,0.042175293,-0.02960205,-0.025161743,0.08538818,-0.11987305,0.06112671,0.0011949539,-0.017532349,0.066223145,-0.12841797,-0.025894165,0.07067871,0.031051636,-0.06555176,-0.007911682,-0.014862061,-0.040374756,0.02027893,-0.054870605,0.011978149,0.031311035,-0.13903809,0.020843506,0.07965088,0.0063171387,-0.08538818,-0.025543213,-0.041992188,0.04852295,0.06524658,0.10430908,0.035186768,0.03640747,-0.06567383,0.00554657,0.08459473,-0.08270264,-0.058654785,0.021987915,-0.00097084045,-0.121520996,0.068725586,-0.07525635,0.0030918121,0.04046631,0.029129028,-0.029083252,0.011108398,-0.02532959,-0.0067634583,-0.056488037,-0.020263672,0.025634766,0.012413025,0.033843994,0.025619507,-0,-0.014930725,0.11425781,0.039916992,0.08642578,-0.03112793,-0.04019165,0.043273926,0.00016570091,-0.031341553,0.047424316,-0.082092285,0.031585693,-0.095703125,-0.052612305,-0.01751709,0.016494751,0.11260986,0.051208496,-0.1352539,0.06878662,0.01486969,0.07098389,0.00894928,0.020462036,-0.024093628,-0.033447266,0.024932861,0.031097412,-0.06329346,-0.008071899,-0.031021118,0.0068130493,0.016845703,-0.032714844,-0.041503906,0.024841309,-0.0032348633,0.03378296,-0.0473938,0.06896973,0.014602661,0.04321289,0.08129883,0.047546387,-0.054351807,0.055114746,0.05319214,0.004032135,0.054748535,-0.023880005,-0.017532349,0.046966553,-0.117614746,0.062316895,0.006839752,0.008880615,0.023330688,-0.038269043,0.06500244,-0.0046539307,-0.0011329651,-0.041870117,-0.05783081,0.00044107437,-0.079589844,-0.06365967,0.04168701,-0.035888672,-0.020217896,0.06210327,0.00090169907,0.09100342,0.02267456,0.044769287,-0.057678223,-0.02998352,0.005443573,-0.010551453,0.0993042,-0.07507324,0.083740234,0.03277588,0.00957489,0.014129639,0.015419006,-0.074279785,-0.021713257,-0.009155273,-0.03137207,0.02558899,-0.013542175,0.083740234,0.020248413,-0.062805176,-0.039276123,0,0.044189453,-0.036468506,-0.17138672,0.050994873,0.030136108,0.028961182,0.033203125,-0.025512695,0.06185913,-0.004917145,-0.028503418,-0.040985107,0.06488037,0.02116394,0.08093262,0.032409668,0.04067993,-0.08544922,0.03366089,0.04046631,-0.021942139,0.031433105,-0.08282471,-0.059936523,-0.04522705,0.09442139,-0.013961792,0.052124023,-0.11407471,0.0005478859,-0.06958008,-0.13537598,-0.03375244,-0.055725098,-0.032470703,0.026184082,-0.00091171265,-0.049713135,-0.05041504,-0.027282715,0.0105896,-0.03378296,0.019256592,0.07183838,0.004673004,-0.07891846,0.023590088,0.07867432,0.058044434,-0.026641846,0.029037476,-0.005065918,0.03857422,0.011558533,-0.049316406,0.0047721863,-0.060333252,-0.015823364,0.0637207,0.08026123,-0.041229248,-0.006526947,-0.037841797,-0.003698349,-0.02482605,-0.0082092285,0.045440674,-0.075805664,-0.07745361,0.05557251,-0.056488037,0.008125305,0.008781433,-0.021057129,0.030593872,0.042114258,0.07684326,0.025558472,0.09613037,8.666515e-05,-0.021316528,-0.017745972,0.059417725,0.0061416626,0.0859375,-0.04244995,0.016159058,0.021484375,0.0012426376,0.040527344,-0.0056991577,-0.030319214,-0.03540039,-0.07397461,-0.09320068,-0,-0.011329651,-0.04940796,-0.030303955,-0.0006957054,-0.017333984,0.014640808,0.06976318,0.01499939,-0.039520264,-0.062683105,-0.06384277,0.057861328,0.002916336,0.014503479,0.06915283,-0.022201538,-0.020553589,0.09515381,-0.06640625,0.074035645,0.012718201,-0.019042969,-0.027053833,-0.06500244,-0.03881836,0.066467285,-0.0070877075,0.06347656,0.0065307617,0.0703125,0.030426025,0.044555664,0.0848999,0.04321289,0.010467529,-0.054351807,0.036346436,0.015464783,-0.043426514,0.0036258698,0.029678345,-0.026626587,-0.004764557,-0.019439697,0.009231567,-0.03591919,0.054382324,-0.10345459,0.08416748,-0.012191772,-0.03161621,-0.029037476,-0.045440674,0.09692383,0.023468018,0.00035977364,0.038269043,-0.032470703,-0.024612427,0.11401367,-0.024780273,-0.119506836,-0.08691406,0.018051147]', '2026-11-23 22:12:37.330741+00', DEFAULT);
INSERT INTO public.memory_item_embeddings VALUES (1, 1, 11, 'ready', 4, 'fact', 'infinity', '2026-11-23 22:12:36.335726+00', '\x430152ea666bc2779b8ef33610acf3191977fd35fb9ac1c4c23929628619731b', true, 1, NULL, B'1001011111101111001011111010100000011000101100111111010110011101000111110000000111010011001101111011000110101101010111000011111111000101011101111110010011000001000110010010011111101011000111001011011010001111000100010011001010000100001011100001110101101001101000111100110001111011101111101000110111010010100100001000101111011011000001011101011110101001001000110110010100100011000101101000110000000100111100010111011110001011010001101110001000000110110100101010110101010000111010100110111000010100001010111001010010010111111011110010111110101000000110001011001111110101100111010001111100000001110100110011011110110001101011010101110000111111110001010111011111100100110000010001100100100111111010110001110010110110100011110001000100110010100001000010111000011101011010011010001111001100011110111011111010001101110100101001000010001011110110110000010111010111101010010010001101100101001000110001011010001100000001001111000101110111100010110100011011100010000001101101001010101101010100001110101001101110000101000010101110010100', '[-0.00970459,0.026931763,0.06677246,0.06689453,-0.03955078,0.10839844,0.0070228577,0.014953613,-0.03201294,-0.040496826,0.02079773,-0.047027588,-0.058929443,-0.002248764,-0.045043945,0.0069236755,0.025390625,-0.014854431,-0.063964844,0.012039185,0.04748535,-0.11663818,0.02368164,-0.037963867,0.010353088,0.06677246,-0.010147095,-0.07098389,0.0006146431,-0.020050049,-0.03942871,0.069885254,0.036346436,0.014175415,0.002872467,0.022109985,0.060058594,0.026992798,0.048706055,-0.0044937134,0.00983429,-0.064331055,-0.02822876,0.0146484375,-0.006603241,-0.018753052,0.017120361,0.059661865,0.018218994,0.01953125,-0.06536865,-0.008773804,-0.08544922,-0.00069856644,-0.020462036,0.07171631,-0.0065689087,-0.03274536,0.06549072,0.07269287,0.04260254,0.019546509,-0.066589355,0.014015198,0.06439209,-0.033996582,-0.07910156,0.06109619,-0.014320374,-0.02267456,-0.014511108,0.056671143,0.02079773,-0.004951477,-0.010231018,0.039093018,0.02909851,-0.082458496,-0.010467529,0.041412354,-0.07702637,-0.0317688,-0.005138397,0.022247314,-0.016708374,0.013809204,-0.036254883,-0.008407593,0.10443115,-0.029907227,-0.027954102,-0.06549072,-0.08154297,0.07537842,0.024597168,0.013496399,-0.07910156,0.018188477,-0.011749268,0.09588623,0.015357971,0.109375,0.07885742,0.003894806,-0.020706177,-0.025817871,-0.053131104,-0.041870117,-0.045806885,-0.006072998,-0.01876831,-0.06573486,0.0079574585,-0.04550171,-0.0031318665,0.06213379,0.058166504,-0.028152466,0.017593384,-0.018997192,0.07006836,0.04864502,0.013008118,0.031707764,-0.043273926,0.031036377,0.09112549,0,-0.10028076,-0.036193848,0.048339844,0.08270264,0.07873535,-0.07458496,0.012504578,0.0036792755,0.011627197,0.0501709,-0.023162842,-0.061706543,-0.04714966,-0.05618286,-0.0005850792,-0.014007568,0.09741211,-0.010154724,-0.05706787,0.03857422,0.0803833,-0.04397583,-0.043640137,-0.04055786,0.0016784668,-0.014122009,0.034210205,-0.024215698,0.052734375,0.02758789,0.04156494,0.044189453,-0.048980713,0.006008148,-0.057647705,0.00015187263,0.07366943,-0.0067214966,-0.0008506775,-0.005596161,-0.105895996,-0.014640808,0.070373535,0.048919678,0.051696777,-0.057525635,0.057861328,0.04928589,0.09051514,0.05126953,0.0016431808,-0.015281677,-0.025772095,0.022903442,0.031829834,0.020050049,0.03363037,-0.019165039,-0.022384644,0.02166748,0.07574463,-0.0126953125,-0.034484863,0.030914307,-0.041137695,0.05621338,-0.031921387,-0.107543945,0.048736572,0.027740479,-0.05911255,0.02999878,0.059448242,0.07861328,-0.007820129,0.008796692,0.053771973,0.01838684,0.053863525,0.0008907318,0.072021484,-0.016174316,-0.029724121,0.04788208,-0.054504395,-0.023345947,-0.0007362366,-0.064208984,0.029266357,-0.024276733,0.051116943,0.080200195,0.03463745,-0.009666443,-0.014328003,-0,0.044647217,-0.066467285,-0.09265137,-0.028259277,-0.033203125,0.0045433044,-0.005748749,-0.046966553,0.039855957,0.02784729,-0.12927246,-0.008033752,0.042755127,0.020248413,0.026916504,0.032104492,0.15100098,0.009147644,0.042053223,-0.027862549,-0.00043940544,0.107421875,-0.042938232,0.00207901,0.005882263,0.0113220215,0.16174316,0.04208374,-0.03866577,0.0013933182,-0.04244995,-0.13208008,0.026809692,-0.046295166,-0.07714844,0.06976318,-0.030639648,-0.06427002,-0.051116943,0.013221741,0.05444336,-0.10418701,0.021560669,0.011711121,-0.01373291,0.036376953,-0.012001038,0.039215088,0.00674057,-0.025650024,0.07751465,-0.0071754456,-0.05657959,-0.022323608,0.0011262894,0.017211914,0.06390381,-0.105773926,-0.020858765,0.01977539,0.03805542,0.040893555,-0.016021729,-0.04083252,-0.025161743,-0.04510498,-0.0881958,-0.09460449,-0.012756348,-0.0048217773,-0.093933105,0.019729614,-0.055511475,-0.10583496,0.028839111,0.056549072,0.0021190643,0.06585693,-0.0015745163,-0.064208984,-0.17443848,0.08001709,0.019592285,-0.0018920898,0.005493164,-0.05508423,0.05230713,0.036865234,0.036895752,0.034179688,0.0024776459,0.04949951,0.027770996,-0.016189575,-0.07159424,-5.9604645e-08,0.044403076,-0.012748718,0.018295288,-0.0146102905,0.023162842,-0.012931824,0.046539307,-0.004009247,0.002752304,0.029434204,-0.004627228,0.10180664,-0.023834229,0.038970947,0.013664246,-0.04724121,0.057006836,-0.096191406,-0.08300781,0.027175903,0.053344727,-0.011497498,0.019989014,-0.0053138733,-0.020507812,0.014060974,0.024154663,0.12219238,0.03137207,0.076660156,0.030548096,0.028015137,-0.042297363,-0.0138549805,-0.13317871,-0.022247314,0.029785156,-0.028701782,-0.09277344,0.020996094,-0.015853882,-0.11053467,-0.06378174,-0.006374359,0.014701843,0.009750366,-0.059387207,-0.13647461,0.070007324,-0.04232788,-0.08898926,-0.04852295,0.027496338,0.008110046,0.050933838,-0.061187744,-0.0018692017,-0.08111572,0.036621094,0.099365234,-0.005218506,0.0066337585,-0.119018555,0.03933716]', '2026-11-23 22:12:37.330741+00', DEFAULT);
INSERT INTO public.memory_item_embeddings VALUES (1, 1, 14, 'ready', NULL, 'turn', 'infinity', '2026-11-23 22:12:36.368111+00', '\x21814a572cf230febcaf6adfc31540fd5a4f20262a6f329df1eed7b49e0aad6b', false, 1, NULL, B'0001010100001101101011010010110100000110110000011001101000100010001010011110100100010011100100001101011110111001101110010101100010011010000000111011001100001011010000011110111111000000110111001110001111000001000000001101001000001001011110110011000110011111110101010100010011011100000001011011101110010000100011100000001110110001111011111000110110000001111101111011110111110010111001001100100011000000110100100000001101110001101110001110111001011100111100111001111110001100110000110110100111110010001101111000011100010101000011011010110100101101000001101100000110011010001000100010100111101001000100111001000011010111101110011011100101011000100110100000001110110011000010110100000111101111110000001101110011100011110000010000000011010010000010010111101100110001100111111101010101000100110111000000010110111011100100001000111000000011101100011110111110001101100000011111011110111101111100101110010011001000110000001101001000000011011100011011100011101110010111001111001110011111100011001100001101101001111100100011011110000111', '[0.015838623,-0.0032424927,-0.02078247,0.10974121,0.066345215,0.04348755,-0.08618164,-0.007888794,-0.042816162,0.012741089,0.0064468384,-0.04220581,-0.019241333,0.0077323914,0.034362793,-0.021835327,-0.11578369,-0.002658844,0.00047516823,0.0028190613,-0.029434204,-0.05203247,0.021621704,0.1171875,0.0058135986,-0.05697632,-0.08917236,0.026733398,-0.013298035,-1.692772e-05,0.0034217834,0.035369873,-0.03012085,0.007896423,0.04537964,-0.006881714,0.01322937,0.021072388,0.042388916,-0.026245117,0.11004639,-0.0025672913,0.07287598,-0.06402588,-0.09460449,-0.021347046,-0.05899048,0.015731812,-0.00021135807,0.0031661987,-0.06286621,-0.11584473,0.0066566467,0.00907135,0.01600647,0.012825012,-0.06982422,-0.08428955,0.10638428,-0.032440186,0.07318115,0.046722412,-0.023147583,-0.015144348,-0.064819336,-0.023010254,-0.070617676,-0.0491333,0.089782715,0.07714844,0.0054893494,0.018203735,-0.0022296906,0.012023926,-0.04473877,-0.007926941,-0.036621094,0.013839722,0.002746582,-0.08654785,-0.12164307,-0.06951904,0.00051927567,0.031555176,0.033721924,0.011680603,-0.017837524,0.022354126,0.0061073303,-0.021194458,0.02470398,-0.0015249252,-0.06097412,-0.0011739731,-0.103393555,-0.023010254,-0.04663086,0.071777344,-0.051879883,0.028549194,0.03466797,0.024932861,0.08721924,-0.026306152,0.058685303,0.04284668,-0.010276794,0.016342163,0.012954712,-0.029083252,0.017364502,0.016082764,0.119384766,0.03286743,-0.05142212,0.00045394897,-0.010910034,0.029846191,0.026046753,0.01689148,-0.0014009476,0.024246216,0.12463379,-0.05633545,0.09674072,-0.009101868,-0.0030288696,0,0.015434265,0.003501892,0.018692017,0.03543091,0.06359863,-0.09338379,-0.11407471,-0.017486572,-0.09112549,0.018066406,-0.021820068,0.008972168,-0.016616821,-0.05392456,-0.029174805,-0.074645996,0.015655518,-0.0541687,0.0022659302,-0.023254395,-0.030654907,0.010124207,0.0062713623,0.016403198,0.030166626,-0.004711151,0.08502197,0.04269409,-0.02734375,0.0592041,0.09338379,-0.012924194,-0.023025513,0.019760132,0.008377075,0.017410278,0.061767578,-0.06829834,-0.11730957,0.06359863,0.10064697,-0.08135986,0.059783936,0.021896362,-0.00705719,0.027023315,0.022994995,0.049804688,0.01096344,0.0058250427,-0.038269043,0.0016469955,0.03756714,0.05053711,-0.027160645,0.11816406,0.08428955,-0.048858643,0.018661499,0.0814209,-0.024856567,0.03201294,0.0011987686,-0.05532837,0.049194336,-0.07684326,-0.037200928,0.023834229,-0.046325684,-0.007095337,0.02684021,0.017654419,0.012588501,-0.044403076,0.09454346,-0.047729492,-0.0046577454,0.024459839,0.03918457,0.025405884,-0.024215698,-0.0031757355,-0.029907227,0.029464722,-0.051940918,-0.063964844,0.020706177,-0.009216309,-0.062927246,-0.008232117,-0.057006836,-0.0069503784,0.033233643,-0.05154419,0.06530762,-0,-0.07006836,0.08734131,0.12390137,0.031555176,0.021209717,0.016952515,0.091918945,3.2246113e-05,0.011741638,0.009994507,-0.0062789917,0.02468872,0.070495605,-0.076293945,0.12420654,-0.0027484894,0.08239746,-0.09161377,0.088378906,-0.052246094,-0.07476807,0.03994751,-0.0058555603,0.07946777,0.05307007,0.08355713,0.056762695,0.07891846,-0.07946777,-0.025939941,0.072143555,-0.020019531,-0.018951416,-0.013298035,-0.064819336,0.016159058,-0.06262207,0.07861328,-0.0023002625,-0.042877197,0.07397461,-0.03173828,-0.033111572,0.08581543,0.01979065,-0.0033931732,0.0044288635,0.055023193,-0.04296875,0.00944519,-0.051696777,0.03527832,-0.15856934,-0.027053833,0.06994629,-0.03427124,-0.0061416626,0.00078964233,-0.020309448,-0.06713867,0.005104065,0.08337402,-0.077941895,0.07354736,-0.006893158,-0.04534912,-0.073913574,-0.04272461,-0.025177002,0.03277588,-0.008026123,0.004169464,-0.028579712,-0.045928955,0.05203247,0.057861328,-0.045654297,-0.006416321,0.048858643,-0.019134521,0.03125,-0.064331055,0.03010559,0.059783936,-0.014144897,-0.037200928,0.0011310577,0.032318115,0.07092285,0.015777588,-0.0035533905,0.004512787,0.00064754486,0.008529663,0.00075674057,-0,0.031219482,0.050567627,-0.02923584,-0.08526611,-0.018737793,-0.11584473,-0.00014030933,0.018035889,-0.025543213,0.029891968,-0.058441162,-0.007850647,0.060760498,0.026672363,0.05911255,0.010795593,0.011558533,-0.04019165,-0.04336548,0.01210022,-0.057617188,-0.038879395,0.020401001,0.06555176,-0.05267334,0.026626587,-0.02758789,-0.04522705,0.05847168,0.026535034,0.031677246,-0.015075684,-0.09069824,0.08111572,0.05340576,0.008850098,-0.13635254,-0.05441284,0.10620117,0.07696533,0.029006958,-0.04147339,0.009475708,0.04534912,-0.06488037,0.08508301,0.01651001,-0.004337311,-0.048736572,-0.03164673,-0.099365234,-0.013122559,-0.029541016,0.070495605,-0.04711914,-0.066833496,0.009384155,-0.038970947,0.022903442,0.017089844,-0.043121338,-0.072509766,-0.08520508,0.0031318665]', '2026-11-23 22:12:37.330741+00', DEFAULT);
INSERT INTO public.memory_item_embeddings VALUES (1, 1, 15, 'ready', NULL, 'turn', 'infinity', '2026-11-23 22:12:36.368111+00', '\xb5c12b4349b61f7a7f6185f97139838423e707be123f32003f6b97d91c14b86f', false, 1, NULL, B'1001111100011001010000100110001110101000110010011000001110111100001110111111100100011000011010000110100000101000101110011011001011111110011110010101100011101000100010011100011001110011101110101111101001111010000110010011101000000001011110011001111111110111000010110000110100101110011001100001111011110101101011100000110101001001110101010010111011011010001110101010001000101011100010100111101001111101111111101110101000010101111101101111001100011000110110100101111000111101100110100011001111000001000001111100111010011111000110010100001001100011101010001100100110000011101111000011101111111001000110000110100001101000001010001011100110110010111111100111100101011000111010001000100111000110011100111011101011111010011110100001100100111010000000010111100110011111111101110000101100001101001011100110011000011110111101011010111000001101010010011101010100101110110110100011101010100010001010111000101001111010011111011111111011101010000101011111011011110011000110001101101001011110001111011001101000110011110000010000011111001110', '[0.04663086,0.15319824,0.06652832,0.09124756,0.010177612,-0.081848145,0.070739746,-0.038360596,-0.043518066,-0.040252686,0.087890625,-0.022125244,0.06311035,0.04248047,0.04269409,-0.030395508,-0.005130768,-0.07952881,-0.029769897,-0.041137695,-0.028869629,0.011329651,-0.046905518,0.039367676,0.03942871,0.07800293,0.049682617,0.0026988983,-0.033813477,0.0149002075,0.0010156631,0.046539307,0.022598267,0.005744934,0.045837402,-0.037078857,0.034179688,-0.15771484,-0.022903442,0.07397461,0.00699234,0.008018494,0.061920166,0.004875183,0.00023591518,-0.0070991516,-0.0041275024,0.031555176,0.115234375,-0.016525269,0.046844482,0.064453125,-0.021575928,-0.011016846,-0.025970459,0.08569336,-0.028305054,-0.052612305,0.03656006,0.039520264,0.03768921,0.019866943,-0.12792969,-0.0023822784,0.018814087,-0.08325195,-0.090270996,-0.07788086,-0.014625549,-0.032287598,0.009628296,0.028930664,0.018035889,-0.039978027,-0.02368164,-0.03778076,-0.003189087,0.029953003,0.03604126,-0.038146973,0.039886475,-0.08074951,0.03286743,0.07232666,-0.01373291,-0.048583984,0.035369873,0.08111572,0.045684814,0.021118164,-0.039642334,-0.05606079,-0.06842041,0.04925537,-0.024414062,-0.008766174,0.025360107,-0.008300781,-0.015548706,0.054992676,0.057678223,0.042022705,-0.05053711,0.018234253,-0.008522034,0.05117798,-0.012840271,-0.006580353,-0.0014858246,-0.06719971,-0.016723633,0.052215576,0.09057617,-0.02029419,0.08843994,-0.029510498,-0.004135132,0.020339966,-0.11315918,0.011489868,-0.032989502,0.0024967194,0.041534424,0.12475586,-0.027389526,0.022033691,0.06298828,-0,0.115722656,0.04748535,0.027770996,-0.009376526,0.08239746,-0.06286621,-0.05206299,0.024353027,-0.020812988,-0.062408447,-0.004699707,-0.06738281,-0.038146973,-0.07537842,0.019683838,-0.024154663,0.06201172,0.032684326,-0.02420044,0.09118652,-0.07476807,0.01309967,0.017929077,-0.039215088,-0.061157227,0.04260254,-0.0078086853,0.060455322,-0.009536743,0.020217896,0.078063965,-0.047027588,-0.014167786,0.10656738,0.027542114,-0.038085938,0.08166504,-0.09851074,0.08105469,-0.042633057,0.055358887,0.006454468,0.072143555,0.019180298,0.05783081,0.0914917,-0.021408081,0.017410278,0.04296875,0.04071045,-0.028244019,0.12054443,0.04046631,-0.10290527,0.016342163,0.042816162,0.0017738342,0.0102005005,0.0592041,0.043273926,-0.024459839,0.0231781,-0.010231018,-0.1027832,-0.029876709,0.016723633,-0.0025196075,0.0027217865,-0.06652832,-0.014030457,0.04019165,0.074279785,0.034576416,-0.02897644,0.019439697,-0.008682251,0.022537231,-0.0113220215,0.014533997,0.07965088,-0.031585693,0.08215332,-0.011276245,-0.08728027,-0.023483276,-0.0423584,-0.028167725,0.012931824,-0.046173096,-0.022598267,-0.05682373,-0.0038223267,0.008468628,-0.032684326,-0.031311035,0,0.043029785,-0.020050049,-0.08026123,-0.005947113,-0.036499023,-0.026123047,-0.017532349,0.041534424,-0.0715332,0.044555664,0.04724121,-0.05456543,0.04449463,-0.08917236,0.06524658,0.09338379,0.00016903877,0.06402588,-0.109191895,0.058441162,-0.07537842,-0.007396698,-0.0073165894,0.0836792,-0.009780884,0.047424316,0.02394104,-0.0440979,-0.032318115,0.00440979,0.019378662,-0.01802063,-0.048706055,0.026473999,-0.043029785,0.09680176,0.028884888,-0.06329346,-0.03074646,-0.06774902,0.017166138,-0.068481445,0.096191406,0.03225708,-0.008331299,0.002412796,-0.022979736,0.042144775,0.006717682,0.06750488,-0.0052108765,0.0025310516,-0.045166016,0.046295166,-0.04537964,-0.0847168,-0.06286621,0.04348755,-0.040924072,-0.08312988,-0.009132385,-0.12249756,-0.04727173,0.05343628,-0.02168274,0.0060768127,-0.10101318,0.002664566,-0.0015926361,-0.020690918,0.0027675629,-0.060455322,-0.051879883,0.03366089,0.03564453,0.03164673,0.017700195,-0.012306213,-0.06085205,0.04989624,-0.12512207,-0.06088257,-0.06774902,0.032836914,0.026290894,-0.005378723,0.04840088,-0.13916016,0.006839752,0.042785645,-0.038146973,0.042785645,-0.08087158,-0.002538681,-0.09588623,-0,-0.04525757,-0.0029315948,-0.013191223,0.02420044,-0.017181396,-0.042633057,0.05621338,0.006389618,0.0026226044,0.05883789,-0.027359009,0.052612305,0.0057373047,0.03173828,-0.01828003,-0.09765625,0.030578613,-0.022445679,0.04397583,-0.027740479,0.03866577,0.05596924,-0.0042152405,0.05657959,0.04031372,0.053375244,-0.012367249,0.06414795,0.046081543,-0.004749298,0.02029419,-0.057373047,-0.041503906,-0.07098389,-0.07598877,-0.0042037964,0.045776367,0.03741455,0.06921387,-0.058929443,-0.059661865,0.054504395,-0.0413208,0.046447754,0.019882202,-0.017456055,0.025314331,0.01348114,-0.010665894,-0.03640747,0.018066406,0.043029785,0.047821045,0.03668213,-0.03866577,-0.077941895,-0.0035820007,-0.03982544,-0.014076233,0.05090332,-0.032592773,-0.017974854,-0.15808105,0.0024356842]', '2026-11-23 22:12:37.330741+00', DEFAULT);
INSERT INTO public.memory_item_events OVERRIDING SYSTEM VALUE VALUES (1, 1, 1, 1, 'added', '2026-11-23 22:12:35.861832+00');
INSERT INTO public.memory_item_events OVERRIDING SYSTEM VALUE VALUES (1, 2, 1, 1, 'superseded', '2026-11-23 22:12:36.185714+00');
INSERT INTO public.memory_item_events OVERRIDING SYSTEM VALUE VALUES (1, 3, 3, 1, 'added', '2026-11-23 22:12:36.185714+00');
INSERT INTO public.memory_item_events OVERRIDING SYSTEM VALUE VALUES (1, 4, 4, 1, 'added', '2026-11-23 22:12:36.211101+00');
INSERT INTO public.memory_item_events OVERRIDING SYSTEM VALUE VALUES (1, 5, 4, 1, 'confirmed', '2026-11-23 22:12:36.22594+00');
INSERT INTO public.memory_item_events OVERRIDING SYSTEM VALUE VALUES (1, 6, 5, 1, 'added', '2026-11-23 22:12:36.232525+00');
INSERT INTO public.memory_item_events OVERRIDING SYSTEM VALUE VALUES (1, 7, 6, 1, 'added', '2026-11-23 22:12:36.265494+00');
INSERT INTO public.memory_item_events OVERRIDING SYSTEM VALUE VALUES (1, 8, 7, 1, 'added', '2026-11-23 22:12:36.299486+00');
INSERT INTO public.memory_item_events OVERRIDING SYSTEM VALUE VALUES (1, 9, 8, 1, 'added', '2026-11-23 22:12:36.30657+00');
INSERT INTO public.memory_item_events OVERRIDING SYSTEM VALUE VALUES (1, 10, 9, 1, 'added', '2026-11-23 22:12:36.313608+00');
INSERT INTO public.memory_item_events OVERRIDING SYSTEM VALUE VALUES (1, 11, 10, 1, 'added', '2026-11-23 22:12:36.320252+00');
INSERT INTO public.memory_item_events OVERRIDING SYSTEM VALUE VALUES (1, 12, 10, 1, 'archived', '2026-11-23 22:12:36.323781+00');
INSERT INTO public.memory_item_events OVERRIDING SYSTEM VALUE VALUES (1, 13, 11, 1, 'added', '2026-11-23 22:12:36.335726+00');
INSERT INTO public.memory_item_events OVERRIDING SYSTEM VALUE VALUES (2, 14, 12, 2, 'added', '2026-11-23 22:12:36.350428+00');
INSERT INTO public.memory_item_events OVERRIDING SYSTEM VALUE VALUES (2, 15, 13, 2, 'added', '2026-11-23 22:12:36.362929+00');
INSERT INTO public.memory_items OVERRIDING SYSTEM VALUE VALUES (1, 3, 1, 1, 'fact', 'home', 'Anna lives in Linz.', '\xe53b52a159ed10d1506d26a036746e8e5e6f96bff008a532999dcdf4b3da85a8', '{}', 'active', 'user_explicit', NULL, NULL, NULL, 80, false, NULL, NULL, '{}', NULL, '2026-11-23 22:12:36.185714+00', '2026-11-23 22:12:36.185714+00', '''anna'':2 ''home'':6 ''in'':4 ''linz'':5 ''live'':3 ''lives'':3', DEFAULT, NULL, NULL, NULL);
INSERT INTO public.memory_items OVERRIDING SYSTEM VALUE VALUES (1, 1, 1, 1, 'fact', 'home', 'Anna lives in Graz.', '\x6bde01f3f970c47d77963278c36d68ccb42e2d23a8a1f96ecb98d257ca01a456', '{}', 'archived', 'user_explicit', 'I live in Graz.', NULL, NULL, 30, false, NULL, NULL, '{}', 3, '2026-11-23 22:12:35.861832+00', '2026-11-23 22:12:36.185714+00', '''anna'':2 ''graz'':5 ''home'':6 ''in'':4 ''live'':3 ''lives'':3', DEFAULT, NULL, NULL, NULL);
INSERT INTO public.memory_items OVERRIDING SYSTEM VALUE VALUES (1, 4, 2, 1, 'preference', NULL, 'Anna drinks green tea in the morning.', '\xba1c6ed0c9adf5d4a1960aaf18f538f5b6c4c813d7ef2e7fd3450ceb925c07df', '{drinks,morning}', 'active', 'agent', NULL, NULL, NULL, 100, true, NULL, '2026-11-23 22:12:36.22594+00', '{}', NULL, '2026-11-23 22:12:36.211101+00', '2026-11-23 22:12:36.22594+00', '''anna'':2 ''drink'':3,9 ''drinks'':3,9 ''green'':4 ''in'':6 ''morn'':8,10 ''morning'':8,10 ''tea'':5 ''the'':7', DEFAULT, NULL, NULL, NULL);
INSERT INTO public.memory_items OVERRIDING SYSTEM VALUE VALUES (1, 5, 3, 1, 'fact', NULL, 'The invoice of the dentist was paid on 3 November.', '\xb0945059ded0707c58a950a48acd4fafd4fea9dcc04e722cef3aff22021df8fa', '{}', 'active', 'tool_call', NULL, NULL, NULL, 90, false, NULL, NULL, '{}', NULL, '2026-11-23 22:12:36.232525+00', '2026-11-23 22:12:36.232525+00', '''3'':10 ''dentist'':6 ''invoic'':3 ''invoice'':3 ''novemb'':11 ''november'':11 ''of'':4 ''on'':9 ''paid'':8 ''the'':2,5 ''was'':7', DEFAULT, NULL, NULL, NULL);
INSERT INTO public.memory_items OVERRIDING SYSTEM VALUE VALUES (1, 6, 1, 1, 'fact', NULL, 'The library is closed on Mondays.', '\xc4a0e1859aad507b2bba344ada6ff13a81e47013c39247ed09fcfb27b2fb775f', '{}', 'active', 'web', NULL, NULL, NULL, 50, false, NULL, NULL, '{}', NULL, '2026-11-23 22:12:36.265494+00', '2026-11-23 22:12:36.265494+00', '''close'':5 ''closed'':5 ''is'':4 ''librari'':3 ''library'':3 ''monday'':7 ''mondays'':7 ''on'':6 ''the'':2', DEFAULT, NULL, NULL, NULL);
INSERT INTO public.memory_items OVERRIDING SYSTEM VALUE VALUES (1, 7, 1, 1, 'fact', NULL, 'Anna may be allergic to nuts.', '\xdd4b86cdbd740d344eef5cef0f28c889f0553e752af78588eeb0846aea4cb219', '{}', 'active', 'guess', NULL, NULL, NULL, 30, false, NULL, NULL, '{}', NULL, '2026-11-23 22:12:36.299486+00', '2026-11-23 22:12:36.299486+00', '''allerg'':5 ''allergic'':5 ''anna'':2 ''be'':4 ''may'':3 ''nut'':7 ''nuts'':7 ''to'':6', DEFAULT, NULL, NULL, NULL);
INSERT INTO public.memory_items OVERRIDING SYSTEM VALUE VALUES (1, 8, 1, 1, 'fact', NULL, 'Anna repairs old bicycles with her father.', '\xcb95403ac523e57638d51510fc8898551b10b8c223c7776a43506df08418903e', '{}', 'active', 'agent', NULL, NULL, NULL, 70, false, NULL, NULL, '{}', NULL, '2026-11-23 22:12:36.30657+00', '2026-11-23 22:12:36.30657+00', '''anna'':2 ''bicycl'':5 ''bicycles'':5 ''father'':8 ''her'':7 ''old'':4 ''repair'':3 ''repairs'':3 ''with'':6', DEFAULT, NULL, NULL, NULL);
INSERT INTO public.memory_items OVERRIDING SYSTEM VALUE VALUES (1, 9, 1, 1, 'fact', NULL, 'The guest room is taken until next month.', '\x44f6609877ef101892aa0cb45484d581430b1d7d36a1dccfe8bc5b8ab41b81b7', '{}', 'active', 'agent', NULL, NULL, NULL, 70, false, '2026-12-23 22:12:36.313608+00', NULL, '{}', NULL, '2026-11-23 22:12:36.313608+00', '2026-11-23 22:12:36.313608+00', '''guest'':3 ''is'':5 ''month'':9 ''next'':8 ''room'':4 ''taken'':6 ''the'':2 ''until'':7', DEFAULT, NULL, NULL, NULL);
INSERT INTO public.memory_items OVERRIDING SYSTEM VALUE VALUES (1, 10, 1, 1, 'fact', NULL, 'Anna is looking for a flat.', '\xa84d8157edfde5a32ff5211ea6fe19f6f7f4c35933d2f5b0d871f5a0fb24622a', '{}', 'archived', 'agent', NULL, NULL, NULL, 70, false, NULL, NULL, '{}', NULL, '2026-11-23 22:12:36.320252+00', '2026-11-23 22:12:36.323781+00', '''a'':6 ''anna'':2 ''flat'':7 ''for'':5 ''is'':3 ''look'':4 ''looking'':4', DEFAULT, NULL, NULL, NULL);
INSERT INTO public.memory_items OVERRIDING SYSTEM VALUE VALUES (1, 11, 4, 1, 'fact', NULL, 'On Monday Anna walks to the market before eight, buys bread, apples and whatever the season has, and meets her neighbour at the fountain. She then takes tram number 3 to the office, where the meeting about the harbour project begins at ten and rarely ends before noon. In the evening she reads, or telephones with her sister in Vienna.
On Tuesday Anna walks to the market before eight, buys bread, apples and whatever the season has, and meets her neighbour at the fountain. She then takes tram number 4 to the office, where the meeting about the harbour project begins at ten and rarely ends before noon. In the evening she reads, or telephones with her sister in Vienna.
On Wednesday Anna walks to the market before eight, buys bread, apples and whatever the season has, and meets her neighbour at the fountain. She then takes tram number 5 to the office, where the meeting about the harbour project begins at ten and rarely ends before noon. In the evening she reads, or telephones with her sister in Vienna.
On Thursday Anna walks to the market before eight, buys bread, apples and whatever the season has, and meets her neighbour at the fountain. She then takes tram number 6 to the office, where the meeting about the harbour project begins at ten and rarely ends before noon. In the evening she reads, or telephones with her sister in Vienna.
On Friday Anna walks to the market before eight, buys bread, apples and whatever the season has, and meets her neighbour at the fountain. She then takes tram number 7 to the office, where the meeting about the harbour project begins at ten and rarely ends before noon. In the evening she reads, or telephones with her sister in Vienna.
On Saturday Anna walks to the market before eight, buys bread, apples and whatever the season has, and meets her neighbour at the fountain. She then takes tram number 8 to the office, where the meeting about the harbour project begins at ten and rarely ends before noon. In the evening she reads, or telephones with her sister in Vienna. The password of the cellar is written under the third flowerpot.', '\x430152ea666bc2779b8ef33610acf3191977fd35fb9ac1c4c23929628619731b', '{}', 'active', 'agent', NULL, NULL, NULL, 70, false, NULL, NULL, '{}', NULL, '2026-11-23 22:12:36.335726+00', '2026-11-23 22:12:36.335726+00', '''3'':31 ''4'':91 ''5'':151 ''6'':211 ''7'':271 ''8'':331 ''about'':38,98,158,218,278,338 ''and'':14,19,45,74,79,105,134,139,165,194,199,225,254,259,285,314,319,345 ''anna'':4,64,124,184,244,304 ''appl'':13,73,133,193,253,313 ''apples'':13,73,133,193,253,313 ''at'':23,43,83,103,143,163,203,223,263,283,323,343 ''befor'':9,48,69,108,129,168,189,228,249,288,309,348 ''before'':9,48,69,108,129,168,189,228,249,288,309,348 ''begin'':42,102,162,222,282,342 ''begins'':42,102,162,222,282,342 ''bread'':12,72,132,192,252,312 ''buy'':11,71,131,191,251,311 ''buys'':11,71,131,191,251,311 ''cellar'':366 ''eight'':10,70,130,190,250,310 ''end'':47,107,167,227,287,347 ''ends'':47,107,167,227,287,347 ''even'':52,112,172,232,292,352 ''evening'':52,112,172,232,292,352 ''flowerpot'':372 ''fountain'':25,85,145,205,265,325 ''friday'':243 ''harbour'':40,100,160,220,280,340 ''has'':18,78,138,198,258,318 ''her'':21,58,81,118,141,178,201,238,261,298,321,358 ''in'':50,60,110,120,170,180,230,240,290,300,350,360 ''is'':367 ''market'':8,68,128,188,248,308 ''meet'':20,37,80,97,140,157,200,217,260,277,320,337 ''meeting'':37,97,157,217,277,337 ''meets'':20,80,140,200,260,320 ''monday'':3 ''neighbour'':22,82,142,202,262,322 ''noon'':49,109,169,229,289,349 ''number'':30,90,150,210,270,330 ''of'':364 ''offic'':34,94,154,214,274,334 ''office'':34,94,154,214,274,334 ''on'':2,62,122,182,242,302 ''or'':55,115,175,235,295,355 ''password'':363 ''project'':41,101,161,221,281,341 ''rare'':46,106,166,226,286,346 ''rarely'':46,106,166,226,286,346 ''read'':54,114,174,234,294,354 ''reads'':54,114,174,234,294,354 ''saturday'':303 ''season'':17,77,137,197,257,317 ''she'':26,53,86,113,146,173,206,233,266,293,326,353 ''sister'':59,119,179,239,299,359 ''take'':28,88,148,208,268,328 ''takes'':28,88,148,208,268,328 ''telephon'':56,116,176,236,296,356 ''telephones'':56,116,176,236,296,356 ''ten'':44,104,164,224,284,344 ''the'':7,16,24,33,36,39,51,67,76,84,93,96,99,111,127,136,144,153,156,159,171,187,196,204,213,216,219,231,247,256,264,273,276,279,291,307,316,324,333,336,339,351,362,365,370 ''then'':27,87,147,207,267,327 ''third'':371 ''thursday'':183 ''to'':6,32,66,92,126,152,186,212,246,272,306,332 ''tram'':29,89,149,209,269,329 ''tuesday'':63 ''under'':369 ''vienna'':61,121,181,241,301,361 ''walk'':5,65,125,185,245,305 ''walks'':5,65,125,185,245,305 ''wednesday'':123 ''whatev'':15,75,135,195,255,315 ''whatever'':15,75,135,195,255,315 ''where'':35,95,155,215,275,335 ''with'':57,117,177,237,297,357 ''written'':368', DEFAULT, NULL, NULL, NULL);
INSERT INTO public.memory_items OVERRIDING SYSTEM VALUE VALUES (2, 12, 5, 2, 'fact', NULL, 'Ben keeps three beehives behind the barn.', '\xa135c6c762debe4c69e478743df15e5bf26e024694ed8e2620174e6fb62851e4', '{}', 'active', 'agent', NULL, NULL, NULL, 70, false, NULL, NULL, '{}', NULL, '2026-11-23 22:12:36.350428+00', '2026-11-23 22:12:36.350428+00', '''barn'':8 ''beehiv'':5 ''beehives'':5 ''behind'':6 ''ben'':2 ''keep'':3 ''keeps'':3 ''the'':7 ''three'':4', DEFAULT, NULL, NULL, NULL);
INSERT INTO public.memory_items OVERRIDING SYSTEM VALUE VALUES (2, 13, 5, 2, 'fact', NULL, 'The library is closed on Mondays.', '\xc4a0e1859aad507b2bba344ada6ff13a81e47013c39247ed09fcfb27b2fb775f', '{}', 'active', 'agent', NULL, NULL, NULL, 70, false, NULL, NULL, '{}', NULL, '2026-11-23 22:12:36.362929+00', '2026-11-23 22:12:36.362929+00', '''close'':5 ''closed'':5 ''is'':4 ''librari'':3 ''library'':3 ''monday'':7 ''mondays'':7 ''on'':6 ''the'':2', DEFAULT, NULL, NULL, NULL);
INSERT INTO public.memory_items OVERRIDING SYSTEM VALUE VALUES (1, 14, NULL, 1, 'turn', NULL, 'We hiked up the Schafberg last Sunday and saw two marmots.', '\x21814a572cf230febcaf6adfc31540fd5a4f20262a6f329df1eed7b49e0aad6b', '{}', 'active', 'user', NULL, NULL, NULL, 100, false, NULL, NULL, '{}', NULL, '2026-11-23 22:12:36.368111+00', '2026-11-23 22:12:36.454321+00', '''and'':9 ''hike'':3 ''hiked'':3 ''last'':7 ''marmot'':12 ''marmots'':12 ''saw'':10 ''schafberg'':6 ''sunday'':8 ''the'':5 ''two'':11 ''up'':4 ''we'':2', DEFAULT, 1, 1, 1);
INSERT INTO public.memory_items OVERRIDING SYSTEM VALUE VALUES (1, 15, NULL, 1, 'turn', NULL, 'It was a sunny day there, fourteen degrees.', '\xb5c12b4349b61f7a7f6185f97139838423e707be123f32003f6b97d91c14b86f', '{}', 'active', 'assistant', NULL, NULL, NULL, 100, false, NULL, NULL, '{}', NULL, '2026-11-23 22:12:36.368111+00', '2026-11-23 22:12:36.454321+00', '''a'':4 ''day'':6 ''degre'':9 ''degrees'':9 ''fourteen'':8 ''it'':2 ''sunni'':5 ''sunny'':5 ''there'':7 ''was'':3', DEFAULT, 1, 4, 1);
INSERT INTO public.memory_themes OVERRIDING SYSTEM VALUE VALUES (1, 1, 'general', 'general', '', '2026-11-23 22:12:35.861832+00', '2026-11-23 22:12:35.861832+00');
INSERT INTO public.memory_themes OVERRIDING SYSTEM VALUE VALUES (1, 2, 'food', 'food', '', '2026-11-23 22:12:36.211101+00', '2026-11-23 22:12:36.211101+00');
INSERT INTO public.memory_themes OVERRIDING SYSTEM VALUE VALUES (1, 3, 'money', 'money', '', '2026-11-23 22:12:36.232525+00', '2026-11-23 22:12:36.232525+00');
INSERT INTO public.memory_themes OVERRIDING SYSTEM VALUE VALUES (1, 4, 'week', 'week', '', '2026-11-23 22:12:36.335726+00', '2026-11-23 22:12:36.335726+00');
INSERT INTO public.memory_themes OVERRIDING SYSTEM VALUE VALUES (2, 5, 'general', 'general', '', '2026-11-23 22:12:36.350428+00', '2026-11-23 22:12:36.350428+00');
INSERT INTO public.session_extractions OVERRIDING SYSTEM VALUE VALUES (1, 1, 1, 1, 4, 'skipped', 'no chat model is set: choose one in Settings › Chat model, or ask an admin for one', 0, 0, 0, 0, 0, false, 1, NULL, NULL, NULL, 0, 0, 11, '2026-11-23 22:12:36.377245+00', '2026-11-23 22:12:36.459187+00', '2026-11-23 22:12:36.48248+00');
INSERT INTO public.session_messages VALUES (1, 1, 1, 'm1', 'user', 'We hiked up the Schafberg last Sunday and saw two marmots.', NULL, NULL, NULL, '2026-11-23 22:12:36.368111+00');
INSERT INTO public.session_messages VALUES (1, 1, 2, 'm2', 'assistant', '', '[{"id": "c1", "name": "weather", "arguments": "{\"place\":\"Schafberg\"}"}]', NULL, NULL, '2026-11-23 22:12:36.368111+00');
INSERT INTO public.session_messages VALUES (1, 1, 3, 'm3', 'tool', 'sunny, 14 degrees', NULL, 'c1', NULL, '2026-11-23 22:12:36.368111+00');
INSERT INTO public.session_messages VALUES (1, 1, 4, 'm4', 'assistant', 'It was a sunny day there, fourteen degrees.', NULL, NULL, NULL, '2026-11-23 22:12:36.368111+00');
INSERT INTO public.sessions OVERRIDING SYSTEM VALUE VALUES (1, 1, 1, 'walk-1', 'completed', 4, 4, '2026-11-23 22:12:36.368111+00', '2026-11-23 22:12:36.368111+00', '2026-11-23 22:12:36.368111+00', '2026-11-23 22:12:36.377245+00', 'asked', 4);
INSERT INTO public.system_chat_provider VALUES (true, 'openai', '', '', NULL, 200000, '1970-01-01 00:00:00+00');
INSERT INTO public.system_settings VALUES (true, true, 32, 1, 0, '1970-01-01 00:00:00+00');
INSERT INTO public.users OVERRIDING SYSTEM VALUE VALUES (1, 'anna@example.com', '$argon2id$v=19$m=19456,t=2,p=1$pusF2RfN0kWz5MrxTiRmdw$xjHmc1ZQiKwVnBqUR8Q2MHEXohb3RDgWGWH+zSnNt2o', 'admin', NULL, '2026-11-23 22:12:35.028173+00', '2026-11-23 22:12:35.028173+00', NULL, NULL, true, false, NULL, NULL, true);
INSERT INTO public.users OVERRIDING SYSTEM VALUE VALUES (2, 'ben@example.com', '$argon2id$v=19$m=19456,t=2,p=1$+lrsSnTil122p/Mv9aTt6w$gozGzgI2bLEwDkj4VGH7z6+R8Z5zKm9+LUqsWGfYN6o', 'member', NULL, '2026-11-23 22:12:35.157459+00', '2026-11-23 22:12:35.157459+00', NULL, NULL, true, false, NULL, NULL, true);
SELECT pg_catalog.setval('public.activity_id_seq', 15, true);
SELECT pg_catalog.setval('public.admin_events_id_seq', 1, false);
SELECT pg_catalog.setval('public.agent_tokens_id_seq', 2, true);
SELECT pg_catalog.setval('public.agents_id_seq', 2, true);
SELECT pg_catalog.setval('public.chat_reservations_id_seq', 1, false);
SELECT pg_catalog.setval('public.data_imports_id_seq', 1, false);
SELECT pg_catalog.setval('public.embedding_spaces_id_seq', 2, true);
SELECT pg_catalog.setval('public.erasure_receipts_id_seq', 1, false);
SELECT pg_catalog.setval('public.invitations_id_seq', 1, false);
SELECT pg_catalog.setval('public.memory_item_events_id_seq', 15, true);
SELECT pg_catalog.setval('public.memory_items_id_seq', 15, true);
SELECT pg_catalog.setval('public.memory_themes_id_seq', 5, true);
SELECT pg_catalog.setval('public.operators_id_seq', 1, false);
SELECT pg_catalog.setval('public.service_tokens_id_seq', 1, false);
SELECT pg_catalog.setval('public.session_extractions_id_seq', 1, true);
SELECT pg_catalog.setval('public.sessions_id_seq', 1, true);
SELECT pg_catalog.setval('public.system_providers_id_seq', 1, false);
SELECT pg_catalog.setval('public.users_id_seq', 2, true);
ALTER TABLE ONLY apalis._sqlx_migrations
    ADD CONSTRAINT _sqlx_migrations_pkey PRIMARY KEY (version);
ALTER TABLE ONLY apalis.jobs
    ADD CONSTRAINT jobs_pkey PRIMARY KEY (id);
ALTER TABLE ONLY apalis.workers
    ADD CONSTRAINT workers_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public._sqlx_migrations
    ADD CONSTRAINT _sqlx_migrations_pkey PRIMARY KEY (version);
ALTER TABLE ONLY public.account_tables
    ADD CONSTRAINT account_tables_pkey PRIMARY KEY (name);
ALTER TABLE ONLY public.activity
    ADD CONSTRAINT activity_pkey PRIMARY KEY (user_id, id);
ALTER TABLE ONLY public.admin_events
    ADD CONSTRAINT admin_events_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.agent_tokens
    ADD CONSTRAINT agent_tokens_hash_key UNIQUE (user_id, token_hash);
ALTER TABLE ONLY public.agent_tokens
    ADD CONSTRAINT agent_tokens_pkey PRIMARY KEY (user_id, id);
ALTER TABLE ONLY public.agents
    ADD CONSTRAINT agents_name_key UNIQUE (user_id, name);
ALTER TABLE ONLY public.agents
    ADD CONSTRAINT agents_pkey PRIMARY KEY (user_id, id);
ALTER TABLE ONLY public.allowed_endpoints
    ADD CONSTRAINT allowed_endpoints_pkey PRIMARY KEY (host, port);
ALTER TABLE ONLY public.chat_reservations
    ADD CONSTRAINT chat_reservations_pkey PRIMARY KEY (user_id, id);
ALTER TABLE ONLY public.chat_settings
    ADD CONSTRAINT chat_settings_pkey PRIMARY KEY (user_id);
ALTER TABLE ONLY public.chat_spend
    ADD CONSTRAINT chat_spend_pkey PRIMARY KEY (user_id, day);
ALTER TABLE ONLY public.data_imports
    ADD CONSTRAINT data_imports_pkey PRIMARY KEY (user_id, id);
ALTER TABLE ONLY public.embedding_settings
    ADD CONSTRAINT embedding_settings_pkey PRIMARY KEY (user_id);
ALTER TABLE ONLY public.embedding_spaces
    ADD CONSTRAINT embedding_spaces_pkey PRIMARY KEY (user_id, id);
ALTER TABLE ONLY public.erasure_receipts
    ADD CONSTRAINT erasure_receipts_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.erasure_receipts
    ADD CONSTRAINT erasure_receipts_public_id_key UNIQUE (public_id);
ALTER TABLE ONLY public.evaluations
    ADD CONSTRAINT evaluations_pkey PRIMARY KEY (user_id, space_id, side);
ALTER TABLE ONLY public.invitations
    ADD CONSTRAINT invitations_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.invitations
    ADD CONSTRAINT invitations_token_key UNIQUE (token_hash);
ALTER TABLE ONLY public.memory_item_embeddings
    ADD CONSTRAINT memory_item_embeddings_pkey PRIMARY KEY (user_id, space_id, item_id);
ALTER TABLE ONLY public.memory_item_events
    ADD CONSTRAINT memory_item_events_pkey PRIMARY KEY (user_id, id);
ALTER TABLE ONLY public.memory_items
    ADD CONSTRAINT memory_items_pkey PRIMARY KEY (user_id, id);
ALTER TABLE ONLY public.memory_summaries
    ADD CONSTRAINT memory_summaries_pkey PRIMARY KEY (user_id);
ALTER TABLE ONLY public.memory_summary_items
    ADD CONSTRAINT memory_summary_items_pkey PRIMARY KEY (user_id, item_id);
ALTER TABLE ONLY public.memory_themes
    ADD CONSTRAINT memory_themes_pkey PRIMARY KEY (user_id, id);
ALTER TABLE ONLY public.memory_themes
    ADD CONSTRAINT memory_themes_slug_key UNIQUE (user_id, slug);
ALTER TABLE ONLY public.operators
    ADD CONSTRAINT operators_name_key UNIQUE (name);
ALTER TABLE ONLY public.operators
    ADD CONSTRAINT operators_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.service_tokens
    ADD CONSTRAINT service_tokens_hash_key UNIQUE (token_hash);
ALTER TABLE ONLY public.service_tokens
    ADD CONSTRAINT service_tokens_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.session_extractions
    ADD CONSTRAINT session_extractions_first_position_key UNIQUE (user_id, session_id, first_position);
ALTER TABLE ONLY public.session_extractions
    ADD CONSTRAINT session_extractions_pkey PRIMARY KEY (user_id, id);
ALTER TABLE ONLY public.session_messages
    ADD CONSTRAINT session_messages_external_id_key UNIQUE (user_id, session_id, external_id);
ALTER TABLE ONLY public.session_messages
    ADD CONSTRAINT session_messages_pkey PRIMARY KEY (user_id, session_id, "position");
ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_external_id_key UNIQUE (user_id, agent_id, external_id);
ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_pkey PRIMARY KEY (user_id, id);
ALTER TABLE ONLY public.system_chat_provider
    ADD CONSTRAINT system_chat_provider_pkey PRIMARY KEY (is_only);
ALTER TABLE ONLY public.system_providers
    ADD CONSTRAINT system_providers_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.system_settings
    ADD CONSTRAINT system_settings_pkey PRIMARY KEY (is_only);
ALTER TABLE ONLY public.users
    ADD CONSTRAINT users_email_key UNIQUE (email);
ALTER TABLE ONLY public.users
    ADD CONSTRAINT users_external_key UNIQUE (operator_id, external_id);
ALTER TABLE ONLY public.users
    ADD CONSTRAINT users_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.web_sessions
    ADD CONSTRAINT web_sessions_pkey PRIMARY KEY (id_hash);
CREATE INDEX idx_apalis_jobs_fetch_partial ON apalis.jobs USING btree (job_type, priority DESC, run_at) WHERE ((status = 'Pending'::text) OR ((status = 'Failed'::text) AND (attempts < max_attempts)));
CREATE INDEX idx_apalis_jobs_lock_by ON apalis.jobs USING btree (lock_by);
CREATE INDEX idx_apalis_workers_last_seen ON apalis.workers USING btree (last_seen);
CREATE INDEX idx_apalis_workers_worker_type ON apalis.workers USING btree (worker_type);
CREATE UNIQUE INDEX idx_jobs_idempotency_key ON apalis.jobs USING btree (job_type, idempotency_key);
CREATE INDEX lidx ON apalis.jobs USING btree (lock_by);
CREATE INDEX lsidx ON apalis.workers USING btree (last_seen);
CREATE UNIQUE INDEX unique_job_id ON apalis.jobs USING btree (id);
CREATE UNIQUE INDEX unique_worker_id ON apalis.workers USING btree (id);
CREATE INDEX wtidx ON apalis.workers USING btree (worker_type);
CREATE INDEX activity_newest_idx ON public.activity USING btree (user_id, at DESC, id DESC);
CREATE INDEX activity_queries_idx ON public.activity USING btree (user_id) WHERE (query IS NOT NULL);
CREATE INDEX admin_events_actor_idx ON public.admin_events USING btree (actor_id);
CREATE INDEX admin_events_subject_idx ON public.admin_events USING btree (subject_id);
CREATE INDEX agent_tokens_hash_idx ON public.agent_tokens USING btree (token_hash);
CREATE UNIQUE INDEX data_imports_running_key ON public.data_imports USING btree (user_id) WHERE (state = 'running'::text);
CREATE UNIQUE INDEX embedding_spaces_active_key ON public.embedding_spaces USING btree (user_id) WHERE (state = 'active'::text);
CREATE UNIQUE INDEX embedding_spaces_building_key ON public.embedding_spaces USING btree (user_id) WHERE (state = 'building'::text);
CREATE INDEX erasure_receipts_open_idx ON public.erasure_receipts USING btree (id) WHERE (finished_at IS NULL);
CREATE INDEX erasure_receipts_user_idx ON public.erasure_receipts USING btree (user_id) WHERE (user_id IS NOT NULL);
CREATE INDEX invitations_invited_by_idx ON public.invitations USING btree (invited_by);
CREATE INDEX invitations_used_by_idx ON public.invitations USING btree (used_by);
CREATE INDEX memory_item_embeddings_item_idx ON public.memory_item_embeddings USING btree (user_id, item_id);
CREATE INDEX memory_item_embeddings_near_idx ON public.memory_item_embeddings USING btree (user_id, space_id, is_turn) INCLUDE (item_id, theme_id, bits, item_live_until, item_created_at, item_type) WHERE (state = 'ready'::text);
CREATE INDEX memory_item_embeddings_open_idx ON public.memory_item_embeddings USING btree (user_id, space_id, state, is_turn, item_id) WHERE (state <> 'ready'::text);
CREATE INDEX memory_item_events_item_idx ON public.memory_item_events USING btree (user_id, item_id, id);
CREATE UNIQUE INDEX memory_items_active_content_key ON public.memory_items USING btree (user_id, theme_id, content_hash, key) INCLUDE (expires_at) NULLS NOT DISTINCT WHERE ((status = 'active'::text) AND (theme_id IS NOT NULL));
CREATE UNIQUE INDEX memory_items_active_key_key ON public.memory_items USING btree (user_id, theme_id, key) WHERE ((status = 'active'::text) AND (key IS NOT NULL));
CREATE INDEX memory_items_expiring_idx ON public.memory_items USING btree (expires_at, user_id) WHERE ((status = 'active'::text) AND (expires_at IS NOT NULL));
CREATE INDEX memory_items_recent_idx ON public.memory_items USING btree (user_id, is_turn, created_at DESC, id DESC);
CREATE INDEX memory_items_session_idx ON public.memory_items USING btree (user_id, session_id) WHERE (session_id IS NOT NULL);
CREATE INDEX memory_items_superseded_idx ON public.memory_items USING btree (user_id, superseded_by) WHERE (superseded_by IS NOT NULL);
CREATE INDEX memory_items_theme_recent_idx ON public.memory_items USING btree (user_id, theme_id, created_at DESC, id DESC);
CREATE UNIQUE INDEX memory_items_turn_key ON public.memory_items USING btree (user_id, turn_session_id, turn_position, turn_part) WHERE (turn_session_id IS NOT NULL);
CREATE INDEX memory_items_words_idx ON public.memory_items USING gin (user_id, is_turn, content_tsv) WITH (gin_pending_list_limit='256');
CREATE INDEX memory_summaries_due_idx ON public.memory_summaries USING btree (next_try_at, user_id) WHERE (next_try_at IS NOT NULL);
CREATE INDEX service_tokens_operator_idx ON public.service_tokens USING btree (operator_id);
CREATE INDEX session_extractions_due_idx ON public.session_extractions USING btree (next_try_at, id) WHERE ((outcome = 'pending'::text) OR (next_try_at IS NOT NULL));
CREATE INDEX sessions_agents_open_idx ON public.sessions USING btree (user_id, agent_id) WHERE (state = 'open'::text);
CREATE INDEX sessions_newest_idx ON public.sessions USING btree (user_id, last_message_at DESC, id DESC);
CREATE INDEX sessions_open_idx ON public.sessions USING btree (last_message_at) WHERE (state = 'open'::text);
CREATE INDEX sessions_turns_due_idx ON public.sessions USING btree (user_id, id) WHERE (turns_position < ledger_position);
CREATE UNIQUE INDEX system_providers_in_force_key ON public.system_providers USING btree (in_force) WHERE in_force;
CREATE INDEX users_without_turns_idx ON public.users USING btree (id) WHERE (NOT turns_searched);
CREATE INDEX web_sessions_expiry_idx ON public.web_sessions USING btree (expires_at);
CREATE INDEX web_sessions_user_idx ON public.web_sessions USING btree (user_id);
CREATE TRIGGER notify_workers AFTER INSERT ON apalis.jobs FOR EACH ROW EXECUTE FUNCTION apalis.notify_new_jobs();
CREATE TRIGGER drop_summary AFTER DELETE ON public.memory_summary_items REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION public.drop_summary_without_its_items();
ALTER TABLE ONLY apalis.jobs
    ADD CONSTRAINT fk_worker_lock_by FOREIGN KEY (lock_by) REFERENCES apalis.workers(id);
ALTER TABLE ONLY public.activity
    ADD CONSTRAINT activity_user_id_agent_id_fkey FOREIGN KEY (user_id, agent_id) REFERENCES public.agents(user_id, id);
ALTER TABLE ONLY public.activity
    ADD CONSTRAINT activity_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.admin_events
    ADD CONSTRAINT admin_events_actor_id_fkey FOREIGN KEY (actor_id) REFERENCES public.users(id) ON DELETE SET NULL;
ALTER TABLE ONLY public.admin_events
    ADD CONSTRAINT admin_events_subject_id_fkey FOREIGN KEY (subject_id) REFERENCES public.users(id) ON DELETE SET NULL;
ALTER TABLE ONLY public.agent_tokens
    ADD CONSTRAINT agent_tokens_user_id_agent_id_fkey FOREIGN KEY (user_id, agent_id) REFERENCES public.agents(user_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.agents
    ADD CONSTRAINT agents_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.chat_reservations
    ADD CONSTRAINT chat_reservations_user_id_day_fkey FOREIGN KEY (user_id, day) REFERENCES public.chat_spend(user_id, day) ON DELETE CASCADE;
ALTER TABLE ONLY public.chat_settings
    ADD CONSTRAINT chat_settings_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.chat_spend
    ADD CONSTRAINT chat_spend_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.data_imports
    ADD CONSTRAINT data_imports_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.embedding_settings
    ADD CONSTRAINT embedding_settings_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.embedding_spaces
    ADD CONSTRAINT embedding_spaces_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.evaluations
    ADD CONSTRAINT evaluations_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.invitations
    ADD CONSTRAINT invitations_invited_by_fkey FOREIGN KEY (invited_by) REFERENCES public.users(id) ON DELETE SET NULL;
ALTER TABLE ONLY public.invitations
    ADD CONSTRAINT invitations_used_by_fkey FOREIGN KEY (used_by) REFERENCES public.users(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.memory_item_embeddings
    ADD CONSTRAINT memory_item_embeddings_user_id_item_id_fkey FOREIGN KEY (user_id, item_id) REFERENCES public.memory_items(user_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.memory_item_embeddings
    ADD CONSTRAINT memory_item_embeddings_user_id_space_id_fkey FOREIGN KEY (user_id, space_id) REFERENCES public.embedding_spaces(user_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.memory_item_events
    ADD CONSTRAINT memory_item_events_user_id_agent_id_fkey FOREIGN KEY (user_id, agent_id) REFERENCES public.agents(user_id, id);
ALTER TABLE ONLY public.memory_item_events
    ADD CONSTRAINT memory_item_events_user_id_item_id_fkey FOREIGN KEY (user_id, item_id) REFERENCES public.memory_items(user_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.memory_items
    ADD CONSTRAINT memory_items_session_id_fkey FOREIGN KEY (user_id, session_id) REFERENCES public.sessions(user_id, id) ON DELETE SET NULL (session_id);
ALTER TABLE ONLY public.memory_items
    ADD CONSTRAINT memory_items_turn_fkey FOREIGN KEY (user_id, turn_session_id, turn_position) REFERENCES public.session_messages(user_id, session_id, "position") ON DELETE CASCADE;
ALTER TABLE ONLY public.memory_items
    ADD CONSTRAINT memory_items_user_id_agent_id_fkey FOREIGN KEY (user_id, agent_id) REFERENCES public.agents(user_id, id);
ALTER TABLE ONLY public.memory_items
    ADD CONSTRAINT memory_items_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.memory_items
    ADD CONSTRAINT memory_items_user_id_superseded_by_fkey FOREIGN KEY (user_id, superseded_by) REFERENCES public.memory_items(user_id, id);
ALTER TABLE ONLY public.memory_items
    ADD CONSTRAINT memory_items_user_id_theme_id_fkey FOREIGN KEY (user_id, theme_id) REFERENCES public.memory_themes(user_id, id);
ALTER TABLE ONLY public.memory_summaries
    ADD CONSTRAINT memory_summaries_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.memory_summary_items
    ADD CONSTRAINT memory_summary_items_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.memory_summaries(user_id) ON DELETE CASCADE;
ALTER TABLE ONLY public.memory_summary_items
    ADD CONSTRAINT memory_summary_items_user_id_item_id_fkey FOREIGN KEY (user_id, item_id) REFERENCES public.memory_items(user_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.memory_themes
    ADD CONSTRAINT memory_themes_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.service_tokens
    ADD CONSTRAINT service_tokens_operator_id_fkey FOREIGN KEY (operator_id) REFERENCES public.operators(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.session_extractions
    ADD CONSTRAINT session_extractions_user_id_session_id_fkey FOREIGN KEY (user_id, session_id) REFERENCES public.sessions(user_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.session_messages
    ADD CONSTRAINT session_messages_user_id_session_id_fkey FOREIGN KEY (user_id, session_id) REFERENCES public.sessions(user_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_user_id_agent_id_fkey FOREIGN KEY (user_id, agent_id) REFERENCES public.agents(user_id, id);
ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.users
    ADD CONSTRAINT users_operator_id_fkey FOREIGN KEY (operator_id) REFERENCES public.operators(id);
ALTER TABLE ONLY public.web_sessions
    ADD CONSTRAINT web_sessions_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;
ALTER TABLE public.account_tables ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.activity ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.admin_events ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.agent_tokens ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.agents ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.allowed_endpoints ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.chat_reservations ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.chat_settings ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.chat_spend ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.data_imports ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.embedding_settings ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.embedding_spaces ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.erasure_receipts ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.evaluations ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.invitations ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.memory_item_embeddings ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.memory_item_events ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.memory_items ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.memory_summaries ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.memory_summary_items ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.memory_themes ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.operators ENABLE ROW LEVEL SECURITY;
CREATE POLICY owner ON public.account_tables TO keepsake_owner USING (true) WITH CHECK (true);
CREATE POLICY owner ON public.activity TO keepsake_owner USING (true) WITH CHECK (true);
CREATE POLICY owner ON public.admin_events TO keepsake_owner USING (true) WITH CHECK (true);
CREATE POLICY owner ON public.agent_tokens TO keepsake_owner USING (true) WITH CHECK (true);
CREATE POLICY owner ON public.agents TO keepsake_owner USING (true) WITH CHECK (true);
CREATE POLICY owner ON public.allowed_endpoints TO keepsake_owner USING (true) WITH CHECK (true);
CREATE POLICY owner ON public.chat_reservations TO keepsake_owner USING (true) WITH CHECK (true);
CREATE POLICY owner ON public.chat_settings TO keepsake_owner USING (true) WITH CHECK (true);
CREATE POLICY owner ON public.chat_spend TO keepsake_owner USING (true) WITH CHECK (true);
CREATE POLICY owner ON public.data_imports TO keepsake_owner USING (true) WITH CHECK (true);
CREATE POLICY owner ON public.embedding_settings TO keepsake_owner USING (true) WITH CHECK (true);
CREATE POLICY owner ON public.embedding_spaces TO keepsake_owner USING (true) WITH CHECK (true);
CREATE POLICY owner ON public.erasure_receipts TO keepsake_owner USING (true) WITH CHECK (true);
CREATE POLICY owner ON public.evaluations TO keepsake_owner USING (true) WITH CHECK (true);
CREATE POLICY owner ON public.invitations TO keepsake_owner USING (true) WITH CHECK (true);
CREATE POLICY owner ON public.memory_item_embeddings TO keepsake_owner USING (true) WITH CHECK (true);
CREATE POLICY owner ON public.memory_item_events TO keepsake_owner USING (true) WITH CHECK (true);
CREATE POLICY owner ON public.memory_items TO keepsake_owner USING (true) WITH CHECK (true);
CREATE POLICY owner ON public.memory_summaries TO keepsake_owner USING (true) WITH CHECK (true);
CREATE POLICY owner ON public.memory_summary_items TO keepsake_owner USING (true) WITH CHECK (true);
CREATE POLICY owner ON public.memory_themes TO keepsake_owner USING (true) WITH CHECK (true);
CREATE POLICY owner ON public.operators TO keepsake_owner USING (true) WITH CHECK (true);
CREATE POLICY owner ON public.service_tokens TO keepsake_owner USING (true) WITH CHECK (true);
CREATE POLICY owner ON public.session_extractions TO keepsake_owner USING (true) WITH CHECK (true);
CREATE POLICY owner ON public.session_messages TO keepsake_owner USING (true) WITH CHECK (true);
CREATE POLICY owner ON public.sessions TO keepsake_owner USING (true) WITH CHECK (true);
CREATE POLICY owner ON public.system_chat_provider TO keepsake_owner USING (true) WITH CHECK (true);
CREATE POLICY owner ON public.system_providers TO keepsake_owner USING (true) WITH CHECK (true);
CREATE POLICY owner ON public.system_settings TO keepsake_owner USING (true) WITH CHECK (true);
CREATE POLICY owner ON public.users TO keepsake_owner USING (true) WITH CHECK (true);
CREATE POLICY owner ON public.web_sessions TO keepsake_owner USING (true) WITH CHECK (true);
ALTER TABLE public.service_tokens ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.session_extractions ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.session_messages ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.sessions ENABLE ROW LEVEL SECURITY;
CREATE POLICY system ON public.admin_events TO keepsake_system USING (true) WITH CHECK (true);
CREATE POLICY system ON public.agent_tokens TO keepsake_system USING (true) WITH CHECK (true);
CREATE POLICY system ON public.agents TO keepsake_system USING (true) WITH CHECK (true);
CREATE POLICY system ON public.allowed_endpoints TO keepsake_system USING (true) WITH CHECK (true);
CREATE POLICY system ON public.chat_settings FOR SELECT TO keepsake_system USING (true);
CREATE POLICY system ON public.embedding_settings FOR SELECT TO keepsake_system USING (true);
CREATE POLICY system ON public.embedding_spaces FOR SELECT TO keepsake_system USING (true);
CREATE POLICY system ON public.erasure_receipts FOR SELECT TO keepsake_system USING (true);
CREATE POLICY system ON public.invitations TO keepsake_system USING (true) WITH CHECK (true);
CREATE POLICY system ON public.memory_item_embeddings FOR SELECT TO keepsake_system USING (true);
CREATE POLICY system ON public.memory_item_events FOR SELECT TO keepsake_system USING (true);
CREATE POLICY system ON public.memory_items FOR SELECT TO keepsake_system USING (true);
CREATE POLICY system ON public.memory_summaries FOR SELECT TO keepsake_system USING (true);
CREATE POLICY system ON public.operators TO keepsake_system USING (true) WITH CHECK (true);
CREATE POLICY system ON public.service_tokens TO keepsake_system USING (true) WITH CHECK (true);
CREATE POLICY system ON public.session_extractions FOR SELECT TO keepsake_system USING (true);
CREATE POLICY system ON public.sessions FOR SELECT TO keepsake_system USING (true);
CREATE POLICY system ON public.system_chat_provider TO keepsake_system USING (true) WITH CHECK (true);
CREATE POLICY system ON public.system_providers TO keepsake_system USING (true) WITH CHECK (true);
CREATE POLICY system ON public.system_settings TO keepsake_system USING (true) WITH CHECK (true);
CREATE POLICY system ON public.users TO keepsake_system USING (true) WITH CHECK (true);
CREATE POLICY system ON public.web_sessions TO keepsake_system USING (true) WITH CHECK (true);
ALTER TABLE public.system_chat_provider ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.system_providers ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.system_settings ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON public.activity TO keepsake_app USING ((user_id = ( SELECT public.current_user_id() AS current_user_id)));
CREATE POLICY tenant ON public.agent_tokens TO keepsake_app USING ((user_id = ( SELECT public.current_user_id() AS current_user_id)));
CREATE POLICY tenant ON public.agents TO keepsake_app USING ((user_id = ( SELECT public.current_user_id() AS current_user_id)));
CREATE POLICY tenant ON public.chat_reservations TO keepsake_app USING ((user_id = ( SELECT public.current_user_id() AS current_user_id)));
CREATE POLICY tenant ON public.chat_settings TO keepsake_app USING ((user_id = ( SELECT public.current_user_id() AS current_user_id)));
CREATE POLICY tenant ON public.chat_spend TO keepsake_app USING ((user_id = ( SELECT public.current_user_id() AS current_user_id)));
CREATE POLICY tenant ON public.data_imports TO keepsake_app USING ((user_id = ( SELECT public.current_user_id() AS current_user_id)));
CREATE POLICY tenant ON public.embedding_settings TO keepsake_app USING ((user_id = ( SELECT public.current_user_id() AS current_user_id)));
CREATE POLICY tenant ON public.embedding_spaces TO keepsake_app USING ((user_id = ( SELECT public.current_user_id() AS current_user_id)));
CREATE POLICY tenant ON public.evaluations TO keepsake_app USING ((user_id = ( SELECT public.current_user_id() AS current_user_id)));
CREATE POLICY tenant ON public.memory_item_embeddings TO keepsake_app USING ((user_id = ( SELECT public.current_user_id() AS current_user_id)));
CREATE POLICY tenant ON public.memory_item_events TO keepsake_app USING ((user_id = ( SELECT public.current_user_id() AS current_user_id)));
CREATE POLICY tenant ON public.memory_items TO keepsake_app USING ((user_id = ( SELECT public.current_user_id() AS current_user_id)));
CREATE POLICY tenant ON public.memory_summaries TO keepsake_app USING ((user_id = ( SELECT public.current_user_id() AS current_user_id)));
CREATE POLICY tenant ON public.memory_summary_items TO keepsake_app USING ((user_id = ( SELECT public.current_user_id() AS current_user_id)));
CREATE POLICY tenant ON public.memory_themes TO keepsake_app USING ((user_id = ( SELECT public.current_user_id() AS current_user_id)));
CREATE POLICY tenant ON public.session_extractions TO keepsake_app USING ((user_id = ( SELECT public.current_user_id() AS current_user_id)));
CREATE POLICY tenant ON public.session_messages TO keepsake_app USING ((user_id = ( SELECT public.current_user_id() AS current_user_id)));
CREATE POLICY tenant ON public.sessions TO keepsake_app USING ((user_id = ( SELECT public.current_user_id() AS current_user_id)));
CREATE POLICY tenant ON public.users TO keepsake_app USING ((id = ( SELECT public.current_user_id() AS current_user_id)));
ALTER TABLE public.users ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.web_sessions ENABLE ROW LEVEL SECURITY;
GRANT USAGE ON SCHEMA apalis TO keepsake_app;
GRANT USAGE ON SCHEMA apalis TO keepsake_system;
GRANT ALL ON SCHEMA public TO keepsake_owner;
GRANT USAGE ON SCHEMA public TO keepsake_app;
GRANT USAGE ON SCHEMA public TO keepsake_system;
GRANT ALL ON FUNCTION apalis.generate_ulid() TO keepsake_app;
GRANT ALL ON FUNCTION apalis.generate_ulid() TO keepsake_system;
GRANT INSERT ON TABLE apalis.jobs TO keepsake_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE apalis.jobs TO keepsake_system;
GRANT SELECT(job_type) ON TABLE apalis.jobs TO keepsake_app;
GRANT SELECT(status) ON TABLE apalis.jobs TO keepsake_app;
GRANT SELECT(run_at),UPDATE(run_at) ON TABLE apalis.jobs TO keepsake_app;
GRANT SELECT(idempotency_key) ON TABLE apalis.jobs TO keepsake_app;
GRANT ALL ON FUNCTION apalis.get_jobs(worker_id text, v_job_type text, v_job_count integer) TO keepsake_app;
GRANT ALL ON FUNCTION apalis.get_jobs(worker_id text, v_job_type text, v_job_count integer) TO keepsake_system;
GRANT ALL ON FUNCTION apalis.notify_new_jobs() TO keepsake_app;
GRANT ALL ON FUNCTION apalis.notify_new_jobs() TO keepsake_system;
GRANT ALL ON FUNCTION apalis.push_job(job_type text, job json, status text, run_at timestamp with time zone, max_attempts integer, priority integer) TO keepsake_app;
GRANT ALL ON FUNCTION apalis.push_job(job_type text, job json, status text, run_at timestamp with time zone, max_attempts integer, priority integer) TO keepsake_system;
REVOKE ALL ON FUNCTION public.account_rows(account bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION public.account_rows(account bigint) TO keepsake_system;
REVOKE ALL ON FUNCTION public.begin_account_erasure(account bigint, receipt text, at timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION public.begin_account_erasure(account bigint, receipt text, at timestamp with time zone) TO keepsake_system;
REVOKE ALL ON FUNCTION public.erase_account_step(rows_max integer, at timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION public.erase_account_step(rows_max integer, at timestamp with time zone) TO keepsake_system;
REVOKE ALL ON FUNCTION public.erase_item(erased_item bigint, receipt text, at timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION public.erase_item(erased_item bigint, receipt text, at timestamp with time zone) TO keepsake_app;
REVOKE ALL ON FUNCTION public.erase_session(erased_session bigint, with_memories boolean, receipt text, at timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION public.erase_session(erased_session bigint, with_memories boolean, receipt text, at timestamp with time zone) TO keepsake_app;
REVOKE ALL ON FUNCTION public.forget_activity_queries() FROM PUBLIC;
GRANT ALL ON FUNCTION public.forget_activity_queries() TO keepsake_app;
REVOKE ALL ON FUNCTION public.prune_activity(after_user bigint, OUT pruned bigint, OUT next_after bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION public.prune_activity(after_user bigint, OUT pruned bigint, OUT next_after bigint) TO keepsake_system;
REVOKE ALL ON FUNCTION public.remove_item(me bigint, removed_item bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION public.remove_turns(rows_max integer) FROM PUBLIC;
GRANT ALL ON FUNCTION public.remove_turns(rows_max integer) TO keepsake_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE apalis.workers TO keepsake_system;
GRANT SELECT(version) ON TABLE public._sqlx_migrations TO keepsake_system;
GRANT SELECT(success) ON TABLE public._sqlx_migrations TO keepsake_system;
GRANT SELECT,INSERT ON TABLE public.activity TO keepsake_app;
GRANT SELECT,INSERT ON TABLE public.admin_events TO keepsake_system;
GRANT SELECT,INSERT ON TABLE public.agent_tokens TO keepsake_app;
GRANT SELECT,INSERT ON TABLE public.agent_tokens TO keepsake_system;
GRANT UPDATE(last_used_at) ON TABLE public.agent_tokens TO keepsake_system;
GRANT UPDATE(revoked_at) ON TABLE public.agent_tokens TO keepsake_app;
GRANT SELECT,INSERT ON TABLE public.agents TO keepsake_app;
GRANT SELECT,INSERT ON TABLE public.agents TO keepsake_system;
GRANT UPDATE(memory_enabled) ON TABLE public.agents TO keepsake_app;
GRANT UPDATE(tool_profile) ON TABLE public.agents TO keepsake_app;
GRANT SELECT,INSERT,DELETE ON TABLE public.allowed_endpoints TO keepsake_system;
GRANT SELECT,INSERT,DELETE ON TABLE public.chat_reservations TO keepsake_app;
GRANT SELECT,INSERT,UPDATE ON TABLE public.chat_settings TO keepsake_app;
GRANT SELECT(user_id) ON TABLE public.chat_settings TO keepsake_system;
GRANT SELECT(enabled) ON TABLE public.chat_settings TO keepsake_system;
GRANT SELECT(own_enabled) ON TABLE public.chat_settings TO keepsake_system;
GRANT SELECT(summary_enabled) ON TABLE public.chat_settings TO keepsake_system;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.chat_spend TO keepsake_app;
GRANT SELECT,INSERT,UPDATE ON TABLE public.data_imports TO keepsake_app;
GRANT SELECT,INSERT,UPDATE ON TABLE public.embedding_settings TO keepsake_app;
GRANT SELECT(user_id) ON TABLE public.embedding_settings TO keepsake_system;
GRANT SELECT(enabled) ON TABLE public.embedding_settings TO keepsake_system;
GRANT SELECT(own_enabled) ON TABLE public.embedding_settings TO keepsake_system;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.embedding_spaces TO keepsake_app;
GRANT SELECT(user_id) ON TABLE public.embedding_spaces TO keepsake_system;
GRANT SELECT(id) ON TABLE public.embedding_spaces TO keepsake_system;
GRANT SELECT(provider_type) ON TABLE public.embedding_spaces TO keepsake_system;
GRANT SELECT(endpoint) ON TABLE public.embedding_spaces TO keepsake_system;
GRANT SELECT(model) ON TABLE public.embedding_spaces TO keepsake_system;
GRANT SELECT(requested_dimensions) ON TABLE public.embedding_spaces TO keepsake_system;
GRANT SELECT(document_prefix) ON TABLE public.embedding_spaces TO keepsake_system;
GRANT SELECT(system_provider_id) ON TABLE public.embedding_spaces TO keepsake_system;
GRANT SELECT(state) ON TABLE public.embedding_spaces TO keepsake_system;
GRANT SELECT(problem) ON TABLE public.embedding_spaces TO keepsake_system;
GRANT SELECT(failures) ON TABLE public.embedding_spaces TO keepsake_system;
GRANT SELECT(retry_at) ON TABLE public.embedding_spaces TO keepsake_system;
GRANT SELECT(lease_until) ON TABLE public.embedding_spaces TO keepsake_system;
GRANT SELECT(created_at) ON TABLE public.embedding_spaces TO keepsake_system;
GRANT SELECT(retired_at) ON TABLE public.embedding_spaces TO keepsake_system;
GRANT SELECT ON TABLE public.erasure_receipts TO keepsake_system;
GRANT SELECT,INSERT,DELETE ON TABLE public.evaluations TO keepsake_app;
GRANT SELECT,INSERT,DELETE ON TABLE public.invitations TO keepsake_system;
GRANT UPDATE(revoked_at) ON TABLE public.invitations TO keepsake_system;
GRANT UPDATE(used_at) ON TABLE public.invitations TO keepsake_system;
GRANT UPDATE(used_by) ON TABLE public.invitations TO keepsake_system;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.memory_item_embeddings TO keepsake_app;
GRANT SELECT(user_id) ON TABLE public.memory_item_embeddings TO keepsake_system;
GRANT SELECT(space_id) ON TABLE public.memory_item_embeddings TO keepsake_system;
GRANT SELECT(item_id) ON TABLE public.memory_item_embeddings TO keepsake_system;
GRANT SELECT(state) ON TABLE public.memory_item_embeddings TO keepsake_system;
GRANT SELECT(updated_at) ON TABLE public.memory_item_embeddings TO keepsake_system;
GRANT SELECT,INSERT ON TABLE public.memory_item_events TO keepsake_app;
GRANT SELECT(user_id) ON TABLE public.memory_item_events TO keepsake_system;
GRANT SELECT(id) ON TABLE public.memory_item_events TO keepsake_system;
GRANT SELECT(at) ON TABLE public.memory_item_events TO keepsake_system;
GRANT SELECT,INSERT,UPDATE ON TABLE public.memory_items TO keepsake_app;
GRANT SELECT(user_id) ON TABLE public.memory_items TO keepsake_system;
GRANT SELECT(id) ON TABLE public.memory_items TO keepsake_system;
GRANT SELECT(status) ON TABLE public.memory_items TO keepsake_system;
GRANT SELECT(expires_at) ON TABLE public.memory_items TO keepsake_system;
GRANT SELECT(is_turn) ON TABLE public.memory_items TO keepsake_system;
GRANT SELECT,INSERT,UPDATE ON TABLE public.memory_summaries TO keepsake_app;
GRANT SELECT(user_id) ON TABLE public.memory_summaries TO keepsake_system;
GRANT SELECT(tried_event) ON TABLE public.memory_summaries TO keepsake_system;
GRANT SELECT(next_try_at) ON TABLE public.memory_summaries TO keepsake_system;
GRANT SELECT(lease_until) ON TABLE public.memory_summaries TO keepsake_system;
GRANT SELECT(started_at) ON TABLE public.memory_summaries TO keepsake_system;
GRANT SELECT,INSERT,DELETE ON TABLE public.memory_summary_items TO keepsake_app;
GRANT SELECT,INSERT,UPDATE ON TABLE public.memory_themes TO keepsake_app;
GRANT SELECT,INSERT ON TABLE public.operators TO keepsake_system;
GRANT UPDATE(users_max) ON TABLE public.operators TO keepsake_system;
GRANT UPDATE(users_count) ON TABLE public.operators TO keepsake_system;
GRANT UPDATE(tool_profile) ON TABLE public.operators TO keepsake_system;
GRANT SELECT,INSERT ON TABLE public.service_tokens TO keepsake_system;
GRANT UPDATE(last_used_at) ON TABLE public.service_tokens TO keepsake_system;
GRANT UPDATE(revoked_at) ON TABLE public.service_tokens TO keepsake_system;
GRANT SELECT,INSERT,UPDATE ON TABLE public.session_extractions TO keepsake_app;
GRANT SELECT(user_id) ON TABLE public.session_extractions TO keepsake_system;
GRANT SELECT(id) ON TABLE public.session_extractions TO keepsake_system;
GRANT SELECT(session_id) ON TABLE public.session_extractions TO keepsake_system;
GRANT SELECT(first_position) ON TABLE public.session_extractions TO keepsake_system;
GRANT SELECT(outcome) ON TABLE public.session_extractions TO keepsake_system;
GRANT SELECT(next_try_at) ON TABLE public.session_extractions TO keepsake_system;
GRANT SELECT(lease_until) ON TABLE public.session_extractions TO keepsake_system;
GRANT SELECT,INSERT ON TABLE public.session_messages TO keepsake_app;
GRANT SELECT,INSERT,UPDATE ON TABLE public.sessions TO keepsake_app;
GRANT SELECT(user_id) ON TABLE public.sessions TO keepsake_system;
GRANT SELECT(id) ON TABLE public.sessions TO keepsake_system;
GRANT SELECT(state) ON TABLE public.sessions TO keepsake_system;
GRANT SELECT(ledger_position) ON TABLE public.sessions TO keepsake_system;
GRANT SELECT(opened_at) ON TABLE public.sessions TO keepsake_system;
GRANT SELECT(last_message_at) ON TABLE public.sessions TO keepsake_system;
GRANT SELECT(turns_position) ON TABLE public.sessions TO keepsake_system;
GRANT SELECT,UPDATE ON TABLE public.system_chat_provider TO keepsake_system;
GRANT SELECT,INSERT,UPDATE ON TABLE public.system_providers TO keepsake_system;
GRANT SELECT,UPDATE ON TABLE public.system_settings TO keepsake_system;
GRANT SELECT ON TABLE public.users TO keepsake_app;
GRANT SELECT,INSERT,UPDATE ON TABLE public.users TO keepsake_system;
GRANT UPDATE(updated_at) ON TABLE public.users TO keepsake_app;
GRANT UPDATE(memory_enabled) ON TABLE public.users TO keepsake_app;
GRANT UPDATE(activity_queries) ON TABLE public.users TO keepsake_app;
GRANT UPDATE(turns_searched) ON TABLE public.users TO keepsake_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.web_sessions TO keepsake_system;
