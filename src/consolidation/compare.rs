//! Compares what agents add or correct with what was held before, as a reading compares what it found: by a model, or
//! without one by rules. Nothing that was added is put aside for it.

use time::Duration;

use super::comparison::StatementRelation;
use super::exclusive::is_exclusive;
use super::keep::{ComparedFact, RelatedItem, excluded, resolve_fact};
use super::keeping::PAIRS_MAX;
use super::{Consolidation, ConsolidationError};
use crate::accounts::{AgentId, Viewer};
use crate::db::UserId;
use crate::db::actor::{self, Actor};
use crate::memories::store::{list_uncompared, list_users_uncompared, set_compared};
use crate::memories::{ConflictPolicy, ItemId, UncomparedItem, supersede_in, with_key};
use crate::providers::chat::{ChatError, ChatPurpose};

/// Items in one transaction, and in one answer of a model.
const ITEMS_AT_ONCE: i64 = 8;
/// A model is asked about so many that wait; of more, words alone decide.
const ASKED_MAX: i64 = 50;
const USERS_MAX: i64 = 10_000;
/// If the model does not answer for so long, words alone decide.
const WAITS_FOR_MODEL: Duration = Duration::days(3);

/// What [`Consolidation::compare_some`] has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComparedItems {
    /// So many; 0: none is left.
    Some(usize),
    /// The chat model did not answer; they wait.
    NoAnswer,
}

/// An item with those of before that it may contradict.
struct ComparedItem {
    item: UncomparedItem,
    asked: Vec<RelatedItem>,
    /// By words alone.
    excluded: Vec<ItemId>,
}

impl Consolidation {
    pub async fn users_uncompared(&self) -> Result<Vec<UserId>, ConsolidationError> {
        let mut conn = self.db.system_connection().await?;
        Ok(list_users_uncompared(&mut conn, USERS_MAX).await?)
    }

    /// Compares some of a user's items. If it is killed, others do it again.
    pub async fn compare_some(&self, user: UserId) -> Result<ComparedItems, ConsolidationError> {
        let has_model = match self.chat.effective(user, ChatPurpose::Facts).await {
            Ok(model) => model.is_some(),
            Err(ChatError::Database(error)) => return Err(error.into()),
            Err(_) => return Ok(ComparedItems::NoAnswer),
        };
        let mut tx = self.db.as_user(user).await?;
        let mut items = list_uncompared(&mut tx, user, (ASKED_MAX, ITEMS_AT_ONCE)).await?;
        let asks = has_model && items.is_empty();
        if items.is_empty() {
            items = list_uncompared(&mut tx, user, (0, ITEMS_AT_ONCE)).await?;
        }
        tx.commit().await?;
        let mut compared = Vec::with_capacity(items.len());
        for item in items {
            let viewer = viewer_of(user, item.agent);
            let by = item.agent.map(|agent| Actor::OnBehalf { user, agent_id: agent.0 });
            let comparing = self.compared(&viewer, item, asks);
            compared.push(actor::scope(by, &self.clock, comparing).await.0?);
        }
        let (answered, contradicted) = match asks {
            true => self.contradicted(user, &compared).await?,
            false => (true, Vec::new()),
        };
        let mut ended = contradicted;
        let mut done = Vec::new();
        for one in &compared {
            let waits = !answered && one.item.created_at > self.now() - WAITS_FOR_MODEL;
            if waits && !one.asked.is_empty() {
                continue;
            }
            done.push(one.item.id.0);
            if !answered || !asks {
                ended
                    .extend(one.excluded.iter().map(|older| (*older, one.item.id, one.item.agent)));
            }
        }
        for (older, newer, agent) in ended {
            let by = agent.map(|agent| Actor::OnBehalf { user, agent_id: agent.0 });
            let ending = async {
                let mut tx = self.db.as_writer(user).await?;
                let (viewer, policy) = (viewer_of(user, agent), ConflictPolicy::Refused);
                supersede_in(&mut tx, &viewer, older, newer, policy, self.now()).await?;
                tx.commit().await
            };
            actor::scope(by, &self.clock, ending).await.0?;
        }
        let mut tx = self.db.as_user(user).await?;
        set_compared(&mut tx, user, &done).await?;
        tx.commit().await?;
        Ok(match done.is_empty() && !answered {
            true => ComparedItems::NoAnswer,
            false => ComparedItems::Some(done.len()),
        })
    }

    async fn compared(
        &self,
        viewer: &Viewer,
        item: UncomparedItem,
        asks: bool,
    ) -> Result<ComparedItem, ConsolidationError> {
        let mut compared = ComparedItem { item, asked: Vec::new(), excluded: Vec::new() };
        let item = &compared.item;
        if !item.is_active || !asks && !is_exclusive(&item.content) {
            return Ok(compared);
        }
        let fact = ComparedFact {
            theme: &item.theme,
            key: item.key.as_deref(),
            value: &item.content,
            period: item.period,
        };
        let mut known = self.known(viewer, fact, item.project.as_ref(), !asks).await?;
        // What came later compares itself.
        known.retain(|other| other.id < item.id);
        let excluded = excluded(fact, &known, self.now());
        let ask = resolve_fact(fact, &known, self.now()).ask;
        compared.excluded = excluded;
        compared.asked = known.into_iter().filter(|other| ask.contains(&other.id)).collect();
        Ok(compared)
    }

    /// The items that the model says are contradicted, each with the newer one and who added it. False if it did not answer.
    async fn contradicted(
        &self,
        user: UserId,
        compared: &[ComparedItem],
    ) -> Result<(bool, Vec<(ItemId, ItemId, Option<AgentId>)>), ConsolidationError> {
        let pairs =
            compared.iter().flat_map(|one| one.asked.iter().map(|older| (older, &one.item)));
        let pairs: Vec<(&RelatedItem, &UncomparedItem)> = pairs.collect();
        let mut contradicted = Vec::new();
        for some in pairs.chunks(PAIRS_MAX) {
            let told = some.iter().map(|(older, newer)| {
                let told =
                    |key: &Option<String>, content| with_key(key.as_deref(), content).into_owned();
                (told(&older.key, &older.content), told(&newer.key, &newer.content))
            });
            let relations = match self.relations(user, &told.collect::<Vec<_>>()).await {
                Ok((relations, _)) => relations,
                Err(ChatError::Database(error)) => return Err(error.into()),
                Err(_) => return Ok((false, contradicted)),
            };
            let ended = some
                .iter()
                .zip(relations)
                .filter(|(_, relation)| *relation == StatementRelation::Contradicts);
            contradicted.extend(ended.map(|((older, newer), _)| (older.id, newer.id, newer.agent)));
        }
        Ok((true, contradicted))
    }
}

fn viewer_of(user: UserId, agent: Option<AgentId>) -> Viewer {
    agent.map_or(Viewer::person(user), |agent| Viewer::agent(user, agent))
}
