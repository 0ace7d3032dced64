//! SQL of documents. Runs as the app role in a transaction bound to its user; writes need one that has raised the user's
//! revision.

use sqlx::PgConnection;
use time::OffsetDateTime;

use super::model::{ChangeAuthor, Document, ImportedDocument, ImportedRevision, Revision};
use super::path::DocumentPath;
use crate::accounts::{AgentId, UserId};
use crate::memories::take_back::ChangedBy;
use crate::memories::{Project, ProjectId, Trust};

struct DocumentRecord {
    id: i64,
    path: DocumentPath,
    revision: i32,
    bytes: i32,
    trust: Trust,
    owner_agent_id: Option<i64>,
    owner: Option<String>,
    project_id: Option<i64>,
    project: Option<String>,
    created_at: OffsetDateTime,
    updated_at: OffsetDateTime,
    archived_at: Option<OffsetDateTime>,
}

impl From<DocumentRecord> for Document {
    fn from(row: DocumentRecord) -> Self {
        Self {
            id: row.id,
            path: row.path,
            revision: row.revision,
            bytes: row.bytes,
            trust: row.trust,
            owner_id: row.owner_agent_id,
            owner: row.owner,
            project: Project::of_row(row.project_id.zip(row.project)),
            created_at: row.created_at,
            updated_at: row.updated_at,
            archived_at: row.archived_at,
        }
    }
}

/// The active document with this path; an agent's own takes precedence over a shared one. `of_writer`: only with the owner
/// and the project that a new document would get. Of a project's, and of none's; without a project of all, none's first.
pub async fn find(
    conn: &mut PgConnection,
    user: UserId,
    path: &DocumentPath,
    of_writer: bool,
    project: Option<i64>,
) -> Result<Option<Document>, sqlx::Error> {
    let row = sqlx::query_as!(
        DocumentRecord,
        r#"SELECT d.id, d.path AS "path: DocumentPath", d.revision, d.bytes, d.trust AS "trust: Trust", d.owner_agent_id, a.name AS "owner?", d.project_id, p.name AS "project?", d.created_at,
                  d.updated_at, d.archived_at
           FROM documents d LEFT JOIN agents a ON a.user_id = $1 AND a.id = d.owner_agent_id
           LEFT JOIN projects p ON p.user_id = $1 AND p.id = d.project_id
           WHERE d.user_id = $1 AND d.path = $2 AND d.archived_at IS NULL
             AND (NOT $3 OR d.owner_agent_id IS NOT DISTINCT FROM new_owner() AND d.project_id IS NOT DISTINCT FROM $4)
             AND ($4::bigint IS NULL OR d.project_id IS NULL OR d.project_id = $4)
           ORDER BY d.owner_agent_id = scope_agent() DESC NULLS LAST, d.owner_agent_id NULLS FIRST,
                    d.project_id = $4 DESC NULLS LAST, d.project_id IS NOT NULL, d.updated_at DESC, d.id DESC LIMIT 1"#,
        user.0,
        path.as_str(),
        of_writer,
        project,
    );
    Ok(row.fetch_optional(conn).await?.map(Document::from))
}

/// Includes archived documents.
pub async fn find_by_id(
    conn: &mut PgConnection,
    user: UserId,
    id: i64,
) -> Result<Option<Document>, sqlx::Error> {
    let row = sqlx::query_as!(
        DocumentRecord,
        r#"SELECT d.id, d.path AS "path: DocumentPath", d.revision, d.bytes, d.trust AS "trust: Trust", d.owner_agent_id, a.name AS "owner?", d.project_id, p.name AS "project?", d.created_at,
                  d.updated_at, d.archived_at
           FROM documents d LEFT JOIN agents a ON a.user_id = $1 AND a.id = d.owner_agent_id
           LEFT JOIN projects p ON p.user_id = $1 AND p.id = d.project_id
           WHERE d.user_id = $1 AND d.id = $2"#,
        user.0,
        id,
    );
    Ok(row.fetch_optional(conn).await?.map(Document::from))
}

/// Documents whose path starts with this, by path; archived ones if requested. With a project: its own, and none's.
pub async fn list(
    conn: &mut PgConnection,
    user: UserId,
    beginning: &str,
    with_archived: bool,
    project: Option<i64>,
    limit: i64,
) -> Result<Vec<Document>, sqlx::Error> {
    let rows = sqlx::query_as!(
        DocumentRecord,
        r#"SELECT d.id, d.path AS "path: DocumentPath", d.revision, d.bytes, d.trust AS "trust: Trust", d.owner_agent_id, a.name AS "owner?", d.project_id, p.name AS "project?", d.created_at,
                  d.updated_at, d.archived_at
           FROM documents d LEFT JOIN agents a ON a.user_id = $1 AND a.id = d.owner_agent_id
           LEFT JOIN projects p ON p.user_id = $1 AND p.id = d.project_id
           WHERE d.user_id = $1 AND starts_with(d.path, $2) AND ($3 OR d.archived_at IS NULL)
             AND NOT (d.owner_agent_id IS NULL AND EXISTS (
                 SELECT FROM documents o WHERE o.user_id = $1 AND o.path = d.path AND o.archived_at IS NULL
                   AND o.owner_agent_id = scope_agent() AND o.project_id IS NOT DISTINCT FROM d.project_id))
             AND ($5::bigint IS NULL OR d.project_id = $5 OR d.project_id IS NULL AND NOT EXISTS (
                 SELECT FROM documents o WHERE o.user_id = $1 AND o.path = d.path AND o.archived_at IS NULL AND o.project_id = $5))
           ORDER BY d.path COLLATE "C", d.archived_at DESC NULLS FIRST, d.id LIMIT $4"#,
        user.0,
        beginning,
        with_archived,
        limit,
        project,
    );
    let rows = rows.fetch_all(conn).await?;
    Ok(rows.into_iter().map(Document::from).collect())
}

/// What conflicts with a path: a folder of that name, or a document in place of one of its folders.
pub struct PathConflict {
    pub folder: bool,
    pub document: bool,
}

pub async fn find_in_the_way(
    conn: &mut PgConnection,
    user: UserId,
    path: &DocumentPath,
) -> Result<PathConflict, sqlx::Error> {
    let folders: Vec<&str> = path.folders().collect();
    let inside = format!("{path}/");
    sqlx::query_as!(
        PathConflict,
        r#"SELECT EXISTS (SELECT FROM documents WHERE user_id = $1 AND archived_at IS NULL AND starts_with(path, $2)) AS "folder!",
                  EXISTS (SELECT FROM documents WHERE user_id = $1 AND archived_at IS NULL AND path = ANY ($3)) AS "document!""#,
        user.0,
        inside,
        &folders as &[&str],
    )
    .fetch_one(conn)
    .await
}

/// The text at a revision, if it is kept.
pub async fn find_content(
    conn: &mut PgConnection,
    user: UserId,
    document: i64,
    revision: i32,
) -> Result<Option<String>, sqlx::Error> {
    sqlx::query_scalar!(
        r#"SELECT content AS "content!" FROM document_revisions
           WHERE user_id = $1 AND document_id = $2 AND revision <= $3 AND content IS NOT NULL
             AND EXISTS (SELECT FROM document_revisions WHERE user_id = $1 AND document_id = $2 AND revision = $3)
           ORDER BY revision DESC LIMIT 1"#,
        user.0,
        document,
        revision,
    )
    .fetch_optional(conn)
    .await
}

pub async fn find_trust(
    conn: &mut PgConnection,
    user: UserId,
    document: i64,
    revision: i32,
) -> Result<Option<Trust>, sqlx::Error> {
    sqlx::query_scalar!(
        r#"SELECT trust AS "trust: Trust" FROM document_revisions WHERE user_id = $1 AND document_id = $2 AND revision = $3"#,
        user.0,
        document,
        revision,
    )
    .fetch_optional(conn)
    .await
}

/// Newest first.
pub async fn list_revisions(
    conn: &mut PgConnection,
    user: UserId,
    document: i64,
    limit: i64,
) -> Result<Vec<Revision>, sqlx::Error> {
    sqlx::query_as!(
        Revision,
        r#"SELECT r.revision, r.event, r.path, r.trust AS "trust: Trust", r.at, a.name AS "agent?" FROM document_revisions r
           LEFT JOIN agents a ON a.user_id = $1 AND a.id = r.agent_id
           WHERE r.user_id = $1 AND r.document_id = $2 ORDER BY r.revision DESC LIMIT $3"#,
        user.0,
        document,
        limit,
    )
    .fetch_all(conn)
    .await
}

/// The number of a user's documents, and the bytes of all their revisions.
pub async fn count_kept(conn: &mut PgConnection, user: UserId) -> Result<(i64, i64), sqlx::Error> {
    let row = sqlx::query!(
        r#"SELECT count(*) AS "documents!", coalesce(sum(kept_bytes), 0)::bigint AS "bytes!"
           FROM whole_documents WHERE user_id = $1"#,
        user.0
    );
    let row = row.fetch_one(conn).await?;
    Ok((row.documents, row.bytes))
}

pub async fn insert(
    conn: &mut PgConnection,
    user: UserId,
    path: &DocumentPath,
    (trust, project): (Trust, Option<i64>),
    now: OffsetDateTime,
) -> Result<Document, sqlx::Error> {
    let row = sqlx::query_as!(
        DocumentRecord,
        r#"INSERT INTO documents (user_id, id, path, revision, bytes, kept_bytes, trust, owner_agent_id, project_id, created_at, updated_at)
           VALUES ($1, nextval('memory_source_ids'), $2, 0, 0, 0, $3, new_owner(), $5, $4, $4)
           RETURNING id, path AS "path: DocumentPath", revision, bytes, trust AS "trust: Trust", owner_agent_id, NULL::text AS owner, project_id, NULL::text AS project, created_at, updated_at, archived_at"#,
        user.0,
        path.as_str(),
        trust.as_str(),
        now,
        project,
    );
    Ok(row.fetch_one(conn).await?.into())
}

/// The next revision of one or more documents.
pub struct NewRevision<'a> {
    pub event: &'static str,
    /// `None`: text and trust stay.
    pub content: Option<(&'a str, Trust)>,
    pub archived_at: Option<OffsetDateTime>,
    pub at: OffsetDateTime,
}

/// Adds a revision to each document, with its new path. Returns the updated documents.
pub async fn add_revisions(
    conn: &mut PgConnection,
    user: UserId,
    by: ChangeAuthor<'_>,
    documents: &[(i64, &str)],
    new: &NewRevision<'_>,
) -> Result<Vec<Document>, sqlx::Error> {
    let (ids, paths): (Vec<i64>, Vec<&str>) = documents.iter().copied().unzip();
    let rows = sqlx::query_as!(
        DocumentRecord,
        r#"WITH document AS (
               UPDATE documents d
               SET revision = revision + 1, path = n.path, trust = coalesce($5, trust), updated_at = $7, archived_at = $8,
                   bytes = coalesce(octet_length($4), bytes), kept_bytes = kept_bytes + coalesce(octet_length($4), 0)
               FROM unnest($2::bigint[], $3::text[]) AS n (id, path)
               WHERE d.user_id = $1 AND d.id = n.id
               RETURNING d.id, d.path, d.revision, d.bytes, d.trust, d.owner_agent_id, d.project_id, d.created_at, d.updated_at, d.archived_at
           ), revision AS (
               INSERT INTO document_revisions (user_id, document_id, revision, event, path, content, trust, agent_id, at)
               SELECT $1, id, revision, $6, path, $4, trust, $9, $7 FROM document
               RETURNING user_id
           )
           SELECT id AS "id!", path AS "path!: DocumentPath", revision AS "revision!", bytes AS "bytes!", trust AS "trust!: Trust", owner_agent_id,
                  (SELECT a.name FROM agents a WHERE a.user_id = $1 AND a.id = owner_agent_id) AS owner, project_id,
                  (SELECT p.name FROM projects p WHERE p.user_id = $1 AND p.id = project_id) AS project, created_at AS "created_at!", updated_at AS "updated_at!", archived_at FROM document ORDER BY path"#,
        user.0,
        &ids,
        &paths as &[&str],
        new.content.map(|(text, _)| text),
        new.content.map(|(_, trust)| trust.as_str()),
        new.event,
        new.at,
        new.archived_at,
        by.agent.map(|agent| agent.0),
    );
    let rows = rows.fetch_all(conn).await?;
    Ok(rows.into_iter().map(Document::from).collect())
}

/// Deletes the oldest revisions: of each document `kept` with a text stay, and of those without one what is among the newest
/// twice as many.
pub async fn trim(
    conn: &mut PgConnection,
    documents: &[i64],
    kept: i32,
) -> Result<(), sqlx::Error> {
    if documents.is_empty() {
        return Ok(());
    }
    sqlx::query!(
        "SELECT trim_revisions(id, $2) FROM unnest($1::bigint[]) AS trimmed (id)",
        documents,
        kept,
    )
    .fetch_all(conn)
    .await?;
    Ok(())
}

/// An existing part.
pub struct KnownPart {
    pub id: i64,
    pub content_hash: Vec<u8>,
    pub lines: (i32, i32),
}

/// By line.
pub async fn list_parts(
    conn: &mut PgConnection,
    user: UserId,
    document: i64,
) -> Result<Vec<KnownPart>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"SELECT id, content_hash, first_line AS "first_line!", last_line AS "last_line!" FROM memory_items
           WHERE user_id = $1 AND document_id = $2 ORDER BY first_line, id"#,
        user.0,
        document,
    );
    let read = rows.fetch_all(conn).await?.into_iter().map(|row| KnownPart {
        id: row.id,
        content_hash: row.content_hash,
        lines: (row.first_line, row.last_line),
    });
    Ok(read.collect())
}

/// Updates the line numbers of unchanged parts.
pub async fn move_parts(
    conn: &mut PgConnection,
    user: UserId,
    parts: &[(i64, (i32, i32))],
) -> Result<(), sqlx::Error> {
    if parts.is_empty() {
        return Ok(());
    }
    let ids: Vec<i64> = parts.iter().map(|part| part.0).collect();
    let first: Vec<i32> = parts.iter().map(|part| part.1.0).collect();
    let last: Vec<i32> = parts.iter().map(|part| part.1.1).collect();
    sqlx::query!(
        "UPDATE memory_items i SET first_line = m.first, last_line = m.last
         FROM unnest($2::bigint[], $3::integer[], $4::integer[]) AS m (id, first, last)
         WHERE i.user_id = $1 AND i.id = m.id",
        user.0,
        &ids,
        &first,
        &last,
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub async fn remove_parts(conn: &mut PgConnection, parts: &[i64]) -> Result<(), sqlx::Error> {
    if parts.is_empty() {
        return Ok(());
    }
    // The function returns void.
    sqlx::query("SELECT remove_parts($1)").bind(parts).execute(conn).await?;
    Ok(())
}

/// Deletes all parts of these documents.
pub async fn remove_parts_of(
    conn: &mut PgConnection,
    user: UserId,
    documents: &[i64],
) -> Result<(), sqlx::Error> {
    let parts = sqlx::query_scalar!(
        "SELECT id FROM memory_items WHERE user_id = $1 AND document_id = ANY ($2)",
        user.0,
        documents
    );
    let parts = parts.fetch_all(&mut *conn).await?;
    remove_parts(conn, &parts).await
}

/// Whether a document with this path and creation time exists, archived or not.
pub async fn is_known(
    conn: &mut PgConnection,
    user: UserId,
    path: &DocumentPath,
    created_at: OffsetDateTime,
) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar!(
        r#"SELECT EXISTS (SELECT FROM documents WHERE user_id = $1 AND path = $2 AND created_at = $3) AS "is!""#,
        user.0,
        path.as_str(),
        created_at,
    )
    .fetch_one(conn)
    .await
}

/// Whether a document of this path, archived or not, has this text now.
pub async fn is_text_known(
    conn: &mut PgConnection,
    user: UserId,
    path: &DocumentPath,
    text: &str,
) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar!(
        r#"SELECT EXISTS (
               SELECT FROM documents d WHERE d.user_id = $1 AND d.path = $2 AND d.bytes = octet_length($3)
                 AND $3 = (SELECT r.content FROM document_revisions r
                           WHERE r.user_id = $1 AND r.document_id = d.id AND r.content IS NOT NULL ORDER BY r.revision DESC LIMIT 1)
           ) AS "is!""#,
        user.0,
        path.as_str(),
        text,
    )
    .fetch_one(conn)
    .await
}

/// Inserts an imported document, archived and without revisions.
pub async fn insert_taken(
    conn: &mut PgConnection,
    user: UserId,
    taken: &ImportedDocument,
    (owner, project): (Option<i64>, Option<ProjectId>),
    now: OffsetDateTime,
) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar!(
        "INSERT INTO documents (user_id, id, path, revision, bytes, kept_bytes, trust, owner_agent_id, project_id, created_at,
                                updated_at, archived_at)
         VALUES ($1, nextval('memory_source_ids'), $2, 0, 0, 0, 'agent', $5, $6, $3, $3, $4) RETURNING id",
        user.0,
        taken.path.as_str(),
        taken.created_at,
        now,
        owner,
        project.map(|project| project.0),
    )
    .fetch_one(conn)
    .await
}

pub async fn insert_taken_revision(
    conn: &mut PgConnection,
    user: UserId,
    document: i64,
    agent: Option<AgentId>,
    taken: &ImportedRevision<'_>,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "WITH document AS (
             UPDATE documents SET revision = $3, trust = $7, updated_at = $9, bytes = coalesce(octet_length($6), bytes),
                                  kept_bytes = kept_bytes + coalesce(octet_length($6), 0)
             WHERE user_id = $1 AND id = $2
         )
         INSERT INTO document_revisions (user_id, document_id, revision, event, path, content, trust, agent_id, at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        user.0,
        document,
        taken.revision,
        taken.event,
        taken.path.as_str(),
        taken.content,
        taken.trust.as_str(),
        agent.map(|agent| agent.0),
        taken.at,
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub async fn set_archived(
    conn: &mut PgConnection,
    user: UserId,
    document: i64,
    at: Option<OffsetDateTime>,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "UPDATE documents SET archived_at = $3 WHERE user_id = $1 AND id = $2",
        user.0,
        document,
        at,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// A document that an author has changed.
pub struct TouchedDocument {
    pub id: i64,
    pub is_archived: bool,
    /// Before the first of these changes; `None`: it did not exist.
    pub before: Option<DocumentBefore>,
    /// Somebody else has changed it since, or what it was is not kept any more.
    pub stays: bool,
}

pub struct DocumentBefore {
    pub revision: i32,
    pub path: DocumentPath,
    pub is_archived: bool,
}

/// The documents that an author has changed, by id.
pub async fn list_touched(
    conn: &mut PgConnection,
    user: UserId,
    by: ChangedBy,
    limit: i64,
) -> Result<Vec<TouchedDocument>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"WITH own AS (
               SELECT document_id, min(revision) AS first FROM document_revisions
               WHERE user_id = $1 AND agent_id IS NOT DISTINCT FROM $2 AND at BETWEEN $3 AND $4 GROUP BY document_id
           )
           SELECT o.document_id AS "id!", o.first AS "first!", d.archived_at IS NOT NULL AS "is_archived!", b.revision AS "revision?", b.path AS "path?: DocumentPath",
                  b.event = 'archived' AS was_archived,
                  EXISTS (SELECT FROM document_revisions s
                          WHERE s.user_id = $1 AND s.document_id = o.document_id AND s.revision > o.first
                            AND NOT (s.agent_id IS NOT DISTINCT FROM $2 AND s.at BETWEEN $3 AND $4)
                            AND NOT (s.agent_id IS NULL AND EXISTS (
                                SELECT FROM agent_undos u WHERE u.user_id = $1 AND u.agent_id = $6
                                  AND (s.at BETWEEN u.made_at AND u.ended_at OR s.at BETWEEN u.taken_back_at AND u.back_ended_at)))
                         ) AS "is_changed_since!"
           FROM own o
           JOIN documents d ON d.user_id = $1 AND d.id = o.document_id
           LEFT JOIN document_revisions b ON b.user_id = $1 AND b.document_id = o.document_id AND b.revision = o.first - 1
           ORDER BY 1 LIMIT $5"#,
        user.0,
        by.agent.map(|agent| agent.0),
        by.from,
        by.until,
        limit,
        by.undos_of.0,
    );
    let rows = rows.fetch_all(conn).await?.into_iter().map(|row| TouchedDocument {
        id: row.id,
        is_archived: row.is_archived,
        stays: row.is_changed_since || (row.first > 1 && row.revision.is_none()),
        before: row.revision.zip(row.path).map(|(revision, path)| DocumentBefore {
            revision,
            path,
            is_archived: row.was_archived.unwrap_or_default(),
        }),
    });
    Ok(rows.collect())
}
