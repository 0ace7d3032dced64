//! SQL of the notes (`erasure_notes`). They are written as the app role in a transaction of its user, or as the system role;
//! everything else is the system role's.

use sqlx::PgConnection;
use time::OffsetDateTime;

use super::{Note, NotedAct};

/// See [`Note::is_misread`].
fn id_of(what: NotedAct, id: Option<i64>) -> Option<i64> {
    id.or((what != NotedAct::Account).then_some(0))
}

/// Of the transaction's user, as the app role.
pub async fn insert_own(
    conn: &mut PgConnection,
    what: NotedAct,
    id: Option<i64>,
    with_memories: bool,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    // The function returns void.
    sqlx::query("SELECT note_erasure($1, $2, $3, $4)")
        .bind(what.as_column())
        .bind(id_of(what, id))
        .bind(with_memories)
        .bind(now)
        .execute(conn)
        .await?;
    Ok(())
}

/// As the system role.
pub async fn insert(conn: &mut PgConnection, note: &Note) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "INSERT INTO erasure_notes (what, account_id, object_id, name, with_memories, at) VALUES ($1, $2, $3, $4, $5, $6)",
        note.what.as_column(),
        note.user,
        id_of(note.what, note.id),
        note.name,
        note.with_memories,
        note.at,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// A note with the number of its row, and the MAC of its line once it has one.
pub struct StoredNote {
    pub row: i64,
    pub note: Note,
    pub mac: Option<String>,
}

/// Oldest first. Those that have a MAC, if there are any: a crash kept them from being deleted, or written.
pub async fn list(conn: &mut PgConnection, limit: i64) -> Result<Vec<StoredNote>, sqlx::Error> {
    let rows = sqlx::query!(
        "SELECT id, what, account_id, object_id, name, position, with_memories, at, mac FROM erasure_notes
         WHERE mac IS NOT NULL OR NOT EXISTS (SELECT FROM erasure_notes WHERE mac IS NOT NULL) ORDER BY id LIMIT $1",
        limit
    );
    let rows = rows.fetch_all(conn).await?;
    let notes = rows.into_iter().map(|row| {
        let note = Note {
            what: NotedAct::of_column(&row.what)?,
            user: row.account_id,
            id: row.object_id,
            name: row.name,
            position: row.position,
            with_memories: row.with_memories,
            at: row.at,
        };
        Ok(StoredNote { row: row.id, note, mac: row.mac })
    });
    notes.collect()
}

pub async fn set_macs(
    conn: &mut PgConnection,
    rows: &[i64],
    macs: &[String],
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "UPDATE erasure_notes n SET mac = m.mac FROM unnest($1::bigint[], $2::text[]) m (id, mac) WHERE n.id = m.id",
        rows,
        macs,
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub async fn remove(conn: &mut PgConnection, rows: &[i64]) -> Result<(), sqlx::Error> {
    sqlx::query!("DELETE FROM erasure_notes WHERE id = ANY ($1)", rows).execute(conn).await?;
    Ok(())
}

pub async fn prune(conn: &mut PgConnection, before: OffsetDateTime) -> Result<(), sqlx::Error> {
    sqlx::query!("DELETE FROM erasure_notes WHERE at < $1", before).execute(conn).await?;
    Ok(())
}

/// After a restore, as the owner role: the file has them, and what was done later.
pub async fn forget_all(conn: &mut PgConnection) -> Result<(), sqlx::Error> {
    sqlx::query!("DELETE FROM erasure_notes").execute(conn).await?;
    Ok(())
}
