-- An allowed host and port is allowed for one purpose. Those of earlier versions keep all.
ALTER TABLE allowed_endpoints ADD COLUMN purpose text NOT NULL DEFAULT 'models'
    CONSTRAINT allowed_endpoints_purpose_check CHECK (purpose IN ('models', 'webhooks', 'clients'));
ALTER TABLE allowed_endpoints ALTER COLUMN purpose DROP DEFAULT, DROP CONSTRAINT allowed_endpoints_pkey, ADD PRIMARY KEY (host, port, purpose);
INSERT INTO allowed_endpoints (host, port, purpose, created_at)
SELECT host, port, p.purpose, created_at FROM allowed_endpoints, (VALUES ('webhooks'), ('clients')) p (purpose);
