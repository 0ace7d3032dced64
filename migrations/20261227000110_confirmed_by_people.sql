-- What a person confirmed in an earlier version: by the last event that confirmed it or took that away, if it is none that an
-- import brought along. In a migration of its own: Citus changes no rows of all servers after a foreign key was added.
UPDATE memory_items i SET locked = true
WHERE i.protected AND EXISTS (
    SELECT FROM memory_item_events e
    WHERE e.user_id = i.user_id AND e.item_id = i.id AND e.event = 'confirmed' AND e.agent_id IS NULL
      AND NOT EXISTS (SELECT FROM memory_item_events later
                      WHERE later.user_id = i.user_id AND later.item_id = i.id AND later.id > e.id
                        AND later.event IN ('confirmed', 'unconfirmed', 'imported')));
