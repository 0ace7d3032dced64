-- Flush: what is new of a session is read before its agent compacts its context.

ALTER TABLE session_extractions
    ADD COLUMN flush    text,                  -- why, as its agent says; NULL: it is read in its turn
    ADD COLUMN noted_at timestamptz;           -- what was kept stands in the day's note
-- The last message when it was flushed last.
ALTER TABLE sessions ADD COLUMN flushed_position integer NOT NULL DEFAULT 0;
ALTER TABLE session_extractions ALTER COLUMN flush SET STATISTICS 0;
