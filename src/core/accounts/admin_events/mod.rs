//! The log of what admins did: people, invitations, operators, and settings of the server.

mod model;
mod store;

pub use model::{AdminAction, AdminActor, AdminEvent, AdminSubject};
pub use store::record;

use super::{AccountError, Accounts};

const EVENTS_SHOWN: i64 = 20;

impl Accounts {
    /// Newest first.
    pub async fn list_admin_events(&self) -> Result<Vec<AdminEvent>, AccountError> {
        let mut conn = self.db.system_connection().await?;
        Ok(store::list(&mut conn, EVENTS_SHOWN).await?)
    }
}
