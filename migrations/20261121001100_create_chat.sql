-- Chat: which model answers in words, for whom, and what that has cost. It is apart
-- from embedding: nothing here changes a vector.

-- What an admin sets for everybody. One row, of the system role's alone.
CREATE TABLE system_chat_provider (
    is_only         boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    provider_type   text NOT NULL DEFAULT 'openai' CONSTRAINT system_chat_provider_type_check
                    CHECK (provider_type IN ('llamacpp', 'ollama', 'openai')),
    endpoint        text NOT NULL DEFAULT '',           -- empty: none for everybody
    model           text NOT NULL DEFAULT '',
    sealed_key      bytea,
    -- Of each person that it serves.
    daily_token_cap bigint NOT NULL DEFAULT 200000 CHECK (daily_token_cap BETWEEN 1000 AND 1000000000),
    updated_at      timestamptz NOT NULL
);
INSERT INTO system_chat_provider (updated_at) VALUES ('epoch');

-- What a user has set. No row means the defaults.
CREATE TABLE chat_settings (
    user_id         bigint PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    enabled         boolean NOT NULL DEFAULT true,      -- false: no model reads what this user says
    own_enabled     boolean NOT NULL DEFAULT false,     -- the endpoint below is used
    provider_type   text NOT NULL DEFAULT 'openai' CONSTRAINT chat_settings_provider_type_check
                    CHECK (provider_type IN ('llamacpp', 'ollama', 'openai')),
    endpoint        text NOT NULL DEFAULT '',
    model           text NOT NULL DEFAULT '',
    sealed_key      bytea,
    daily_token_cap bigint CHECK (daily_token_cap BETWEEN 1000 AND 1000000000),  -- NULL: as the server has it
    summary_enabled boolean NOT NULL DEFAULT true,
    updated_at      timestamptz NOT NULL
);

-- What was spent, by day (UTC). Days of over 400 days ago go (src/providers/chat/spend).
CREATE TABLE chat_spend (
    user_id      bigint NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    day          date NOT NULL,
    tokens_in    bigint NOT NULL DEFAULT 0,
    tokens_out   bigint NOT NULL DEFAULT 0,
    calls        bigint NOT NULL DEFAULT 0,             -- those that failed too
    failed_calls bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (user_id, day)
);

-- What calls under way may come to, so that those at once do not pass the cap together.
-- One that a killed server left behind counts no more after its time.
CREATE TABLE chat_reservations (
    user_id bigint NOT NULL,
    id      bigint GENERATED ALWAYS AS IDENTITY,
    day     date NOT NULL,
    tokens  bigint NOT NULL,
    until   timestamptz NOT NULL,
    PRIMARY KEY (user_id, id),
    FOREIGN KEY (user_id, day) REFERENCES chat_spend (user_id, day) ON DELETE CASCADE
);

ALTER TABLE system_chat_provider ENABLE ROW LEVEL SECURITY;
ALTER TABLE system_chat_provider FORCE  ROW LEVEL SECURITY;
ALTER TABLE chat_settings        ENABLE ROW LEVEL SECURITY;
ALTER TABLE chat_settings        FORCE  ROW LEVEL SECURITY;
ALTER TABLE chat_spend           ENABLE ROW LEVEL SECURITY;
ALTER TABLE chat_spend           FORCE  ROW LEVEL SECURITY;
ALTER TABLE chat_reservations    ENABLE ROW LEVEL SECURITY;
ALTER TABLE chat_reservations    FORCE  ROW LEVEL SECURITY;

CREATE POLICY owner ON system_chat_provider TO keepsake_owner USING (true) WITH CHECK (true);
CREATE POLICY owner ON chat_settings        TO keepsake_owner USING (true) WITH CHECK (true);
CREATE POLICY owner ON chat_spend           TO keepsake_owner USING (true) WITH CHECK (true);
CREATE POLICY owner ON chat_reservations    TO keepsake_owner USING (true) WITH CHECK (true);

CREATE POLICY tenant ON chat_settings     TO keepsake_app USING (user_id = (SELECT current_user_id()));
CREATE POLICY tenant ON chat_spend        TO keepsake_app USING (user_id = (SELECT current_user_id()));
CREATE POLICY tenant ON chat_reservations TO keepsake_app USING (user_id = (SELECT current_user_id()));

GRANT SELECT, INSERT, UPDATE ON chat_settings TO keepsake_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON chat_spend TO keepsake_app;
GRANT SELECT, INSERT, DELETE ON chat_reservations TO keepsake_app;

-- The system role sets what is everybody's, and sees of users' rows only who has any.
CREATE POLICY system ON system_chat_provider TO keepsake_system USING (true) WITH CHECK (true);
CREATE POLICY system ON chat_settings FOR SELECT TO keepsake_system USING (true);
GRANT SELECT, UPDATE ON system_chat_provider TO keepsake_system;
GRANT SELECT (user_id) ON chat_settings TO keepsake_system;

ALTER TABLE chat_settings
    ALTER COLUMN endpoint SET STATISTICS 0, ALTER COLUMN model SET STATISTICS 0,
    ALTER COLUMN sealed_key SET STATISTICS 0;

-- Few, and they go with their user.
INSERT INTO account_tables (name, place) VALUES
    ('chat_settings', NULL), ('chat_spend', NULL), ('chat_reservations', NULL);
