-- Background work (src/queue, src/jobs). All of it is hints: what is due follows from the
-- rows of the domain, and every minute the sweep puts on again what is missing here.

-- What is due for whom: one row a user and job. User 0 is the server itself.
CREATE TABLE job_queue (
    user_id       bigint NOT NULL,
    job           text NOT NULL,
    run_at        timestamptz,                -- not before; NULL: nothing is due
    waiting_since timestamptz NOT NULL,       -- since it is due, or since its last slice
    size          integer NOT NULL DEFAULT 0, -- about how much there is to do
    pushes        bigint NOT NULL DEFAULT 1,  -- raised by each push, so that a run sees that more has come
    attempts      integer NOT NULL DEFAULT 0, -- runs since the last that ended well
    problem       text,                       -- why the last run failed
    lease         bigint,                     -- the process that runs it …
    lease_until   timestamptz,                -- … and renews this
    PRIMARY KEY (user_id, job)
);
CREATE INDEX job_queue_due_idx ON job_queue (run_at) WHERE run_at IS NOT NULL;
CREATE INDEX job_queue_lease_idx ON job_queue (lease) WHERE lease IS NOT NULL;

-- Runs, without content, for 30 days. Slices of one work, and runs that follow each other within
-- minutes, are one row.
CREATE TABLE job_runs (
    user_id    bigint NOT NULL,
    id         bigint GENERATED ALWAYS AS IDENTITY,
    job        text NOT NULL,
    started_at timestamptz NOT NULL,
    ended_at   timestamptz NOT NULL,
    slices     integer NOT NULL DEFAULT 1,
    took_ms    bigint NOT NULL,
    outcome    text NOT NULL CONSTRAINT job_runs_outcome_check CHECK (outcome IN ('done', 'failed')),
    done       bigint NOT NULL DEFAULT 0,     -- rows worked on
    failed     bigint NOT NULL DEFAULT 0,     -- rows that could not be
    problem    text,
    PRIMARY KEY (user_id, id)
);
CREATE INDEX job_runs_latest_idx ON job_runs (user_id, job, id);
CREATE INDEX job_runs_ended_idx ON job_runs (ended_at);

-- What an admin has set.
CREATE TABLE job_settings (
    job       text PRIMARY KEY,
    paused_at timestamptz
);

ALTER TABLE job_queue    ENABLE ROW LEVEL SECURITY;
ALTER TABLE job_queue    FORCE  ROW LEVEL SECURITY;
ALTER TABLE job_runs     ENABLE ROW LEVEL SECURITY;
ALTER TABLE job_runs     FORCE  ROW LEVEL SECURITY;
ALTER TABLE job_settings ENABLE ROW LEVEL SECURITY;
ALTER TABLE job_settings FORCE  ROW LEVEL SECURITY;
CREATE POLICY owner  ON job_queue    TO keepsake_owner USING (true) WITH CHECK (true);
CREATE POLICY owner  ON job_runs     TO keepsake_owner USING (true) WITH CHECK (true);
CREATE POLICY owner  ON job_settings TO keepsake_owner USING (true) WITH CHECK (true);
CREATE POLICY tenant ON job_queue    TO keepsake_app USING (user_id = (SELECT current_user_id()));
CREATE POLICY tenant ON job_runs     FOR SELECT TO keepsake_app USING (user_id = (SELECT current_user_id()));
CREATE POLICY system ON job_queue    TO keepsake_system USING (true) WITH CHECK (true);
CREATE POLICY system ON job_runs     TO keepsake_system USING (true) WITH CHECK (true);
CREATE POLICY system ON job_settings TO keepsake_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE ON job_queue TO keepsake_app;
GRANT SELECT ON job_runs TO keepsake_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON job_queue, job_runs, job_settings TO keepsake_system;
ALTER TABLE job_queue ALTER COLUMN problem SET STATISTICS 0;
ALTER TABLE job_runs  ALTER COLUMN problem SET STATISTICS 0;

-- The queue's row of an account goes with the account; its runs go before.
INSERT INTO account_tables (name, place) VALUES ('job_runs', 105), ('job_queue', NULL);

-- A bounded step of an account's erasure: `rows_max` rows, table by table, and at last the user, once
-- next to nothing else is left. 'more', 'finished', 'waiting' for a job of the account that runs, or
-- 'nothing' to do. The receipt grows in the same transaction.
DROP FUNCTION erase_account_step(integer, timestamptz);
CREATE FUNCTION erase_account_step(account bigint, rows_max integer, at timestamptz) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    receipt erasure_receipts;
    one     text;
    n       bigint;
    rest    jsonb;
    budget  bigint := rows_max;
BEGIN
    SELECT * INTO receipt FROM erasure_receipts
    WHERE user_id = account AND kind = 'account' AND finished_at IS NULL ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN 'nothing';
    END IF;
    -- Waits for whoever was let in before and is adding just now, and holds off all others
    -- until this step ends: every row they add locks its user first.
    PERFORM FROM users WHERE id = account FOR UPDATE;
    UPDATE memory_items SET superseded_by = NULL WHERE user_id = account AND ctid = ANY (ARRAY(
        SELECT ctid FROM memory_items WHERE user_id = account AND superseded_by IS NOT NULL LIMIT rows_max));
    GET DIAGNOSTICS n = ROW_COUNT;
    budget := budget - n;
    FOR one IN SELECT name FROM account_tables WHERE place IS NOT NULL ORDER BY place LOOP
        IF budget <= 0 THEN
            RETURN 'more';
        END IF;
        EXECUTE format('DELETE FROM %1$I WHERE user_id = $1 AND ctid = ANY (ARRAY(
                            SELECT ctid FROM %1$I WHERE user_id = $1 LIMIT $2))', one)
            USING account, budget;
        GET DIAGNOSTICS n = ROW_COUNT;
        budget := budget - n;
        UPDATE erasure_receipts
        SET erased = erased || jsonb_build_object(one, coalesce((erased->>one)::bigint, 0) + n)
        WHERE id = receipt.id AND n > 0;
    END LOOP;
    -- What another job of the account writes would outlive it.
    IF EXISTS (SELECT FROM job_queue WHERE user_id = account AND job <> 'erase'
                                       AND lease_until BETWEEN at AND at + interval '1 minute') THEN
        RETURN 'waiting';
    END IF;
    -- What was written meanwhile goes with the user.
    rest := account_rows(account);
    SELECT sum(value::bigint) INTO n FROM jsonb_each_text(rest);
    IF n > rows_max THEN
        RETURN 'more';
    END IF;
    UPDATE operators SET users_count = users_count - 1
    WHERE id = (SELECT operator_id FROM users WHERE users.id = account);
    DELETE FROM job_queue WHERE user_id = account;
    DELETE FROM job_runs WHERE user_id = account;
    DELETE FROM users WHERE id = account;
    UPDATE erasure_receipts
    SET finished_at = at,
        erased = (SELECT jsonb_object_agg(key, coalesce((erased->>key)::bigint, 0) + value::bigint)
                  FROM jsonb_each_text(rest))
    WHERE id = receipt.id;
    UPDATE erasure_receipts SET user_id = NULL WHERE user_id = account;
    RETURN 'finished';
END $$;
REVOKE ALL ON FUNCTION erase_account_step(bigint, integer, timestamptz) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION erase_account_step(bigint, integer, timestamptz) TO keepsake_system;

-- Whoever works on a user's vectors has the lease of the job.
ALTER TABLE embedding_spaces DROP COLUMN lease_until;

-- The queue before this one. Its jobs were hints: the sweep puts them on again.
DROP SCHEMA IF EXISTS apalis CASCADE;
