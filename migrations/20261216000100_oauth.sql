-- OAuth for remote MCP clients (docs/secure.md). What a person allowed a client is a token of an agent as any other, whose
-- secret changes with each refresh; beside it stands who has it, and what renews it.

CREATE TABLE oauth_grants (
    user_id            bigint NOT NULL,
    token_id           bigint NOT NULL,
    client_id          text NOT NULL,        -- of a registration, or the address of the client's document
    client_name        text NOT NULL,        -- as the client says; unverified
    redirect_uri       text NOT NULL,        -- where its code went
    resource           text NOT NULL,        -- what its tokens open
    code_hash          bytea NOT NULL,       -- SHA-256, as of every secret here
    code_challenge     text NOT NULL,        -- of PKCE, S256
    code_expires_at    timestamptz NOT NULL,
    redeemed_at        timestamptz,          -- a second use of the code revokes the token
    family_hash        bytea,                -- of the first half of each of its refresh tokens: the same in all
    turn_hash          bytea,                -- of the second half of the one that is valid; any other is a replay
    refresh_expires_at timestamptz,
    PRIMARY KEY (user_id, token_id),
    FOREIGN KEY (user_id, token_id) REFERENCES agent_tokens (user_id, id) ON DELETE CASCADE
);
-- Not in account_tables: a grant is counted, and goes, with its token.
-- Looked up before any user is known; 256 random bits need no constraint to be unique.
CREATE INDEX oauth_grants_code_idx ON oauth_grants (code_hash);
CREATE INDEX oauth_grants_family_idx ON oauth_grants (family_hash);
ALTER TABLE oauth_grants
    ALTER COLUMN code_hash SET STATISTICS 0, ALTER COLUMN family_hash SET STATISTICS 0, ALTER COLUMN turn_hash SET STATISTICS 0,
    ALTER COLUMN code_challenge SET STATISTICS 0, ALTER COLUMN client_name SET STATISTICS 0;

-- Clients that registered themselves (RFC 7591), before any person allowed them anything. They belong to no user.
CREATE TABLE oauth_clients (
    client_id     text PRIMARY KEY,
    name          text NOT NULL,
    redirect_uris text[] NOT NULL,
    created_at    timestamptz NOT NULL,
    allowed_at    timestamptz                -- when a person last allowed it, or it renewed; NULL: never
);
CREATE INDEX oauth_clients_created_idx ON oauth_clients (created_at) WHERE allowed_at IS NULL;

ALTER TABLE oauth_grants  ENABLE ROW LEVEL SECURITY;
ALTER TABLE oauth_grants  FORCE  ROW LEVEL SECURITY;
ALTER TABLE oauth_clients ENABLE ROW LEVEL SECURITY;
ALTER TABLE oauth_clients FORCE  ROW LEVEL SECURITY;

CREATE POLICY owner ON oauth_grants  TO keepsake_owner USING (true) WITH CHECK (true);
CREATE POLICY owner ON oauth_clients TO keepsake_owner USING (true) WITH CHECK (true);
CREATE POLICY system ON oauth_grants  TO keepsake_system USING (true) WITH CHECK (true);
CREATE POLICY system ON oauth_clients TO keepsake_system USING (true) WITH CHECK (true);
CREATE POLICY tenant ON oauth_grants TO keepsake_app USING (user_id = (SELECT current_user_id()));

GRANT SELECT, INSERT, UPDATE ON oauth_grants TO keepsake_app;
GRANT SELECT ON oauth_grants TO keepsake_system;
GRANT SELECT, INSERT, UPDATE, DELETE ON oauth_clients TO keepsake_system;
-- A refresh changes the secret of the token; what ended is deleted after a while.
GRANT UPDATE (token_hash, hint, expires_at) ON agent_tokens TO keepsake_app;
GRANT DELETE ON agent_tokens TO keepsake_system;
