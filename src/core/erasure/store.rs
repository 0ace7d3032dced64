//! The statements of erasure. Functions of the owner role do the deleting, since the app and system roles may
//! not delete these rows; the migrations say what each one checks.

use serde_json::{Value, json};
use sqlx::PgConnection;
use time::OffsetDateTime;

use super::{Chosen, ErasedRows, ErasureKind, Receipt, ReceiptId};
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

pub async fn insert_deletion(
    conn: &mut PgConnection,
    user: UserId,
    (receipt, kind): (&ReceiptId, &str),
    chosen: &Chosen,
    (found, stays): (&ErasedRows, &ErasedRows),
    (now, due): (OffsetDateTime, OffsetDateTime),
) -> Result<(), sqlx::Error> {
    let (sessions, positions): (Vec<i64>, Vec<i32>) = chosen.messages.iter().copied().unzip();
    sqlx::query!(
        "INSERT INTO deletions (user_id, receipt, kind, memories, sessions, message_sessions, message_positions, entities, calls,
                                with_summary, found, stays, requested_at, due_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)",
        user.0,
        receipt.as_str(),
        kind,
        &chosen.memories,
        &chosen.sessions,
        &sessions,
        &positions,
        &chosen.entities,
        &chosen.calls,
        chosen.with_summary,
        json!(found),
        json!(stays),
        now,
        due,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// A deletion's memories, and when it is due.
pub async fn find_deletion(
    conn: &mut PgConnection,
    user: UserId,
    receipt: &str,
) -> Result<Option<(Vec<i64>, OffsetDateTime)>, sqlx::Error> {
    let row = sqlx::query!(
        "SELECT memories, due_at FROM deletions WHERE user_id = $1 AND receipt = $2",
        user.0,
        receipt,
    );
    Ok(row.fetch_optional(conn).await?.map(|row| (row.memories, row.due_at)))
}

/// The deletion that an item is part of.
pub async fn find_deletion_of(
    conn: &mut PgConnection,
    user: UserId,
    item: i64,
) -> Result<Option<String>, sqlx::Error> {
    sqlx::query_scalar!(
        "SELECT receipt FROM deletions WHERE user_id = $1 AND $2 = ANY (memories) ORDER BY due_at LIMIT 1",
        user.0,
        item,
    )
    .fetch_optional(conn)
    .await
}

pub async fn remove_deletion(
    conn: &mut PgConnection,
    user: UserId,
    receipt: &str,
) -> Result<(), sqlx::Error> {
    sqlx::query!("DELETE FROM deletions WHERE user_id = $1 AND receipt = $2", user.0, receipt)
        .execute(conn)
        .await?;
    Ok(())
}

/// The deletion that is due first, when, and whether it has messages.
pub async fn first_deletion(
    conn: &mut PgConnection,
    user: UserId,
) -> Result<Option<(String, OffsetDateTime, bool)>, sqlx::Error> {
    let row = sqlx::query!(
        r#"SELECT receipt, due_at, message_sessions <> '{}' AS "has_messages!" FROM deletions WHERE user_id = $1 ORDER BY due_at, receipt LIMIT 1"#,
        user.0,
    );
    Ok(row.fetch_optional(conn).await?.map(|row| (row.receipt, row.due_at, row.has_messages)))
}

/// Erases some of a deletion of the transaction's user that is due, as the app role. Whether more is left; `None` if it is not due
/// or not there.
pub async fn erase_chosen(
    conn: &mut PgConnection,
    receipt: &str,
    most: i32,
    instead: &str,
    now: OffsetDateTime,
) -> Result<Option<bool>, sqlx::Error> {
    sqlx::query_scalar!("SELECT erase_chosen($1, $2, $3, $4)", receipt, most, instead, now)
        .fetch_one(conn)
        .await
}

/// Erases a message or an entity of the transaction's user, as the app role. False if it is not there.
pub async fn erase_again(
    conn: &mut PgConnection,
    (is_message, id, position): (bool, i64, Option<i32>),
    instead: &str,
) -> Result<bool, sqlx::Error> {
    let erased = sqlx::query_scalar!(
        r#"SELECT erase_again($1, $2, $3, $4) AS "erased!""#,
        is_message,
        id,
        position.unwrap_or_default(),
        instead
    );
    erased.fetch_one(conn).await
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

/// Users with deletions and when the first is due; accounts being erased are skipped.
pub async fn list_users_with_deletions(
    conn: &mut PgConnection,
    limit: i64,
) -> Result<Vec<(UserId, OffsetDateTime)>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"SELECT d.user_id, min(d.due_at) AS "due_at!" FROM deletions d
           JOIN users u ON u.id = d.user_id AND u.erasing_at IS NULL
           GROUP BY d.user_id ORDER BY 2, 1 LIMIT $1"#,
        limit,
    );
    let rows = rows.fetch_all(conn).await?;
    Ok(rows.into_iter().map(|row| (UserId(row.user_id), row.due_at)).collect())
}

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
    sqlx::query_scalar!(
        r#"SELECT user_id AS "user_id!: UserId" FROM erasure_receipts
           WHERE kind = 'account' AND finished_at IS NULL AND user_id IS NOT NULL ORDER BY id"#
    )
    .fetch_all(conn)
    .await
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
    kind: ErasureKind,
    found: Value,
    erased: Value,
    stays: Value,
    requested_at: OffsetDateTime,
    finished_at: Option<OffsetDateTime>,
    due_at: Option<OffsetDateTime>,
}

impl From<ReceiptRow> for Receipt {
    fn from(row: ReceiptRow) -> Self {
        Self {
            id: ReceiptId(row.public_id),
            kind: row.kind,
            found: rows_of(&row.found),
            erased: rows_of(&row.erased),
            stays: rows_of(&row.stays),
            requested_at: row.requested_at,
            finished_at: row.finished_at,
            due_at: row.due_at,
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
    let written = sqlx::query_as!(
        ReceiptRow,
        r#"SELECT public_id, kind AS "kind: ErasureKind", found, erased, stays, requested_at, finished_at, NULL::timestamptz AS due_at
           FROM erasure_receipts WHERE public_id = $1"#,
        public_id
    );
    if let Some(row) = written.fetch_optional(&mut *conn).await? {
        return Ok(Some(row.into()));
    }
    let waiting = sqlx::query_as!(
        ReceiptRow,
        r#"SELECT receipt AS public_id, kind AS "kind: ErasureKind", found, erased, stays, requested_at, NULL::timestamptz AS finished_at,
                  due_at AS "due_at?"
           FROM deletions WHERE receipt = $1"#,
        public_id
    );
    Ok(waiting.fetch_optional(conn).await?.map(Receipt::from))
}

/// Those of deletions that wait are not listed.
pub async fn list_receipts(
    conn: &mut PgConnection,
    user: UserId,
    limit: i64,
) -> Result<Vec<Receipt>, sqlx::Error> {
    let rows = sqlx::query_as!(
        ReceiptRow,
        r#"SELECT public_id, kind AS "kind: ErasureKind", found, erased, stays, requested_at, finished_at, NULL::timestamptz AS due_at
           FROM erasure_receipts WHERE user_id = $1 ORDER BY id DESC LIMIT $2"#,
        user.0,
        limit,
    );
    let rows = rows.fetch_all(conn).await?;
    Ok(rows.into_iter().map(Receipt::from).collect())
}
