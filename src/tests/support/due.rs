//! What is due, of everybody, as the jobs find it.

use keepsake::consolidation::{Consolidation, ConsolidationError};
use keepsake::sessions::model::DueExtraction;
use keepsake::sessions::turns;

use super::TestApp;

pub trait DueNow {
    /// Of each user what is read next.
    async fn due(&self) -> Result<Vec<DueExtraction>, ConsolidationError>;
}

impl DueNow for Consolidation {
    async fn due(&self) -> Result<Vec<DueExtraction>, ConsolidationError> {
        let mut due = Vec::new();
        for user in self.users_with_sessions_due().await? {
            due.extend(self.next_due(user).await?.map(|(due, _)| due));
        }
        Ok(due)
    }
}

/// Sessions whose turns are to be made.
pub async fn turns_due(app: &TestApp) -> Vec<turns::SessionWithTurnsDue> {
    let mut due = Vec::new();
    for user in turns::users_due(&app.db, app.embeddings.now()).await.unwrap() {
        due.extend(turns::due_of(&app.db, user).await.unwrap());
    }
    due
}
