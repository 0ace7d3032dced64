//! The statements of erasure. Functions of the owner role do the deleting, since the app and system roles may
//! not delete these rows; the migrations say what each one checks.

use serde_json::Value;
use sqlx::PgConnection;
use time::OffsetDateTime;

use super::{ErasedRows, ErasureKind, Receipt, ReceiptId};
use crate::db::UserId;

/// Erases an item of the transaction's user, as the app role. False if there is no such item.
pub async fn erase_item(
    conn: &mut PgConnection,
    item: i64,
    receipt: &str,
    now: OffsetDateTime,
) -> Result<bool, sqlx::Error> {
    let erased = sqlx::query_scalar!("SELECT erase_item($1, $2, $3)", item, receipt, now);
    Ok(erased.fetch_one(conn).await?.is_some())
}

/// Erases a session of the transaction's user, as the app role. False if there is no such session.
pub async fn erase_session(
    conn: &mut PgConnection,
    session: i64,
    with_memories: bool,
    receipt: &str,
    now: OffsetDateTime,
) -> Result<bool, sqlx::Error> {
    let erased = sqlx::query_scalar!(
        "SELECT erase_session($1, $2, $3, $4)",
        session,
        with_memories,
        receipt,
        now
    );
    Ok(erased.fetch_one(conn).await?.is_some())
}

/// Erases a document of the transaction's user, as the app role. False if there is no such document.
pub async fn erase_document(
    conn: &mut PgConnection,
    document: i64,
    receipt: &str,
    now: OffsetDateTime,
) -> Result<bool, sqlx::Error> {
    let erased = sqlx::query_scalar!("SELECT erase_document($1, $2, $3)", document, receipt, now);
    Ok(erased.fetch_one(conn).await?.is_some())
}

pub async fn item_rows(
    conn: &mut PgConnection,
    user: UserId,
    item: i64,
) -> Result<ErasedRows, sqlx::Error> {
    let rows = sqlx::query_scalar!(
        r#"SELECT jsonb_build_object(
               'memory_embeddings',
               (SELECT count(*) FROM memory_embeddings WHERE user_id = $1 AND source_id = $2),
               'memory_passages',
               (SELECT count(*) FROM memory_passages WHERE user_id = $1 AND source_id = $2),
               'memory_item_events',
               (SELECT count(*) FROM memory_item_events WHERE user_id = $1 AND item_id = $2),
               'memory_summary_items',
               (SELECT count(*) FROM memory_summary_items WHERE user_id = $1 AND item_id = $2),
               'mentions',
               (SELECT count(*) FROM activity WHERE user_id = $1 AND $2 = ANY (item_ids)),
               'memory_origins',
               (SELECT count(DISTINCT item_id) FROM memory_origins WHERE user_id = $1 AND source_id = $2),
               'links',
               (SELECT count(*) FROM memory_items WHERE user_id = $1 AND superseded_by = $2)) AS "rows!""#,
        user.0,
        item,
    );
    Ok(rows_of(&rows.fetch_one(conn).await?))
}

// The functions below run as the system role.

/// Returns `begun`, `last_admin` or `gone`.
pub async fn begin(
    conn: &mut PgConnection,
    user: UserId,
    receipt: &str,
    now: OffsetDateTime,
) -> Result<String, sqlx::Error> {
    let begun = sqlx::query_scalar!(
        r#"SELECT begin_account_erasure($1, $2, $3) AS "became!""#,
        user.0,
        receipt,
        now
    );
    begun.fetch_one(conn).await
}

/// Accounts that are being erased, oldest request first.
pub async fn list_users_due(conn: &mut PgConnection) -> Result<Vec<UserId>, sqlx::Error> {
    let users = sqlx::query_scalar!(
        r#"SELECT user_id AS "user_id!" FROM erasure_receipts
           WHERE kind = 'account' AND finished_at IS NULL AND user_id IS NOT NULL ORDER BY id"#
    );
    let users = users.fetch_all(conn).await?;
    Ok(users.into_iter().map(UserId).collect())
}

/// Returns `more`, `finished`, `waiting` or `nothing`.
pub async fn step(
    conn: &mut PgConnection,
    account: UserId,
    rows_max: i32,
    now: OffsetDateTime,
) -> Result<String, sqlx::Error> {
    let became = sqlx::query_scalar!(
        r#"SELECT erase_account_step($1, $2, $3) AS "became!""#,
        account.0,
        rows_max,
        now
    );
    became.fetch_one(conn).await
}

pub async fn account_rows(
    conn: &mut PgConnection,
    user: UserId,
) -> Result<ErasedRows, sqlx::Error> {
    let rows = sqlx::query_scalar!(r#"SELECT account_rows($1) AS "rows!""#, user.0);
    Ok(rows_of(&rows.fetch_one(conn).await?))
}

struct ReceiptRow {
    public_id: String,
    kind: String,
    found: Value,
    erased: Value,
    requested_at: OffsetDateTime,
    finished_at: Option<OffsetDateTime>,
}

impl From<ReceiptRow> for Receipt {
    fn from(row: ReceiptRow) -> Self {
        Self {
            id: ReceiptId(row.public_id),
            kind: match row.kind.as_str() {
                "item" => ErasureKind::Item,
                "session" => ErasureKind::Session,
                "document" => ErasureKind::Document,
                _ => ErasureKind::Account,
            },
            found: rows_of(&row.found),
            erased: rows_of(&row.erased),
            requested_at: row.requested_at,
            finished_at: row.finished_at,
        }
    }
}

fn rows_of(value: &Value) -> ErasedRows {
    let counts = value.as_object().into_iter().flatten();
    counts.map(|(name, count)| (name.clone(), count.as_i64().unwrap_or_default())).collect()
}

pub async fn find_receipt(
    conn: &mut PgConnection,
    public_id: &str,
) -> Result<Option<Receipt>, sqlx::Error> {
    let row = sqlx::query_as!(
        ReceiptRow,
        "SELECT public_id, kind, found, erased, requested_at, finished_at
         FROM erasure_receipts WHERE public_id = $1",
        public_id
    );
    Ok(row.fetch_optional(conn).await?.map(Receipt::from))
}

pub async fn list_receipts(
    conn: &mut PgConnection,
    user: UserId,
    limit: i64,
) -> Result<Vec<Receipt>, sqlx::Error> {
    let rows = sqlx::query_as!(
        ReceiptRow,
        "SELECT public_id, kind, found, erased, requested_at, finished_at
         FROM erasure_receipts WHERE user_id = $1 ORDER BY id DESC LIMIT $2",
        user.0,
        limit,
    );
    let rows = rows.fetch_all(conn).await?;
    Ok(rows.into_iter().map(Receipt::from).collect())
}
