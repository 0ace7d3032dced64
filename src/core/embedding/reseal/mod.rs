//! Key rotation: seals every provider key, and every key of fingerprints, again with the current key while servers run. Users' keys are processed as those
//! users, one transaction each, because no role can read all sealed keys. A key changed meanwhile is left as it is.

mod store;

use std::collections::HashMap;

use sqlx::PgConnection;

use crate::db::{Tx, UserId};
use crate::providers::settings;
use crate::redaction;
use crate::seal::SecretOwner;

use super::{EmbeddingError, Embeddings};

/// A column of sealed values and their binding.
#[derive(Clone, Copy, Debug)]
pub struct Sealed {
    pub table: &'static str,
    pub column: &'static str,
    pub bound: fn(UserId) -> SecretOwner,
}

/// Columns per user. A space's key is a copy of the settings' and has the same binding.
pub const OF_USERS: [Sealed; 6] = [
    Sealed {
        table: "embedding_settings",
        column: "sealed_key",
        bound: settings::own_embedding_key,
    },
    Sealed { table: "embedding_spaces", column: "sealed_key", bound: settings::own_embedding_key },
    Sealed { table: "chat_settings", column: "sealed_key", bound: settings::own_chat_key },
    Sealed { table: "webhooks", column: "sealed_secret", bound: webhook_secret },
    Sealed { table: "webhooks", column: "sealed_old_secret", bound: webhook_secret },
    Sealed { table: "secret_settings", column: "sealed_key", bound: redaction::fingerprint_key },
];

/// A webhook's secret, also after it became the old one.
pub fn webhook_secret(user: UserId) -> SecretOwner {
    SecretOwner { user_id: user.0, column: "webhooks.sealed_secret" }
}

pub const OF_THE_SYSTEM: [Sealed; 2] = [
    Sealed {
        table: "system_providers",
        column: "sealed_key",
        bound: |_| settings::SYSTEM_EMBEDDING_KEY,
    },
    Sealed {
        table: "system_chat_provider",
        column: "sealed_key",
        bound: |_| settings::SYSTEM_CHAT_KEY,
    },
];

/// Users processed between two progress reports.
const USERS_A_STEP: i64 = 200;

/// The result of a pass over all sealed values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resealed {
    pub resealed: u64,
    /// Values that no available key opens; left as they are.
    pub unreadable: u64,
}

/// Advisory lock that allows one rotation per database, until it is dropped.
pub struct OnlyRotation {
    _tx: Tx,
}

impl Embeddings {
    /// `None` if another rotation is running.
    pub async fn begin_rotation(&self) -> Result<Option<OnlyRotation>, EmbeddingError> {
        let mut tx = self.db.as_system().await?;
        let is_only = store::try_lock(&mut tx).await?;
        Ok(is_only.then_some(OnlyRotation { _tx: tx }))
    }

    /// Runs one pass. Calls `progress` with the number of users done and in total.
    pub async fn reseal(
        &self,
        mut progress: impl FnMut(u64, u64),
    ) -> Result<Resealed, EmbeddingError> {
        let mut tx = self.db.as_system().await?;
        let of_system = self.reseal_rows(&mut tx, &OF_THE_SYSTEM, None).await?;
        let total = store::count_users(&mut tx).await?.unsigned_abs();
        tx.commit().await?;
        self.forget_system_settings();
        let mut all = of_system;
        let (mut done, mut last) = (0, 0);
        progress(done, total);
        loop {
            let mut conn = self.db.system_connection().await?;
            let users = store::list_users_after(&mut conn, last, USERS_A_STEP).await?;
            drop(conn);
            let Some(&newest) = users.last() else {
                return Ok(all);
            };
            for user in users.into_iter().map(UserId) {
                let mut tx = self.db.as_user(user).await?;
                let of_user = self.reseal_rows(&mut tx, &OF_USERS, Some(user)).await?;
                tx.commit().await?;
                all.resealed += of_user.resealed;
                all.unreadable += of_user.unreadable;
                done += 1;
            }
            last = newest;
            progress(done, total.max(done));
        }
    }

    /// Equal sealed values stay equal.
    async fn reseal_rows(
        &self,
        tx: &mut PgConnection,
        columns: &[Sealed],
        user: Option<UserId>,
    ) -> Result<Resealed, EmbeddingError> {
        let sealer = &self.shared.sealer;
        let mut anew: HashMap<Vec<u8>, Option<Vec<u8>>> = HashMap::new();
        let mut counted = Resealed::default();
        for &column in columns {
            let bound = (column.bound)(user.unwrap_or(UserId(0)));
            for old in store::list_sealed(tx, column, user).await? {
                if sealer.is_current(&old) {
                    continue;
                }
                if !anew.contains_key(&old) {
                    let opened = sealer.open(bound, &old).ok();
                    let sealed = opened.map(|key| sealer.seal(bound, &key)).transpose()?;
                    anew.insert(old.clone(), sealed);
                }
                match &anew[&old] {
                    Some(new) => {
                        counted.resealed += store::replace(tx, column, user, &old, new).await?;
                    }
                    None => counted.unreadable += 1,
                }
            }
        }
        Ok(counted)
    }
}
