-- What an agent added or corrected is compared with what is held after it is stored (src/consolidation/compare.rs); what was
-- read from a session was compared before.
ALTER TABLE memory_items ADD COLUMN is_uncompared boolean NOT NULL DEFAULT false;
CREATE INDEX memory_items_uncompared_idx ON memory_items (user_id, id) WHERE is_uncompared;
GRANT SELECT (is_uncompared) ON memory_items TO keepsake_system;
