-- read_again: it was a guess, and a model has read since what it was made of.
ALTER TABLE memory_item_events
    DROP CONSTRAINT memory_item_events_event_check,
    ADD CONSTRAINT memory_item_events_event_check
        CHECK (event IN ('added', 'archived', 'imported', 'superseded', 'put_aside', 'confirmed', 'expired', 'named',
                         'restored', 'unconfirmed', 'changed', 'shared', 'owned', 'faded', 'merged', 'began', 'ended', 'read_again'));
-- Stretches whose guesses wait for a model.
CREATE INDEX session_extractions_guessed_idx ON session_extractions (user_id, id)
    WHERE is_fallback AND outcome IN ('failed', 'skipped') AND next_try_at IS NULL;
