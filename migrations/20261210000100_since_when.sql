-- The index of searches knows since when what a memory says is true, for questions that name a time.
CREATE OR REPLACE VIEW whole_memory AS
    SELECT user_id, id, theme_id, agent_id, owner_agent_id, type, turn_session_id, status, live_until, created_at, key, tags, content,
           valid_from
    FROM memory_items WHERE user_id = (SELECT current_user_id());
