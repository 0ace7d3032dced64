-- What a rebuild did to how well a user finds their own memory: counts, and no question. One
-- measurement a space, of what serves now and of what served before it. It outlives the spaces.

CREATE TABLE evaluations (
    user_id            bigint NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    space_id           bigint NOT NULL,          -- that served when it was measured
    side               text NOT NULL CHECK (side IN ('now', 'before')),
    measured_at        timestamptz NOT NULL,
    provider_type      text NOT NULL,
    model              text NOT NULL,            -- as its endpoint calls it; empty: the endpoint's own
    items              bigint NOT NULL,          -- of which questions could be made
    questions          integer NOT NULL,
    questions_by_model integer NOT NULL,         -- of these, put by the chat model
    found              integer[] NOT NULL CHECK (cardinality(found) = 3),            -- at 1, 5, 10
    found_by_meaning   integer[] NOT NULL CHECK (cardinality(found_by_meaning) = 3),
    PRIMARY KEY (user_id, space_id, side)
);

ALTER TABLE evaluations ENABLE ROW LEVEL SECURITY;
ALTER TABLE evaluations FORCE  ROW LEVEL SECURITY;
CREATE POLICY owner  ON evaluations TO keepsake_owner USING (true) WITH CHECK (true);
CREATE POLICY tenant ON evaluations TO keepsake_app USING (user_id = (SELECT current_user_id()));
GRANT SELECT, INSERT, DELETE ON evaluations TO keepsake_app;

-- Few, and they go with their user.
INSERT INTO account_tables (name, place) VALUES ('evaluations', NULL);

-- As for all texts: ANALYZE keeps no samples of them.
ALTER TABLE evaluations ALTER COLUMN model SET STATISTICS 0;
