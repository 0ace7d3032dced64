-- What removes a bounded number of rows names them by ctid, which tells rows of one table apart. In a
-- partitioned table, or one that is distributed, each part counts for itself: the same ctid is somebody
-- else's row in another. So they are named by their user as well. Nothing else changes; functions keep
-- their owner and who may call them.

CREATE OR REPLACE FUNCTION prune_activity(after_user bigint, OUT pruned bigint, OUT next_after bigint)
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
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

CREATE OR REPLACE FUNCTION erase_account_step(rows_max integer, at timestamptz) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
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
END $$;

CREATE OR REPLACE FUNCTION remove_turns(rows_max integer) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
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
