-- Two tools, search and fetch, as ChatGPT expects them of a connector.
ALTER TABLE agents
    DROP CONSTRAINT agents_tool_profile_check,
    ADD CONSTRAINT agents_tool_profile_check CHECK (tool_profile IN ('core', 'full', 'single', 'connector'));
ALTER TABLE operators
    DROP CONSTRAINT operators_tool_profile_check,
    ADD CONSTRAINT operators_tool_profile_check CHECK (tool_profile IN ('core', 'full', 'single', 'connector'));
