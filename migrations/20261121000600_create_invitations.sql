-- Invitations by an admin, the record of what was done to accounts, and when somebody
-- last signed in. All of it is the system role's: no user of the app may see it.

ALTER TABLE users ADD COLUMN last_sign_in_at timestamptz;

-- A link that makes one account. What stands in it is kept as its SHA-256 alone.
CREATE TABLE invitations (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    token_hash bytea NOT NULL,
    email      text CONSTRAINT invitations_email_lower_check CHECK (email = lower(email)), -- NULL: for whoever has the link
    role       text NOT NULL CONSTRAINT invitations_role_check CHECK (role IN ('admin', 'member')),
    invited_by bigint REFERENCES users (id) ON DELETE SET NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    revoked_at timestamptz,
    used_at    timestamptz,
    used_by    bigint REFERENCES users (id) ON DELETE CASCADE,  -- goes with the account that it made
    CONSTRAINT invitations_token_key UNIQUE (token_hash)
);
CREATE INDEX invitations_invited_by_idx ON invitations (invited_by);
CREATE INDEX invitations_used_by_idx ON invitations (used_by);

-- Append-only: who did what to whose account. Ids alone, so that an address is gone
-- with its account.
CREATE TABLE admin_events (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at         timestamptz NOT NULL,
    by_command boolean NOT NULL,      -- from the command line, where nobody is signed in
    actor_id   bigint REFERENCES users (id) ON DELETE SET NULL,
    action     text NOT NULL CONSTRAINT admin_events_action_check CHECK (action IN (
                   'invite_member', 'invite_admin', 'revoke_invitation', 'accept_invitation',
                   'disable', 'enable', 'promote', 'demote')),
    subject_id bigint REFERENCES users (id) ON DELETE SET NULL
);
CREATE INDEX admin_events_actor_idx ON admin_events (actor_id);
CREATE INDEX admin_events_subject_idx ON admin_events (subject_id);

ALTER TABLE invitations  ENABLE ROW LEVEL SECURITY;
ALTER TABLE invitations  FORCE  ROW LEVEL SECURITY;
ALTER TABLE admin_events ENABLE ROW LEVEL SECURITY;
ALTER TABLE admin_events FORCE  ROW LEVEL SECURITY;

CREATE POLICY owner ON invitations  TO keepsake_owner USING (true) WITH CHECK (true);
CREATE POLICY owner ON admin_events TO keepsake_owner USING (true) WITH CHECK (true);
CREATE POLICY system ON invitations  TO keepsake_system USING (true) WITH CHECK (true);
CREATE POLICY system ON admin_events TO keepsake_system USING (true) WITH CHECK (true);

GRANT SELECT, INSERT, DELETE ON invitations TO keepsake_system;
GRANT UPDATE (revoked_at, used_at, used_by) ON invitations TO keepsake_system;
GRANT SELECT, INSERT ON admin_events TO keepsake_system;
