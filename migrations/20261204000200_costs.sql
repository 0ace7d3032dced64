-- What chat costs by what it is for, so that each purpose has a switch and a share of the day's cap.

CREATE TABLE chat_spend_purposes (
    user_id bigint NOT NULL,
    day     date NOT NULL,
    purpose text NOT NULL CONSTRAINT chat_spend_purposes_purpose_check
        CHECK (purpose IN ('facts', 'enrichment', 'summary', 'evaluation', 'earlier')),
    tokens  bigint NOT NULL,          -- read and written
    PRIMARY KEY (user_id, day, purpose),
    FOREIGN KEY (user_id, day) REFERENCES chat_spend (user_id, day) ON DELETE CASCADE
);
ALTER TABLE chat_spend_purposes ENABLE ROW LEVEL SECURITY;
ALTER TABLE chat_spend_purposes FORCE  ROW LEVEL SECURITY;
CREATE POLICY owner  ON chat_spend_purposes TO keepsake_owner USING (true) WITH CHECK (true);
CREATE POLICY tenant ON chat_spend_purposes TO keepsake_app USING (user_id = (SELECT current_user_id()));
GRANT SELECT, INSERT, UPDATE, DELETE ON chat_spend_purposes TO keepsake_app;
INSERT INTO account_tables (name, place) VALUES ('chat_spend_purposes', NULL);

-- Of before only what was measured is told apart.
INSERT INTO chat_spend_purposes (user_id, day, purpose, tokens)
SELECT user_id, day, 'evaluation', evaluation_tokens FROM chat_spend WHERE evaluation_tokens > 0;
INSERT INTO chat_spend_purposes (user_id, day, purpose, tokens)
SELECT user_id, day, 'earlier', tokens_in + tokens_out - evaluation_tokens FROM chat_spend
WHERE tokens_in + tokens_out > evaluation_tokens;
ALTER TABLE chat_spend DROP COLUMN evaluation_tokens;

-- Rows of calls under way when the server was replaced.
ALTER TABLE chat_reservations ADD COLUMN purpose text NOT NULL DEFAULT 'earlier';
ALTER TABLE chat_reservations ALTER COLUMN purpose DROP DEFAULT;

-- {purpose: {"on": boolean, "share": percent of the day's cap}}; what is missing is on, with all of it.
ALTER TABLE chat_settings ADD COLUMN purposes jsonb NOT NULL DEFAULT '{}'
    CONSTRAINT chat_settings_purposes_check CHECK (jsonb_typeof(purposes) = 'object');
UPDATE chat_settings SET purposes = '{"summary": {"on": false}}' WHERE NOT summary_enabled;
ALTER TABLE chat_settings DROP COLUMN summary_enabled;
GRANT SELECT (purposes) ON chat_settings TO keepsake_system;
