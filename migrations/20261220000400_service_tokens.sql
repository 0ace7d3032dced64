-- The clean-up deletes service tokens that ended long ago.
GRANT DELETE ON service_tokens TO keepsake_system;
