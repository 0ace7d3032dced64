//! SQL that distributes the database, run as a superuser of the coordinator, and what its connections ask.

use sqlx::PgConnection;

use super::ClusterNode;

/// Not distributed, because not found by the user alone; docs/scaling.md says why of each. All other tables are.
pub const NOT_DISTRIBUTED: [&str; 23] = [
    "operators",
    "users",
    "_sqlx_migrations",
    "account_tables",
    "admin_events",
    "allowed_endpoints",
    "backup_state",
    "backups",
    "endpoint_dialects",
    "erasure_notes",
    "erasure_receipts",
    "invitations",
    "job_queue",
    "job_runs",
    "job_settings",
    "oauth_clients",
    "service_tokens",
    "system_chat_provider",
    "system_providers",
    "system_settings",
    "team_invitations",
    "team_members",
    "web_sessions",
];

async fn run(conn: &mut PgConnection, statements: &'static str) -> Result<(), sqlx::Error> {
    sqlx::raw_sql(statements).execute(conn).await?;
    Ok(())
}

/// Whether this database is distributed, for what is not possible there.
pub async fn is_distributed(conn: &mut PgConnection) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar("SELECT coalesce(current_setting('keepsake.distributed', true), '') = 'on'")
        .fetch_one(conn)
        .await
}

/// A generic plan, which does not know the user, cannot be routed to the user's server.
pub async fn skip_generic_plans(conn: &mut PgConnection) -> Result<(), sqlx::Error> {
    run(
        conn,
        "SELECT set_config('plan_cache_mode', 'force_custom_plan', false)
         WHERE current_setting('keepsake.distributed', true) = 'on'",
    )
    .await
}

/// What connections to the distributed database need. A copy of a database does not inherit them.
pub async fn set_for_database(conn: &mut PgConnection) -> Result<(), sqlx::Error> {
    run(
        conn,
        "DO $$
         BEGIN
             EXECUTE format('ALTER DATABASE %I SET keepsake.distributed = on', current_database());
             -- The user and the agent of a transaction reach the workers; otherwise everybody finds nothing.
             EXECUTE format('ALTER DATABASE %I SET citus.propagate_set_commands = local', current_database());
             EXECUTE format('ALTER DATABASE %I SET citus.enable_local_reference_table_foreign_keys = off', current_database());
         END $$",
    )
    .await
}

/// The coordinator connects to the workers as the role that asks.
pub async fn let_roles_connect(conn: &mut PgConnection) -> Result<(), sqlx::Error> {
    run(
        conn,
        "ALTER ROLE keepsake_owner LOGIN; ALTER ROLE keepsake_app LOGIN; ALTER ROLE keepsake_system LOGIN",
    )
    .await
}

pub async fn set_coordinator(
    conn: &mut PgConnection,
    node: &ClusterNode,
) -> Result<(), sqlx::Error> {
    sqlx::query("SELECT citus_set_coordinator_host($1, $2)")
        .bind(&node.host)
        .bind(i32::from(node.port))
        .execute(conn)
        .await?;
    Ok(())
}

pub async fn add_worker(conn: &mut PgConnection, node: &ClusterNode) -> Result<(), sqlx::Error> {
    sqlx::query("SELECT citus_add_node($1, $2)")
        .bind(&node.host)
        .bind(i32::from(node.port))
        .execute(conn)
        .await?;
    Ok(())
}

pub async fn count_workers(conn: &mut PgConnection) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar("SELECT count(*) FROM pg_dist_node WHERE isactive AND shouldhaveshards")
        .fetch_one(conn)
        .await
}

pub async fn is_done(conn: &mut PgConnection) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar(
        "SELECT EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = 'memory_items'::regclass)",
    )
    .fetch_one(conn)
    .await
}

/// Memberships and invitations of teams, and pools.
pub async fn count_lent(conn: &mut PgConnection) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar(
        "SELECT (SELECT count(*) FROM team_members) + (SELECT count(*) FROM team_invitations)
              + (SELECT count(*) FROM operators WHERE pool IS NOT NULL)",
    )
    .fetch_one(conn)
    .await
}

/// What belongs to one agent alone, or is lent, is told from other rows of the user, or of another, which a policy cannot ask
/// there: neither is possible, and these constraints see to it.
pub async fn share_all_memory(conn: &mut PgConnection) -> Result<(), sqlx::Error> {
    run(
        conn,
        "ALTER TABLE memory_items ADD CONSTRAINT memory_items_shared_check CHECK (owner_agent_id IS NULL);
         ALTER TABLE documents ADD CONSTRAINT documents_shared_check CHECK (owner_agent_id IS NULL);
         ALTER TABLE agents ADD CONSTRAINT agents_shared_check CHECK (coalesce(settings ->> 'memory_scope', 'shared') = 'shared');
         ALTER TABLE operators ADD CONSTRAINT operators_no_pool_check CHECK (pool IS NULL)",
    )
    .await
}

/// The functions as they are there. Of no effect on those that are so already.
pub async fn adapt_functions(conn: &mut PgConnection) -> Result<(), sqlx::Error> {
    know_nothing_lent(conn).await?;
    tell_workers(conn).await?;
    wrap_require_session(conn).await?;
    let_app_role_call(conn).await
}

/// The system role locks an admin's row itself: it would wait for the lock of another role for ever.
async fn wrap_require_session(conn: &mut PgConnection) -> Result<(), sqlx::Error> {
    run(
        conn,
        "DO $do$
         BEGIN
             IF NOT (SELECT prosecdef FROM pg_proc WHERE oid = 'require_session'::regproc) THEN
                 RETURN; -- It is the wrapper.
             ELSIF to_regproc('require_session_as_owner') IS NULL THEN
                 ALTER FUNCTION require_session(bigint, bytea, boolean) RENAME TO require_session_as_owner;
             ELSE
                 EXECUTE replace(pg_get_functiondef('require_session'::regproc), '.require_session(', '.require_session_as_owner(');
             END IF;
             EXECUTE replace(replace(pg_get_functiondef('require_session_as_owner'::regproc), '.require_session_as_owner(',
                                     '.require_session_itself('), ' SECURITY DEFINER', '');
             CREATE OR REPLACE FUNCTION require_session(account bigint, session bytea, is_admin_act boolean) RETURNS void
                 LANGUAGE plpgsql VOLATILE AS $$
             BEGIN
                 IF current_user = 'keepsake_system' THEN
                     PERFORM require_session_itself(account, session, is_admin_act);
                 ELSE
                     PERFORM require_session_as_owner(account, session, is_admin_act);
                 END IF;
             END $$;
             ALTER FUNCTION require_session(bigint, bytea, boolean) OWNER TO keepsake_owner;
             ALTER FUNCTION require_session_itself(bigint, bytea, boolean) OWNER TO keepsake_owner;
         END $do$",
    )
    .await
}

/// Clusters of earlier versions have these as whoever distributed them, as whom this asks.
pub async fn own_functions(conn: &mut PgConnection) -> Result<(), sqlx::Error> {
    run(
        conn,
        "SET ROLE NONE;
         DO $$
         DECLARE
             one regprocedure;
         BEGIN
             FOR one IN SELECT oid FROM pg_proc WHERE pronamespace = 'public'::regnamespace AND proowner <> 'keepsake_owner'::regrole
                            AND proname IN ('require_session', 'require_session_itself') LOOP
                 EXECUTE format('ALTER FUNCTION %s OWNER TO keepsake_owner', one);
             END LOOP;
         END $$;
         SET ROLE keepsake_owner",
    )
    .await
}

/// A migration that changes the columns of one of these changes them here.
async fn know_nothing_lent(conn: &mut PgConnection) -> Result<(), sqlx::Error> {
    run(
        conn,
        "CREATE OR REPLACE FUNCTION new_owner() RETURNS bigint LANGUAGE sql STABLE AS 'SELECT NULL::bigint';
         CREATE OR REPLACE FUNCTION sees_all_names() RETURNS boolean LANGUAGE sql STABLE SET search_path = public, pg_temp AS
             'SELECT scope_agent() IS NULL OR sees_shared()';
         CREATE OR REPLACE FUNCTION seen_name(entity bigint, known text) RETURNS text LANGUAGE sql STABLE AS 'SELECT known';
         CREATE OR REPLACE FUNCTION is_shadowed(owner bigint, theme bigint, of_key text, hash bytea, project bigint,
             since timestamptz, until timestamptz, at timestamptz) RETURNS boolean
             LANGUAGE sql STABLE AS 'SELECT false';
         CREATE OR REPLACE FUNCTION leader_of(account bigint, agent bigint) RETURNS TABLE (user_id bigint, id bigint, name text)
             LANGUAGE sql STABLE AS 'SELECT 0::bigint, 0::bigint, '''' WHERE false';
         CREATE OR REPLACE FUNCTION lends_to_me(lender bigint) RETURNS bigint LANGUAGE sql STABLE AS 'SELECT NULL::bigint';
         CREATE OR REPLACE FUNCTION my_teams() RETURNS TABLE (
             id bigint, leads boolean, agent_id bigint, other_agent text, other_agent_id bigint, person text, since timestamptz,
             read_only boolean) LANGUAGE plpgsql STABLE AS 'BEGIN RETURN; END';
         CREATE OR REPLACE FUNCTION find_invitation(hash bytea, at timestamptz) RETURNS TABLE (agent text, person text, read_only boolean)
             LANGUAGE plpgsql STABLE AS 'BEGIN RETURN; END';
         CREATE OR REPLACE FUNCTION member_name(account bigint, agent bigint) RETURNS text LANGUAGE sql STABLE AS 'SELECT NULL::text';
         CREATE OR REPLACE FUNCTION require_team_writes() RETURNS void LANGUAGE plpgsql STABLE AS 'BEGIN END';
         CREATE OR REPLACE FUNCTION forget_lent_reads(gone bigint[]) RETURNS void LANGUAGE plpgsql AS 'BEGIN END'",
    )
    .await
}

/// A worker learns of `SET LOCAL`, as a statement of its own, and not of a call of `set_config`.
async fn tell_workers(conn: &mut PgConnection) -> Result<(), sqlx::Error> {
    run(
        conn,
        "CREATE OR REPLACE FUNCTION for_user(account bigint) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
         BEGIN
             EXECUTE format('SET LOCAL keepsake.user_id = %L', account::text);
         END $$;
         CREATE OR REPLACE FUNCTION act_for(agent bigint, scope text) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
         BEGIN
             EXECUTE format('SET LOCAL keepsake.agent = %L', agent::text);
             EXECUTE format('SET LOCAL keepsake.scope = %L', scope);
         END $$;
         CREATE OR REPLACE FUNCTION write_as(owner bigint) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
         BEGIN
             EXECUTE format('SET LOCAL keepsake.owner = %L', coalesce(owner::text, 'shared'));
         END $$",
    )
    .await
}

/// Citus lets one role alone touch a user's rows in a transaction: what the app role calls acts as that role, which then may
/// itself what such functions do. Row security still shows it the rows of its user alone.
async fn let_app_role_call(conn: &mut PgConnection) -> Result<(), sqlx::Error> {
    run(
        conn,
        "DO $$
         DECLARE
             one regprocedure;
         BEGIN
             FOR one IN SELECT oid FROM pg_proc WHERE pronamespace = 'public'::regnamespace AND proname IN (
                 'act_for', 'drop_relation_sources', 'drop_summary_of', 'enter_scope', 'erase_again', 'erase_chosen', 'erase_document',
                 'erase_item', 'erase_session', 'folded', 'forget_activity_queries', 'forget_lent_reads', 'forget_mentions', 'forget_names',
                 'forget_reads', 'has_words_of', 'keep_ids', 'recount_names', 'remove_document', 'remove_entity', 'remove_episodes', 'remove_item',
                 'remove_message', 'remove_parts', 'remove_turns', 'require_token', 'still_there', 'trim_revisions', 'untell') LOOP
                 EXECUTE format('ALTER FUNCTION %s SECURITY INVOKER', one);
                 EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO keepsake_app, keepsake_system', one);
             END LOOP;
         END $$",
    )
    .await
}

/// What those functions do.
pub async fn let_app_role_act(conn: &mut PgConnection) -> Result<(), sqlx::Error> {
    run(
        conn,
        "GRANT SELECT, DELETE ON
             activity, document_revisions, documents, entities, entity_enriched, entity_mentions, entity_names, entity_relation_sources,
             entity_relations, episodes, memory_embeddings, memory_item_events, memory_items, memory_origins, memory_passages,
             memory_summary_items, memory_themes, session_extractions, session_messages, sessions
             TO keepsake_app;
         GRANT UPDATE ON deletions, session_messages, session_extractions TO keepsake_app;
         GRANT UPDATE ON entities, entity_names, entity_relation_sources, memory_items, memory_origins TO keepsake_app;
         GRANT UPDATE (item_ids, query) ON activity TO keepsake_app;
         GRANT UPDATE (was_superseded_by) ON memory_item_events TO keepsake_app;
         CREATE POLICY tenant ON erasure_receipts FOR INSERT TO keepsake_app WITH CHECK (user_id = current_user_id());
         GRANT INSERT ON erasure_receipts TO keepsake_app",
    )
    .await
}

/// Citus takes no subquery in a policy, and makes a restrictive policy a permissive one on its workers, which would show
/// everybody everything. So each table has one policy for the app role, with all conditions. A subquery around a function only
/// saves calls of it; what asks other tables finds whose they are, and on Citus all is shared ([`share_all_memory`]), or lent.
pub async fn replace_policies(conn: &mut PgConnection) -> Result<(), sqlx::Error> {
    run(
        conn,
        r"DO $$
          DECLARE
              one record;
          BEGIN
              ALTER POLICY team ON team_members USING (false) WITH CHECK (false);
              ALTER POLICY team ON team_invitations USING (false) WITH CHECK (false);
              FOR one IN
                  SELECT p.tablename, regexp_replace(p.qual, '\( SELECT (\w+)\(\) AS \w+\)', '\1()', 'g') AS tenant,
                         regexp_replace(s.qual, '\( SELECT (\w+)\(\) AS \w+\)', '\1()', 'g') AS scope
                  FROM pg_policies p
                  LEFT JOIN pg_policies s ON s.schemaname = p.schemaname AND s.tablename = p.tablename AND s.policyname = 'scope'
                  WHERE p.schemaname = 'public' AND p.policyname = 'tenant' AND p.qual IS NOT NULL LOOP
                  IF one.scope ~* '\mselect\M' THEN
                      one.scope := 'scope_agent() IS NULL OR sees_shared()';
                  END IF;
                  EXECUTE format('ALTER POLICY tenant ON %I USING ((%s) AND (%s))', one.tablename, one.tenant, coalesce(one.scope, 'true'));
                  IF one.scope IS NOT NULL THEN
                      EXECUTE format('DROP POLICY scope ON %I', one.tablename);
                  END IF;
              END LOOP;
              IF EXISTS (SELECT FROM pg_policies
                         WHERE schemaname = 'public' AND (permissive <> 'PERMISSIVE' OR concat(qual, with_check) ~* '\mselect\M')) THEN
                  RAISE EXCEPTION 'a row security policy remains that Citus would not keep';
              END IF;
              -- The same of what the views of the whole memory ask.
              FOR one IN SELECT viewname, definition FROM pg_views WHERE schemaname = 'public' AND viewowner = 'keepsake_owner' LOOP
                  EXECUTE format('CREATE OR REPLACE VIEW %I AS %s', one.viewname,
                                 regexp_replace(one.definition, '\( SELECT (\w+)\(\) AS \w+\)', '\1()', 'g'));
              END LOOP;
          END $$",
    )
    .await
}

/// Citus cannot set a reference with the user in it to NULL; what erases a session does it by itself.
pub async fn replace_foreign_key(conn: &mut PgConnection) -> Result<(), sqlx::Error> {
    run(
        conn,
        "ALTER TABLE memory_items
             DROP CONSTRAINT memory_items_session_id_fkey,
             ADD CONSTRAINT memory_items_session_id_fkey FOREIGN KEY (user_id, session_id) REFERENCES sessions (user_id, id)",
    )
    .await
}

/// Each table after those that it refers to. Returns how many.
pub async fn distribute(conn: &mut PgConnection) -> Result<i64, sqlx::Error> {
    run(
        conn,
        // Otherwise the first takes all tables along as local ones, and none with an identity column could be distributed.
        "SET LOCAL citus.enable_local_reference_table_foreign_keys = off;
         SET LOCAL citus.multi_shard_modify_mode = 'sequential';
         SELECT create_reference_table('operators');
         SELECT create_reference_table('users')",
    )
    .await?;
    let mut first: Option<String> = None;
    let mut count = 0;
    while let Some(next) = next_table(conn).await? {
        sqlx::query("SELECT create_distributed_table($1, 'user_id', colocate_with => $2)")
            .bind(&next)
            .bind(first.as_deref().unwrap_or("none"))
            .execute(&mut *conn)
            .await?;
        first.get_or_insert(next);
        count += 1;
    }
    run(
        conn,
        "SELECT citus_add_local_table_to_metadata('web_sessions', cascade_via_foreign_keys => true)",
    )
    .await?;
    Ok(count)
}

/// The next table that refers to none that is still to be distributed.
async fn next_table(conn: &mut PgConnection) -> Result<Option<String>, sqlx::Error> {
    sqlx::query_scalar(
        "SELECT c.relname::text FROM pg_class c
         WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND c.relname <> ALL ($1)
           AND NOT EXISTS (SELECT FROM pg_dist_partition p WHERE p.logicalrelid = c.oid)
           AND NOT EXISTS (SELECT FROM pg_constraint k
                           WHERE k.conrelid = c.oid AND k.contype = 'f' AND k.confrelid <> c.oid
                             AND NOT EXISTS (SELECT FROM pg_dist_partition p WHERE p.logicalrelid = k.confrelid))
         ORDER BY c.relname LIMIT 1",
    )
    .bind(NOT_DISTRIBUTED.map(str::to_owned).as_slice())
    .fetch_optional(conn)
    .await
}

/// Those that statements on the workers name. What runs as the owner role acts on the coordinator.
pub async fn distribute_functions(conn: &mut PgConnection) -> Result<(), sqlx::Error> {
    run(
        conn,
        "SELECT create_distributed_function(p.oid::regprocedure) FROM pg_proc p
         WHERE p.pronamespace = 'public'::regnamespace AND p.proowner = 'keepsake_owner'::regrole AND NOT p.prosecdef",
    )
    .await
}

pub async fn grant_on_workers(conn: &mut PgConnection) -> Result<(), sqlx::Error> {
    run(
        conn,
        "SELECT run_command_on_all_nodes('GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO keepsake_app, keepsake_system');
         -- Whoever changes a user's row locks what it refers to. No policy shows a row of it to this role.
         GRANT SELECT, UPDATE ON operators TO keepsake_app",
    )
    .await
}
