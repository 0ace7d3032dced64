-- The index of searches knows what is the user's own word, which counts a little more.
CREATE OR REPLACE VIEW whole_memory AS
    SELECT user_id, id, theme_id, agent_id, owner_agent_id, type, turn_session_id, status, live_until, created_at, key, tags, content,
           valid_from, trust
    FROM memory_items WHERE user_id = (SELECT current_user_id());
