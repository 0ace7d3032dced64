//! The statements of the import. All run as the app role in a transaction that has set the user.

use std::collections::HashMap;

use sqlx::PgConnection;
use time::OffsetDateTime;

use crate::accounts::AgentName;
use crate::accounts::model::AGENTS_PER_USER_MAX;
use crate::db::{UserId, draw_id};
use crate::export::read::{ItemRecord, ThemeRecord};
use crate::memories::provenance::key_form;
use crate::memories::write::{NewSource, SourceOwner};
use crate::memories::{ItemKey, Period, ProjectId, Status};

pub async fn is_erasing(conn: &mut PgConnection, user: UserId) -> Result<bool, sqlx::Error> {
    let erasing = sqlx::query_scalar!(
        r#"SELECT erasing_at IS NOT NULL AS "erasing!" FROM users WHERE id = $1"#,
        user.0
    );
    // A missing user was erased.
    Ok(erasing.fetch_optional(conn).await?.unwrap_or(true))
}

/// An existing theme stays unchanged.
pub async fn insert_theme(
    conn: &mut PgConnection,
    user: UserId,
    theme: &ThemeRecord,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "INSERT INTO memory_themes (user_id, slug, display_name, description, created_at, updated_at)
         VALUES ($1, $2, $3, $4, $5, $6)
         ON CONFLICT ON CONSTRAINT memory_themes_slug_key DO NOTHING",
        user.0,
        theme.slug.as_str(),
        theme.display_name,
        theme.description,
        theme.created_at,
        now,
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub async fn ensure_agent(
    conn: &mut PgConnection,
    user: UserId,
    name: &AgentName,
    created_at: OffsetDateTime,
) -> Result<Option<i64>, sqlx::Error> {
    let find = sqlx::query_scalar!(
        "SELECT id FROM agents WHERE user_id = $1 AND name = $2",
        user.0,
        name.as_str()
    );
    if let Some(id) = find.fetch_optional(&mut *conn).await? {
        return Ok(Some(id));
    }
    let drawn = draw_id(&mut *conn, "agents_id_seq").await?;
    sqlx::query_scalar!(
        "INSERT INTO agents (user_id, id, name, created_at) OVERRIDING SYSTEM VALUE
         SELECT $1, $5, $2, $3 WHERE (SELECT count(*) FROM agents WHERE user_id = $1) < $4
         ON CONFLICT ON CONSTRAINT agents_name_key DO NOTHING
         RETURNING id",
        user.0,
        name.as_str(),
        created_at,
        AGENTS_PER_USER_MAX,
        drawn,
    )
    .fetch_optional(conn)
    .await
}

/// Identifies equal items: archived ones also by date.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ItemIdentity {
    theme_id: Option<i64>,
    owner: Option<i64>,
    project: Option<i64>,
    content_hash: String,
    key: Option<String>,
    archived_of: Option<OffsetDateTime>,
    period: [Option<OffsetDateTime>; 2],
}

impl ItemIdentity {
    pub fn of(row: &NewSource<'_>) -> Self {
        let is_archived = row.status == Status::Archived.as_str();
        Self {
            theme_id: row.theme_id,
            owner: row.owner.agent(),
            project: row.project_id,
            content_hash: row.content_hash.clone(),
            key: row.key.map(str::to_owned),
            archived_of: is_archived.then_some(row.created_at),
            period: [row.valid_from, row.valid_until],
        }
    }
}

/// An item as a row in the theme with this id. `imported_at` is the default date.
pub fn source_of(
    record: &ItemRecord,
    theme_id: i64,
    (agent_id, owner, project): (Option<i64>, Option<i64>, Option<ProjectId>),
    imported_at: OffsetDateTime,
) -> NewSource<'_> {
    let item = &record.item;
    let key = record.key.as_ref().map(ItemKey::as_str);
    let created_at = record.created_at.unwrap_or(imported_at);
    let (item_type, tags) = (item.item_type().as_str(), item.tags());
    NewSource {
        theme_id: Some(theme_id),
        is_checked: true,
        agent_id,
        owner: SourceOwner::given(owner),
        project_id: project.map(|project| project.0),
        status: record.status.as_str(),
        source: &record.source,
        trust: record.trust.as_str(),
        source_context: record.source_context.as_deref(),
        confidence: record.confidence,
        protected: record.protected,
        locked: record.locked,
        expires_at: record.expires_at,
        last_verified_at: record.last_verified_at,
        decay_rate: record.decay_rate,
        attributes: Some(&record.attributes),
        created_at,
        updated_at: record.updated_at.unwrap_or(created_at),
        ..NewSource::new(item_type, item.content(), key, tags, created_at)
            .with_period(record.period)
    }
}

/// Theme, owner (`None`: shared), project and key: at each moment at most one active item has them.
type KeyPlace = (i64, Option<i64>, Option<i64>, String);

/// Where an active item with a key stands.
#[derive(Clone)]
pub struct HeldPlace {
    place: KeyPlace,
    period: Period,
}

impl HeldPlace {
    pub fn of(row: &NewSource<'_>) -> Option<Self> {
        let key = row.key.filter(|_| row.status == Status::Active.as_str());
        let place = (row.theme_id?, row.owner.agent(), row.project_id, key_form(key?));
        Some(Self { place, period: Period { from: row.valid_from, until: row.valid_until } })
    }
}

#[derive(Clone, Copy)]
pub struct KeyHolder<T> {
    pub id: T,
    pub created_at: OffsetDateTime,
}

/// Who stands where.
pub struct KeyHolders<T>(HashMap<KeyPlace, Vec<(Period, T)>>);

impl<T: Copy> KeyHolders<T> {
    pub fn new() -> Self {
        Self(HashMap::new())
    }

    pub fn insert(&mut self, held: HeldPlace, holder: T) {
        self.0.entry(held.place).or_default().push((held.period, holder));
    }

    /// The one of the same time.
    pub fn of(&self, held: &HeldPlace, now: OffsetDateTime) -> Option<T> {
        let mut there = self.0.get(&held.place)?.iter();
        there.find(|(period, _)| period.meets(held.period, now)).map(|(_, holder)| *holder)
    }
}

/// The ids of existing items, by index in `rows`. An item is known if theme, text and date match, even if it
/// was archived since, so that an import does not revive it; or if an active item has the same text, with any
/// date.
pub async fn find_known(
    conn: &mut PgConnection,
    user: UserId,
    rows: &[NewSource<'_>],
    now: OffsetDateTime,
) -> Result<HashMap<usize, i64>, sqlx::Error> {
    let themes: Vec<Option<i64>> = rows.iter().map(|row| row.theme_id).collect();
    let hashes: Vec<String> = rows.iter().map(|row| row.content_hash.clone()).collect();
    let dates: Vec<OffsetDateTime> = rows.iter().map(|row| row.created_at).collect();
    let statuses: Vec<String> = rows.iter().map(|row| row.status.to_owned()).collect();
    let keys: Vec<Option<String>> = rows.iter().map(|row| row.key.map(str::to_owned)).collect();
    let owners: Vec<Option<i64>> = rows.iter().map(|row| row.owner.agent()).collect();
    let from: Vec<Option<OffsetDateTime>> = rows.iter().map(|row| row.valid_from).collect();
    let projects: Vec<Option<i64>> = rows.iter().map(|row| row.project_id).collect();
    let until: Vec<Option<OffsetDateTime>> = rows.iter().map(|row| row.valid_until).collect();
    let found = sqlx::query!(
        r#"SELECT f.n AS "n!", known.id AS "id?"
           FROM unnest($2::bigint[], $3::text[], $4::timestamptz[], $5::text[], $6::text[], $7::bigint[], $8::timestamptz[],
                       $9::timestamptz[], $11::bigint[])
                WITH ORDINALITY AS f (theme_id, content_hash, created_at, status, key, owner, valid_from, valid_until, project, n)
           CROSS JOIN LATERAL (SELECT coalesce(
               (SELECT i.id FROM memory_items i
                WHERE i.user_id = $1 AND i.theme_id = f.theme_id AND i.created_at = f.created_at
                  AND i.content_hash = decode(f.content_hash, 'base64') AND i.status IN (f.status, 'archived')
                  AND i.key IS NOT DISTINCT FROM f.key AND i.owner_agent_id IS NOT DISTINCT FROM f.owner
                  AND i.project_id IS NOT DISTINCT FROM f.project
                ORDER BY i.id LIMIT 1),
               (SELECT i.id FROM memory_items i
                WHERE f.status = 'active' AND i.user_id = $1 AND i.theme_id = f.theme_id
                  AND i.content_hash = decode(f.content_hash, 'base64') AND i.status = 'active'
                  AND (f.key IS NULL OR i.key IS NULL OR replace(i.key, '_', '') = replace(f.key, '_', '')) AND i.owner_agent_id IS NOT DISTINCT FROM f.owner
                  AND i.project_id IS NOT DISTINCT FROM f.project
                  AND periods_meet(i.valid_from, i.valid_until, f.valid_from, f.valid_until, $10)
                ORDER BY i.id LIMIT 1)
           ) AS id) known
           WHERE known.id IS NOT NULL"#,
        user.0,
        &themes as &[Option<i64>],
        &hashes,
        &dates,
        &statuses,
        &keys as &[Option<String>],
        &owners as &[Option<i64>],
        &from as &[Option<OffsetDateTime>],
        &until as &[Option<OffsetDateTime>],
        now,
        &projects as &[Option<i64>],
    )
    .fetch_all(conn)
    .await?;
    Ok(found
        .into_iter()
        .filter_map(|row| Some((usize::try_from(row.n).ok()?.checked_sub(1)?, row.id?)))
        .collect())
}

/// The active items at the places that `rows` would take.
pub async fn find_holders(
    conn: &mut PgConnection,
    user: UserId,
    rows: &[NewSource<'_>],
) -> Result<KeyHolders<KeyHolder<i64>>, sqlx::Error> {
    let (themes, keys): (Vec<i64>, Vec<String>) =
        rows.iter().filter_map(|row| Some((row.theme_id?, row.key?.to_owned()))).unzip();
    let found = sqlx::query!(
        r#"SELECT i.id, i.theme_id AS "theme_id!", i.owner_agent_id, i.project_id, i.key AS "key!", i.valid_from, i.valid_until, i.created_at
           FROM unnest($2::bigint[], $3::text[]) AS f (theme_id, key)
           JOIN memory_items i ON i.user_id = $1 AND i.theme_id = f.theme_id AND replace(i.key, '_', '') = replace(f.key, '_', '')
                AND i.status = 'active'"#,
        user.0,
        &themes,
        &keys,
    )
    .fetch_all(conn)
    .await?;
    let mut holders = KeyHolders::new();
    for row in found {
        let place = (row.theme_id, row.owner_agent_id, row.project_id, key_form(&row.key));
        let period = Period { from: row.valid_from, until: row.valid_until };
        holders.insert(
            HeldPlace { place, period },
            KeyHolder { id: row.id, created_at: row.created_at },
        );
    }
    Ok(holders)
}

/// Links older items to those that replaced them. Existing links stay.
pub async fn link(
    conn: &mut PgConnection,
    user: UserId,
    links: &[(i64, i64)],
) -> Result<(), sqlx::Error> {
    let (older, newer): (Vec<i64>, Vec<i64>) = links.iter().copied().unzip();
    sqlx::query!(
        "UPDATE memory_items i SET superseded_by = f.newer
         FROM unnest($2::bigint[], $3::bigint[]) AS f (older, newer)
         WHERE i.user_id = $1 AND i.id = f.older AND i.superseded_by IS NULL AND f.older <> f.newer",
        user.0,
        &older,
        &newer,
    )
    .execute(conn)
    .await?;
    Ok(())
}
