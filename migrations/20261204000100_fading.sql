-- Fading: a memory that nobody uses gets weaker, and is archived once it is weak. Nothing is rewritten for that: strength is
-- computed from when an item was used last.

-- Written in batches by Activity, off the path of searches; no revision is raised.
CREATE TABLE memory_uses (
    user_id       bigint NOT NULL,
    item_id       bigint NOT NULL,
    access_count  bigint NOT NULL,
    last_accessed timestamptz NOT NULL,
    PRIMARY KEY (user_id, item_id),
    FOREIGN KEY (user_id, item_id) REFERENCES memory_items (user_id, id) ON DELETE CASCADE
) WITH (fillfactor = 80);

CREATE TABLE fading_settings (
    user_id   bigint PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    is_on     boolean NOT NULL DEFAULT true,
    threshold double precision CONSTRAINT fading_settings_threshold_check CHECK (threshold BETWEEN 0.01 AND 0.5),
    -- {type: rate a day}; what is missing is as the server has it, as is a threshold that is NULL.
    rates     jsonb NOT NULL DEFAULT '{}' CONSTRAINT fading_settings_rates_check CHECK (jsonb_typeof(rates) = 'object'),
    faded_at  timestamptz           -- the last night on which it was looked for what has faded
);
-- Whoever is here already decides for themselves.
INSERT INTO fading_settings (user_id, is_on) SELECT id, false FROM users;

ALTER TABLE memory_uses     ENABLE ROW LEVEL SECURITY;
ALTER TABLE memory_uses     FORCE  ROW LEVEL SECURITY;
ALTER TABLE fading_settings ENABLE ROW LEVEL SECURITY;
ALTER TABLE fading_settings FORCE  ROW LEVEL SECURITY;
CREATE POLICY owner ON memory_uses     TO keepsake_owner USING (true) WITH CHECK (true);
CREATE POLICY owner ON fading_settings TO keepsake_owner USING (true) WITH CHECK (true);
CREATE POLICY tenant ON memory_uses     TO keepsake_app USING (user_id = (SELECT current_user_id()));
CREATE POLICY tenant ON fading_settings TO keepsake_app USING (user_id = (SELECT current_user_id()));
CREATE POLICY system ON fading_settings FOR SELECT TO keepsake_system USING (true);
GRANT SELECT, INSERT, UPDATE ON memory_uses, fading_settings TO keepsake_app;
GRANT SELECT ON fading_settings TO keepsake_system;
INSERT INTO account_tables (name, place) VALUES ('memory_uses', 8), ('fading_settings', NULL);

-- A rate of its own: 0 never fades. NULL: as its type.
ALTER TABLE memory_items ADD COLUMN decay_rate double precision
    CONSTRAINT memory_items_decay_rate_check CHECK (decay_rate BETWEEN 0 AND 10);

-- How much of its strength an item loses a day.
CREATE FUNCTION decay_rate_of(type text, protected boolean, own double precision, rates jsonb) RETURNS double precision
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN protected OR type IN ('instruction', 'reflection') THEN 0
                ELSE coalesce(own, (rates ->> type)::double precision, 0) END
$$;
-- 0 to 1
CREATE FUNCTION strength_of(confidence smallint, rate double precision, last_used timestamptz, at timestamptz) RETURNS double precision
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT confidence / 100.0::double precision
         * exp(-least(rate * greatest(extract(epoch FROM at - last_used)::double precision / 86400, 0), 500))
$$;

-- faded: nobody had used it for long.
ALTER TABLE memory_item_events
    DROP CONSTRAINT memory_item_events_event_check,
    ADD CONSTRAINT memory_item_events_event_check
        CHECK (event IN ('added', 'archived', 'imported', 'superseded', 'put_aside', 'confirmed', 'expired', 'named',
                         'restored', 'unconfirmed', 'changed', 'shared', 'owned', 'faded'));
CREATE INDEX memory_item_events_faded_idx ON memory_item_events (user_id, id) WHERE event = 'faded';

-- How strong the user's live items are that fade at all.
CREATE FUNCTION fading_items(account bigint, at timestamptz, rates jsonb)
    RETURNS TABLE (item_id bigint, strength double precision, rate double precision, last_used timestamptz, access_count bigint)
    LANGUAGE sql STABLE AS $$
    SELECT i.id, strength_of(i.confidence, i.rate, i.last_used, at), i.rate, i.last_used, i.access_count
    FROM (SELECT i.id, i.confidence, decay_rate_of(i.type, i.protected, i.decay_rate, rates) AS rate,
                 greatest(i.created_at, i.last_verified_at, m.last_accessed) AS last_used, coalesce(m.access_count, 0) AS access_count
          FROM memory_items i LEFT JOIN memory_uses m ON m.user_id = account AND m.item_id = i.id
          WHERE i.user_id = account AND i.theme_id IS NOT NULL AND is_live(i.status, i.live_until, at)) i
    WHERE i.rate > 0
$$;
