//! SQL of what was found and is allowed. Runs as the app role in a transaction bound to its user.

use sqlx::PgConnection;
use time::{Date, OffsetDateTime};

use super::SecretPolicy;
use crate::db::UserId;

/// A secret of a call.
pub struct NewFinding {
    pub fingerprint: Vec<u8>,
    pub rule: &'static str,
    pub field: String,
    pub agent: Option<i64>,
    pub count: i64,
}

/// A finding as it is stored.
pub struct FindingRow {
    pub fingerprint: Vec<u8>,
    pub rule: String,
    pub field: String,
    pub agent: Option<String>,
    pub last_at: OffsetDateTime,
    pub count: i64,
    pub is_allowed: bool,
}

/// The policy or the default, and the sealed key of fingerprints if one was made.
pub async fn find_settings(
    conn: &mut PgConnection,
    user: UserId,
) -> Result<(SecretPolicy, Option<Vec<u8>>), sqlx::Error> {
    let row = sqlx::query!(
        r#"SELECT policy AS "policy: SecretPolicy", sealed_key FROM secret_settings WHERE user_id = $1"#,
        user.0
    );
    let row = row.fetch_optional(conn).await?;
    Ok(row.map(|row| (row.policy, row.sealed_key)).unwrap_or_default())
}

/// Locks the user's settings until the transaction ends, and makes them if there are none.
pub async fn lock_settings(conn: &mut PgConnection, user: UserId) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "INSERT INTO secret_settings (user_id) VALUES ($1)
         ON CONFLICT (user_id) DO UPDATE SET policy = secret_settings.policy",
        user.0
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub async fn save_policy(
    conn: &mut PgConnection,
    user: UserId,
    policy: SecretPolicy,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "INSERT INTO secret_settings (user_id, policy) VALUES ($1, $2)
         ON CONFLICT (user_id) DO UPDATE SET policy = excluded.policy",
        user.0,
        policy.as_str(),
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// The sealed key: that of the user, or else this one, which is stored.
pub async fn ensure_key(
    conn: &mut PgConnection,
    user: UserId,
    sealed: &[u8],
) -> Result<Vec<u8>, sqlx::Error> {
    sqlx::query_scalar!(
        r#"INSERT INTO secret_settings (user_id, sealed_key) VALUES ($1, $2)
           ON CONFLICT (user_id) DO UPDATE SET sealed_key = coalesce(secret_settings.sealed_key, excluded.sealed_key)
           RETURNING sealed_key AS "sealed_key!""#,
        user.0,
        sealed,
    )
    .fetch_one(conn)
    .await
}

pub async fn replace_key(
    conn: &mut PgConnection,
    user: UserId,
    sealed: &[u8],
) -> Result<(), sqlx::Error> {
    sqlx::query!("UPDATE secret_settings SET sealed_key = $2 WHERE user_id = $1", user.0, sealed,)
        .execute(conn)
        .await?;
    Ok(())
}

pub async fn disallow_all(conn: &mut PgConnection, user: UserId) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "UPDATE secret_findings SET is_allowed = false WHERE user_id = $1 AND is_allowed",
        user.0
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Those of the fingerprints that are allowed.
pub async fn list_allowed(
    conn: &mut PgConnection,
    user: UserId,
    fingerprints: &[Vec<u8>],
) -> Result<Vec<Vec<u8>>, sqlx::Error> {
    sqlx::query_scalar!(
        "SELECT fingerprint FROM secret_findings WHERE user_id = $1 AND fingerprint = ANY ($2) AND is_allowed",
        user.0,
        fingerprints,
    )
    .fetch_all(conn)
    .await
}

pub async fn add_findings(
    conn: &mut PgConnection,
    user: UserId,
    findings: &[NewFinding],
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    let fingerprints: Vec<Vec<u8>> = findings.iter().map(|f| f.fingerprint.clone()).collect();
    let rules: Vec<String> = findings.iter().map(|f| f.rule.to_owned()).collect();
    let fields: Vec<String> = findings.iter().map(|f| f.field.clone()).collect();
    let agents: Vec<Option<i64>> = findings.iter().map(|f| f.agent).collect();
    let counts: Vec<i64> = findings.iter().map(|f| f.count).collect();
    sqlx::query!(
        "INSERT INTO secret_findings (user_id, fingerprint, rule, field, agent_id, last_at, count)
         SELECT $1, f.fingerprint, f.rule, f.field, f.agent_id, $7, f.count
         FROM unnest($2::bytea[], $3::text[], $4::text[], $5::bigint[], $6::bigint[])
              AS f (fingerprint, rule, field, agent_id, count)
         ON CONFLICT (user_id, fingerprint) DO UPDATE
         SET rule = excluded.rule, field = excluded.field, agent_id = excluded.agent_id, last_at = excluded.last_at,
             count = secret_findings.count + excluded.count",
        user.0,
        &fingerprints,
        &rules,
        &fields,
        &agents as &[Option<i64>],
        &counts,
        now,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Deletes the oldest findings beyond `most`; what is allowed stays, and does not count.
pub async fn trim_findings(
    conn: &mut PgConnection,
    user: UserId,
    most: i64,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "DELETE FROM secret_findings WHERE user_id = $1 AND fingerprint IN
           (SELECT f.fingerprint FROM secret_findings f WHERE f.user_id = $1 AND NOT f.is_allowed
            ORDER BY f.last_at DESC, f.fingerprint OFFSET $2)",
        user.0,
        most,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Adds to the counts of the day, in UTC, and deletes those from before `since`.
pub async fn add_counts(
    conn: &mut PgConnection,
    user: UserId,
    counts: &[(&'static str, i64)],
    (since, day): (Date, Date),
) -> Result<(), sqlx::Error> {
    let rules: Vec<String> = counts.iter().map(|(rule, _)| (*rule).to_owned()).collect();
    let numbers: Vec<i64> = counts.iter().map(|(_, n)| *n).collect();
    sqlx::query!(
        "INSERT INTO secret_counts (user_id, day, rule, count)
         SELECT $1, $4, c.rule, c.count FROM unnest($2::text[], $3::bigint[]) AS c (rule, count)
         ON CONFLICT (user_id, day, rule) DO UPDATE SET count = secret_counts.count + excluded.count",
        user.0,
        &rules,
        &numbers,
        day,
    )
    .execute(&mut *conn)
    .await?;
    sqlx::query!("DELETE FROM secret_counts WHERE user_id = $1 AND day < $2", user.0, since,)
        .execute(conn)
        .await?;
    Ok(())
}

pub async fn list_counts(
    conn: &mut PgConnection,
    user: UserId,
    since: Date,
) -> Result<Vec<(String, i64)>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"SELECT rule, sum(count)::bigint AS "count!" FROM secret_counts WHERE user_id = $1 AND day >= $2
           GROUP BY rule ORDER BY sum(count) DESC, rule"#,
        user.0,
        since,
    );
    let rows = rows.fetch_all(conn).await?;
    Ok(rows.into_iter().map(|row| (row.rule, row.count)).collect())
}

/// Newest first.
pub async fn list_findings(
    conn: &mut PgConnection,
    user: UserId,
    limit: i64,
) -> Result<Vec<FindingRow>, sqlx::Error> {
    sqlx::query_as!(
        FindingRow,
        r#"SELECT f.fingerprint, f.rule, f.field, a.name AS "agent?", f.last_at, f.count, f.is_allowed
           FROM secret_findings f LEFT JOIN agents a ON a.user_id = f.user_id AND a.id = f.agent_id
           WHERE f.user_id = $1 ORDER BY f.last_at DESC, f.fingerprint LIMIT $2"#,
        user.0,
        limit,
    )
    .fetch_all(conn)
    .await
}

pub async fn count_allowed(conn: &mut PgConnection, user: UserId) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar!(
        r#"SELECT count(*) AS "n!" FROM secret_findings WHERE user_id = $1 AND is_allowed"#,
        user.0
    )
    .fetch_one(conn)
    .await
}

/// Returns false if there is no such finding.
pub async fn set_allowed(
    conn: &mut PgConnection,
    user: UserId,
    fingerprint: &[u8],
    is_allowed: bool,
) -> Result<bool, sqlx::Error> {
    let done = sqlx::query!(
        "UPDATE secret_findings SET is_allowed = $3 WHERE user_id = $1 AND fingerprint = $2",
        user.0,
        fingerprint,
        is_allowed,
    );
    Ok(done.execute(conn).await?.rows_affected() > 0)
}
