//! The user's policy, what was found of late, and what the user allows.

use time::{Duration, OffsetDateTime};

use super::{FINGERPRINT_BYTES, Redactor, SecretPolicy, hex, shown, store};
use crate::db::UserId;
use crate::input::Invalid;

/// Findings that are kept of a user; the oldest go first, but none that is allowed.
pub const FINDINGS_MAX: i64 = 200;
/// Findings that a user may allow.
pub const ALLOWED_MAX: i64 = 1_000;
/// For how long counts are kept.
pub const COUNTED_FOR: Duration = Duration::days(30);

/// Something that looked like a secret, without it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretFinding {
    /// The whole fingerprint, in hex.
    pub id: String,
    /// Its beginning, as answers show it.
    pub fingerprint: String,
    pub rule: String,
    /// Where it stood last.
    pub field: String,
    /// The name of the agent that sent it last; `None`: a person or an import.
    pub agent: Option<String>,
    pub last_at: OffsetDateTime,
    /// How often it came in.
    pub count: i64,
    pub is_allowed: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretOverview {
    pub policy: SecretPolicy,
    /// By rule, of the last [`COUNTED_FOR`]; the most frequent first.
    pub counts: Vec<(String, i64)>,
    /// Newest first.
    pub findings: Vec<SecretFinding>,
}

impl Redactor {
    /// # Errors
    /// Database errors only.
    pub async fn overview(&self, user: UserId) -> Result<SecretOverview, sqlx::Error> {
        let since = self.clock.now() - COUNTED_FOR;
        let mut tx = self.db.as_user(user).await?;
        let (policy, _) = store::find_settings(&mut tx, user).await?;
        let counts = store::list_counts(&mut tx, user, since.date()).await?;
        let found = store::list_findings(&mut tx, user, FINDINGS_MAX + ALLOWED_MAX).await?;
        tx.commit().await?;
        let findings = found.into_iter().map(|row| SecretFinding {
            id: hex(&row.fingerprint),
            fingerprint: shown(&row.fingerprint),
            rule: row.rule,
            field: row.field,
            agent: row.agent,
            last_at: row.last_at,
            count: row.count,
            is_allowed: row.is_allowed,
        });
        Ok(SecretOverview { policy, counts, findings: findings.collect() })
    }

    /// # Errors
    /// Database errors only.
    pub async fn policy(&self, user: UserId) -> Result<SecretPolicy, sqlx::Error> {
        let (policy, _) = self.db.for_user(user, store::find_settings).await?;
        Ok(policy)
    }

    /// # Errors
    /// Database errors only.
    pub async fn save(&self, user: UserId, policy: SecretPolicy) -> Result<(), sqlx::Error> {
        let mut tx = self.db.as_user(user).await?;
        store::save_policy(&mut tx, user, policy).await?;
        tx.commit().await
    }

    /// Allows what has this fingerprint from now on, or not any more. Returns false if nothing is known of it.
    ///
    /// # Errors
    /// [`Invalid`] if too many are allowed, or `id` is no fingerprint.
    pub async fn allow(
        &self,
        user: UserId,
        id: &str,
        is_allowed: bool,
    ) -> Result<Result<bool, Invalid>, sqlx::Error> {
        let Some(fingerprint) = bytes_of(id) else {
            return Ok(Ok(false));
        };
        let mut tx = self.db.as_user(user).await?;
        store::lock_settings(&mut tx, user).await?;
        if is_allowed && store::count_allowed(&mut tx, user).await? >= ALLOWED_MAX {
            let sentence = format!(
                "{ALLOWED_MAX} secrets are allowed, which is the most; stop allowing some first."
            );
            return Ok(Err(Invalid::new("id", "too_many", sentence)));
        }
        let is_known = store::set_allowed(&mut tx, user, &fingerprint, is_allowed).await?;
        store::trim_findings(&mut tx, user, FINDINGS_MAX).await?;
        tx.commit().await?;
        Ok(Ok(is_known))
    }
}

/// A whole fingerprint in hex.
fn bytes_of(hex: &str) -> Option<Vec<u8>> {
    let is_hex = hex.len() == 2 * FINGERPRINT_BYTES && hex.bytes().all(|b| b.is_ascii_hexdigit());
    let byte = |n: usize| u8::from_str_radix(hex.get(2 * n..2 * n + 2)?, 16).ok();
    is_hex.then(|| (0..FINGERPRINT_BYTES).map(byte).collect())?
}
