//! Seals every provider key anew with the key that seals now, while servers run.
//! Users' keys are reached as those users, one transaction each: no role sees the
//! sealed keys of all. A key that somebody changes meanwhile stays as they left it.

mod store;

use std::collections::HashMap;

use sqlx::PgConnection;

use crate::db::{Tx, UserId};
use crate::providers::{chat, settings};
use crate::seal::Bound;

use super::{EmbeddingError, Embeddings};

/// A column of sealed values, and what they are bound to besides their user.
#[derive(Clone, Copy, Debug)]
pub struct Sealed {
    pub table: &'static str,
    pub column: &'static str,
    pub bound: fn(UserId) -> Bound,
}

/// Of users' rows. A space's key is a copy of the settings', and bound like it.
pub const OF_USERS: [Sealed; 3] = [
    Sealed {
        table: "embedding_settings",
        column: "sealed_key",
        bound: settings::own_key,
    },
    Sealed {
        table: "embedding_spaces",
        column: "sealed_key",
        bound: settings::own_key,
    },
    Sealed {
        table: "chat_settings",
        column: "sealed_key",
        bound: chat::settings::own_key,
    },
];

pub const OF_THE_SYSTEM: [Sealed; 2] = [
    Sealed {
        table: "system_providers",
        column: "sealed_key",
        bound: |_| settings::SYSTEM_KEY,
    },
    Sealed {
        table: "system_chat_provider",
        column: "sealed_key",
        bound: |_| chat::settings::SYSTEM_KEY,
    },
];

/// Users looked at between two reports of progress.
const USERS_A_STEP: i64 = 200;

/// How one pass over all sealed values ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resealed {
    pub resealed: u64,
    /// Of which no key at hand opens any; left as they are.
    pub unreadable: u64,
}

/// Held by one rotation at a time, on one database, until it is dropped.
pub struct OnlyRotation {
    _tx: Tx,
}

impl Embeddings {
    /// `None` while another rotation is under way.
    pub async fn begin_rotation(&self) -> Result<Option<OnlyRotation>, EmbeddingError> {
        let mut tx = self.0.db.as_system().await?;
        let is_only = store::try_lock(&mut tx).await?;
        Ok(is_only.then_some(OnlyRotation { _tx: tx }))
    }

    /// One pass. `progress` is told how many users of how many are done.
    pub async fn reseal(
        &self,
        mut progress: impl FnMut(u64, u64),
    ) -> Result<Resealed, EmbeddingError> {
        let mut tx = self.0.db.as_system().await?;
        let of_system = self.reseal_rows(&mut tx, &OF_THE_SYSTEM, None).await?;
        let total = store::count_users(&mut tx).await?.unsigned_abs();
        tx.commit().await?;
        self.forget_system_settings();
        let mut all = of_system;
        let (mut done, mut last) = (0, 0);
        progress(done, total);
        loop {
            let mut conn = self.0.db.system_connection().await?;
            let users = store::list_users_after(&mut conn, last, USERS_A_STEP).await?;
            drop(conn);
            let Some(&newest) = users.last() else {
                return Ok(all);
            };
            for user in users.into_iter().map(UserId) {
                let mut tx = self.0.db.as_user(user).await?;
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

    /// The same sealed value, where it stands twice, stays the same.
    async fn reseal_rows(
        &self,
        tx: &mut PgConnection,
        columns: &[Sealed],
        user: Option<UserId>,
    ) -> Result<Resealed, EmbeddingError> {
        let sealer = &self.0.sealer;
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
