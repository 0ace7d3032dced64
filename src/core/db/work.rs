//! Work in a transaction of its own.

use sqlx::PgConnection;

use super::{Db, UserId};

impl Db {
    /// What `work` reads or changes in one transaction that sees only this user's rows ([`Self::as_user`]). Rolled back if it fails.
    pub async fn for_user<T, E: From<sqlx::Error>>(
        &self,
        user: UserId,
        work: impl AsyncFnOnce(&mut PgConnection, UserId) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut tx = self.as_user(user).await?;
        let done = work(&mut tx, user).await?;
        tx.commit().await?;
        Ok(done)
    }
}
