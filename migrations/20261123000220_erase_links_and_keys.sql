-- With an account's erasure go, at once, all copies of its providers' keys, the links that it made
-- as an admin, and invitations that were bound to its address.

-- From here on nobody is signed in to the account, no token opens it, no vector is made
-- for it, and rows go. 'last_admin' where others would be left without an admin, 'gone'
-- where there is no such account or its erasure has begun.
CREATE OR REPLACE FUNCTION begin_account_erasure(account bigint, receipt text, at timestamptz) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    account_role text;
    account_email text;
    ended        jsonb := '{}';
    found_rows   jsonb;
    n            bigint;
BEGIN
    -- The lock of whoever changes who is an admin (accounts::store::lock_admins): two do not go at once
    -- and leave none.
    PERFORM pg_advisory_xact_lock(hashtext('keepsake admins'));
    SELECT role, email INTO account_role, account_email FROM users WHERE id = account AND erasing_at IS NULL FOR UPDATE;
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
    -- Every copy of a provider's key, and what a chat model would still be sent.
    UPDATE embedding_spaces SET sealed_key = NULL WHERE user_id = account AND sealed_key IS NOT NULL;
    UPDATE chat_settings SET enabled = false, sealed_key = NULL WHERE user_id = account;
    -- Links that they made end; those that hold their address, or set their password, go.
    UPDATE invitations SET revoked_at = at
    WHERE invited_by = account AND used_at IS NULL AND revoked_at IS NULL;
    DELETE FROM invitations WHERE email = account_email OR resets = account;
    INSERT INTO erasure_receipts (public_id, kind, user_id, found, erased, requested_at)
    VALUES (receipt, 'account', account, found_rows, ended, at);
    RETURN 'begun';
END $$;
