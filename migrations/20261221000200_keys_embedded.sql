-- The key of an item is embedded before each of its passages ("prefers_dark_ui: true"): this many characters of it. NULL: none.
ALTER TABLE memory_passages ADD COLUMN key_chars integer;
-- The vector was made without the key; it is made anew when the user confirms it.
ALTER TABLE memory_embeddings ADD COLUMN without_key boolean NOT NULL DEFAULT false;
CREATE INDEX memory_embeddings_without_key_idx ON memory_embeddings (user_id, space_id) WHERE without_key;

-- Keys and tags are words of every passage, keys are embedded: the passages of what is there are made anew.
INSERT INTO memory_passages_due (user_id, sources) SELECT user_id, count(*) FROM memory_items GROUP BY user_id
ON CONFLICT (user_id) DO UPDATE SET source_id = 0, sources = excluded.sources, done = 0;
