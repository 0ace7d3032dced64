-- What an import did with each entry of its file, for its person to download: JSON Lines of places and sentences, never
-- content. Kept of the newest imports only.
ALTER TABLE data_imports
    ADD COLUMN documents bigint NOT NULL DEFAULT 0,
    ADD COLUMN changed   bigint NOT NULL DEFAULT 0,   -- taken, but not as they were
    ADD COLUMN skipped   bigint NOT NULL DEFAULT 0,   -- not imported, and did not have to be
    ADD COLUMN report    text;
