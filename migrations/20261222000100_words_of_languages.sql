-- Words have the stems of their languages: the terms of what is there are made again. Nothing is embedded again, because the
-- passages and the hashes of what is embedded stay as they are.
INSERT INTO memory_passages_due (user_id, sources) SELECT user_id, count(*) FROM memory_items GROUP BY user_id
ON CONFLICT (user_id) DO UPDATE SET source_id = 0, sources = excluded.sources, done = 0;
