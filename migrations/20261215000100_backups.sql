-- Backups: the list of files in the backup folder, what an admin asked for, and erasures that are still to be
-- written beside them. The folder is the truth; the list is for the pages of every server.

CREATE TABLE backups (
    name           text PRIMARY KEY,         -- of the file in the folder
    made_at        timestamptz NOT NULL,
    bytes          bigint NOT NULL,
    version        text NOT NULL,            -- of the Keepsake that made it
    rows_total     bigint NOT NULL,
    verified_at    timestamptz,              -- last attempt
    verify_problem text                      -- why it failed, one sentence; NULL: it succeeded
);

CREATE TABLE backup_state (
    only_row        boolean PRIMARY KEY DEFAULT true CONSTRAINT backup_state_only_row_check CHECK (only_row),
    since           timestamptz,             -- nights before it need no backup
    asked_at        timestamptz,             -- *Back up now*, until it is done
    verify_asked_at timestamptz,             -- *Verify now*, until it is done
    problem         text,                    -- why the last backup failed, one sentence
    problem_at      timestamptz
);
INSERT INTO backup_state (only_row) VALUES (true);

-- Ids only. Whoever restores an older backup needs them, when the receipts are lost with the database.
CREATE TABLE erasure_notes (
    id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    what          text NOT NULL CONSTRAINT erasure_notes_what_check CHECK (what IN ('memory', 'session', 'document', 'account')),
    account_id    bigint NOT NULL,
    object_id     bigint,                    -- NULL for an account
    with_memories boolean NOT NULL,          -- of a session
    at            timestamptz NOT NULL
);

ALTER TABLE backups       ENABLE ROW LEVEL SECURITY;
ALTER TABLE backups       FORCE  ROW LEVEL SECURITY;
ALTER TABLE backup_state  ENABLE ROW LEVEL SECURITY;
ALTER TABLE backup_state  FORCE  ROW LEVEL SECURITY;
ALTER TABLE erasure_notes ENABLE ROW LEVEL SECURITY;
ALTER TABLE erasure_notes FORCE  ROW LEVEL SECURITY;
CREATE POLICY owner  ON backups       TO keepsake_owner USING (true) WITH CHECK (true);
CREATE POLICY owner  ON backup_state  TO keepsake_owner USING (true) WITH CHECK (true);
CREATE POLICY owner  ON erasure_notes TO keepsake_owner USING (true) WITH CHECK (true);
CREATE POLICY system ON backups       TO keepsake_system USING (true) WITH CHECK (true);
CREATE POLICY system ON backup_state  TO keepsake_system USING (true) WITH CHECK (true);
CREATE POLICY system ON erasure_notes TO keepsake_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON backups TO keepsake_system;
GRANT SELECT, UPDATE ON backup_state TO keepsake_system;
GRANT SELECT, INSERT, DELETE ON erasure_notes TO keepsake_system;

-- In the transaction that erases something of its own user, as the app role.
CREATE FUNCTION note_erasure(what text, object_id bigint, with_memories boolean, at timestamptz) RETURNS void
    LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    INSERT INTO erasure_notes (what, account_id, object_id, with_memories, at)
    VALUES (what, current_user_id(), object_id, with_memories, at);
$$;
REVOKE ALL ON FUNCTION note_erasure(text, bigint, boolean, timestamptz) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION note_erasure(text, bigint, boolean, timestamptz) TO keepsake_app;
