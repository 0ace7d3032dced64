-- What a rebuild did to what is found is measured where its user asks for it. The row is the truth, and
-- the job a hint: what was asked so far stands in the questions, so that a kill loses no call of a model.

CREATE TABLE evaluation_requests (
    user_id          bigint NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    space_id         bigint NOT NULL,             -- that serves
    before_id        bigint,                      -- that served before it; NULL: its model does not answer
    asked_at         timestamptz NOT NULL,
    items            bigint NOT NULL DEFAULT 0,   -- of which questions could be made
    questions        integer NOT NULL DEFAULT 0,  -- 0: they are still to be made
    failures         integer NOT NULL DEFAULT 0,  -- calls in a row that a model did not answer
    embedding_tokens bigint NOT NULL DEFAULT 0,   -- of both models, at four characters each
    chat_tokens      bigint NOT NULL DEFAULT 0,
    ended_at         timestamptz,
    problem          text,                        -- why nothing was measured
    PRIMARY KEY (user_id, space_id)
);
CREATE INDEX evaluation_requests_open_idx ON evaluation_requests (user_id) WHERE ended_at IS NULL;

-- Made of memories: they go at the end of the measurement, and each with its memory.
CREATE TABLE evaluation_questions (
    user_id                 bigint NOT NULL,
    space_id                bigint NOT NULL,
    number                  integer NOT NULL,
    item_id                 bigint NOT NULL,      -- that answers it
    question                text NOT NULL,
    by_model                boolean,              -- NULL: the chat model is still to put it
    -- Of its memory in the answer, from 1; 0: it was not found; NULL: not asked yet.
    place_before            integer,
    place_before_by_meaning integer,
    place_now               integer,
    place_now_by_meaning    integer,
    PRIMARY KEY (user_id, space_id, number),
    FOREIGN KEY (user_id, space_id) REFERENCES evaluation_requests (user_id, space_id) ON DELETE CASCADE,
    FOREIGN KEY (user_id, item_id) REFERENCES memory_items (user_id, id) ON DELETE CASCADE
);
CREATE INDEX evaluation_questions_item_idx ON evaluation_questions (user_id, item_id);

ALTER TABLE evaluation_requests  ENABLE ROW LEVEL SECURITY;
ALTER TABLE evaluation_requests  FORCE  ROW LEVEL SECURITY;
ALTER TABLE evaluation_questions ENABLE ROW LEVEL SECURITY;
ALTER TABLE evaluation_questions FORCE  ROW LEVEL SECURITY;
CREATE POLICY owner  ON evaluation_requests  TO keepsake_owner USING (true) WITH CHECK (true);
CREATE POLICY owner  ON evaluation_questions TO keepsake_owner USING (true) WITH CHECK (true);
CREATE POLICY tenant ON evaluation_requests  TO keepsake_app USING (user_id = (SELECT current_user_id()));
CREATE POLICY tenant ON evaluation_questions TO keepsake_app USING (user_id = (SELECT current_user_id()));
CREATE POLICY system ON evaluation_requests  FOR SELECT TO keepsake_system USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON evaluation_requests, evaluation_questions TO keepsake_app;
-- Whose measurement goes on.
GRANT SELECT (user_id, ended_at) ON evaluation_requests TO keepsake_system;

ALTER TABLE evaluation_requests  ALTER COLUMN problem  SET STATISTICS 0;
ALTER TABLE evaluation_questions ALTER COLUMN question SET STATISTICS 0;

-- Few, and they go with their user.
INSERT INTO account_tables (name, place) VALUES ('evaluation_questions', NULL), ('evaluation_requests', NULL);

-- Of the tokens of a day, those for evaluation.
ALTER TABLE chat_spend ADD COLUMN evaluation_tokens bigint NOT NULL DEFAULT 0;
