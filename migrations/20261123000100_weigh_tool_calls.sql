-- What tool calls weigh as text. pg_column_size would tell their compressed size, which says
-- nothing of what reading them takes: a megabyte of one letter is kept in some kilobytes.
ALTER TABLE session_messages
    ADD COLUMN tool_calls_bytes integer NOT NULL
        GENERATED ALWAYS AS (coalesce(octet_length(tool_calls::text), 0)) STORED;
