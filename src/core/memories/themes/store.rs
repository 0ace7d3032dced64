//! SQL of themes: find, create within the limit, list with counts.

use sqlx::PgConnection;
use time::OffsetDateTime;

use crate::accounts::{AgentId, UserId};
use crate::memories::model::{MemoryTheme, NewItem, ThemeCount, ThemeNames, ThemeSlug};
use crate::memories::quota::THEMES_MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq, sqlx::Type)]
#[sqlx(transparent)]
pub struct ThemeId(pub i64);

/// The theme of this slug, or else the oldest of this display name. Older slugs are without signs: `c` of `C++`.
pub async fn find_theme(
    conn: &mut PgConnection,
    user: UserId,
    slug: &ThemeSlug,
    name: &str,
) -> Result<Option<(ThemeId, ThemeSlug)>, sqlx::Error> {
    let row = sqlx::query!(
        r#"SELECT id, slug AS "slug: ThemeSlug" FROM memory_themes WHERE user_id = $1 AND id = coalesce(
             (SELECT id FROM memory_themes WHERE user_id = $1 AND slug = $2),
             (SELECT id FROM memory_themes WHERE user_id = $1 AND lower(display_name) = lower($3::text)
                AND (words_owner IS NULL OR scope_agent() IS NULL OR words_owner = scope_agent()) ORDER BY id LIMIT 1))"#,
        user.0,
        slug.as_str(),
        name,
    );
    let row = row.fetch_optional(conn).await?;
    Ok(row.map(|row| (ThemeId(row.id), row.slug)))
}

/// The item's theme, created if it does not exist; `None` if the user has [`THEMES_MAX`] others. Selects first: an upsert
/// would lock the theme's row on every add.
pub async fn ensure_theme(
    conn: &mut PgConnection,
    user: UserId,
    item: &NewItem,
    now: OffsetDateTime,
) -> Result<Option<ThemeId>, sqlx::Error> {
    let name = item.theme_display_name();
    loop {
        if let Some((id, _)) = find_theme(&mut *conn, user, item.theme(), name).await? {
            return Ok(Some(id));
        }
        if !has_room_for_theme(conn, user).await? {
            return Ok(None);
        }
        let made = sqlx::query_scalar!(
            "INSERT INTO memory_themes (user_id, slug, display_name, words_owner, created_at, updated_at)
             VALUES ($1, $2, $3, new_owner(), $4, $4)
             ON CONFLICT ON CONSTRAINT memory_themes_slug_key DO NOTHING
             RETURNING id",
            user.0,
            item.theme().as_str(),
            name,
            now,
        )
        .fetch_optional(&mut *conn)
        .await?;
        if let Some(id) = made {
            return Ok(Some(ThemeId(id)));
        }
        // A concurrent import has just created it.
    }
}

pub async fn has_room_for_theme(
    conn: &mut PgConnection,
    user: UserId,
) -> Result<bool, sqlx::Error> {
    let count = sqlx::query_scalar!(
        r#"SELECT count(*) AS "count!" FROM (SELECT FROM memory_themes WHERE user_id = $1 LIMIT $2) t"#,
        user.0,
        THEMES_MAX,
    );
    Ok(count.fetch_one(conn).await? < THEMES_MAX)
}

pub async fn list_themes(
    conn: &mut PgConnection,
    user: UserId,
    limit: i64,
    now: OffsetDateTime,
) -> Result<Vec<MemoryTheme>, sqlx::Error> {
    sqlx::query_as!(
        MemoryTheme,
        r#"SELECT t.slug, CASE WHEN v.sees_words THEN t.display_name ELSE t.slug END AS "display_name!",
                  CASE WHEN v.sees_words THEN t.description ELSE '' END AS "description!",
                  CASE WHEN v.sees_words AND t.description <> '' THEN a.name END AS "described_by?",
                  coalesce(n.active_count, 0) AS "active_count!"
           FROM memory_themes t
           CROSS JOIN LATERAL (SELECT (t.words_owner IS NULL OR scope_agent() IS NULL OR t.words_owner = scope_agent()) AS sees_words) v
           LEFT JOIN agents a ON a.user_id = $1 AND a.id = t.words_agent
           LEFT JOIN (SELECT theme_id, count(*) AS active_count FROM memory_items
                      WHERE user_id = $1 AND is_live(status, live_until, $2) AND theme_id IS NOT NULL
                      GROUP BY theme_id) n
                  ON n.theme_id = t.id
           -- A theme is not there for an agent that sees none of what is in it.
           WHERE t.user_id = $1 AND (scope_agent() IS NULL OR n.active_count > 0
               OR EXISTS (SELECT FROM memory_items i WHERE i.user_id = $1 AND i.theme_id = t.id)
               OR sees_shared() AND NOT EXISTS (SELECT FROM whole_memory i WHERE i.user_id = $1 AND i.theme_id = t.id))
           ORDER BY "active_count!" DESC, t.slug
           LIMIT $3"#,
        user.0,
        now,
        limit,
    )
    .fetch_all(conn)
    .await
}

/// The themes of these items, with how many of them each has; largest first.
pub async fn list_themes_of(
    conn: &mut PgConnection,
    user: UserId,
    items: &[i64],
    limit: i64,
) -> Result<Vec<MemoryTheme>, sqlx::Error> {
    sqlx::query_as!(
        MemoryTheme,
        r#"SELECT t.slug, CASE WHEN v.sees_words THEN t.display_name ELSE t.slug END AS "display_name!",
                  CASE WHEN v.sees_words THEN t.description ELSE '' END AS "description!",
                  CASE WHEN v.sees_words AND t.description <> '' THEN a.name END AS "described_by?",
                  n.active_count AS "active_count!"
           FROM (SELECT theme_id, count(*) AS active_count FROM memory_items
                 WHERE user_id = $1 AND id = ANY ($2) AND theme_id IS NOT NULL GROUP BY theme_id) n
           JOIN memory_themes t ON t.user_id = $1 AND t.id = n.theme_id
           CROSS JOIN LATERAL (SELECT (t.words_owner IS NULL OR scope_agent() IS NULL OR t.words_owner = scope_agent()) AS sees_words) v
           LEFT JOIN agents a ON a.user_id = $1 AND a.id = t.words_agent
           ORDER BY n.active_count DESC, t.slug LIMIT $3"#,
        user.0,
        items,
        limit,
    )
    .fetch_all(conn)
    .await
}

/// Returns false if the theme does not exist, or is described by others than the agent with a memory of its own that asks.
pub async fn update_theme(
    conn: &mut PgConnection,
    user: UserId,
    agent: Option<AgentId>,
    slug: &ThemeSlug,
    names: &ThemeNames,
    now: OffsetDateTime,
) -> Result<bool, sqlx::Error> {
    let done = sqlx::query!(
        "UPDATE memory_themes
         SET display_name = coalesce($3, CASE WHEN words_owner IS NOT DISTINCT FROM new_owner() THEN display_name ELSE slug END),
             description = coalesce($4, CASE WHEN words_owner IS NOT DISTINCT FROM new_owner() THEN description ELSE '' END), updated_at = $5,
             words_owner = new_owner(), words_agent = CASE WHEN $4::text IS NULL THEN words_agent ELSE $6 END
         WHERE user_id = $1 AND slug = $2 AND (new_owner() IS NULL OR words_owner = new_owner())",
        user.0,
        slug.as_str(),
        names.display_name,
        names.description,
        now,
        agent.map(|agent| agent.0),
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Counts along the index of active texts, which is in theme order, and reads only the fullest themes. Ties: older first.
/// The limits are literals, so that the planner knows them. `for_prompt`: only those in whose 100 newest items the person or
/// two agents have a word.
pub async fn fullest_themes(
    conn: &mut PgConnection,
    user: UserId,
    now: OffsetDateTime,
    for_prompt: bool,
) -> Result<Vec<ThemeCount>, sqlx::Error> {
    sqlx::query_as!(
        ThemeCount,
        r#"SELECT t.slug, n.active_count AS "active_count!"
           FROM (SELECT theme_id, count(*) AS active_count FROM memory_items
                 WHERE user_id = $1 AND is_live(status, live_until, $2) AND theme_id IS NOT NULL
                 GROUP BY theme_id ORDER BY active_count DESC, theme_id LIMIT 50) n
           JOIN memory_themes t ON t.user_id = $1 AND t.id = n.theme_id
           WHERE NOT $3 OR (SELECT bool_or(i.trust = 'user' OR i.locked) OR count(DISTINCT i.agent_id) > 1
                            FROM (SELECT trust, locked, agent_id FROM memory_items
                                  WHERE user_id = $1 AND theme_id = n.theme_id AND is_live(status, live_until, $2)
                                  ORDER BY created_at DESC, id DESC LIMIT 100) i)
           ORDER BY n.active_count DESC, t.id LIMIT 11"#,
        user.0,
        now,
        for_prompt,
    )
    .fetch_all(conn)
    .await
}
