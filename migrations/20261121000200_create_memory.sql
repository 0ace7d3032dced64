-- Memory: items in themes, what full text finds them by, and what happened to them.

CREATE TABLE memory_themes (
    user_id      bigint NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    id           bigint GENERATED ALWAYS AS IDENTITY,
    slug         text NOT NULL,
    display_name text NOT NULL,
    description  text NOT NULL DEFAULT '',
    created_at   timestamptz NOT NULL,
    updated_at   timestamptz NOT NULL,
    PRIMARY KEY (user_id, id),
    CONSTRAINT memory_themes_slug_key UNIQUE (user_id, slug)
);

CREATE TABLE memory_items (
    user_id          bigint NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    id               bigint GENERATED ALWAYS AS IDENTITY,
    theme_id         bigint NOT NULL,
    agent_id         bigint,
    type             text NOT NULL CONSTRAINT memory_items_type_check
                     CHECK (type IN ('preference', 'fact', 'instruction', 'summary', 'other')),
    key              text,
    content          text NOT NULL,
    content_hash     bytea NOT NULL,            -- SHA-256 of the content
    tags             text[] NOT NULL DEFAULT '{}',
    status           text NOT NULL DEFAULT 'active' CONSTRAINT memory_items_status_check
                     CHECK (status IN ('active', 'archived')),
    source           text NOT NULL,             -- how it came: 'agent', later 'session', 'import', …
    source_context   text,
    session_id       bigint,
    message_id       bigint,
    confidence       smallint NOT NULL DEFAULT 100 CONSTRAINT memory_items_confidence_check
                     CHECK (confidence BETWEEN 0 AND 100),
    protected        boolean NOT NULL DEFAULT false,
    expires_at       timestamptz,
    last_verified_at timestamptz,
    attributes       jsonb NOT NULL DEFAULT '{}',
    superseded_by    bigint,
    created_at       timestamptz NOT NULL,
    updated_at       timestamptz NOT NULL,
    -- Made by src/memories/words.rs, for items and queries alike.
    content_tsv      tsvector NOT NULL,
    PRIMARY KEY (user_id, id),
    FOREIGN KEY (user_id, theme_id) REFERENCES memory_themes (user_id, id),
    FOREIGN KEY (user_id, agent_id) REFERENCES agents (user_id, id),
    FOREIGN KEY (user_id, superseded_by) REFERENCES memory_items (user_id, id)
);
-- An exact duplicate of an active item in its theme is not stored twice.
CREATE UNIQUE INDEX memory_items_active_content_key
    ON memory_items (user_id, theme_id, content_hash) WHERE status = 'active';
CREATE INDEX memory_items_recent_idx ON memory_items (user_id, created_at DESC, id DESC);
CREATE INDEX memory_items_theme_recent_idx ON memory_items (user_id, theme_id, created_at DESC, id DESC);
-- btree_gin: the user and the word in one index, so that a search reads its own user's
-- rows alone. The pending list is kept short, since every search must read all of it.
CREATE INDEX memory_items_words_idx ON memory_items USING gin (user_id, content_tsv)
    WITH (gin_pending_list_limit = 256);

-- What happened to an item. Append-only: the app may add and read, and nothing else.
CREATE TABLE memory_item_events (
    user_id  bigint NOT NULL,
    id       bigint GENERATED ALWAYS AS IDENTITY,
    item_id  bigint NOT NULL,
    agent_id bigint,
    event    text NOT NULL CONSTRAINT memory_item_events_event_check
             CHECK (event IN ('added', 'archived')),
    at       timestamptz NOT NULL,
    PRIMARY KEY (user_id, id),
    FOREIGN KEY (user_id, item_id) REFERENCES memory_items (user_id, id) ON DELETE CASCADE,
    FOREIGN KEY (user_id, agent_id) REFERENCES agents (user_id, id)
);
CREATE INDEX memory_item_events_item_idx ON memory_item_events (user_id, item_id, id);

ALTER TABLE memory_themes      ENABLE ROW LEVEL SECURITY;
ALTER TABLE memory_themes      FORCE  ROW LEVEL SECURITY;
ALTER TABLE memory_items       ENABLE ROW LEVEL SECURITY;
ALTER TABLE memory_items       FORCE  ROW LEVEL SECURITY;
ALTER TABLE memory_item_events ENABLE ROW LEVEL SECURITY;
ALTER TABLE memory_item_events FORCE  ROW LEVEL SECURITY;

CREATE POLICY owner ON memory_themes      TO keepsake_owner USING (true) WITH CHECK (true);
CREATE POLICY owner ON memory_items       TO keepsake_owner USING (true) WITH CHECK (true);
CREATE POLICY owner ON memory_item_events TO keepsake_owner USING (true) WITH CHECK (true);

CREATE POLICY tenant ON memory_themes      TO keepsake_app USING (user_id = (SELECT current_user_id()));
CREATE POLICY tenant ON memory_items       TO keepsake_app USING (user_id = (SELECT current_user_id()));
CREATE POLICY tenant ON memory_item_events TO keepsake_app USING (user_id = (SELECT current_user_id()));

GRANT SELECT, INSERT, UPDATE ON memory_themes TO keepsake_app;
GRANT SELECT, INSERT, UPDATE ON memory_items TO keepsake_app;
GRANT SELECT, INSERT ON memory_item_events TO keepsake_app;
