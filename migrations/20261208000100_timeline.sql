-- The Timeline reads what happened by when it happened.
CREATE INDEX memory_item_events_at_idx ON memory_item_events (user_id, at, id);
