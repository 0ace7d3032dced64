-- Jobs: which are due, and failures.

-- Users whose round of this job is due: `rounds` tells when the newest round began in each of `zones`.
CREATE OR REPLACE FUNCTION users_due(of_job text, zones text[], rounds timestamptz[], now timestamptz) RETURNS TABLE (user_id bigint)
    LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY
    SELECT u.id FROM memory_revisions r
    JOIN users u ON u.id = r.user_id
    JOIN unnest(zones, rounds) AS n (zone, at) ON n.zone = u.time_zone
    LEFT JOIN job_rounds d ON d.user_id = r.user_id AND d.job = of_job
    WHERE u.erasing_at IS NULL AND u.disabled_at IS NULL AND u.memory_enabled
      AND coalesce(d.done_at, greatest(u.created_at, (SELECT e.at FROM memory_item_events e WHERE e.user_id = r.user_id ORDER BY e.id LIMIT 1))) < n.at
      AND (d.next_try_at IS NULL OR d.next_try_at <= now);
END $$;

-- Records that a user's job has begun to fail; retries record nothing. Call it before the job's row is locked, since who changes a
-- memory locks the revision first.
CREATE OR REPLACE FUNCTION note_job_failure(account bigint, failed_job text, moment timestamptz) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM job_queue q JOIN users u ON u.id = q.user_id
                   WHERE q.user_id = account AND q.job = failed_job AND q.problem IS NULL AND u.disabled_at IS NULL) THEN
        RETURN;
    END IF;
    INSERT INTO memory_revisions (user_id, revision) VALUES (account, 0) ON CONFLICT DO NOTHING;
    PERFORM FROM memory_revisions WHERE user_id = account FOR UPDATE;
    INSERT INTO feed_events (user_id, id, event, at, job)
    VALUES (account, nextval('memory_item_events_id_seq'), 'job_failed', moment, failed_job);
END $$;
