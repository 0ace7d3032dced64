-- Your data: erasure with its receipts, and the progress of imports.
--
-- Nothing that agents reach may delete: the app role still has no DELETE on items,
-- events or activity. Three functions of the owner are the only way, and each is
-- bound to what it may erase: `erase_item` to the transaction's user, `erase_account_step`
-- to accounts whose erasure has begun, `begin_account_erasure` to one account that is
-- not the last admin's. Only src/erasure/store.rs calls them.

ALTER TABLE users ADD COLUMN erasing_at timestamptz;    -- all of it goes; it is disabled as well

-- An import keeps what the history says and adds that it was imported.
ALTER TABLE memory_item_events DROP CONSTRAINT memory_item_events_event_check;
ALTER TABLE memory_item_events ADD CONSTRAINT memory_item_events_event_check
    CHECK (event IN ('added', 'archived', 'imported'));

-- Erasing an item looks for those whose place it took; few have one.
CREATE INDEX memory_items_superseded_idx ON memory_items (user_id, superseded_by) WHERE superseded_by IS NOT NULL;

-- An upload that is being taken in, or was: counts alone, never content.
CREATE TABLE data_imports (
    user_id     bigint NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    id          bigint GENERATED ALWAYS AS IDENTITY,
    state       text NOT NULL CONSTRAINT data_imports_state_check CHECK (state IN ('running', 'done', 'failed')),
    bytes_total bigint NOT NULL,
    bytes_done  bigint NOT NULL DEFAULT 0,
    added       bigint NOT NULL DEFAULT 0,
    known       bigint NOT NULL DEFAULT 0,
    failed      bigint NOT NULL DEFAULT 0,
    problems    jsonb NOT NULL DEFAULT '[]',    -- of the first that failed: place and sentence
    error       text,                           -- why it stopped
    started_at  timestamptz NOT NULL,
    updated_at  timestamptz NOT NULL,           -- while it runs, at least every few seconds
    PRIMARY KEY (user_id, id)
);
CREATE UNIQUE INDEX data_imports_running_key ON data_imports (user_id) WHERE state = 'running';

-- What was erased, in numbers: no name, no content, no address. It outlives the account.
CREATE TABLE erasure_receipts (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    public_id    text NOT NULL,                 -- random; whoever holds it may see the receipt
    kind         text NOT NULL CONSTRAINT erasure_receipts_kind_check CHECK (kind IN ('item', 'session', 'account')),
    user_id      bigint,                        -- whose, until the account is gone
    found        jsonb NOT NULL,                -- rows of each table at the beginning
    erased       jsonb NOT NULL DEFAULT '{}',   -- rows of each table that are gone
    requested_at timestamptz NOT NULL,
    finished_at  timestamptz,
    CONSTRAINT erasure_receipts_public_id_key UNIQUE (public_id)
);
CREATE INDEX erasure_receipts_open_idx ON erasure_receipts (id) WHERE finished_at IS NULL;
CREATE INDEX erasure_receipts_user_idx ON erasure_receipts (user_id) WHERE user_id IS NOT NULL;

ALTER TABLE data_imports     ENABLE ROW LEVEL SECURITY;
ALTER TABLE data_imports     FORCE  ROW LEVEL SECURITY;
ALTER TABLE erasure_receipts ENABLE ROW LEVEL SECURITY;
ALTER TABLE erasure_receipts FORCE  ROW LEVEL SECURITY;

CREATE POLICY owner  ON data_imports     TO keepsake_owner USING (true) WITH CHECK (true);
CREATE POLICY owner  ON erasure_receipts TO keepsake_owner USING (true) WITH CHECK (true);
CREATE POLICY tenant ON data_imports     TO keepsake_app USING (user_id = (SELECT current_user_id()));
CREATE POLICY system ON erasure_receipts FOR SELECT TO keepsake_system USING (true);

GRANT SELECT, INSERT, UPDATE ON data_imports TO keepsake_app;
GRANT SELECT ON erasure_receipts TO keepsake_system;

-- One item of a user and all that derives from it, and how much that was. The calls that were
-- about it stay, without its number and without their words. Its theme goes where nothing else
-- is in it and nobody is adding to it. NULL where there is no such item; a turn goes with its
-- session. For the functions that erase, which say whose it is.
CREATE FUNCTION remove_item(me bigint, removed_item bigint) RETURNS jsonb
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
REVOKE ALL ON FUNCTION remove_item(bigint, bigint) FROM PUBLIC;

-- One item of the current user. NULL where there is no such item.
CREATE FUNCTION erase_item(erased_item bigint, receipt text, at timestamptz) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
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
REVOKE ALL ON FUNCTION erase_item(bigint, text, timestamptz) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION erase_item(bigint, text, timestamptz) TO keepsake_app;

-- What an account's rows are in, by the order in which they go: those that refer to others
-- first. A table without a place goes with its user. Whoever makes a table adds it here.
CREATE TABLE account_tables (
    name  text PRIMARY KEY,
    place integer
);
INSERT INTO account_tables (name, place) VALUES
    ('memory_item_embeddings', 10), ('memory_item_events', 20), ('activity', 30), ('memory_items', 40),
    ('memory_themes', 50), ('embedding_spaces', 60), ('agent_tokens', 70), ('agents', 80),
    ('data_imports', 90), ('web_sessions', 100), ('embedding_settings', NULL);
ALTER TABLE account_tables ENABLE ROW LEVEL SECURITY;
ALTER TABLE account_tables FORCE  ROW LEVEL SECURITY;
CREATE POLICY owner ON account_tables TO keepsake_owner USING (true) WITH CHECK (true);

-- Rows of an account, by table; what goes with it.
CREATE FUNCTION account_rows(account bigint) RETURNS jsonb
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
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
END $$;
REVOKE ALL ON FUNCTION account_rows(bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION account_rows(bigint) TO keepsake_system;

-- From here on nobody is signed in to the account, no token opens it, no vector is made
-- for it, and rows go. 'last_admin' where others would be left without an admin, 'gone'
-- where there is no such account or its erasure has begun.
CREATE FUNCTION begin_account_erasure(account bigint, receipt text, at timestamptz) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
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
REVOKE ALL ON FUNCTION begin_account_erasure(bigint, text, timestamptz) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION begin_account_erasure(bigint, text, timestamptz) TO keepsake_system;

-- One bounded step of the oldest erasure that nobody is at: `rows_max` rows, table by table,
-- and at last the user, once next to nothing else is left. 'more', 'finished', 'waiting' for a job
-- of the account that runs, or 'nothing' to do. The receipt grows in the same transaction.
CREATE FUNCTION erase_account_step(rows_max integer, at timestamptz) RETURNS text
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
REVOKE ALL ON FUNCTION erase_account_step(integer, timestamptz) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION erase_account_step(integer, timestamptz) TO keepsake_system;

-- ANALYZE keeps samples of values in pg_statistic, where they outlive their rows until the
-- next ANALYZE. No plan asks for those of these columns: they are texts and what derives
-- from them, found by equality in unique indexes or by operators that take no sample of a
-- parameter.
ALTER TABLE users
    ALTER COLUMN email SET STATISTICS 0, ALTER COLUMN password_hash SET STATISTICS 0,
    ALTER COLUMN external_id SET STATISTICS 0;
ALTER TABLE web_sessions ALTER COLUMN id_hash SET STATISTICS 0, ALTER COLUMN data SET STATISTICS 0;
ALTER TABLE agents ALTER COLUMN name SET STATISTICS 0;
ALTER TABLE agent_tokens ALTER COLUMN token_hash SET STATISTICS 0, ALTER COLUMN hint SET STATISTICS 0;
ALTER TABLE memory_themes
    ALTER COLUMN slug SET STATISTICS 0, ALTER COLUMN display_name SET STATISTICS 0,
    ALTER COLUMN description SET STATISTICS 0;
ALTER TABLE memory_items
    ALTER COLUMN key SET STATISTICS 0, ALTER COLUMN content SET STATISTICS 0,
    ALTER COLUMN content_hash SET STATISTICS 0, ALTER COLUMN tags SET STATISTICS 0,
    ALTER COLUMN source SET STATISTICS 0, ALTER COLUMN source_context SET STATISTICS 0,
    ALTER COLUMN attributes SET STATISTICS 0, ALTER COLUMN content_tsv SET STATISTICS 0;
ALTER TABLE embedding_settings
    ALTER COLUMN endpoint SET STATISTICS 0, ALTER COLUMN model SET STATISTICS 0,
    ALTER COLUMN query_prefix SET STATISTICS 0, ALTER COLUMN document_prefix SET STATISTICS 0,
    ALTER COLUMN sealed_key SET STATISTICS 0, ALTER COLUMN declined SET STATISTICS 0;
ALTER TABLE embedding_spaces
    ALTER COLUMN endpoint SET STATISTICS 0, ALTER COLUMN model SET STATISTICS 0,
    ALTER COLUMN query_prefix SET STATISTICS 0, ALTER COLUMN document_prefix SET STATISTICS 0,
    ALTER COLUMN sealed_key SET STATISTICS 0, ALTER COLUMN problem SET STATISTICS 0;
ALTER TABLE memory_item_embeddings
    ALTER COLUMN content_hash SET STATISTICS 0, ALTER COLUMN error SET STATISTICS 0,
    ALTER COLUMN bits SET STATISTICS 0, ALTER COLUMN embedding SET STATISTICS 0;
ALTER TABLE activity ALTER COLUMN query SET STATISTICS 0;
ALTER TABLE erasure_receipts ALTER COLUMN public_id SET STATISTICS 0;
