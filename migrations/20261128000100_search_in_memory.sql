-- Searches are answered from memory (src/search/reader/), so that what only their statement read goes. Columns are
-- dropped without rewriting the tables; docs/operating.md says how to free their room.
ALTER TABLE memory_items DROP COLUMN content_tsv;
ALTER TABLE memory_embeddings ALTER COLUMN is_turn DROP EXPRESSION;
ALTER TABLE memory_embeddings
    DROP COLUMN bits, DROP COLUMN theme_id, DROP COLUMN item_type, DROP COLUMN item_live_until, DROP COLUMN item_created_at,
    ADD CONSTRAINT memory_embeddings_ready_check CHECK (state <> 'ready' OR embedding IS NOT NULL),
    RESET (autovacuum_vacuum_scale_factor, autovacuum_vacuum_insert_scale_factor);

-- Words are told apart as they were not before: the terms of what is there are made anew, its vectors stay.
INSERT INTO memory_passages_due (user_id, sources) SELECT user_id, count(*) FROM memory_items GROUP BY user_id
ON CONFLICT (user_id) DO UPDATE SET source_id = 0, done = 0;
