//! SQL of the search: reads the hits, and scans texts if no word matches. Runs under the user's own rights.

use pgvector::HalfVector;
use sqlx::{PgConnection, Row as _};
use time::OffsetDateTime;

use super::arms::entity::QueryEntity;
use super::arms::scanned::ScannedTexts;
use super::candidate::{FoundItem, ReplacedText};
use crate::accounts::UserId;
use crate::db::is_statement_timeout;
use crate::embedding::{SpaceId, Vector};
use crate::memories::{
    DocumentPart, EpisodeSpan, ItemId, ItemType, Period, Status, Trust, TurnPosition,
};

/// Limit of a fragment's length.
const FRAGMENT_CHARS_MAX: usize = 64;

/// The sources that still exist, unordered.
pub async fn list_found(
    conn: &mut PgConnection,
    user: UserId,
    ids: &[i64],
    now: OffsetDateTime,
) -> Result<Vec<FoundItem>, sqlx::Error> {
    let query = sqlx::query!(
        r#"SELECT i.id, i.created_at, t.slug AS "theme?", i.type AS "item_type: ItemType", i.content, i.tags, i.status AS "status: Status", i.key,
                  o.name AS "owner?", j.name AS "project?", i.source, i.trust AS "trust: Trust", a.name AS "agent?", i.expires_at, i.valid_from, i.valid_until,
                  i.superseded_by IS NOT NULL AS "is_superseded!", s.id AS "session_id?", s.external_id AS "session?",
                  m.position AS "position?", m.external_id AS "message?",
                  i.document_id, d.path AS "path?", i.first_line, i.last_line,
                  p.began_at AS "began_at?", p.ended_at AS "ended_at?"
           FROM unnest($2::bigint[]) AS f (id)
           -- OFFSET 0: each by its key, whatever the statistics say of a table that was empty just now.
           CROSS JOIN LATERAL (
               SELECT * FROM memory_items i WHERE i.user_id = $1 AND i.id = f.id AND i.delete_at IS NULL
                 AND NOT is_shadowed(i.owner_agent_id, i.theme_id, i.key, i.content_hash, i.project_id, i.valid_from, i.valid_until, $3) OFFSET 0
           ) i
           LEFT JOIN memory_themes t ON t.user_id = $1 AND t.id = i.theme_id
           LEFT JOIN agents a ON a.user_id = $1 AND a.id = i.agent_id
           LEFT JOIN agents o ON o.user_id = $1 AND o.id = i.owner_agent_id
           LEFT JOIN projects j ON j.user_id = $1 AND j.id = i.project_id
           LEFT JOIN episodes p ON p.user_id = $1 AND p.source_id = i.id
           LEFT JOIN sessions s ON s.user_id = $1 AND s.id = coalesce(i.turn_session_id, p.session_id)
           LEFT JOIN documents d ON d.user_id = $1 AND d.id = i.document_id
           LEFT JOIN LATERAL (
               SELECT m.position, m.external_id FROM session_messages m
               WHERE m.user_id = $1 AND m.session_id = i.turn_session_id AND m.position = i.turn_position
               OFFSET 0
           ) m ON true"#,
        user.0,
        ids,
        now,
    );
    let found = query.fetch_all(conn).await?.into_iter().map(|row| {
        let message = row.position.zip(row.message);
        let session = row.session_id.zip(row.session);
        let turn = session.clone().zip(message);
        FoundItem {
            id: ItemId(row.id),
            created_at: row.created_at,
            theme: row.theme,
            item_type: row.item_type,
            content: row.content,
            tags: row.tags,
            // Includes expiry, even if not archived yet.
            status: row.status.at(row.expires_at, now),
            key: row.key,
            owner: row.owner,
            project: row.project,
            trust: row.trust,
            agent: row.agent,
            expires_at: row.expires_at,
            period: Period { from: row.valid_from, until: row.valid_until },
            is_superseded: row.is_superseded,
            turn: turn.map(|((session_id, session), (position, message))| TurnPosition {
                session_id,
                session,
                position,
                message,
                role: row.source.clone(),
            }),
            replaced: ReplacedText::default(),
            span: EpisodeSpan::of(session, (row.began_at, row.ended_at)),
            source: row.source,
            part: DocumentPart::of(
                row.document_id.zip(row.path),
                row.first_line.zip(row.last_line),
            ),
        }
    });
    Ok(found.collect())
}

/// Of these texts with their keys, the sources that contain a fragment verbatim, with the number of fragments: most first,
/// then newest. None if PostgreSQL cancels the statement at its timeout; the transaction goes on then.
pub async fn list_containing(
    conn: &mut PgConnection,
    user: UserId,
    fragments: &[String],
    texts: &ScannedTexts,
) -> Result<Vec<(i64, i64)>, sqlx::Error> {
    if texts.is_empty() {
        return Ok(Vec::new());
    }
    let patterns: Vec<String> = fragments.iter().map(|f| like_pattern(f)).collect();
    let [memories, turns] = texts.newest.map(|most| i64::try_from(most).unwrap_or(0));
    sqlx::raw_sql("SAVEPOINT before_scan").execute(&mut *conn).await?;
    let rows = sqlx::query!(
        r#"SELECT i.id AS "id!", (SELECT count(*) FROM unnest($2::text[]) p WHERE t.text ILIKE p) AS "pieces!"
           FROM (
               SELECT i.id, i.created_at, i.key, i.content FROM unnest($3::bigint[]) AS f (id)
               -- OFFSET 0: each by its key, whatever the statistics say.
               CROSS JOIN LATERAL (SELECT * FROM memory_items i WHERE i.user_id = $1 AND i.id = f.id OFFSET 0) i
               UNION ALL
               (SELECT i.id, i.created_at, i.key, i.content FROM memory_items i
                WHERE i.user_id = $1 AND NOT i.is_turn ORDER BY i.created_at DESC, i.id DESC LIMIT $4)
               UNION ALL
               (SELECT i.id, i.created_at, i.key, i.content FROM memory_items i
                WHERE i.user_id = $1 AND i.is_turn ORDER BY i.created_at DESC, i.id DESC LIMIT $5)
           ) i
           CROSS JOIN LATERAL (SELECT concat(i.key || ': ', i.content) AS text) t
           WHERE t.text ILIKE ANY ($2)
           ORDER BY 2 DESC, i.created_at DESC, i.id DESC"#,
        user.0,
        &patterns,
        &texts.ids,
        memories,
        turns,
    );
    let rows = match rows.fetch_all(&mut *conn).await {
        Err(error) if is_statement_timeout(&error) => {
            sqlx::raw_sql("ROLLBACK TO SAVEPOINT before_scan").execute(conn).await?;
            return Ok(Vec::new());
        }
        rows => rows?,
    };
    Ok(rows.into_iter().map(|row| (row.id, row.pieces)).collect())
}

/// `%…%` with LIKE wildcards escaped. Truncated, because matching costs the fragment's length times the text's.
fn like_pattern(fragment: &str) -> String {
    let mut pattern = String::from("%");
    for c in fragment.chars().take(FRAGMENT_CHARS_MAX) {
        if matches!(c, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern.push('%');
    pattern
}

/// Entities with one of these normalized names, and those that they are related to now.
pub async fn list_meant(
    conn: &mut PgConnection,
    user: UserId,
    normals: &[String],
    now: OffsetDateTime,
) -> Result<Vec<QueryEntity>, sqlx::Error> {
    const NAMED_MAX: i64 = 8;
    const CONNECTED_MAX: i64 = 24;
    sqlx::query_as!(
        QueryEntity,
        r#"WITH named AS MATERIALIZED (
               SELECT DISTINCT n.entity_id AS id FROM entity_names n
               WHERE n.user_id = $1 AND n.normal = ANY ($2) ORDER BY 1 LIMIT $4
           ), beside AS MATERIALIZED (
               SELECT DISTINCT CASE WHEN r.subject_id = named.id THEN r.object_id ELSE r.subject_id END AS id
               FROM named JOIN entity_relations r
                   ON r.user_id = $1 AND (r.subject_id = named.id OR r.object_id = named.id)
               WHERE r.object_id IS NOT NULL AND r.retired_at IS NULL
                 AND coalesce(r.valid_from, '-infinity') <= $3 AND coalesce(r.valid_until, 'infinity') > $3
               LIMIT $5
           ), meant AS (
               SELECT id, true AS is_named FROM named
               UNION ALL SELECT id, false FROM beside WHERE id NOT IN (SELECT id FROM named)
           )
           SELECT m.id AS "entity!", m.is_named AS "is_named!",
                  coalesce((SELECT sum(n.mentions) FROM entity_names n WHERE n.user_id = $1 AND n.entity_id = m.id), 0)::bigint AS "mentions!"
           FROM meant m ORDER BY 1"#,
        user.0,
        normals,
        now,
        NAMED_MAX,
        CONNECTED_MAX,
    )
    .fetch_all(conn)
    .await
}

/// The newest sources that mention one of these entities, as pairs of source and entity.
pub async fn list_mentioning(
    conn: &mut PgConnection,
    user: UserId,
    entities: &[i64],
) -> Result<Vec<(i64, i64)>, sqlx::Error> {
    const OF_EACH_MAX: i64 = 500;
    let rows = sqlx::query!(
        r#"SELECT m.source_id AS "source_id!", e.id AS "entity_id!"
           FROM unnest($2::bigint[]) AS e (id) CROSS JOIN LATERAL (
               SELECT m.source_id FROM entity_names n JOIN entity_mentions m ON m.user_id = $1 AND m.name_id = n.id
               WHERE n.user_id = $1 AND n.entity_id = e.id ORDER BY m.source_id DESC LIMIT $3) m"#,
        user.0,
        entities,
        OF_EACH_MAX,
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(|row| (row.source_id, row.entity_id)).collect())
}

/// Of these items, with the SHA-256 of their texts.
pub async fn list_hashes(
    conn: &mut PgConnection,
    user: UserId,
    ids: &[i64],
) -> Result<Vec<(i64, Vec<u8>)>, sqlx::Error> {
    let rows = sqlx::query!(
        "SELECT id, content_hash FROM memory_items WHERE user_id = $1 AND id = ANY ($2)",
        user.0,
        ids,
    );
    let rows = rows.fetch_all(conn).await?;
    Ok(rows.into_iter().map(|row| (row.id, row.content_hash)).collect())
}

/// Ids of the items with this tag. Reads all items of the user, whose number the quota limits.
pub async fn list_tagged(
    conn: &mut PgConnection,
    user: UserId,
    tag: &str,
) -> Result<Vec<i64>, sqlx::Error> {
    sqlx::query_scalar!(
        r#"SELECT id FROM memory_items WHERE user_id = $1 AND NOT is_turn AND $2 = ANY (tags)"#,
        user.0,
        tag
    )
    .fetch_all(conn)
    .await
}

/// Token signs of these sources' first passages.
pub async fn list_token_signs(
    conn: &mut PgConnection,
    user: UserId,
    space: SpaceId,
    ids: &[i64],
) -> Result<Vec<(i64, Vec<u8>)>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"SELECT e.source_id AS "source_id!", e.token_signs AS "token_signs!"
           FROM unnest($3::bigint[]) AS f (id)
           -- OFFSET 0 and || '': each by its key, whatever the statistics say.
           CROSS JOIN LATERAL (
               SELECT source_id, token_signs FROM memory_embeddings
               WHERE user_id = $1 AND source_id = f.id AND passage = 0 AND space_id = $2 AND state || '' = 'ready' OFFSET 0
           ) e
           WHERE e.token_signs IS NOT NULL"#,
        user.0,
        space.0,
        ids,
    );
    let rows = rows.fetch_all(conn).await?;
    Ok(rows.into_iter().map(|row| (row.source_id, row.token_signs)).collect())
}

/// The mean vector of all passages of a source, of length 1; `None` without one.
pub async fn find_mean(
    conn: &mut PgConnection,
    user: UserId,
    space: SpaceId,
    source: i64,
) -> Result<Option<Vector>, sqlx::Error> {
    // Not `query!`: the macro does not support the vector type.
    let row = sqlx::query(
        "SELECT avg(embedding) FROM memory_embeddings
         WHERE user_id = $1 AND source_id = $2 AND space_id = $3 AND state || '' = 'ready'",
    );
    let row = row.bind(user.0).bind(source).bind(space.0).fetch_one(conn).await?;
    let mean: Option<HalfVector> = row.try_get(0)?;
    let mean = mean.map(|mean| mean.to_vec().iter().map(|v| v.to_f32()).collect::<Vec<_>>());
    Ok(mean.and_then(|mean| Vector::from_answer(&mean).ok()))
}
