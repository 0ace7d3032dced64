-- A link that sets the password of an account: an invitation that makes no account. And more of
-- what admins do is recorded.

ALTER TABLE invitations ADD COLUMN resets bigint REFERENCES users (id) ON DELETE CASCADE; -- whose password; NULL: it makes an account
CREATE INDEX invitations_resets_idx ON invitations (resets) WHERE resets IS NOT NULL;
ALTER TABLE invitations ALTER COLUMN role DROP NOT NULL;
ALTER TABLE invitations ADD CONSTRAINT invitations_kind_check CHECK (
    CASE WHEN resets IS NULL THEN role IS NOT NULL ELSE role IS NULL AND email IS NULL END);

-- Its name is kept elsewhere; what was done stays when an operator goes.
ALTER TABLE admin_events ADD COLUMN operator_id bigint REFERENCES operators (id) ON DELETE SET NULL;
CREATE INDEX admin_events_operator_idx ON admin_events (operator_id) WHERE operator_id IS NOT NULL;
ALTER TABLE admin_events DROP CONSTRAINT admin_events_action_check;
ALTER TABLE admin_events ADD CONSTRAINT admin_events_action_check CHECK (action IN (
    'invite_member', 'invite_admin', 'revoke_invitation', 'accept_invitation',
    'disable', 'enable', 'promote', 'demote',
    'make_reset_link', 'use_reset_link', 'set_password',
    'make_operator', 'change_operator', 'make_service_token', 'revoke_service_token',
    'set_provider', 'remove_provider', 'set_chat', 'remove_chat',
    'builtin_on', 'builtin_off', 'allow_endpoint', 'disallow_endpoint'));
