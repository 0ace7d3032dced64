-- A new account's first round is the first one after it was created; imported events may be older.
CREATE OR REPLACE FUNCTION users_due(of_job text, zones text[], rounds timestamptz[], now timestamptz) RETURNS TABLE (user_id bigint)
    LANGUAGE sql STABLE AS $$
    SELECT u.id FROM users u
    JOIN memory_revisions r ON r.user_id = u.id
    JOIN unnest(zones, rounds) AS n (zone, at) ON n.zone = u.time_zone
    LEFT JOIN job_rounds d ON d.user_id = u.id AND d.job = of_job
    WHERE u.erasing_at IS NULL AND u.disabled_at IS NULL AND u.memory_enabled
      AND coalesce(d.done_at, greatest(u.created_at, (SELECT e.at FROM memory_item_events e WHERE e.user_id = u.id ORDER BY e.id LIMIT 1))) < n.at
      AND (d.next_try_at IS NULL OR d.next_try_at <= now)
$$;
