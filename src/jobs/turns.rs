//! Makes the turns of completed sessions, a step of each in its turn, so that nobody's long
//! session holds up another's. It needs no job: the sessions say how far they are.

use std::time::Duration;

use tokio::sync::watch;

use super::JobContext;
use crate::sessions::turns;

const LOOK_EVERY: Duration = Duration::from_secs(1);
const SESSIONS_A_ROUND: i64 = 64;

pub(super) async fn keep_making(context: JobContext, stop: watch::Receiver<bool>) {
    let mut after = None;
    let mut is_idle = true;
    while !*stop.borrow() {
        let due = match turns::due(&context.db, after, SESSIONS_A_ROUND).await {
            Ok(due) => due,
            // The database may be just starting again.
            Err(error) => {
                tracing::warn!(%error, "the sessions whose turns are to be made could not be looked up; trying again in a moment");
                Vec::new()
            }
        };
        for one in &due {
            if *stop.borrow() {
                return;
            }
            match turns::make_some(&context.db, &context.embeddings, *one).await {
                Ok(made) => is_idle &= !made,
                Err(error) => {
                    tracing::warn!(user = one.user.0, %error, "the turns of a session could not be made; trying again in a moment");
                }
            }
        }
        after = due.last().copied();
        if due.is_empty() {
            if is_idle {
                tokio::time::sleep(LOOK_EVERY).await;
            }
            is_idle = true;
        }
    }
}
