-- The log of calls.

-- Removes the queries of the current user's calls; the rows stay. Returns their number.
CREATE OR REPLACE FUNCTION forget_activity_queries() RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    forgotten bigint;
BEGIN
    UPDATE activity SET query = NULL WHERE user_id = current_user_id() AND query IS NOT NULL;
    GET DIAGNOSTICS forgotten = ROW_COUNT;
    RETURN forgotten;
END $$;

-- Removes calls of more than 90 days ago and beyond 100,000 of a user (10,000 of members), at most 10,000 rows of 100 users. Pass
-- `next_after` to go on; NULL at the end.
CREATE OR REPLACE FUNCTION prune_activity(after_user bigint, today timestamptz, OUT pruned bigint, OUT next_after bigint)
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    past    CONSTANT timestamptz := today - interval '90 days';
    looked  bigint := 0;
    removed bigint;
    one     bigint;
    last_at timestamptz;
    last_id bigint;
    since_at timestamptz;
    since_id bigint;
BEGIN
    pruned := 0;
    IF NOT pg_try_advisory_xact_lock(hashtextextended('keepsake prune_activity', 0)) THEN
        RETURN;
    END IF;
    FOR one IN SELECT id FROM users WHERE id > after_user ORDER BY id LIMIT 100 LOOP
        last_at := NULL;
        since_at := NULL;
        -- Who had no call since the day before yesterday has not become too many since then.
        IF EXISTS (SELECT FROM activity WHERE user_id = one AND at > today - interval '2 days') THEN
            SELECT at, id INTO last_at, last_id FROM activity WHERE user_id = one AND member_user IS NULL
            ORDER BY at DESC, id DESC OFFSET 100000 LIMIT 1;
            SELECT at, id INTO since_at, since_id FROM activity WHERE user_id = one AND member_user IS NOT NULL
            ORDER BY at DESC, id DESC OFFSET 10000 LIMIT 1;
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
        IF since_at IS NOT NULL THEN
            DELETE FROM activity WHERE user_id = one AND ctid = ANY (ARRAY(
                SELECT ctid FROM activity WHERE user_id = one AND member_user IS NOT NULL AND (at, id) <= (since_at, since_id)
                ORDER BY at, id LIMIT 10000 - pruned));
            GET DIAGNOSTICS removed = ROW_COUNT;
            pruned := pruned + removed;
        END IF;
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
