-- Operators, whose service tokens act for users of their own making; and the
-- switch that takes memory away from a user's agents, or from one of them.

-- A product that remembers for its own users. It belongs to no user, so that the
-- app role has no right to it, nor to its tokens.
CREATE TABLE operators (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name       text NOT NULL,       -- of the agent that each of its users gets
    users_max  integer NOT NULL CONSTRAINT operators_users_max_check CHECK (users_max > 0),
    users_count integer NOT NULL DEFAULT 0,  -- kept with each user made: counting them would take too long
    created_at timestamptz NOT NULL,
    CONSTRAINT operators_name_key UNIQUE (name)
);

CREATE TABLE service_tokens (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    operator_id  bigint NOT NULL REFERENCES operators (id) ON DELETE CASCADE,
    token_hash   bytea NOT NULL,      -- as in agent_tokens
    hint         text NOT NULL,
    scopes       text[] NOT NULL CONSTRAINT service_tokens_scopes_check CHECK ('act_as' = ANY (scopes)),
    created_at   timestamptz NOT NULL,
    expires_at   timestamptz,
    last_used_at timestamptz,
    revoked_at   timestamptz,
    CONSTRAINT service_tokens_hash_key UNIQUE (token_hash)
);
CREATE INDEX service_tokens_operator_idx ON service_tokens (operator_id);

-- A user either signs in, or belongs to an operator, who knows them by `external_id`.
ALTER TABLE users ALTER COLUMN email DROP NOT NULL;
ALTER TABLE users ALTER COLUMN password_hash DROP NOT NULL;
ALTER TABLE users ADD COLUMN operator_id bigint REFERENCES operators (id);
ALTER TABLE users ADD COLUMN external_id text;
ALTER TABLE users ADD CONSTRAINT users_kind_check CHECK (
    CASE WHEN operator_id IS NULL
         THEN external_id IS NULL AND email IS NOT NULL AND password_hash IS NOT NULL
         ELSE external_id IS NOT NULL AND email IS NULL AND password_hash IS NULL AND role = 'member'
    END);
-- Two operators' ids never meet.
ALTER TABLE users ADD CONSTRAINT users_external_key UNIQUE (operator_id, external_id);

-- Off: no reads and no writes by tools. Pages show everything.
ALTER TABLE users  ADD COLUMN memory_enabled boolean NOT NULL DEFAULT true;
ALTER TABLE agents ADD COLUMN memory_enabled boolean NOT NULL DEFAULT true;

ALTER TABLE operators      ENABLE ROW LEVEL SECURITY;
ALTER TABLE operators      FORCE  ROW LEVEL SECURITY;
ALTER TABLE service_tokens ENABLE ROW LEVEL SECURITY;
ALTER TABLE service_tokens FORCE  ROW LEVEL SECURITY;

CREATE POLICY owner ON operators      TO keepsake_owner USING (true) WITH CHECK (true);
CREATE POLICY owner ON service_tokens TO keepsake_owner USING (true) WITH CHECK (true);

CREATE POLICY system ON operators      TO keepsake_system USING (true) WITH CHECK (true);
CREATE POLICY system ON service_tokens TO keepsake_system USING (true) WITH CHECK (true);

GRANT UPDATE (memory_enabled, updated_at) ON users TO keepsake_app;
GRANT UPDATE (memory_enabled) ON agents TO keepsake_app;

GRANT SELECT, INSERT ON operators TO keepsake_system;
GRANT UPDATE (users_max, users_count) ON operators TO keepsake_system;
GRANT SELECT, INSERT ON service_tokens TO keepsake_system;
GRANT UPDATE (last_used_at, revoked_at) ON service_tokens TO keepsake_system;
