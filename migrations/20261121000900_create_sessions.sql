-- Sessions: what an agent and its user said to each other, as it was said, and the ledger
-- of what came of it. Messages are append-only: the app may add and read them. A session
-- that is complete has, in the ledger, one row for each stretch of messages since the
-- completion before; whoever reads them for memories writes into that row how it ended.

CREATE TABLE sessions (
    user_id          bigint NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    id               bigint GENERATED ALWAYS AS IDENTITY,
    agent_id         bigint NOT NULL,
    external_id      text NOT NULL,             -- the agent's own name for it
    state            text NOT NULL DEFAULT 'open' CONSTRAINT sessions_state_check
                     CHECK (state IN ('open', 'completed')),
    message_count    integer NOT NULL DEFAULT 0,    -- and the position of the last message
    ledger_position  integer NOT NULL DEFAULT 0,    -- the last message that a row of the ledger covers
    created_at       timestamptz NOT NULL,
    opened_at        timestamptz NOT NULL,      -- made, or reopened by a message after its completion
    last_message_at  timestamptz NOT NULL,      -- when it came in, by our clock
    completed_at     timestamptz,
    completed_why    text CONSTRAINT sessions_completed_why_check
                     CHECK (completed_why IN ('asked', 'another', 'still', 'nightly')),
    PRIMARY KEY (user_id, id),
    CONSTRAINT sessions_external_id_key UNIQUE (user_id, agent_id, external_id),
    CONSTRAINT sessions_completed_check CHECK ((state = 'open') = (completed_at IS NULL)),
    FOREIGN KEY (user_id, agent_id) REFERENCES agents (user_id, id)
);
CREATE INDEX sessions_newest_idx ON sessions (user_id, last_message_at DESC, id DESC);
-- For the sweep, which looks at everybody's.
CREATE INDEX sessions_open_idx ON sessions (last_message_at) WHERE state = 'open';
CREATE INDEX sessions_agents_open_idx ON sessions (user_id, agent_id) WHERE state = 'open';

CREATE TABLE session_messages (
    user_id      bigint NOT NULL,
    session_id   bigint NOT NULL,
    position     integer NOT NULL,              -- 1, 2, … in the order of arrival
    external_id  text NOT NULL,                 -- the sender's: what comes twice is kept once
    role         text NOT NULL CONSTRAINT session_messages_role_check
                 CHECK (role IN ('user', 'assistant', 'tool')),
    content      text NOT NULL,                 -- '' where only tools were called
    tool_calls   jsonb,                         -- of an assistant: a list of id, name, arguments (a text)
    tool_call_id text,                          -- of a tool: which call it answers
    sent_at      timestamptz,                   -- as the sender says
    created_at   timestamptz NOT NULL,
    PRIMARY KEY (user_id, session_id, position),
    CONSTRAINT session_messages_external_id_key UNIQUE (user_id, session_id, external_id),
    FOREIGN KEY (user_id, session_id) REFERENCES sessions (user_id, id) ON DELETE CASCADE
);

-- The ledger. Nothing that was said is in it.
CREATE TABLE session_extractions (
    user_id          bigint NOT NULL,
    id               bigint GENERATED ALWAYS AS IDENTITY,
    session_id       bigint NOT NULL,
    first_position   integer NOT NULL,
    last_position    integer NOT NULL,
    outcome          text NOT NULL DEFAULT 'pending' CONSTRAINT session_extractions_outcome_check
                     CHECK (outcome IN ('pending', 'stored', 'nothing', 'failed', 'skipped')),
    reason           text,                      -- why it failed or was skipped: a clause for people
    stored_count     integer NOT NULL DEFAULT 0,
    merged_count     integer NOT NULL DEFAULT 0,
    superseded_count integer NOT NULL DEFAULT 0,
    malformed_count  integer NOT NULL DEFAULT 0,
    skipped_chars    bigint NOT NULL DEFAULT 0, -- of the middle of a very long transcript
    is_fallback      boolean NOT NULL DEFAULT false,    -- without a model
    attempts         integer NOT NULL DEFAULT 0,
    next_try_at      timestamptz,
    lease_until      timestamptz,               -- somebody is at it until then
    model            text,
    tokens_in        bigint NOT NULL DEFAULT 0,
    tokens_out       bigint NOT NULL DEFAULT 0,
    duration_ms      bigint NOT NULL DEFAULT 0,
    created_at       timestamptz NOT NULL,
    started_at       timestamptz,
    ended_at         timestamptz,
    PRIMARY KEY (user_id, id),
    -- Each message is in one row of the ledger.
    CONSTRAINT session_extractions_first_position_key UNIQUE (user_id, session_id, first_position),
    CONSTRAINT session_extractions_positions_check CHECK (first_position <= last_position),
    FOREIGN KEY (user_id, session_id) REFERENCES sessions (user_id, id) ON DELETE CASCADE
);
CREATE INDEX session_extractions_due_idx ON session_extractions (next_try_at, id)
    WHERE outcome = 'pending' OR next_try_at IS NOT NULL;

-- An item says which session it came from, and by `message_id` at which position. The
-- index is for what came of a session.
ALTER TABLE memory_items ADD CONSTRAINT memory_items_session_id_fkey
    FOREIGN KEY (user_id, session_id) REFERENCES sessions (user_id, id) ON DELETE SET NULL (session_id);
CREATE INDEX memory_items_session_idx ON memory_items (user_id, session_id) WHERE session_id IS NOT NULL;

ALTER TABLE sessions            ENABLE ROW LEVEL SECURITY;
ALTER TABLE sessions            FORCE  ROW LEVEL SECURITY;
ALTER TABLE session_messages    ENABLE ROW LEVEL SECURITY;
ALTER TABLE session_messages    FORCE  ROW LEVEL SECURITY;
ALTER TABLE session_extractions ENABLE ROW LEVEL SECURITY;
ALTER TABLE session_extractions FORCE  ROW LEVEL SECURITY;

CREATE POLICY owner ON sessions            TO keepsake_owner USING (true) WITH CHECK (true);
CREATE POLICY owner ON session_messages    TO keepsake_owner USING (true) WITH CHECK (true);
CREATE POLICY owner ON session_extractions TO keepsake_owner USING (true) WITH CHECK (true);

CREATE POLICY tenant ON sessions            TO keepsake_app USING (user_id = (SELECT current_user_id()));
CREATE POLICY tenant ON session_messages    TO keepsake_app USING (user_id = (SELECT current_user_id()));
CREATE POLICY tenant ON session_extractions TO keepsake_app USING (user_id = (SELECT current_user_id()));

GRANT SELECT, INSERT, UPDATE ON sessions TO keepsake_app;
GRANT SELECT, INSERT ON session_messages TO keepsake_app;
GRANT SELECT, INSERT, UPDATE ON session_extractions TO keepsake_app;

-- For the sweep: whose sessions are still, and which rows of the ledger are due. Never a word.
CREATE POLICY system ON sessions            FOR SELECT TO keepsake_system USING (true);
CREATE POLICY system ON session_extractions FOR SELECT TO keepsake_system USING (true);
GRANT SELECT (user_id, id, state, opened_at, last_message_at) ON sessions TO keepsake_system;
GRANT SELECT (user_id, id, outcome, next_try_at, lease_until) ON session_extractions TO keepsake_system;

-- They go with their account.
INSERT INTO account_tables (name, place) VALUES
    ('session_extractions', 54), ('session_messages', 55), ('sessions', 56);

-- As for all texts: ANALYZE keeps no samples of them.
ALTER TABLE sessions ALTER COLUMN external_id SET STATISTICS 0;
ALTER TABLE session_messages
    ALTER COLUMN external_id SET STATISTICS 0, ALTER COLUMN content SET STATISTICS 0,
    ALTER COLUMN tool_calls SET STATISTICS 0, ALTER COLUMN tool_call_id SET STATISTICS 0;
ALTER TABLE session_extractions ALTER COLUMN reason SET STATISTICS 0, ALTER COLUMN model SET STATISTICS 0;
