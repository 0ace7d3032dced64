//! SQL of projects. Runs as the app role in a transaction bound to its user.

use sqlx::PgConnection;
use time::OffsetDateTime;

use super::{ALIASES_MAX, AliasKind, PROJECTS_MAX, Project, ProjectId};
use crate::db::UserId;

/// More projects are not looked up in one text.
const NAMED_MAX: i64 = 20;

/// An alias that is some project's.
#[derive(Clone, Debug)]
pub struct KnownAlias {
    pub kind: AliasKind,
    pub alias: String,
    pub project: Project,
    pub has_repository: bool,
    /// A repository or a folder.
    pub has_place: bool,
}

pub async fn list_known(
    conn: &mut PgConnection,
    user: UserId,
    aliases: &[(AliasKind, String)],
) -> Result<Vec<KnownAlias>, sqlx::Error> {
    let (kinds, texts): (Vec<&str>, Vec<&str>) =
        aliases.iter().map(|(kind, alias)| (kind.as_str(), alias.as_str())).unzip();
    let rows = sqlx::query!(
        r#"SELECT a.kind AS "kind: AliasKind", a.alias, p.id, p.name,
                  EXISTS (SELECT FROM project_aliases r WHERE r.user_id = $1 AND r.project_id = p.id AND r.kind = 'repository') AS "has_repository!",
                  EXISTS (SELECT FROM project_aliases r WHERE r.user_id = $1 AND r.project_id = p.id AND r.kind <> 'name') AS "has_place!"
           FROM unnest($2::text[], $3::text[]) AS f (kind, alias)
           JOIN project_aliases a ON a.user_id = $1 AND a.kind = f.kind AND a.alias = f.alias
           JOIN projects p ON p.user_id = $1 AND p.id = a.project_id"#,
        user.0,
        &kinds as &[&str],
        &texts as &[&str],
    );
    let rows = rows.fetch_all(conn).await?.into_iter().map(|row| KnownAlias {
        kind: row.kind,
        alias: row.alias,
        project: Project { id: ProjectId(row.id), name: row.name },
        has_repository: row.has_repository,
        has_place: row.has_place,
    });
    Ok(rows.collect())
}

/// Until the transaction ends, no other makes projects of this user.
pub async fn lock(conn: &mut PgConnection, user: UserId) -> Result<(), sqlx::Error> {
    sqlx::query("SELECT pg_advisory_xact_lock(hashtextextended('keepsake projects', $1))")
        .bind(user.0)
        .execute(conn)
        .await?;
    Ok(())
}

pub async fn has_room(conn: &mut PgConnection, user: UserId) -> Result<bool, sqlx::Error> {
    let count = sqlx::query_scalar!(
        r#"SELECT count(*) AS "count!" FROM (SELECT FROM projects WHERE user_id = $1 LIMIT $2) p"#,
        user.0,
        PROJECTS_MAX,
    );
    Ok(count.fetch_one(conn).await? < PROJECTS_MAX)
}

pub async fn insert(
    conn: &mut PgConnection,
    user: UserId,
    name: &str,
    now: OffsetDateTime,
) -> Result<ProjectId, sqlx::Error> {
    let id = sqlx::query_scalar!(
        "INSERT INTO projects (user_id, name, created_at) VALUES ($1, $2, $3) RETURNING id",
        user.0,
        name,
        now,
    );
    Ok(ProjectId(id.fetch_one(conn).await?))
}

/// Notes what a project is found by. A folder is from then on that of what is worked on there last.
pub async fn insert_aliases(
    conn: &mut PgConnection,
    user: UserId,
    project: ProjectId,
    aliases: &[(AliasKind, String)],
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    let (kinds, texts): (Vec<&str>, Vec<&str>) =
        aliases.iter().map(|(kind, alias)| (kind.as_str(), alias.as_str())).unzip();
    sqlx::query!(
        "INSERT INTO project_aliases AS a (user_id, kind, alias, project_id, created_at)
         SELECT $1, f.kind, f.alias, $2, $5 FROM unnest($3::text[], $4::text[]) AS f (kind, alias)
         WHERE (SELECT count(*) FROM project_aliases WHERE user_id = $1 AND project_id = $2) < $6
         ON CONFLICT (user_id, kind, alias) DO UPDATE SET project_id = excluded.project_id
         WHERE a.kind = 'folder' AND a.project_id <> excluded.project_id",
        user.0,
        project.0,
        &kinds as &[&str],
        &texts as &[&str],
        now,
        ALIASES_MAX,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Projects whose names stand in this text, which is written as they are, with their aliases; the longest first.
pub async fn list_within(
    conn: &mut PgConnection,
    user: UserId,
    text: &str,
) -> Result<Vec<(i64, String)>, sqlx::Error> {
    let rows = sqlx::query!(
        "SELECT project_id, alias FROM project_aliases
         WHERE user_id = $1 AND kind = 'name' AND strpos($2, alias) > 0 ORDER BY length(alias) DESC, alias LIMIT $3",
        user.0,
        text,
        NAMED_MAX,
    );
    Ok(rows.fetch_all(conn).await?.into_iter().map(|row| (row.project_id, row.alias)).collect())
}

/// What a session is about.
pub async fn find_of_session(
    conn: &mut PgConnection,
    user: UserId,
    session: i64,
) -> Result<Option<Project>, sqlx::Error> {
    sqlx::query_as!(
        Project,
        r#"SELECT p.id AS "id: ProjectId", p.name FROM sessions s JOIN projects p ON p.user_id = $1 AND p.id = s.project_id
         WHERE s.user_id = $1 AND s.id = $2"#,
        user.0,
        session,
    )
    .fetch_optional(conn)
    .await
}
