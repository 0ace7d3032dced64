-- What whoever looks after a server asks, as the system role: since when vectors
-- wait, and which of the migrations were applied. Never a text, a vector or a key.
GRANT SELECT (updated_at) ON memory_item_embeddings TO keepsake_system;
GRANT SELECT (version, success) ON _sqlx_migrations TO keepsake_system;
