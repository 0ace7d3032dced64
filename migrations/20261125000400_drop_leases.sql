-- Who reads a session or writes a summary has the user's row of `job_queue`: no other lease is needed.
ALTER TABLE session_extractions DROP COLUMN lease_until, DROP COLUMN started_at,
    ADD COLUMN reading_since timestamptz; -- NULL: nobody reads it
ALTER TABLE memory_summaries DROP COLUMN lease_until,
    ADD COLUMN writing_since timestamptz; -- NULL: nobody writes it
