-- Background work (src/queue, src/jobs). All of it is hints: what is due follows from the
-- rows of the domain, and every minute the sweep puts on again what is missing here.

-- What is due for whom: one row a user and job. User 0 is the server itself.
CREATE TABLE job_queue (
    user_id       bigint NOT NULL,
    job           text NOT NULL,
    run_at        timestamptz,                -- not before; NULL: nothing is due
    waiting_since timestamptz NOT NULL,       -- since it is due, or since its last slice
    size          integer NOT NULL DEFAULT 0, -- about how much there is to do
    pushes        bigint NOT NULL DEFAULT 1,  -- raised by each push, so that a run sees that more has come
    attempts      integer NOT NULL DEFAULT 0, -- runs since the last that ended well
    problem       text,                       -- why the last run failed
    lease         bigint,                     -- the process that runs it …
    lease_until   timestamptz,                -- … and renews this
    endpoint      bigint,                     -- the provider that the last run called: a number made of its address
    PRIMARY KEY (user_id, job)
);
CREATE INDEX job_queue_due_idx ON job_queue (run_at) WHERE run_at IS NOT NULL;
-- Half of the runs that a server has of a job call the same provider, at most.
CREATE INDEX job_queue_lease_idx ON job_queue (lease) WHERE lease IS NOT NULL;

-- Runs, without content, for 30 days. Slices of one work, and runs that follow each other within
-- minutes, are one row.
CREATE TABLE job_runs (
    user_id    bigint NOT NULL,
    id         bigint GENERATED ALWAYS AS IDENTITY,
    job        text NOT NULL,
    started_at timestamptz NOT NULL,
    ended_at   timestamptz NOT NULL,
    slices     integer NOT NULL DEFAULT 1,
    took_ms    bigint NOT NULL,
    outcome    text NOT NULL CONSTRAINT job_runs_outcome_check CHECK (outcome IN ('done', 'failed')),
    done       bigint NOT NULL DEFAULT 0,     -- rows worked on
    failed     bigint NOT NULL DEFAULT 0,     -- rows that could not be
    problem    text,
    PRIMARY KEY (user_id, id)
);
CREATE INDEX job_runs_latest_idx ON job_runs (user_id, job, id);
CREATE INDEX job_runs_ended_idx ON job_runs (ended_at);
CREATE INDEX job_runs_last_idx ON job_runs (job, ended_at);

-- What an admin has set.
CREATE TABLE job_settings (
    job       text PRIMARY KEY,
    paused_at timestamptz,
    at_time   time,     -- local time of each user; NULL: the job's default
    weekday   smallint  -- 1: Monday, 7: Sunday; NULL: every day
              CONSTRAINT job_settings_weekday_check CHECK (weekday BETWEEN 1 AND 7)
);

ALTER TABLE job_queue    ENABLE ROW LEVEL SECURITY;
ALTER TABLE job_queue    FORCE  ROW LEVEL SECURITY;
ALTER TABLE job_runs     ENABLE ROW LEVEL SECURITY;
ALTER TABLE job_runs     FORCE  ROW LEVEL SECURITY;
ALTER TABLE job_settings ENABLE ROW LEVEL SECURITY;
ALTER TABLE job_settings FORCE  ROW LEVEL SECURITY;
CREATE POLICY owner  ON job_queue    TO keepsake_owner USING (true) WITH CHECK (true);
CREATE POLICY owner  ON job_runs     TO keepsake_owner USING (true) WITH CHECK (true);
CREATE POLICY owner  ON job_settings TO keepsake_owner USING (true) WITH CHECK (true);
CREATE POLICY tenant ON job_queue    TO keepsake_app USING (user_id = (SELECT current_user_id()));
CREATE POLICY tenant ON job_runs     FOR SELECT TO keepsake_app USING (user_id = (SELECT current_user_id()));
CREATE POLICY system ON job_queue    TO keepsake_system USING (true) WITH CHECK (true);
CREATE POLICY system ON job_runs     TO keepsake_system USING (true) WITH CHECK (true);
CREATE POLICY system ON job_settings TO keepsake_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE ON job_queue TO keepsake_app;
GRANT SELECT ON job_runs TO keepsake_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON job_queue, job_runs, job_settings TO keepsake_system;
ALTER TABLE job_queue ALTER COLUMN problem SET STATISTICS 0;
ALTER TABLE job_runs  ALTER COLUMN problem SET STATISTICS 0;

-- The queue before this one. Its jobs were hints: the sweep puts them on again.
DROP SCHEMA IF EXISTS apalis CASCADE;

-- Who works on a user's vectors, reads a session or writes a summary has the user's row of `job_queue`: no
-- other lease is needed. A message may be longer than a day's tokens: what was read of it is not paid for again.
ALTER TABLE embedding_spaces DROP COLUMN lease_until;
ALTER TABLE session_extractions DROP COLUMN lease_until, DROP COLUMN started_at,
    ADD COLUMN windows_read integer NOT NULL DEFAULT 0,
    ADD COLUMN reading_since timestamptz; -- NULL: nobody reads it
ALTER TABLE memory_summaries DROP COLUMN lease_until,
    ADD COLUMN writing_since timestamptz; -- NULL: nobody writes it

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

-- Of the tokens of a day, those for evaluation.
ALTER TABLE chat_spend ADD COLUMN evaluation_tokens bigint NOT NULL DEFAULT 0;
