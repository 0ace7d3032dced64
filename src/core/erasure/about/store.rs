//! The statements of the search for what a person wants to delete, as the app role in a transaction that has set the user.
//! `has_patterns` is in migrations/20261229000100.

use sqlx::PgConnection;

use super::{
    FOUND_MAX, FoundPlace, MESSAGES_SEARCHED, SHOWN_CHARS, Subject, SubjectKind, WantedWords,
};
use crate::db::UserId;

const LIMIT: i64 = FOUND_MAX as i64;

/// False if another transaction of this user looks for something.
pub(super) async fn begin(conn: &mut PgConnection, user: UserId) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar("SELECT pg_try_advisory_xact_lock(hashtextextended('keepsake about', $1))")
        .bind(user.0)
        .fetch_one(conn)
        .await
}

/// What its person calls it; a memory's text.
pub(super) async fn find_name(
    conn: &mut PgConnection,
    user: UserId,
    kind: SubjectKind,
    id: i64,
) -> Result<Option<String>, sqlx::Error> {
    let found = sqlx::query_scalar!(
        r#"SELECT CASE $2
                  WHEN 'memory' THEN (SELECT concat_ws(': ', key, content) FROM memory_items
                                      WHERE user_id = $1 AND id = $3 AND (theme_id IS NOT NULL OR type = 'episode') AND delete_at IS NULL)
                  WHEN 'entity' THEN (SELECT name FROM entities WHERE user_id = $1 AND id = $3 AND NOT is_user)
                  WHEN 'theme' THEN (SELECT display_name FROM memory_themes WHERE user_id = $1 AND id = $3)
                  WHEN 'agent' THEN (SELECT name FROM agents WHERE user_id = $1 AND id = $3)
                  ELSE (SELECT name FROM projects WHERE user_id = $1 AND id = $3) END"#,
        user.0,
        kind.as_str(),
        id,
    );
    found.fetch_one(conn).await
}

/// Of an entity.
pub(super) async fn list_names(
    conn: &mut PgConnection,
    user: UserId,
    entity: i64,
    limit: i64,
) -> Result<Vec<String>, sqlx::Error> {
    sqlx::query_scalar!(
        "SELECT name FROM entity_names WHERE user_id = $1 AND entity_id = $2 ORDER BY mentions DESC, id LIMIT $3",
        user.0,
        entity,
        limit,
    )
    .fetch_all(conn)
    .await
}

/// Memories, or episodes.
pub(super) async fn list_memories(
    conn: &mut PgConnection,
    user: UserId,
    subject: &Subject,
    wanted: &WantedWords,
    are_episodes: bool,
) -> Result<Vec<FoundPlace>, sqlx::Error> {
    let rows = sqlx::query_as!(
        FoundPlace,
        r#"SELECT i.id, 0 AS "position!", left(concat_ws(': ', i.key, i.content), $4) AS "text!", i.created_at AS at
           FROM memory_items i
           WHERE i.user_id = $1 AND i.delete_at IS NULL AND CASE WHEN $5 THEN i.type = 'episode' ELSE i.theme_id IS NOT NULL END
             AND (i.id = $7 OR i.theme_id = $8 OR i.agent_id = $9 OR i.project_id = $10
               OR i.id IN (SELECT m.source_id FROM entity_mentions m
                   JOIN entity_names n ON n.user_id = $1 AND n.id = m.name_id
                   WHERE m.user_id = $1 AND n.entity_id = $11)
               OR has_patterns(concat_ws(' ', i.key, i.content, array_to_string(i.tags, ' ')), $2, $3))
           ORDER BY i.id DESC LIMIT $6"#,
        user.0,
        &wanted.patterns,
        i64::from(wanted.least),
        SHOWN_CHARS,
        are_episodes,
        LIMIT,
        subject.id_of(SubjectKind::Memory),
        subject.id_of(SubjectKind::Theme),
        subject.id_of(SubjectKind::Agent),
        subject.id_of(SubjectKind::Project),
        subject.id_of(SubjectKind::Entity),
    );
    rows.fetch_all(conn).await
}

/// Messages with the words, and those that a memory or an entity was read from.
pub(super) async fn list_messages(
    conn: &mut PgConnection,
    user: UserId,
    subject: &Subject,
    wanted: &WantedWords,
) -> Result<Vec<FoundPlace>, sqlx::Error> {
    let rows = sqlx::query_as!(
        FoundPlace,
        r#"SELECT m.session_id AS id, m.position AS "position!", m.created_at AS at,
                  left(coalesce(nullif(substr(m.content, greatest(1, coalesce(regexp_instr(folded(m.content), ($2::text[])[1]), 0) - 60)), ''),
                                m.tool_calls::text, ''), $4) AS "text!"
           FROM (SELECT session_id, position, content, tool_calls, created_at FROM session_messages
                 WHERE user_id = $1 ORDER BY session_id DESC, position DESC LIMIT $6) m
           WHERE m.content NOT LIKE '<keepsake-memory kind="deleted"%'
             AND ((m.session_id, m.position) IN (
                   SELECT i.session_id, i.message_id::integer FROM memory_items i
                   WHERE i.user_id = $1 AND (i.id = $7 OR i.theme_id = $8) AND i.session_id IS NOT NULL AND i.message_id IS NOT NULL
                   UNION ALL SELECT r.session_id, r.position FROM memory_repeats r WHERE r.user_id = $1 AND r.item_id = $7
                   UNION ALL
                   SELECT t.turn_session_id, t.turn_position FROM memory_items t
                   WHERE t.user_id = $1 AND t.turn_session_id IS NOT NULL AND t.id IN (SELECT m.source_id FROM entity_mentions m
                   JOIN entity_names n ON n.user_id = $1 AND n.id = m.name_id
                   WHERE m.user_id = $1 AND n.entity_id = $9))
               OR has_patterns(concat_ws(' ', m.content, m.tool_calls::text), $2, $3))
           ORDER BY m.session_id DESC, m.position DESC LIMIT $5"#,
        user.0,
        &wanted.patterns,
        i64::from(wanted.least),
        SHOWN_CHARS,
        LIMIT,
        MESSAGES_SEARCHED,
        subject.id_of(SubjectKind::Memory),
        subject.id_of(SubjectKind::Theme),
        subject.id_of(SubjectKind::Entity),
    );
    rows.fetch_all(conn).await
}

/// Whole sessions, of an agent or a project.
pub(super) async fn list_sessions(
    conn: &mut PgConnection,
    user: UserId,
    subject: &Subject,
) -> Result<Vec<FoundPlace>, sqlx::Error> {
    let rows = sqlx::query_as!(
        FoundPlace,
        r#"SELECT id, 0 AS "position!", external_id AS text, last_message_at AS at FROM sessions
           WHERE user_id = $1 AND (agent_id = $2 OR project_id = $3) ORDER BY id DESC LIMIT $4"#,
        user.0,
        subject.id_of(SubjectKind::Agent),
        subject.id_of(SubjectKind::Project),
        LIMIT,
    );
    rows.fetch_all(conn).await
}

/// By what any of their revisions says, and by their path.
pub(super) async fn list_documents(
    conn: &mut PgConnection,
    user: UserId,
    subject: &Subject,
    wanted: &WantedWords,
) -> Result<Vec<FoundPlace>, sqlx::Error> {
    let rows = sqlx::query_as!(
        FoundPlace,
        r#"SELECT d.id, 0 AS "position!", left(d.path, $4) AS "text!", d.updated_at AS at FROM documents d
           WHERE d.user_id = $1
             AND (d.project_id = $6 OR d.owner_agent_id = $7
               OR EXISTS (SELECT FROM memory_items i WHERE i.user_id = $1 AND i.document_id = d.id AND i.id IN (SELECT m.source_id FROM entity_mentions m
                   JOIN entity_names n ON n.user_id = $1 AND n.id = m.name_id
                   WHERE m.user_id = $1 AND n.entity_id = $8))
               OR EXISTS (SELECT FROM document_revisions r
                          WHERE r.user_id = $1 AND r.document_id = d.id AND has_patterns(concat_ws(' ', r.path, r.content), $2, $3)))
           ORDER BY d.id DESC LIMIT $5"#,
        user.0,
        &wanted.patterns,
        i64::from(wanted.least),
        SHOWN_CHARS,
        LIMIT,
        subject.id_of(SubjectKind::Project),
        subject.id_of(SubjectKind::Agent),
        subject.id_of(SubjectKind::Entity),
    );
    rows.fetch_all(conn).await
}

/// By any of their names.
pub(super) async fn list_entities(
    conn: &mut PgConnection,
    user: UserId,
    subject: &Subject,
    wanted: &WantedWords,
) -> Result<Vec<FoundPlace>, sqlx::Error> {
    let rows = sqlx::query_as!(
        FoundPlace,
        r#"SELECT e.id, 0 AS "position!", left(e.name, $4) AS "text!", e.created_at AS at FROM entities e
           WHERE e.user_id = $1 AND NOT e.is_user AND e.merged_into IS NULL
             AND (e.id = $6
               OR EXISTS (SELECT FROM entity_names n WHERE n.user_id = $1 AND n.entity_id = e.id AND has_patterns(n.name, $2, $3)))
           ORDER BY e.id DESC LIMIT $5"#,
        user.0,
        &wanted.patterns,
        i64::from(wanted.least),
        SHOWN_CHARS,
        LIMIT,
        subject.id_of(SubjectKind::Entity),
    );
    rows.fetch_all(conn).await
}

/// Recorded calls with a search query.
pub(super) async fn list_calls(
    conn: &mut PgConnection,
    user: UserId,
    subject: &Subject,
    wanted: &WantedWords,
) -> Result<Vec<FoundPlace>, sqlx::Error> {
    let rows = sqlx::query_as!(
        FoundPlace,
        r#"SELECT a.id, 0 AS "position!", left(a.query, $4) AS "text!", a.at FROM activity a
           WHERE a.user_id = $1 AND a.query IS NOT NULL AND (a.agent_id = $6 OR has_patterns(a.query, $2, $3))
           ORDER BY a.id DESC LIMIT $5"#,
        user.0,
        &wanted.patterns,
        i64::from(wanted.least),
        SHOWN_CHARS,
        LIMIT,
        subject.id_of(SubjectKind::Agent),
    );
    rows.fetch_all(conn).await
}

/// The summary, if it has the words.
pub(super) async fn find_summary(
    conn: &mut PgConnection,
    user: UserId,
    wanted: &WantedWords,
) -> Result<Vec<FoundPlace>, sqlx::Error> {
    let rows = sqlx::query_as!(
        FoundPlace,
        r#"SELECT 0::bigint AS "id!", 0 AS "position!", left(s.body, $4) AS "text!", s.made_at AS "at!" FROM memory_summaries s
           WHERE s.user_id = $1 AND s.body IS NOT NULL AND s.made_at IS NOT NULL AND has_patterns(s.body, $2, $3)"#,
        user.0,
        &wanted.patterns,
        i64::from(wanted.least),
        SHOWN_CHARS,
    );
    rows.fetch_all(conn).await
}

/// Themes and projects whose name or description has the words.
pub(super) async fn count_names(
    conn: &mut PgConnection,
    user: UserId,
    wanted: &WantedWords,
) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar!(
        r#"SELECT count(*) AS "count!"
           FROM (SELECT concat_ws(' ', slug, display_name, description) AS name FROM memory_themes WHERE user_id = $1
                 UNION ALL SELECT name FROM projects WHERE user_id = $1) t
           WHERE has_patterns(t.name, $2, $3)"#,
        user.0,
        &wanted.patterns,
        i64::from(wanted.least),
    )
    .fetch_one(conn)
    .await
}

/// Ids and names of the user's themes, agents or projects, by name.
pub(super) async fn list_subjects(
    conn: &mut PgConnection,
    user: UserId,
    kind: SubjectKind,
    limit: i64,
) -> Result<Vec<(i64, String)>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"SELECT id AS "id!", name AS "name!" FROM (
               SELECT id, display_name AS name FROM memory_themes WHERE user_id = $1 AND $2 = 'theme'
               UNION ALL SELECT id, name FROM agents WHERE user_id = $1 AND $2 = 'agent'
               UNION ALL SELECT id, name FROM projects WHERE user_id = $1 AND $2 = 'project') s
           ORDER BY lower(name), id LIMIT $3"#,
        user.0,
        kind.as_str(),
        limit,
    );
    let rows = rows.fetch_all(conn).await?;
    Ok(rows.into_iter().map(|row| (row.id, row.name)).collect())
}
