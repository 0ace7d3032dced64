-- Scopes: what belongs to one agent, and what an agent sees of its user's memory. A transaction that acts for an agent says
-- so as it begins (`keepsake.agent`, `keepsake.scope`: src/db/actor.rs); row security leaves out what that agent does not see.
-- A person and a job see all. The agent's setting `memory_scope`: 'shared' (also where it is missing), 'own_first', 'own_only'.

-- NULL: whoever acts sees all.
CREATE FUNCTION scope_agent() RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT nullif(current_setting('keepsake.agent', true), '')::bigint
$$;
CREATE FUNCTION sees_shared() RETURNS boolean LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT current_setting('keepsake.scope', true) IS DISTINCT FROM 'own_only'
$$;
-- Whose becomes what is written. NULL: shared. A correction is whose the corrected is (write_as).
CREATE FUNCTION new_owner() RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN current_setting('keepsake.owner', true) <> '' THEN nullif(current_setting('keepsake.owner', true), 'shared')::bigint
                WHEN current_setting('keepsake.scope', true) IN ('own_first', 'own_only') THEN scope_agent() END
$$;
-- Whose copy comes before a shared one of the same text, key or path. NULL: nobody's.
CREATE FUNCTION own_before_shared() RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN current_setting('keepsake.scope', true) = 'own_first' THEN scope_agent() END
$$;
-- What the current user's transaction writes from here on belongs to this agent; NULL: is shared.
CREATE FUNCTION write_as(owner bigint) RETURNS void LANGUAGE sql VOLATILE AS $$
    SELECT set_config('keepsake.owner', coalesce(owner::text, 'shared'), true)
$$;
-- From here to its end the transaction is this agent's.
CREATE FUNCTION enter_scope(account bigint, agent bigint) RETURNS void
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    scope text;
BEGIN
    SELECT coalesce(settings ->> 'memory_scope', 'shared') INTO scope FROM agents WHERE user_id = account AND id = agent;
    PERFORM set_config('keepsake.agent', agent::text, true),
            -- An agent that is gone sees nothing.
            set_config('keepsake.scope', coalesce(scope, 'own_only'), true);
END $$;
REVOKE ALL ON FUNCTION enter_scope(bigint, bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION enter_scope(bigint, bigint) TO keepsake_app, keepsake_system;

CREATE OR REPLACE FUNCTION require_token(account bigint, token bigint, at timestamptz) RETURNS void
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    reason text;
    agent  bigint;
    scope  text;
BEGIN
    SELECT CASE WHEN t.revoked_at IS NOT NULL THEN 'revoked'
                WHEN t.expires_at <= at THEN 'expired'
                WHEN u.disabled_at IS NOT NULL THEN 'disabled'
                WHEN NOT u.memory_enabled THEN 'memory_off_user'
                WHEN NOT a.memory_enabled THEN 'memory_off_agent'
                ELSE 'none' END,
           a.id, coalesce(a.settings ->> 'memory_scope', 'shared')
    INTO reason, agent, scope
    FROM agent_tokens t
    JOIN users u ON u.id = t.user_id
    JOIN agents a ON a.user_id = t.user_id AND a.id = t.agent_id
    WHERE t.user_id = account AND t.id = token;
    IF reason IS DISTINCT FROM 'none' THEN
        RAISE EXCEPTION USING ERRCODE = 'KS001', MESSAGE = coalesce(reason, 'unknown');
    END IF;
    PERFORM set_config('keepsake.agent', agent::text, true), set_config('keepsake.scope', scope, true);
END $$;

-- What the current user has in all, whoever asks: for what is counted against a limit, and for the index of searches, which
-- leaves out by itself what an agent does not see (src/search/reader/).
CREATE VIEW whole_memory AS
    SELECT user_id, id, theme_id, agent_id, owner_agent_id, type, turn_session_id, status, live_until, created_at, key, tags, content
    FROM memory_items WHERE user_id = (SELECT current_user_id());
CREATE VIEW whole_documents AS
    SELECT user_id, id, kept_bytes FROM documents WHERE user_id = (SELECT current_user_id());
GRANT SELECT ON whole_memory, whole_documents TO keepsake_app;

-- Entities are one for the whole memory: whoever writes it sees them all, so that none is made twice; and so does everybody
-- where nothing belongs to one agent.
CREATE FUNCTION sees_all_names() RETURNS boolean LANGUAGE sql STABLE SET search_path = public, pg_temp AS $$
    SELECT scope_agent() IS NULL OR current_setting('keepsake.writes', true) IS NOT DISTINCT FROM 'on'
        OR NOT EXISTS (SELECT FROM agents WHERE user_id = current_user_id() AND coalesce(settings ->> 'memory_scope', 'shared') <> 'shared')
           AND NOT EXISTS (SELECT FROM whole_memory WHERE owner_agent_id IS NOT NULL)
$$;

-- A relation is whose what it stands on is: statements of two owners end and retire nothing of each other.
ALTER TABLE entity_relations
    ADD COLUMN owner_agent_id bigint,       -- NULL: shared
    ADD CONSTRAINT entity_relations_owner_fkey FOREIGN KEY (user_id, owner_agent_id) REFERENCES agents (user_id, id),
    DROP CONSTRAINT entity_relations_single_excl,
    ADD CONSTRAINT entity_relations_single_excl EXCLUDE USING gist (
        user_id WITH =, subject_id WITH =, predicate WITH =, coalesce(owner_agent_id, 0) WITH =,
        tstzrange(valid_from, valid_until) WITH &&)
        WHERE (is_single AND retired_at IS NULL);
DROP INDEX entity_relations_current_key;
CREATE UNIQUE INDEX entity_relations_current_key
    ON entity_relations (user_id, subject_id, predicate, object_id, value, words, valid_from, owner_agent_id) NULLS NOT DISTINCT
    WHERE retired_at IS NULL;

-- What an agent does not see is not there for it.
CREATE POLICY scope ON memory_items AS RESTRICTIVE TO keepsake_app USING (
    (SELECT scope_agent()) IS NULL OR owner_agent_id = (SELECT scope_agent())
    OR owner_agent_id IS NULL AND (SELECT sees_shared()));
CREATE POLICY scope ON documents AS RESTRICTIVE TO keepsake_app USING (
    (SELECT scope_agent()) IS NULL OR owner_agent_id = (SELECT scope_agent())
    OR owner_agent_id IS NULL AND (SELECT sees_shared()));
CREATE POLICY scope ON document_revisions AS RESTRICTIVE TO keepsake_app USING (
    (SELECT scope_agent()) IS NULL
    OR EXISTS (SELECT FROM documents d WHERE d.user_id = document_revisions.user_id AND d.id = document_id));
CREATE POLICY scope ON episodes AS RESTRICTIVE TO keepsake_app USING (
    (SELECT scope_agent()) IS NULL
    OR EXISTS (SELECT FROM memory_items i WHERE i.user_id = episodes.user_id AND i.id = source_id));
CREATE POLICY scope ON entity_mentions AS RESTRICTIVE FOR SELECT TO keepsake_app USING (
    (SELECT sees_all_names())
    OR EXISTS (SELECT FROM memory_items i WHERE i.user_id = entity_mentions.user_id AND i.id = source_id));
CREATE POLICY scope ON entity_relations AS RESTRICTIVE FOR SELECT TO keepsake_app USING (
    (SELECT sees_all_names()) OR owner_agent_id = (SELECT scope_agent())
    OR owner_agent_id IS NULL AND (SELECT sees_shared()));
CREATE POLICY scope ON entity_relation_sources AS RESTRICTIVE FOR SELECT TO keepsake_app USING (
    (SELECT sees_all_names())
    OR EXISTS (SELECT FROM entity_relations r WHERE r.user_id = entity_relation_sources.user_id AND r.id = relation_id));
CREATE POLICY scope ON entity_names AS RESTRICTIVE FOR SELECT TO keepsake_app USING (
    (SELECT sees_all_names()) OR by_person AND (SELECT sees_shared())
    OR EXISTS (SELECT FROM entity_mentions m WHERE m.user_id = entity_names.user_id AND m.name_id = entity_names.id)
    OR mentions = 0 AND EXISTS (SELECT FROM entity_relations r WHERE r.user_id = entity_names.user_id
                                AND (r.subject_id = entity_names.entity_id OR r.object_id = entity_names.entity_id)));
CREATE POLICY scope ON entities AS RESTRICTIVE FOR SELECT TO keepsake_app USING (
    (SELECT sees_all_names()) OR is_user
    OR EXISTS (SELECT FROM entity_names n WHERE n.user_id = entities.user_id AND n.entity_id = entities.id));

-- What an agent that does not see all calls an entity: its name where it sees that somewhere, or another that it sees.
CREATE FUNCTION seen_name(entity bigint, known text) RETURNS text
    LANGUAGE sql STABLE SET search_path = public, pg_temp AS $$
    SELECT coalesce((SELECT name FROM entity_names WHERE user_id = current_user_id() AND entity_id = entity
                     ORDER BY name = known DESC, mentions DESC, id LIMIT 1), known)
$$;

-- What was written of an item of the current user goes, since others see it from now on, or no more: the summary, those of
-- the entities that it names, and relations, which are read from it again at night.
CREATE FUNCTION untell(item bigint) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    me        CONSTANT bigint := current_user_id();
    concerned bigint[];
BEGIN
    concerned := drop_relation_sources(me, ARRAY(
        SELECT id FROM entity_relation_sources WHERE user_id = me AND source_id = item));
    PERFORM recount_names(me, '{}', concerned || ARRAY(
        SELECT DISTINCT n.entity_id FROM entity_mentions m JOIN entity_names n ON n.user_id = me AND n.id = m.name_id
        WHERE m.user_id = me AND m.source_id = item));
    DELETE FROM entity_enriched WHERE user_id = me AND source_id = item;
    DELETE FROM memory_summary_items WHERE user_id = me AND item_id = item;
END $$;
REVOKE ALL ON FUNCTION untell(bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION untell(bigint) TO keepsake_app;

-- What one agent alone remembers, newest first; and whether anything is anybody's own.
CREATE INDEX memory_items_owner_idx ON memory_items (user_id, owner_agent_id, created_at DESC) WHERE owner_agent_id IS NOT NULL;

-- Whether a shared item gives way to one of the same key or text that is the own of the agent that asks, and comes first.
CREATE FUNCTION is_shadowed(owner bigint, theme bigint, of_key text, hash bytea) RETURNS boolean
    LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = public, pg_temp AS $$
DECLARE
    own CONSTANT bigint := own_before_shared();
BEGIN
    RETURN own IS NOT NULL AND owner IS NULL AND theme IS NOT NULL AND EXISTS (
        SELECT FROM memory_items WHERE user_id = current_user_id() AND theme_id = theme AND owner_agent_id = own
          AND status = 'active' AND (key = of_key OR content_hash = hash));
END $$;

-- shared, owned: who sees it was changed by its person.
ALTER TABLE memory_item_events
    DROP CONSTRAINT memory_item_events_event_check,
    ADD CONSTRAINT memory_item_events_event_check
        CHECK (event IN ('added', 'archived', 'imported', 'superseded', 'put_aside', 'confirmed', 'expired', 'named',
                         'restored', 'unconfirmed', 'changed', 'shared', 'owned'));
