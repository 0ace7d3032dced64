-- Memories that earlier versions stored as the person's own words because an agent said so and a quote was found, whatever it
-- said: listed once for review (src/memories/learned). Up to claims_until; later ones are proven (src/consolidation/proof).
ALTER TABLE learned_seen ADD COLUMN claims_until bigint NOT NULL DEFAULT 0;
INSERT INTO learned_seen (user_id, seen_id, claims_until)
SELECT user_id, 0, max(id) FROM memory_items
WHERE trust = 'user' AND agent_id IS NOT NULL AND source = 'user_explicit' AND session_id IS NULL AND theme_id IS NOT NULL
GROUP BY user_id
ON CONFLICT (user_id) DO UPDATE SET claims_until = excluded.claims_until;
