-- Whose a theme's display name and description are. words_owner: the only agent that sees them; NULL: all that see the theme.
-- words_agent: the agent that wrote the description; NULL: nobody, an import, or an earlier version.
ALTER TABLE memory_themes ADD COLUMN words_owner bigint, ADD COLUMN words_agent bigint;
-- Of a theme in which one agent alone has memories, the words are its own.
UPDATE memory_themes t SET words_owner = o.owner
FROM (SELECT user_id, theme_id, min(owner_agent_id) AS owner FROM memory_items WHERE theme_id IS NOT NULL
      GROUP BY user_id, theme_id HAVING count(*) = count(owner_agent_id) AND min(owner_agent_id) = max(owner_agent_id)) o
WHERE o.user_id = t.user_id AND o.theme_id = t.id;
