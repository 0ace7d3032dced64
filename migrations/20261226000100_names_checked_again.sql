-- Names that earlier rules have found are read once more by those of today (src/entities/upkeep/withdraw.rs). Rows from before
-- are unchecked, new ones are not.
ALTER TABLE entity_names ADD COLUMN is_unchecked boolean NOT NULL DEFAULT true;
ALTER TABLE entity_names ALTER COLUMN is_unchecked SET DEFAULT false;
CREATE INDEX entity_names_unchecked_idx ON entity_names (user_id, id) WHERE is_unchecked;
GRANT SELECT (is_unchecked) ON entity_names TO keepsake_system;

-- On the user's own entity: how many names were withdrawn. It names none, so that nothing of it has to be erased.
ALTER TABLE entity_events DROP CONSTRAINT entity_events_event_check;
ALTER TABLE entity_events ADD CONSTRAINT entity_events_event_check CHECK (event IN (
    'merged', 'split', 'renamed', 'protected', 'unprotected', 'apart', 'withdrawn'));
