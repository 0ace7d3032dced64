//! The statements of the import. All run as the app role in a transaction that knows its
//! user. A batch comes as one JSON parameter, so that its columns need not be arrays of
//! one length.

use std::collections::HashMap;

use serde::Serialize;
use serde_json::Value;
use sqlx::PgConnection;
use time::OffsetDateTime;

use crate::accounts::AgentName;
use crate::accounts::model::AGENTS_PER_USER_MAX;
use crate::db::UserId;
use crate::export::read::{EventRecord, ItemRecord, ThemeRecord};
use crate::memories::{ItemKey, Status, words};
pub async fn is_erasing(conn: &mut PgConnection, user: UserId) -> Result<bool, sqlx::Error> {
    let erasing = sqlx::query_scalar!(
        r#"SELECT erasing_at IS NOT NULL AS "erasing!" FROM users WHERE id = $1"#,
        user.0
    );
    // Whoever is gone is erased.
    Ok(erasing.fetch_optional(conn).await?.unwrap_or(true))
}

/// One that is there stays as it is.
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
    now: OffsetDateTime,
) -> Result<Option<i64>, sqlx::Error> {
    let find = sqlx::query_scalar!(
        "SELECT id FROM agents WHERE user_id = $1 AND name = $2",
        user.0,
        name.as_str()
    );
    if let Some(id) = find.fetch_optional(&mut *conn).await? {
        return Ok(Some(id));
    }
    sqlx::query_scalar!(
        "INSERT INTO agents (user_id, name, created_at)
         SELECT $1, $2, $3 WHERE (SELECT count(*) FROM agents WHERE user_id = $1) < $4
         ON CONFLICT ON CONSTRAINT agents_name_key DO NOTHING
         RETURNING id",
        user.0,
        name.as_str(),
        now,
        AGENTS_PER_USER_MAX,
    )
    .fetch_optional(conn)
    .await
}

/// By what two items are the same: archived ones by their date as well.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    theme_id: i64,
    content_hash: String,
    key: Option<String>,
    archived_of: Option<OffsetDateTime>,
}

impl Key {
    fn new(
        theme_id: i64,
        hash: String,
        key: Option<String>,
        status: &str,
        created_at: OffsetDateTime,
    ) -> Self {
        Self {
            theme_id,
            content_hash: hash,
            key,
            archived_of: (status == Status::Archived.as_str()).then_some(created_at),
        }
    }
}

/// An item as a row of memory_items.
#[derive(Serialize)]
pub struct NewRow<'a> {
    theme_id: i64,
    agent_id: Option<i64>,
    item_type: &'static str,
    key: Option<&'a str>,
    content: &'a str,
    /// In hexadecimal.
    content_hash: String,
    tags: &'a [String],
    status: &'static str,
    source: &'a str,
    trust: &'static str,
    source_context: Option<&'a str>,
    confidence: i16,
    protected: bool,
    #[serde(with = "time::serde::rfc3339::option")]
    expires_at: Option<OffsetDateTime>,
    #[serde(with = "time::serde::rfc3339::option")]
    valid_from: Option<OffsetDateTime>,
    #[serde(with = "time::serde::rfc3339::option")]
    valid_until: Option<OffsetDateTime>,
    #[serde(with = "time::serde::rfc3339::option")]
    last_verified_at: Option<OffsetDateTime>,
    attributes: &'a Value,
    #[serde(with = "time::serde::rfc3339")]
    created_at: OffsetDateTime,
    #[serde(with = "time::serde::rfc3339")]
    updated_at: OffsetDateTime,
    words: String,
}

impl<'a> NewRow<'a> {
    /// `imported_at` dates what has no date.
    pub fn new(
        record: &'a ItemRecord,
        theme_id: i64,
        agent_id: Option<i64>,
        imported_at: OffsetDateTime,
    ) -> Self {
        let item = &record.item;
        let key = record.key.as_ref().map(ItemKey::as_str);
        let created_at = record.created_at.unwrap_or(imported_at);
        Self {
            theme_id,
            agent_id,
            item_type: item.item_type().as_str(),
            key,
            content: item.content(),
            content_hash: hex(&item.content_hash()),
            tags: item.tags(),
            status: record.status.as_str(),
            source: &record.source,
            trust: record.trust.as_str(),
            source_context: record.source_context.as_deref(),
            confidence: record.confidence,
            protected: record.protected,
            expires_at: record.expires_at,
            valid_from: record.period.from,
            valid_until: record.period.until,
            last_verified_at: record.last_verified_at,
            attributes: &record.attributes,
            created_at,
            updated_at: record.updated_at.unwrap_or(created_at),
            words: words::of_item(item.content(), key, item.tags()),
        }
    }

    /// Its theme and its key, if it is to be the active one of them.
    pub fn held(&self) -> Option<(i64, String)> {
        let key = self.key.filter(|_| self.status == Status::Active.as_str());
        key.map(|key| (self.theme_id, key.to_owned()))
    }

    pub fn has_text_of(&self, other: &Self) -> bool {
        self.content_hash == other.content_hash
    }

    /// Another has its key: it is kept archived.
    pub fn put_aside(&mut self) {
        self.status = Status::Archived.as_str();
    }

    pub fn key(&self) -> Key {
        let hash = self.content_hash.clone();
        let key = self.key.map(str::to_owned);
        Key::new(self.theme_id, hash, key, self.status, self.created_at)
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

/// By their place among `rows`, the ids of those that are there: of the same theme, text
/// and date, and whoever archived one meanwhile does not get it back; or active with the
/// same text, of whatever date.
pub async fn find_known(
    conn: &mut PgConnection,
    user: UserId,
    rows: &[NewRow<'_>],
) -> Result<HashMap<usize, i64>, sqlx::Error> {
    let themes: Vec<i64> = rows.iter().map(|row| row.theme_id).collect();
    let hashes: Vec<String> = rows.iter().map(|row| row.content_hash.clone()).collect();
    let dates: Vec<OffsetDateTime> = rows.iter().map(|row| row.created_at).collect();
    let statuses: Vec<String> = rows.iter().map(|row| row.status.to_owned()).collect();
    let keys: Vec<Option<String>> = rows.iter().map(|row| row.key.map(str::to_owned)).collect();
    let found = sqlx::query!(
        r#"SELECT f.n AS "n!", known.id AS "id?"
           FROM unnest($2::bigint[], $3::text[], $4::timestamptz[], $5::text[], $6::text[])
                WITH ORDINALITY AS f (theme_id, content_hash, created_at, status, key, n)
           CROSS JOIN LATERAL (SELECT coalesce(
               (SELECT i.id FROM memory_items i
                WHERE i.user_id = $1 AND i.theme_id = f.theme_id AND i.created_at = f.created_at
                  AND i.content_hash = decode(f.content_hash, 'hex') AND i.status IN (f.status, 'archived')
                  AND i.key IS NOT DISTINCT FROM f.key
                ORDER BY i.id LIMIT 1),
               (SELECT i.id FROM memory_items i
                WHERE f.status = 'active' AND i.user_id = $1 AND i.theme_id = f.theme_id
                  AND i.content_hash = decode(f.content_hash, 'hex') AND i.status = 'active'
                  AND (f.key IS NULL OR i.key IS NULL OR i.key = f.key)
                ORDER BY i.id LIMIT 1)
           ) AS id) known
           WHERE known.id IS NOT NULL"#,
        user.0,
        &themes,
        &hashes,
        &dates,
        &statuses,
        &keys as &[Option<String>],
    )
    .fetch_all(conn)
    .await?;
    Ok(found
        .into_iter()
        .filter_map(|row| Some((usize::try_from(row.n).ok()?.checked_sub(1)?, row.id?)))
        .collect())
}

/// The active items that have the keys of `rows`, by theme and key.
pub async fn find_holders(
    conn: &mut PgConnection,
    user: UserId,
    rows: &[NewRow<'_>],
) -> Result<HashMap<(i64, String), i64>, sqlx::Error> {
    let (themes, keys): (Vec<i64>, Vec<String>) = rows
        .iter()
        .filter_map(|row| Some((row.theme_id, row.key?.to_owned())))
        .unzip();
    let found = sqlx::query!(
        r#"SELECT i.id, i.theme_id AS "theme_id!", i.key AS "key!"
           FROM unnest($2::bigint[], $3::text[]) AS f (theme_id, key)
           JOIN memory_items i ON i.user_id = $1 AND i.theme_id = f.theme_id AND i.key = f.key
                AND i.status = 'active'"#,
        user.0,
        &themes,
        &keys,
    )
    .fetch_all(conn)
    .await?;
    Ok(found
        .into_iter()
        .map(|row| ((row.theme_id, row.key), row.id))
        .collect())
}

/// The ids of those that were made.
pub async fn insert_items(
    conn: &mut PgConnection,
    user: UserId,
    rows: &[&NewRow<'_>],
) -> Result<HashMap<Key, i64>, sqlx::Error> {
    let rows = serde_json::to_value(rows).unwrap_or_default();
    let made = sqlx::query!(
        r#"INSERT INTO memory_items (user_id, theme_id, agent_id, type, key, content, content_hash, tags,
               status, source, trust, source_context, confidence, protected, expires_at, last_verified_at,
               attributes, created_at, updated_at, content_tsv, valid_from, valid_until)
           SELECT $1, f.theme_id, f.agent_id, f.item_type, f.key, f.content, decode(f.content_hash, 'hex'), f.tags,
                  f.status, f.source, f.trust, f.source_context, f.confidence, f.protected, f.expires_at,
                  f.last_verified_at, f.attributes, f.created_at, f.updated_at, f.words::tsvector,
                  f.valid_from, f.valid_until
           FROM jsonb_to_recordset($2) AS f (theme_id bigint, agent_id bigint, item_type text, key text,
                content text, content_hash text, tags text[], status text, source text, trust text, source_context text,
                confidence smallint, protected boolean, expires_at timestamptz, last_verified_at timestamptz,
                attributes jsonb, created_at timestamptz, updated_at timestamptz, words text,
                valid_from timestamptz, valid_until timestamptz)
           ON CONFLICT DO NOTHING
           RETURNING id, theme_id AS "theme_id!", encode(content_hash, 'hex') AS "content_hash!", key, status, created_at"#,
        user.0,
        rows,
    )
    .fetch_all(conn)
    .await?;
    Ok(made
        .into_iter()
        .map(|row| {
            let hash = row.content_hash;
            let key = Key::new(row.theme_id, hash, row.key, &row.status, row.created_at);
            (key, row.id)
        })
        .collect())
}

#[derive(Serialize)]
pub struct NewEvent {
    item_id: i64,
    agent_id: Option<i64>,
    event: &'static str,
    #[serde(with = "time::serde::rfc3339")]
    at: OffsetDateTime,
}

impl NewEvent {
    pub fn of(item_id: i64, record: &EventRecord, agent_id: Option<i64>) -> Self {
        Self {
            item_id,
            agent_id,
            event: record.event,
            at: record.at,
        }
    }
}

pub async fn insert_events(
    conn: &mut PgConnection,
    user: UserId,
    events: &[NewEvent],
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "INSERT INTO memory_item_events (user_id, item_id, agent_id, event, at)
         SELECT $1, f.item_id, f.agent_id, f.event, f.at
         FROM jsonb_to_recordset($2) AS f (item_id bigint, agent_id bigint, event text, at timestamptz)",
        user.0,
        serde_json::to_value(events).unwrap_or_default(),
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Pairs of an older item and the one that took its place. A link that is there stays.
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
