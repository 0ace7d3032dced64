-- Embedding: who turns text into vectors, in which space, and where each item's
-- vector stands (DESIGN §5). Vectors of different spaces are never compared.

-- What an admin sets for everybody. One row, of the system role's alone.
CREATE TABLE system_settings (
    is_only         boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    builtin_enabled boolean NOT NULL DEFAULT true,
    -- For the builtin model and the system's provider.
    batch_size      integer NOT NULL DEFAULT 32 CHECK (batch_size BETWEEN 1 AND 256),
    concurrency     integer NOT NULL DEFAULT 1 CHECK (concurrency BETWEEN 1 AND 8),
    pause_ms        integer NOT NULL DEFAULT 0 CHECK (pause_ms BETWEEN 0 AND 60000),
    updated_at      timestamptz NOT NULL
);
INSERT INTO system_settings (updated_at) VALUES ('epoch');

-- The system's llama.cpp. A change is a new row: a space that was built with the
-- old one serves on with the old one's key until the new space is complete.
CREATE TABLE system_providers (
    id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    endpoint        text NOT NULL,
    model           text NOT NULL,
    dimensions      integer CHECK (dimensions BETWEEN 1 AND 1024),
    query_prefix    text NOT NULL,
    document_prefix text NOT NULL,
    sealed_key      bytea,
    in_force        boolean NOT NULL,
    created_at      timestamptz NOT NULL
);
CREATE UNIQUE INDEX system_providers_in_force_key ON system_providers (in_force) WHERE in_force;

-- Hosts of loopback and private networks that members' endpoints may name.
CREATE TABLE allowed_endpoints (
    host       text NOT NULL,
    port       integer NOT NULL CHECK (port BETWEEN 1 AND 65535),
    created_at timestamptz NOT NULL,
    PRIMARY KEY (host, port)
);

-- What a user has set and confirmed. No row means the defaults.
CREATE TABLE embedding_settings (
    user_id         bigint PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    enabled         boolean NOT NULL DEFAULT true,      -- false: full text only
    own_enabled     boolean NOT NULL DEFAULT false,     -- the endpoint below is used
    provider_type   text NOT NULL DEFAULT 'openai' CONSTRAINT embedding_settings_provider_type_check
                    CHECK (provider_type IN ('ollama', 'openai', 'custom_http')),
    endpoint        text NOT NULL DEFAULT '',
    model           text NOT NULL DEFAULT '',
    dimensions      integer CHECK (dimensions BETWEEN 1 AND 1024),
    query_prefix    text NOT NULL DEFAULT '',
    document_prefix text NOT NULL DEFAULT '',
    sealed_key      bytea,
    batch_size      integer NOT NULL DEFAULT 32 CHECK (batch_size BETWEEN 1 AND 256),
    concurrency     integer NOT NULL DEFAULT 1 CHECK (concurrency BETWEEN 1 AND 8),
    pause_ms        integer NOT NULL DEFAULT 0 CHECK (pause_ms BETWEEN 0 AND 60000),
    declined        text,       -- what a rebuild was cancelled towards: not begun again by itself
    updated_at      timestamptz NOT NULL
);

CREATE TABLE embedding_spaces (
    user_id              bigint NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    id                   bigint GENERATED ALWAYS AS IDENTITY,
    provider_type        text NOT NULL CONSTRAINT embedding_spaces_provider_type_check
                         CHECK (provider_type IN ('llamacpp', 'ollama', 'openai', 'custom_http', 'builtin')),
    endpoint             text NOT NULL,
    model                text NOT NULL,
    requested_dimensions integer,           -- what the settings ask for
    dimensions           integer,           -- what the provider answered first; NULL until then
    query_prefix         text NOT NULL,
    document_prefix      text NOT NULL,
    sealed_key           bytea,             -- of the user's own endpoint
    system_provider_id   bigint,            -- of the system's: its key is there
    state                text NOT NULL CONSTRAINT embedding_spaces_state_check
                         CHECK (state IN ('building', 'active', 'retired')),
    problem              text,              -- why no vectors are made right now; NULL when they are
    failures             integer NOT NULL DEFAULT 0,    -- calls in a row that failed
    retry_at             timestamptz,       -- no call before; survives a restart
    lease_until          timestamptz,       -- a worker drains this space until then
    is_full              boolean NOT NULL DEFAULT false, -- too many pending rows: the sweep looks
    created_at           timestamptz NOT NULL,
    activated_at         timestamptz,
    retired_at           timestamptz,
    PRIMARY KEY (user_id, id)
);
CREATE UNIQUE INDEX embedding_spaces_active_key ON embedding_spaces (user_id) WHERE state = 'active';
CREATE UNIQUE INDEX embedding_spaces_building_key ON embedding_spaces (user_id) WHERE state = 'building';

CREATE TABLE memory_item_embeddings (
    user_id         bigint NOT NULL,
    space_id        bigint NOT NULL,
    item_id         bigint NOT NULL,
    state           text NOT NULL CONSTRAINT memory_item_embeddings_state_check
                    CHECK (state IN ('pending', 'ready', 'error')),
    -- Copies of the item's columns that searches filter by: the scan of a user's
    -- bits must not look at the items themselves. Kept true by src/memories/store.rs.
    theme_id        bigint NOT NULL,
    item_type       text NOT NULL,
    -- 'infinity' or when it expires while the item is active, '-infinity' once it is archived:
    -- one comparison says whether it is live, at any time.
    item_live_until timestamptz NOT NULL,
    item_created_at timestamptz NOT NULL,
    content_hash    bytea NOT NULL,          -- a vector of another text is not written
    truncated       boolean NOT NULL DEFAULT false,     -- only the text's beginning fitted the model
    attempts        smallint NOT NULL DEFAULT 0,
    error           text,
    -- The signs of the rotated vector (src/embedding/vector.rs): near ones first …
    bits            bit(1024),
    -- … then exactly, by the vector itself, as wide as the space's model makes it: in the row where it is
    -- short (up to some 850 dimensions), and otherwise beside it, uncompressed.
    embedding       halfvec,
    updated_at      timestamptz NOT NULL,
    PRIMARY KEY (user_id, space_id, item_id),
    FOREIGN KEY (user_id, space_id) REFERENCES embedding_spaces (user_id, id) ON DELETE CASCADE,
    FOREIGN KEY (user_id, item_id) REFERENCES memory_items (user_id, id) ON DELETE CASCADE,
    CONSTRAINT memory_item_embeddings_ready_check CHECK (state <> 'ready' OR (bits IS NOT NULL AND embedding IS NOT NULL))
);
ALTER TABLE memory_item_embeddings ALTER COLUMN embedding SET STORAGE EXTERNAL;
-- A user's bits lie together in this index, with all that searches filter by: a search
-- reads it from end to end and visits no row (bench/README.md, "Search by meaning").
CREATE INDEX memory_item_embeddings_near_idx ON memory_item_embeddings (user_id, space_id)
    INCLUDE (item_id, theme_id, bits, item_live_until, item_created_at, item_type) WHERE state = 'ready';
-- That holds for pages which vacuum has seen: let it look soon.
ALTER TABLE memory_item_embeddings SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.02);
CREATE INDEX memory_item_embeddings_open_idx
    ON memory_item_embeddings (user_id, space_id, state, item_id) WHERE state <> 'ready';
CREATE INDEX memory_item_embeddings_item_idx ON memory_item_embeddings (user_id, item_id);

ALTER TABLE system_settings        ENABLE ROW LEVEL SECURITY;
ALTER TABLE system_settings        FORCE  ROW LEVEL SECURITY;
ALTER TABLE system_providers       ENABLE ROW LEVEL SECURITY;
ALTER TABLE system_providers       FORCE  ROW LEVEL SECURITY;
ALTER TABLE allowed_endpoints      ENABLE ROW LEVEL SECURITY;
ALTER TABLE allowed_endpoints      FORCE  ROW LEVEL SECURITY;
ALTER TABLE embedding_settings     ENABLE ROW LEVEL SECURITY;
ALTER TABLE embedding_settings     FORCE  ROW LEVEL SECURITY;
ALTER TABLE embedding_spaces       ENABLE ROW LEVEL SECURITY;
ALTER TABLE embedding_spaces       FORCE  ROW LEVEL SECURITY;
ALTER TABLE memory_item_embeddings ENABLE ROW LEVEL SECURITY;
ALTER TABLE memory_item_embeddings FORCE  ROW LEVEL SECURITY;

CREATE POLICY owner ON system_settings        TO keepsake_owner USING (true) WITH CHECK (true);
CREATE POLICY owner ON system_providers       TO keepsake_owner USING (true) WITH CHECK (true);
CREATE POLICY owner ON allowed_endpoints      TO keepsake_owner USING (true) WITH CHECK (true);
CREATE POLICY owner ON embedding_settings     TO keepsake_owner USING (true) WITH CHECK (true);
CREATE POLICY owner ON embedding_spaces       TO keepsake_owner USING (true) WITH CHECK (true);
CREATE POLICY owner ON memory_item_embeddings TO keepsake_owner USING (true) WITH CHECK (true);

CREATE POLICY tenant ON embedding_settings     TO keepsake_app USING (user_id = (SELECT current_user_id()));
CREATE POLICY tenant ON embedding_spaces       TO keepsake_app USING (user_id = (SELECT current_user_id()));
CREATE POLICY tenant ON memory_item_embeddings TO keepsake_app USING (user_id = (SELECT current_user_id()));

GRANT SELECT, INSERT, UPDATE ON embedding_settings TO keepsake_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON embedding_spaces TO keepsake_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON memory_item_embeddings TO keepsake_app;

-- The system role sets what is everybody's, and sees of users' rows only whose
-- work is open: never a text, a vector or a key.
CREATE POLICY system ON system_settings        TO keepsake_system USING (true) WITH CHECK (true);
CREATE POLICY system ON system_providers       TO keepsake_system USING (true) WITH CHECK (true);
CREATE POLICY system ON allowed_endpoints      TO keepsake_system USING (true) WITH CHECK (true);
CREATE POLICY system ON embedding_settings     FOR SELECT TO keepsake_system USING (true);
CREATE POLICY system ON embedding_spaces       FOR SELECT TO keepsake_system USING (true);
CREATE POLICY system ON memory_item_embeddings FOR SELECT TO keepsake_system USING (true);
CREATE POLICY system ON memory_items           FOR SELECT TO keepsake_system USING (true);

GRANT SELECT, UPDATE ON system_settings TO keepsake_system;
GRANT SELECT, INSERT, UPDATE ON system_providers TO keepsake_system;
GRANT SELECT, INSERT, DELETE ON allowed_endpoints TO keepsake_system;
GRANT SELECT (user_id, enabled, own_enabled) ON embedding_settings TO keepsake_system;
GRANT SELECT (user_id, id, provider_type, endpoint, model, requested_dimensions, document_prefix, system_provider_id,
              state, problem, failures, retry_at, lease_until, created_at, retired_at) ON embedding_spaces TO keepsake_system;
GRANT SELECT (user_id, space_id, item_id, state) ON memory_item_embeddings TO keepsake_system;
GRANT SELECT (user_id, id) ON memory_items TO keepsake_system;
