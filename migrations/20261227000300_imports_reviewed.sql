-- Imports are reviewed in a list of their own (src/memories/learned), and say whether their file's word was taken.
ALTER TABLE data_imports ADD COLUMN origin text CONSTRAINT data_imports_origin_check CHECK (origin IN ('signed', 'vouched', 'unknown'));
ALTER TABLE learned_seen ADD COLUMN imported_id bigint NOT NULL DEFAULT 0;
CREATE INDEX memory_item_events_imported_idx ON memory_item_events (user_id, item_id) WHERE event = 'imported';
