//! Compares what agents add or correct with what was held before, as a reading compares what it found: by a model, or
//! without one by rules. Nothing that was added is put aside for it.

use time::Duration;

use super::comparison::StatementRelation;
use super::exclusive::is_exclusive;
use super::keep::{ComparedFact, RelatedItem, excluded, resolve_fact};
use super::{Consolidation, ConsolidationError};
use crate::accounts::{AgentId, Viewer};
use crate::db::UserId;
use crate::db::actor::{self, Actor};
use crate::memories::store::{
    list_uncompared, list_uncompared_before, list_users_uncompared, set_compared,
};
use crate::memories::{ConflictPolicy, ItemId, UncomparedItem, supersede_in, with_key};
use crate::providers::chat::{ChatError, ChatPurpose};

/// In one run of [`Consolidation::compare_some`].
const ITEMS_AT_ONCE: i64 = 8;
/// A model is asked about the newest that wait; of those before, words alone decide.
const ASKED_MAX: i64 = 50;
const BY_WORDS_AT_ONCE: i64 = 500;
const USERS_MAX: i64 = 10_000;
/// If the model does not answer for so long, words alone decide.
const WAITS_FOR_MODEL: Duration = Duration::days(3);
/// After so many questions without an answer the rest waits.
const UNANSWERED_MAX: usize = 2;

/// What [`Consolidation::compare_some`] has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComparedItems {
    /// So many; 0: none is left.
    Some(usize),
    /// The chat model did not answer about some, which wait.
    NoAnswer,
}

impl Consolidation {
    pub async fn users_uncompared(&self) -> Result<Vec<UserId>, ConsolidationError> {
        let mut conn = self.db.system_connection().await?;
        Ok(list_users_uncompared(&mut conn, USERS_MAX).await?)
    }

    /// Compares some of a user's items. If it is killed, others do it again.
    pub async fn compare_some(&self, user: UserId) -> Result<ComparedItems, ConsolidationError> {
        let mut tx = self.db.as_user(user).await?;
        let before = (ASKED_MAX, BY_WORDS_AT_ONCE);
        let mut items = list_uncompared_before(&mut tx, user, before).await?;
        let is_asked = items.is_empty();
        if is_asked {
            items = list_uncompared(&mut tx, user, ITEMS_AT_ONCE).await?;
        }
        tx.commit().await?;
        let asks = is_asked
            && match self.chat.effective(user, ChatPurpose::Facts).await {
                Ok(model) => model.is_some(),
                Err(ChatError::Database(error)) => return Err(error.into()),
                // There is one, and it will not answer.
                Err(_) => true,
            };
        let (mut done, mut unanswered) = (Vec::new(), 0);
        for item in items {
            let viewer = item.agent.map_or(Viewer::person(user), |a| Viewer::agent(user, a));
            let by = item.agent.map(|AgentId(agent_id)| Actor::OnBehalf { user, agent_id });
            let comparing = self.compare_one(&viewer, &item, asks && item.may_be_sent);
            match actor::scope(by, &self.clock, comparing).await.0? {
                true => done.push(item.id.0),
                false => unanswered += 1,
            }
            if unanswered == UNANSWERED_MAX {
                break;
            }
        }
        let mut tx = self.db.as_user(user).await?;
        set_compared(&mut tx, user, &done).await?;
        tx.commit().await?;
        Ok(match unanswered {
            0 => ComparedItems::Some(done.len()),
            _ => ComparedItems::NoAnswer,
        })
    }

    /// False if the model did not answer, and the item waits.
    async fn compare_one(
        &self,
        viewer: &Viewer,
        item: &UncomparedItem,
        asks: bool,
    ) -> Result<bool, ConsolidationError> {
        if !item.is_active || !asks && !is_exclusive(&item.content) {
            return Ok(true);
        }
        let fact = ComparedFact {
            theme: &item.theme,
            key: item.key.as_deref(),
            value: &item.content,
            period: item.period,
        };
        let now = self.now();
        let mut known = self.known(viewer, fact, item.project.as_ref(), !asks).await?;
        // What came later compares itself.
        known.retain(|other| other.id < item.id);
        let mut ended = excluded(fact, &known, now);
        let asked = if asks { resolve_fact(fact, &known, now).ask } else { Vec::new() };
        known.retain(|other| asked.contains(&other.id));
        if !known.is_empty() {
            match self.contradicted(viewer.user_id, item, &known).await {
                Ok(contradicted) => ended = contradicted.unwrap_or(ended),
                Err(ChatError::Database(error)) => return Err(error.into()),
                Err(_) if item.created_at > now - WAITS_FOR_MODEL => return Ok(false),
                Err(_) => {}
            }
        }
        if !ended.is_empty() {
            let mut tx = self.db.as_writer(viewer.user_id).await?;
            for older in ended {
                let policy = ConflictPolicy::Never;
                supersede_in(&mut tx, viewer, older, item.id, policy, now).await?;
            }
            tx.commit().await?;
        }
        Ok(true)
    }

    /// Which of these the model says the item contradicts; `None` if its answer cannot be read.
    async fn contradicted(
        &self,
        user: UserId,
        item: &UncomparedItem,
        known: &[RelatedItem],
    ) -> Result<Option<Vec<ItemId>>, ChatError> {
        let told =
            |key: &Option<String>, content: &str| with_key(key.as_deref(), content).into_owned();
        let newer = told(&item.key, &item.content);
        let pair = |older: &RelatedItem| (told(&older.key, &older.content), newer.clone());
        let pairs: Vec<(String, String)> = known.iter().map(pair).collect();
        let (relations, _) = self.relations(user, &pairs).await?;
        let ended = known.iter().zip(&relations);
        let ended = ended.filter(|(_, relation)| **relation == StatementRelation::Contradicts);
        let ended = ended.map(|(older, _)| older.id).collect();
        Ok((!relations.is_empty()).then_some(ended))
    }
}
