-- What a person decides about one memory: restored, no longer confirmed, deleted permanently; each with
-- an undo. And the admin's setting that leaves them the list alone.

-- restored: active again. unconfirmed: no longer confirmed.
ALTER TABLE memory_item_events DROP CONSTRAINT memory_item_events_event_check;
ALTER TABLE memory_item_events ADD CONSTRAINT memory_item_events_event_check
    CHECK (event IN ('added', 'archived', 'imported', 'superseded', 'confirmed', 'expired', 'named',
                     'restored', 'unconfirmed'));
-- What an event changed, as it was before: undo puts it back. NULL where the event keeps nothing of it.
ALTER TABLE memory_item_events
    ADD COLUMN was_confidence smallint,
    ADD COLUMN was_protected boolean,
    ADD COLUMN was_verified_at timestamptz,
    ADD COLUMN was_expires_at timestamptz,
    ADD COLUMN was_superseded_by bigint;
CREATE INDEX memory_item_events_was_superseded_idx ON memory_item_events (user_id, was_superseded_by)
    WHERE was_superseded_by IS NOT NULL;

-- The job `delete` deletes it at this time. NULL: nobody has asked for that.
ALTER TABLE memory_items ADD COLUMN delete_at timestamptz;
CREATE INDEX memory_items_delete_idx ON memory_items (user_id, delete_at) WHERE delete_at IS NOT NULL;
GRANT SELECT (delete_at) ON memory_items TO keepsake_system;

-- Everybody's pages show memories and change none; deletion stays on *Your data*.
ALTER TABLE system_settings ADD COLUMN read_only_browser boolean NOT NULL DEFAULT false;

-- Raises KS001 where memories are not changed in the browser. The row is locked until the act commits,
-- so that the setting at the same moment comes before it or after it.
CREATE FUNCTION require_open_browser() RETURNS void
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    PERFORM FROM system_settings WHERE NOT read_only_browser FOR SHARE;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'KS001', MESSAGE = 'read_only_browser';
    END IF;
END $$;
REVOKE ALL ON FUNCTION require_open_browser() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION require_open_browser() TO keepsake_app, keepsake_system;

ALTER TABLE admin_events DROP CONSTRAINT admin_events_action_check;
ALTER TABLE admin_events ADD CONSTRAINT admin_events_action_check CHECK (action IN (
    'invite_member', 'invite_admin', 'revoke_invitation', 'accept_invitation',
    'disable', 'enable', 'promote', 'demote',
    'make_reset_link', 'use_reset_link', 'set_password',
    'make_operator', 'change_operator', 'make_service_token', 'revoke_service_token',
    'set_provider', 'remove_provider', 'set_chat', 'remove_chat',
    'builtin_on', 'builtin_off', 'allow_endpoint', 'disallow_endpoint', 'close_browser', 'open_browser',
    'run_job', 'pause_job', 'resume_job', 'retry_job', 'schedule_job', 'unschedule_job', 'retry_vectors'));

-- One item of a user and all that derives from it, and how much that was. The calls that were
-- about it stay, without its number and without their words. Its theme goes where nothing else
-- is in it and nobody is adding to it. NULL where there is no such item; a turn goes with its
-- session. For the functions that erase, which say whose it is.
CREATE OR REPLACE FUNCTION remove_item(me bigint, removed_item bigint) RETURNS jsonb
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
    -- In the history of others its number stands no more.
    UPDATE memory_item_events SET was_superseded_by = NULL WHERE user_id = me AND was_superseded_by = removed_item;
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
