-- Turns: what was said in completed sessions, findable before any model has read it. A turn is
-- an item that nobody added: it has its message's words, no theme and no key, and lives as long
-- as its message. Of whatever lists, counts or changes items it is no part.

ALTER TABLE users ADD COLUMN turns_searched boolean NOT NULL DEFAULT true;
GRANT UPDATE (turns_searched) ON users TO keepsake_app;
-- Whose turns are to be removed; the sweep looks.
CREATE INDEX users_without_turns_idx ON users (id) WHERE NOT turns_searched;

-- The last message whose turns are made.
ALTER TABLE sessions ADD COLUMN turns_position integer NOT NULL DEFAULT 0;
CREATE INDEX sessions_turns_due_idx ON sessions (user_id, id) WHERE turns_position < ledger_position;
GRANT SELECT (turns_position, ledger_position) ON sessions TO keepsake_system;

ALTER TABLE memory_items DROP CONSTRAINT memory_items_type_check;
ALTER TABLE memory_items
    ALTER COLUMN theme_id DROP NOT NULL,
    ADD COLUMN is_turn boolean NOT NULL GENERATED ALWAYS AS (type = 'turn') STORED,
    -- Of which message, apart from the session that an item came from: a turn goes with it.
    ADD COLUMN turn_session_id bigint,
    ADD COLUMN turn_position integer,
    ADD COLUMN turn_part smallint,              -- a long message is several: 1, 2, …
    ADD CONSTRAINT memory_items_type_check
        CHECK (type IN ('preference', 'fact', 'instruction', 'summary', 'other', 'turn')),
    ADD CONSTRAINT memory_items_turn_check CHECK (CASE type
        WHEN 'turn' THEN theme_id IS NULL AND key IS NULL AND status = 'active' AND session_id IS NULL
                         AND num_nulls(turn_session_id, turn_position, turn_part) = 0
        ELSE theme_id IS NOT NULL AND num_nonnulls(turn_session_id, turn_position, turn_part) = 0 END),
    ADD CONSTRAINT memory_items_turn_fkey FOREIGN KEY (user_id, turn_session_id, turn_position)
        REFERENCES session_messages (user_id, session_id, position) ON DELETE CASCADE;
GRANT SELECT (is_turn) ON memory_items TO keepsake_system;
-- No turn twice.
CREATE UNIQUE INDEX memory_items_turn_key
    ON memory_items (user_id, turn_session_id, turn_position, turn_part) WHERE turn_session_id IS NOT NULL;

-- Turns said twice are two turns.
DROP INDEX memory_items_active_content_key;
CREATE UNIQUE INDEX memory_items_active_content_key
    ON memory_items (user_id, theme_id, content_hash, key)
    INCLUDE (expires_at) NULLS NOT DISTINCT WHERE status = 'active' AND theme_id IS NOT NULL;
-- Turns are many and lie apart, so that what looks for items does not read past them.
DROP INDEX memory_items_recent_idx, memory_items_words_idx;
CREATE INDEX memory_items_recent_idx ON memory_items (user_id, is_turn, created_at DESC, id DESC);
CREATE INDEX memory_items_words_idx ON memory_items USING gin (user_id, is_turn, content_tsv)
    WITH (gin_pending_list_limit = 256);

ALTER TABLE memory_item_embeddings
    ALTER COLUMN theme_id DROP NOT NULL,
    ADD COLUMN is_turn boolean NOT NULL GENERATED ALWAYS AS (item_type = 'turn') STORED;
DROP INDEX memory_item_embeddings_near_idx, memory_item_embeddings_open_idx;
CREATE INDEX memory_item_embeddings_near_idx ON memory_item_embeddings (user_id, space_id, is_turn)
    INCLUDE (item_id, theme_id, bits, item_live_until, item_created_at, item_type) WHERE state = 'ready';
-- Vectors of items are made before those of turns.
CREATE INDEX memory_item_embeddings_open_idx
    ON memory_item_embeddings (user_id, space_id, state, is_turn, item_id) WHERE state <> 'ready';

-- Some of the current user's turns, once they have switched them off, with their vectors; how
-- many. Until it ends nobody switches them on again. The app itself may delete no item.
CREATE FUNCTION remove_turns(rows_max integer) RETURNS bigint
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
REVOKE ALL ON FUNCTION remove_turns(integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION remove_turns(integer) TO keepsake_app;
