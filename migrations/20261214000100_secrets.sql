-- Secrets in texts that come in: what is done with them, what was found, and what its user allows. A secret itself stands in
-- none of these rows.

CREATE TABLE secret_settings (
    user_id    bigint PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    policy     text NOT NULL DEFAULT 'warn' CONSTRAINT secret_settings_policy_check CHECK (policy IN ('warn', 'mask', 'refuse')),
    sealed_key bytea                          -- of the fingerprints; NULL until something was found
);

-- One for each secret, newest wins. What is allowed stays; of the others the oldest go.
CREATE TABLE secret_findings (
    user_id     bigint NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    fingerprint bytea NOT NULL CONSTRAINT secret_findings_fingerprint_check CHECK (octet_length(fingerprint) = 16),
    rule        text NOT NULL,
    field       text NOT NULL,                -- where it stood last
    agent_id    bigint,                       -- that sent it last; NULL: a person or an import
    last_at     timestamptz NOT NULL,
    count       bigint NOT NULL,              -- how often it came in
    is_allowed  boolean NOT NULL DEFAULT false,
    PRIMARY KEY (user_id, fingerprint),
    FOREIGN KEY (user_id, agent_id) REFERENCES agents (user_id, id) ON DELETE CASCADE
);

-- In UTC; of the last 30 days.
CREATE TABLE secret_counts (
    user_id bigint NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    day     date NOT NULL,
    rule    text NOT NULL,
    count   bigint NOT NULL,
    PRIMARY KEY (user_id, day, rule)
);

DO $$
DECLARE
    one text;
BEGIN
    FOREACH one IN ARRAY ARRAY['secret_settings', 'secret_findings', 'secret_counts'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', one);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', one);
        EXECUTE format('CREATE POLICY owner ON %I TO keepsake_owner USING (true) WITH CHECK (true)', one);
        EXECUTE format('CREATE POLICY tenant ON %I TO keepsake_app USING (user_id = (SELECT current_user_id()))', one);
        EXECUTE format('GRANT SELECT, INSERT, UPDATE ON %I TO keepsake_app', one);
    END LOOP;
END $$;
GRANT DELETE ON secret_findings, secret_counts TO keepsake_app;
-- For key rotation: whose keys are to be sealed again.
CREATE POLICY system ON secret_settings FOR SELECT TO keepsake_system USING (true);
GRANT SELECT (user_id) ON secret_settings TO keepsake_system;
INSERT INTO account_tables (name, place) VALUES ('secret_settings', NULL), ('secret_findings', 4), ('secret_counts', NULL);
