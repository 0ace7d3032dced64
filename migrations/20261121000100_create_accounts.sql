-- Accounts: people, the agents that act for them, and how each of them is known.
--
-- Three roles exist before this runs (src/db/store.rs makes them):
--   keepsake_owner   owns everything, runs migrations and dumps
--   keepsake_app     runs requests; sees the rows of `keepsake.user_id` alone
--   keepsake_system  looks up tokens, addresses and web sessions, when no user is known yet
--
-- Every tenant table is made the same way: `user_id` first in its primary key,
-- its unique constraints and its foreign keys; row security enabled AND forced;
-- a policy for the app (NULLIF: a pooled connection yields '' after SET LOCAL);
-- a policy that lets the owner's migrations touch all rows although it is no superuser.

-- The user that the current transaction acts for; NULL, so nobody, when none was set.
CREATE FUNCTION current_user_id() RETURNS bigint
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN NULLIF(current_setting('keepsake.user_id', true), '')::bigint;

CREATE TABLE users (
    id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    email         text NOT NULL,
    password_hash text NOT NULL,
    role          text NOT NULL CONSTRAINT users_role_check CHECK (role IN ('admin', 'member')),
    disabled_at   timestamptz,
    created_at    timestamptz NOT NULL,
    updated_at    timestamptz NOT NULL,
    CONSTRAINT users_email_key UNIQUE (email),
    CONSTRAINT users_email_lower_check CHECK (email = lower(email))
);

-- A browser's login. Known by the hash of its id, so that a dump signs nobody in.
CREATE TABLE web_sessions (
    id_hash    bytea PRIMARY KEY,
    user_id    bigint REFERENCES users (id) ON DELETE CASCADE,
    data       jsonb NOT NULL,
    expires_at timestamptz NOT NULL
);
CREATE INDEX web_sessions_user_idx ON web_sessions (user_id);
CREATE INDEX web_sessions_expiry_idx ON web_sessions (expires_at);

CREATE TABLE agents (
    user_id    bigint NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    id         bigint GENERATED ALWAYS AS IDENTITY,
    name       text NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (user_id, id),
    CONSTRAINT agents_name_key UNIQUE (user_id, name)
);

CREATE TABLE agent_tokens (
    user_id      bigint NOT NULL,
    id           bigint GENERATED ALWAYS AS IDENTITY,
    agent_id     bigint NOT NULL,
    token_hash   bytea NOT NULL,      -- SHA-256 of the whole token; the token itself is nowhere
    hint         text NOT NULL,       -- its last four characters, to tell tokens apart
    scopes       text[] NOT NULL,
    created_at   timestamptz NOT NULL,
    expires_at   timestamptz,
    last_used_at timestamptz,         -- at most once a minute
    revoked_at   timestamptz,
    PRIMARY KEY (user_id, id),
    CONSTRAINT agent_tokens_hash_key UNIQUE (user_id, token_hash),
    FOREIGN KEY (user_id, agent_id) REFERENCES agents (user_id, id) ON DELETE CASCADE
);
-- Looked up before any user is known; 256 random bits need no constraint to be unique.
CREATE INDEX agent_tokens_hash_idx ON agent_tokens (token_hash);

ALTER TABLE users        ENABLE ROW LEVEL SECURITY;
ALTER TABLE users        FORCE  ROW LEVEL SECURITY;
ALTER TABLE web_sessions ENABLE ROW LEVEL SECURITY;
ALTER TABLE web_sessions FORCE  ROW LEVEL SECURITY;
ALTER TABLE agents       ENABLE ROW LEVEL SECURITY;
ALTER TABLE agents       FORCE  ROW LEVEL SECURITY;
ALTER TABLE agent_tokens ENABLE ROW LEVEL SECURITY;
ALTER TABLE agent_tokens FORCE  ROW LEVEL SECURITY;

CREATE POLICY owner ON users        TO keepsake_owner USING (true) WITH CHECK (true);
CREATE POLICY owner ON web_sessions TO keepsake_owner USING (true) WITH CHECK (true);
CREATE POLICY owner ON agents       TO keepsake_owner USING (true) WITH CHECK (true);
CREATE POLICY owner ON agent_tokens TO keepsake_owner USING (true) WITH CHECK (true);

CREATE POLICY system ON users        TO keepsake_system USING (true) WITH CHECK (true);
CREATE POLICY system ON web_sessions TO keepsake_system USING (true) WITH CHECK (true);
CREATE POLICY system ON agents       TO keepsake_system USING (true) WITH CHECK (true);
CREATE POLICY system ON agent_tokens TO keepsake_system USING (true) WITH CHECK (true);

CREATE POLICY tenant ON users        TO keepsake_app USING (id = (SELECT current_user_id()));
CREATE POLICY tenant ON agents       TO keepsake_app USING (user_id = (SELECT current_user_id()));
CREATE POLICY tenant ON agent_tokens TO keepsake_app USING (user_id = (SELECT current_user_id()));

GRANT SELECT ON users TO keepsake_app;
GRANT SELECT, INSERT ON agents TO keepsake_app;
GRANT SELECT, INSERT ON agent_tokens TO keepsake_app;
GRANT UPDATE (revoked_at) ON agent_tokens TO keepsake_app;

GRANT SELECT, INSERT, UPDATE ON users TO keepsake_system;
GRANT SELECT, INSERT, UPDATE, DELETE ON web_sessions TO keepsake_system;
GRANT SELECT, INSERT ON agents TO keepsake_system;
GRANT SELECT, INSERT ON agent_tokens TO keepsake_system;
GRANT UPDATE (last_used_at) ON agent_tokens TO keepsake_system;
