-- The header that carries an endpoint's key; empty: as the API format has it (`Authorization: Bearer`).
ALTER TABLE embedding_settings   ADD COLUMN key_header text NOT NULL DEFAULT '';
ALTER TABLE embedding_spaces     ADD COLUMN key_header text NOT NULL DEFAULT '';
ALTER TABLE system_providers     ADD COLUMN key_header text NOT NULL DEFAULT '';
ALTER TABLE chat_settings        ADD COLUMN key_header text NOT NULL DEFAULT '';
ALTER TABLE system_chat_provider ADD COLUMN key_header text NOT NULL DEFAULT '';

-- The model is asked not to think.
ALTER TABLE chat_settings        ADD COLUMN thinking_off boolean NOT NULL DEFAULT false;
ALTER TABLE system_chat_provider ADD COLUMN thinking_off boolean NOT NULL DEFAULT false;

-- The endpoint's `Retry-After`: before this neither jobs nor searches call it.
ALTER TABLE embedding_spaces ADD COLUMN wait_until timestamptz;

ALTER TABLE chat_settings DROP CONSTRAINT chat_settings_provider_type_check;
ALTER TABLE chat_settings ADD CONSTRAINT chat_settings_provider_type_check
    CHECK (provider_type IN ('llamacpp', 'ollama', 'openai', 'anthropic'));
ALTER TABLE system_chat_provider DROP CONSTRAINT system_chat_provider_type_check;
ALTER TABLE system_chat_provider ADD CONSTRAINT system_chat_provider_type_check
    CHECK (provider_type IN ('llamacpp', 'ollama', 'openai', 'anthropic'));

-- Which parameters endpoints refuse, by a hash of API, address and model: neither is here, nor whose they are.
CREATE TABLE endpoint_dialects (
    endpoint_hash bytea PRIMARY KEY,
    dialect       jsonb NOT NULL,
    learned_at    timestamptz NOT NULL
);
ALTER TABLE endpoint_dialects ENABLE ROW LEVEL SECURITY;
ALTER TABLE endpoint_dialects FORCE  ROW LEVEL SECURITY;
CREATE POLICY owner  ON endpoint_dialects TO keepsake_owner  USING (true) WITH CHECK (true);
CREATE POLICY system ON endpoint_dialects TO keepsake_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, DELETE ON endpoint_dialects TO keepsake_system;
