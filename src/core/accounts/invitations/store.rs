//! SQL of invitations. Only the *system* role can access them: the holder of a link has no account yet.

use sqlx::PgConnection;
use time::OffsetDateTime;

use super::model::{Invitation, InvitationId, OpenInvitation, OpenReset};
use crate::accounts::model::{Email, Role, UserId};

/// More than the limit on valid ones, to include those that ended recently.
const LISTED_MAX: i64 = 300;

pub async fn count_open(conn: &mut PgConnection, now: OffsetDateTime) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar!(
        r#"SELECT count(*) AS "n!" FROM invitations
           WHERE used_at IS NULL AND revoked_at IS NULL AND expires_at > $1"#,
        now,
    )
    .fetch_one(conn)
    .await
}

pub async fn insert(
    conn: &mut PgConnection,
    token_hash: &[u8],
    email: Option<&Email>,
    role: Role,
    invited_by: UserId,
    now: OffsetDateTime,
    expires_at: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "INSERT INTO invitations (token_hash, email, role, invited_by, created_at, expires_at)
         VALUES ($1, $2, $3, $4, $5, $6)",
        token_hash,
        email.map(Email::as_str),
        role.as_str(),
        invited_by.0,
        now,
        expires_at,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Newest first.
pub async fn list(conn: &mut PgConnection) -> Result<Vec<Invitation>, sqlx::Error> {
    sqlx::query_as!(
        Invitation,
        r#"SELECT i.id, i.email, coalesce(i.role, 'member') AS "role!: Role", i.created_at, i.expires_at,
                  i.revoked_at, a.email AS "invited_by?", u.email AS "used_by?", r.email AS "resets?"
           FROM invitations i
           LEFT JOIN users a ON a.id = i.invited_by
           LEFT JOIN users u ON u.id = i.used_by
           LEFT JOIN users r ON r.id = i.resets
           ORDER BY i.id DESC LIMIT $1"#,
        LISTED_MAX,
    )
    .fetch_all(conn)
    .await
}

pub async fn find_open(
    conn: &mut PgConnection,
    token_hash: &[u8],
    now: OffsetDateTime,
) -> Result<Option<OpenInvitation>, sqlx::Error> {
    let row = sqlx::query!(
        r#"SELECT email, role AS "role!: Role", expires_at FROM invitations
           WHERE token_hash = $1 AND resets IS NULL
             AND used_at IS NULL AND revoked_at IS NULL AND expires_at > $2"#,
        token_hash,
        now,
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|row| OpenInvitation {
        email: row.email.as_deref().and_then(|email| Email::parse(email).ok()),
        role: row.role,
        expires_at: row.expires_at,
    }))
}

/// After a restore, as the owner role: revokes every link, for a new account or a new password.
pub async fn revoke_all(conn: &mut PgConnection, now: OffsetDateTime) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "UPDATE invitations SET revoked_at = $1 WHERE used_at IS NULL AND revoked_at IS NULL",
        now
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// `None` if it was used concurrently, or has ended meanwhile.
pub async fn mark_used(
    conn: &mut PgConnection,
    token_hash: &[u8],
    now: OffsetDateTime,
) -> Result<Option<InvitationId>, sqlx::Error> {
    sqlx::query_scalar!(
        r#"UPDATE invitations SET used_at = $2
         WHERE token_hash = $1 AND resets IS NULL
           AND used_at IS NULL AND revoked_at IS NULL AND expires_at > $2
         RETURNING id AS "id: InvitationId""#,
        token_hash,
        now,
    )
    .fetch_optional(conn)
    .await
}

pub async fn set_used_by(
    conn: &mut PgConnection,
    id: InvitationId,
    user: UserId,
) -> Result<(), sqlx::Error> {
    sqlx::query!("UPDATE invitations SET used_by = $2 WHERE id = $1", id.0, user.0)
        .execute(conn)
        .await?;
    Ok(())
}

/// Returns false if there is none that can be revoked.
pub async fn revoke(
    conn: &mut PgConnection,
    id: InvitationId,
    now: OffsetDateTime,
) -> Result<bool, sqlx::Error> {
    let done = sqlx::query!(
        "UPDATE invitations SET revoked_at = coalesce(revoked_at, $2)
         WHERE id = $1 AND used_at IS NULL",
        id.0,
        now,
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Revokes all valid ones of somebody who is not an admin any more.
pub async fn revoke_all_of(
    conn: &mut PgConnection,
    admin: UserId,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "UPDATE invitations SET revoked_at = $2
         WHERE invited_by = $1 AND used_at IS NULL AND revoked_at IS NULL",
        admin.0,
        now,
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub async fn delete_ended(
    conn: &mut PgConnection,
    expired_before: OffsetDateTime,
) -> Result<u64, sqlx::Error> {
    let done = sqlx::query!("DELETE FROM invitations WHERE expires_at < $1", expired_before)
        .execute(conn)
        .await?;
    Ok(done.rows_affected())
}

// Links that reset a password.

pub async fn insert_reset(
    conn: &mut PgConnection,
    token_hash: &[u8],
    user: UserId,
    made_by: UserId,
    now: OffsetDateTime,
    expires_at: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "INSERT INTO invitations (token_hash, resets, invited_by, created_at, expires_at)
         VALUES ($1, $2, $3, $4, $5)",
        token_hash,
        user.0,
        made_by.0,
        now,
        expires_at,
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub async fn find_open_reset(
    conn: &mut PgConnection,
    token_hash: &[u8],
    now: OffsetDateTime,
) -> Result<Option<OpenReset>, sqlx::Error> {
    sqlx::query_as!(
        OpenReset,
        r#"SELECT u.id AS user_id, u.email AS "email!", i.expires_at
           FROM invitations i JOIN users u ON u.id = i.resets
           WHERE i.token_hash = $1
             AND i.used_at IS NULL AND i.revoked_at IS NULL AND i.expires_at > $2"#,
        token_hash,
        now,
    )
    .fetch_optional(conn)
    .await
}

/// The user whose password may be set; `None` if the link was used concurrently, or has ended meanwhile.
pub async fn mark_reset_used(
    conn: &mut PgConnection,
    token_hash: &[u8],
    now: OffsetDateTime,
) -> Result<Option<UserId>, sqlx::Error> {
    sqlx::query_scalar!(
        r#"UPDATE invitations SET used_at = $2, used_by = resets
           WHERE token_hash = $1 AND resets IS NOT NULL
             AND used_at IS NULL AND revoked_at IS NULL AND expires_at > $2
           RETURNING resets AS "resets!: UserId""#,
        token_hash,
        now,
    )
    .fetch_optional(conn)
    .await
}

pub async fn revoke_resets_of(
    conn: &mut PgConnection,
    user: UserId,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "UPDATE invitations SET revoked_at = $2
         WHERE resets = $1 AND used_at IS NULL AND revoked_at IS NULL",
        user.0,
        now,
    )
    .execute(conn)
    .await?;
    Ok(())
}
