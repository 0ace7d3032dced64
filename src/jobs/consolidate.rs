//! Reads completed sessions, a few at once, one of a user at a time and users by turns, so that
//! nobody's thousand sessions hold up another's one. It needs no job: the ledger says what is
//! due, and whatever was killed in the middle is due again once its lease is over.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tokio::task::{Id, JoinSet};

use super::JobContext;
use crate::consolidation::Consolidation;
use crate::db::UserId;
use crate::sessions::model::Due;

const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Mostly they wait for a model.
const READ_AT_ONCE: usize = 4;
/// Whoever has read rests twice as long as that took, so long at most: where a model answers at
/// once, the machine has time for those who search. Beside a slow one it is little.
const REST_MAX: Duration = Duration::from_secs(2);
/// Of so many users it is remembered that they have had their turn.
const ROUND_MAX: usize = 1_000;

pub(super) async fn keep_reading(context: JobContext, stop: watch::Receiver<bool>) {
    let mut readers = Readers {
        consolidation: Consolidation::new(context.db, context.embeddings),
        at_work: HashMap::new(),
        had_their_turn: Vec::new(),
        tasks: JoinSet::new(),
    };
    while !*stop.borrow() {
        match readers.begin().await {
            // There may be more.
            Ok(true) if readers.tasks.len() < READ_AT_ONCE => continue,
            Ok(_) => {}
            // The database may be just starting again.
            Err(error) => {
                tracing::warn!(%error, "the sessions to be read could not be looked up; trying again in a moment");
            }
        }
        tokio::select! {
            Some(ended) = readers.tasks.join_next_with_id() => readers.note(ended).await,
            () = tokio::time::sleep(LOOK_EVERY) => {}
        }
    }
}

struct Readers {
    consolidation: Consolidation,
    at_work: HashMap<Id, Due>,
    /// In this round.
    had_their_turn: Vec<UserId>,
    /// Apart from each other: what one falls over costs no other.
    tasks: JoinSet<()>,
}

impl Readers {
    /// Begins what there is room for. False where nothing is due.
    async fn begin(&mut self) -> anyhow::Result<bool> {
        if self.tasks.len() >= READ_AT_ONCE {
            return Ok(false);
        }
        let busy: Vec<UserId> = self.at_work.values().map(|due| due.user).collect();
        let but: Vec<UserId> = busy.iter().chain(&self.had_their_turn).copied().collect();
        let mut due = self.consolidation.due_of_others(&but).await?;
        if due.is_empty() && !self.had_their_turn.is_empty() {
            self.had_their_turn.clear();
            due = self.consolidation.due_of_others(&busy).await?;
        }
        let room = READ_AT_ONCE - self.tasks.len();
        let begun = due.len().min(room);
        for one in due.into_iter().take(room) {
            let consolidation = self.consolidation.clone();
            let task = self.tasks.spawn(async move {
                let began = Instant::now();
                read(&consolidation, one).await;
                tokio::time::sleep((2 * began.elapsed()).min(REST_MAX)).await;
            });
            self.at_work.insert(task.id(), one);
            self.had_their_turn.push(one.user);
        }
        if self.had_their_turn.len() > ROUND_MAX {
            self.had_their_turn.clear();
        }
        Ok(begun > 0)
    }

    async fn note(&mut self, ended: Result<(Id, ()), tokio::task::JoinError>) {
        let id = match &ended {
            Ok((id, ())) => *id,
            Err(error) => error.id(),
        };
        let due = self.at_work.remove(&id);
        if let (Err(_), Some(due)) = (ended, due) {
            tracing::error!(user = due.user.0, "reading a session fell over");
            if let Err(error) = self.consolidation.fell_over(due).await {
                tracing::warn!(%error, "that could not be written into the ledger; it is read again after its lease");
            }
        }
    }
}

async fn read(consolidation: &Consolidation, one: Due) {
    match consolidation.extract(one).await {
        Err(error) if !error.is_of_a_gone_user() => {
            tracing::warn!(user = one.user.0, %error, "a session could not be read; trying again after its lease");
        }
        _ => {}
    }
}
