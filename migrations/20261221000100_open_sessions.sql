-- Turns are made of every message that a session holds, also while it is open (src/sessions/turns/).
DROP INDEX sessions_turns_due_idx;
CREATE INDEX sessions_turns_due_idx ON sessions (user_id, id) WHERE turns_position < message_count;
GRANT SELECT (message_count) ON sessions TO keepsake_system;
