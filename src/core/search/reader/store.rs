//! SQL that reads an index and its revision. Runs as the app role, as the user.

use sqlx::error::BoxDynError;
use sqlx::postgres::{PgRow, PgTypeInfo, PgValueRef};
use sqlx::{AssertSqlSafe, Decode, PgConnection, Postgres, Row as _};
use time::OffsetDateTime;

use super::index::SourceRow;
use super::seen::ViewerScope;
use crate::db::UserId;
use crate::embedding::model::{Serving, Space, SpaceState, TokenSigns};
use crate::embedding::store::SpaceLookup;
use crate::embedding::{EmbeddingState, SpaceId};
use crate::memories::ThemeSlug;
use crate::memories::passages::terms;
use crate::providers::ProviderType;
use crate::search::query::ThemeFilter;

/// The state of a user's memory.
pub struct MemoryState {
    pub history: History,
    pub revision: i64,
    /// Changes up to this revision are not recorded any more.
    pub told_from: i64,
    /// The user searches turns.
    pub turns_searched: bool,
    /// The user searches by entities.
    pub entities_searched: bool,
    /// Name of the time zone.
    pub time_zone: String,
    /// The requested theme, if it exists.
    pub theme: Option<FoundTheme>,
    /// What the viewer can see.
    pub scope: ViewerScope,
    /// The active space or, until there is one, the building one.
    pub serving: Serving,
}

#[derive(Clone, Debug)]
pub struct FoundTheme {
    pub id: i64,
    pub slug: ThemeSlug,
}

/// Identifies the history that a revision belongs to: PostgreSQL's start time and the database's oid. After a change of
/// either, the data may be an older backup with reused revisions.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct History {
    started: OffsetDateTime,
    database: i64,
}

pub async fn find_standing(
    conn: &mut PgConnection,
    user: UserId,
    theme: Option<&ThemeFilter>,
) -> Result<MemoryState, sqlx::Error> {
    let row = sqlx::query!(
        r#"SELECT pg_postmaster_start_time() AS "started!",
                  (SELECT oid::bigint FROM pg_database WHERE datname = current_database()) AS "database!",
                  coalesce(r.revision, 0) AS "revision!", coalesce(r.told_from, 0) AS "told_from!", u.turns_searched,
                  coalesce(n.in_search, false) AS "entities_searched!", u.time_zone,
                  coalesce(t.id, d.id) AS "theme_id?", coalesce(t.slug, d.slug) AS "theme_slug?: ThemeSlug",
                  scope_agent() AS scope_agent, sees_shared() AS "sees_shared!", own_before_shared() IS NOT NULL AS "is_own_first!",
                  coalesce(e.enabled, true) AS "enabled!", coalesce(e.own_enabled, false) AS "own_enabled!",
                  s.id AS "id?", s.provider_type AS "provider_type?: ProviderType", s.endpoint AS "endpoint?", s.model AS "model?",
                  s.requested_dimensions, s.dimensions, s.query_prefix AS "query_prefix?",
                  s.document_prefix AS "document_prefix?", s.sealed_key, s.key_header AS "key_header?", s.system_provider_id,
                  s.state AS "state?: SpaceState",
                  s.problem, s.failures AS "failures?", s.retry_at, s.wait_until, s.created_at AS "created_at?", s.activated_at,
                  s.token_signs AS "token_signs?: TokenSigns"
           FROM users u
           LEFT JOIN memory_revisions r ON r.user_id = u.id
           LEFT JOIN embedding_settings e ON e.user_id = u.id
           LEFT JOIN entity_settings n ON n.user_id = u.id
           LEFT JOIN LATERAL (SELECT * FROM embedding_spaces
                              WHERE user_id = $1 AND state <> 'retired' ORDER BY state LIMIT 1) s ON true
           -- As in `memories/themes/store.rs`. Names are compared only where no slug is this one; no condition is constant, since
           -- Citus would make a query of it that its workers refuse.
           LEFT JOIN memory_themes t ON t.user_id = $1 AND t.slug = coalesce($2, '')
           LEFT JOIN LATERAL (
               SELECT id, slug FROM memory_themes
               WHERE user_id = $1 AND (t.id IS NULL) = ($2 IS NOT NULL) AND lower(display_name) = lower(coalesce($3, ''))
                 AND (words_owner IS NULL OR scope_agent() IS NULL OR words_owner = scope_agent())
               ORDER BY id LIMIT 1) d ON true
           WHERE u.id = $1"#,
        user.0,
        theme.map(|theme| theme.slug.as_str()),
        theme.and_then(|theme| theme.name.as_deref()),
    )
    .fetch_one(conn)
    .await?;
    let space = row.id.and_then(|id| {
        Some(SpaceLookup {
            id,
            provider_type: row.provider_type?,
            endpoint: row.endpoint.unwrap_or_default(),
            model: row.model.unwrap_or_default(),
            requested_dimensions: row.requested_dimensions,
            dimensions: row.dimensions,
            query_prefix: row.query_prefix.unwrap_or_default(),
            document_prefix: row.document_prefix.unwrap_or_default(),
            sealed_key: row.sealed_key,
            key_header: row.key_header.unwrap_or_default(),
            system_provider_id: row.system_provider_id,
            state: row.state?,
            problem: row.problem,
            failures: row.failures.unwrap_or_default(),
            retry_at: row.retry_at,
            wait_until: row.wait_until,
            created_at: row.created_at?,
            activated_at: row.activated_at,
            retired_at: None,
            token_signs: row.token_signs?,
        })
    });
    Ok(MemoryState {
        history: History { started: row.started, database: row.database },
        revision: row.revision,
        told_from: row.told_from,
        turns_searched: row.turns_searched,
        entities_searched: row.entities_searched,
        time_zone: row.time_zone,
        theme: row.theme_id.zip(row.theme_slug).map(|(id, slug)| FoundTheme { id, slug }),
        scope: ViewerScope {
            agent: row.scope_agent,
            sees_shared: row.sees_shared,
            sees_turns: true,
            is_own_first: row.is_own_first,
        },
        serving: Serving {
            enabled: row.enabled,
            own_enabled: row.own_enabled,
            space: space.map(Space::from),
        },
    })
}

/// Sources changed since this revision, ascending, at most `most`.
pub async fn list_changed(
    conn: &mut PgConnection,
    user: UserId,
    since: i64,
    most: i64,
) -> Result<Vec<i64>, sqlx::Error> {
    sqlx::query_scalar!(
        "SELECT DISTINCT source_id FROM memory_changes WHERE user_id = $1 AND revision > $2 ORDER BY source_id LIMIT $3",
        user.0,
        since,
        most,
    )
    .fetch_all(conn)
    .await
}

/// Of all sources; one without passages counts as one.
pub async fn count_passages(conn: &mut PgConnection, user: UserId) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar!(
        r#"SELECT greatest((SELECT count(*) FROM whole_memory WHERE user_id = $1),
                           (SELECT count(*) FROM memory_passages WHERE user_id = $1)) AS "passages!""#,
        user.0
    )
    .fetch_one(conn)
    .await
}

/// Limits of a page, in sources and in bytes of text; terms take up to fourteen times as much.
const PAGE_SOURCES: i64 = 2_000;
const PAGE_BYTES: i64 = 2 << 20;

/// Which sources to read.
#[derive(Clone, Copy)]
pub enum SourceRange<'a> {
    /// Ids after the first, up to and including the second.
    Within(i64, i64),
    These(&'a [i64]),
}

impl SourceRange<'_> {
    /// The condition on the given source id column.
    fn condition(self, column: &str) -> String {
        match self {
            Self::Within(..) => format!("{column} > $2 AND {column} <= $3"),
            Self::These(_) => format!("{column} = ANY ($2) AND $3 = 0::bigint"),
        }
    }
}

/// The next page of sources after this id; empty at the end.
pub async fn list_page(
    conn: &mut PgConnection,
    user: UserId,
    space: Option<SpaceId>,
    after: i64,
    with_vectors: bool,
) -> Result<Vec<SourceRow>, sqlx::Error> {
    let last = sqlx::query_scalar!(
        "SELECT max(id) FROM (
             SELECT id, sum(bytes) OVER (ORDER BY id) - bytes AS before FROM (
                 SELECT id, octet_length(content) AS bytes FROM whole_memory
                 WHERE user_id = $1 AND id > $2 ORDER BY id LIMIT $3) n) p
         WHERE before < $4",
        user.0,
        after,
        PAGE_SOURCES,
        PAGE_BYTES,
    );
    match last.fetch_one(&mut *conn).await? {
        Some(last) => {
            list_sources(conn, user, space, SourceRange::Within(after, last), with_vectors).await
        }
        None => Ok(Vec::new()),
    }
}

/// Sources for an index, ascending by id. Embeddings are those of `space`, and left out without `with_vectors`.
pub async fn list_sources(
    conn: &mut PgConnection,
    user: UserId,
    space: Option<SpaceId>,
    which: SourceRange<'_>,
    with_vectors: bool,
) -> Result<Vec<SourceRow>, sqlx::Error> {
    let of = |column: &str| which.condition(column);
    let query = format!(
        "SELECT i.id, i.created_at, CASE WHEN i.status = 'active' THEN i.live_until ELSE '-infinity' END,
                i.theme_id, i.agent_id, i.turn_session_id, i.type, p.terms, e.state,
                CASE WHEN $5 AND e.state = 'ready' THEN e.embedding END, i.owner_agent_id,
                coalesce(i.valid_from, '-infinity'), i.trust = 'user', e.passage, coalesce(i.valid_until, 'infinity'), i.project_id
         FROM whole_memory i
         LEFT JOIN memory_passages p ON p.user_id = $1 AND p.source_id = i.id AND {}
         LEFT JOIN memory_embeddings e
             ON e.user_id = $1 AND e.source_id = i.id AND e.passage = coalesce(p.n, 0) AND e.space_id = $4 AND {}
         WHERE i.user_id = $1 AND {} ORDER BY i.id, p.n",
        of("p.source_id"),
        of("e.source_id"),
        of("i.id"),
    );
    let query = match which {
        SourceRange::Within(after, last) => {
            sqlx::query(AssertSqlSafe(query)).bind(user.0).bind(after).bind(last)
        }
        // A dummy $3, so that the following parameters keep their numbers.
        SourceRange::These(ids) => {
            sqlx::query(AssertSqlSafe(query)).bind(user.0).bind(ids).bind(0_i64)
        }
    };
    let query = query.bind(space.map(|space| space.0)).bind(with_vectors);
    let mut sources: Vec<SourceRow> = Vec::new();
    let mut hashes: Vec<[crc32fast::Hasher; 2]> = Vec::new();
    for row in query.fetch_all(&mut *conn).await? {
        let id = row.try_get(0)?;
        if sources.last().is_none_or(|source| source.id != id) {
            sources.push(SourceRow {
                id,
                created_at: row.try_get::<Micros, _>(1)?.0,
                live_until: row.try_get::<Micros, _>(2)?.0,
                valid_from: row.try_get::<Micros, _>(11)?.0,
                valid_until: row.try_get::<Micros, _>(14)?.0,
                theme: row.try_get(3)?,
                agent: row.try_get(4)?,
                owner: row.try_get(10)?,
                project: row.try_get(15)?,
                session: row.try_get(5)?,
                item_type: row.try_get(6)?,
                is_users_word: row.try_get(12)?,
                embedding: None,
                passages: Vec::new(),
                has_vector: false,
                vectors: Vec::new(),
                hash: 0,
            });
            hashes.push(Default::default());
        }
        let (Some(source), Some([words, vectors])) = (sources.last_mut(), hashes.last_mut()) else {
            continue;
        };
        if let Some(bytes) = row.try_get::<Option<&[u8]>, _>(7)? {
            source.passages.push(terms::read(bytes).unwrap_or_default());
            words.update(bytes);
        }
        let Some(state): Option<EmbeddingState> = row.try_get(8)? else {
            continue;
        };
        source.embedding = Some(source.embedding.map_or(state, |other| worse(other, state)));
        source.has_vector |= state == EmbeddingState::Ready;
        if let Some(HalfVector(bytes)) = row.try_get(9)? {
            let passage: i16 = row.try_get(13)?;
            vectors.update(&passage.to_le_bytes());
            vectors.update(bytes);
            source.vectors.push((u16::try_from(passage).unwrap_or_default(), values_of(bytes)));
        }
    }
    add_uncut(conn, user, &mut sources, &mut hashes).await?;
    for (source, [words, vectors]) in sources.iter_mut().zip(hashes) {
        source.hash = u64::from(words.finalize()) << 32 | u64::from(vectors.finalize());
    }
    Ok(sources)
}

/// A passage's embedding.
pub struct PassageVector {
    pub source_id: i64,
    pub passage: i16,
    pub vector: Vec<f32>,
}

/// The next embeddings after this passage of a source, ascending, at most `most`.
pub async fn list_vectors(
    conn: &mut PgConnection,
    user: UserId,
    space: SpaceId,
    (source, passage): (i64, i16),
    most: i64,
) -> Result<Vec<PassageVector>, sqlx::Error> {
    // Not `query!`: the macro does not support the vector type.
    let rows = sqlx::query(
        "SELECT source_id, passage, embedding FROM memory_embeddings
         WHERE user_id = $1 AND space_id = $2 AND (source_id, passage) > ($3, $4) AND state = 'ready'
         ORDER BY source_id, passage LIMIT $5",
    );
    let rows = rows.bind(user.0).bind(space.0).bind(source).bind(passage).bind(most);
    let read = |row: &PgRow| {
        let HalfVector(bytes) = row.try_get(2)?;
        let (source_id, passage) = (row.try_get(0)?, row.try_get(1)?);
        Ok(PassageVector { source_id, passage, vector: values_of(bytes) })
    };
    rows.fetch_all(conn).await?.iter().map(read).collect()
}

/// Adds the terms of sources without passages, from the whole text.
async fn add_uncut(
    conn: &mut PgConnection,
    user: UserId,
    sources: &mut [SourceRow],
    hashes: &mut [[crc32fast::Hasher; 2]],
) -> Result<(), sqlx::Error> {
    let uncut = sources.iter().filter(|source| source.passages.is_empty());
    let uncut: Vec<i64> = uncut.map(|source| source.id).collect();
    if uncut.is_empty() {
        return Ok(());
    }
    let texts = sqlx::query!(
        r#"SELECT id AS "id!", content AS "content!", key, tags AS "tags!" FROM whole_memory
           WHERE user_id = $1 AND id = ANY ($2) ORDER BY id"#,
        user.0,
        &uncut,
    );
    let mut at = 0;
    for text in texts.fetch_all(conn).await? {
        at = place_of(sources, at, text.id);
        let bytes = terms::of(&text.content, text.key.as_deref(), &text.tags);
        sources[at].passages.push(terms::read(&bytes).unwrap_or_default());
        hashes[at][0].update(&bytes);
    }
    Ok(())
}

/// Combines the states of a source's passages: pending if any is, else error if any is.
fn worse(one: EmbeddingState, other: EmbeddingState) -> EmbeddingState {
    let is = |state| one == state || other == state;
    match (is(EmbeddingState::Pending), is(EmbeddingState::Error)) {
        (true, _) => EmbeddingState::Pending,
        (false, true) => EmbeddingState::Error,
        (false, false) => EmbeddingState::Ready,
    }
}

/// The position of this id in `sources`, from `at` on.
fn place_of(sources: &[SourceRow], at: usize, id: i64) -> usize {
    at + sources[at..].iter().take_while(|source| source.id < id).count()
}

/// The raw values of a `halfvec`, big-endian.
struct HalfVector<'r>(&'r [u8]);

impl sqlx::Type<Postgres> for HalfVector<'_> {
    fn type_info() -> PgTypeInfo {
        <pgvector::HalfVector as sqlx::Type<Postgres>>::type_info()
    }
}

impl<'r> Decode<'r, Postgres> for HalfVector<'r> {
    fn decode(value: PgValueRef<'r>) -> Result<Self, BoxDynError> {
        /// The number of dimensions, and unused bytes.
        const HEAD_BYTES: usize = 4;
        let values = value.as_bytes()?.get(HEAD_BYTES..);
        Ok(Self(values.ok_or("not a halfvec")?))
    }
}

/// Converts half precision to `f32`; infinity and `NaN` are not supported.
fn values_of(bytes: &[u8]) -> Vec<f32> {
    /// Converts the exponent's bias.
    const SCALE: f32 = f32::from_bits((127 + 112) << 23);
    let value = |two: &[u8]| {
        let half = u32::from(u16::from_be_bytes([two[0], two[1]]));
        let absolute = f32::from_bits((half & 0x7fff) << 13) * SCALE;
        f32::from_bits(absolute.to_bits() | (half & 0x8000) << 16)
    };
    bytes.chunks_exact(2).map(value).collect()
}

/// Microseconds since 1970; PostgreSQL's infinities become `i64::MIN` and `i64::MAX`.
struct Micros(i64);

impl sqlx::Type<Postgres> for Micros {
    fn type_info() -> PgTypeInfo {
        <OffsetDateTime as sqlx::Type<Postgres>>::type_info()
    }
}

impl<'r> Decode<'r, Postgres> for Micros {
    fn decode(value: PgValueRef<'r>) -> Result<Self, BoxDynError> {
        /// PostgreSQL's epoch is 2000-01-01.
        const SINCE: i64 = 946_684_800_000_000;
        let micros = i64::from_be_bytes(value.as_bytes()?.try_into()?);
        Ok(Self(match micros {
            i64::MIN | i64::MAX => micros,
            finite => finite.saturating_add(SINCE),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::values_of;

    #[test]
    fn values_of_half_precision_are_read_exactly() {
        let values = [
            0.0,
            1.0,
            -1.0,
            0.5,
            -0.099_975_586,
            65_504.0,
            6.103_515_6e-5,
            5.960_464_5e-8,
            -1.192_092_9e-7,
        ];
        let half = pgvector::HalfVector::from_f32_slice(&values).to_vec();
        let bytes: Vec<u8> = half.iter().flat_map(|v| v.to_be_bytes()).collect();
        assert_eq!(values_of(&bytes), values);
    }
}
