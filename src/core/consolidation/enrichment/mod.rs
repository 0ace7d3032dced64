//! At night the chat model reads memories that name few entities: it extracts entities and their relations,
//! and writes a sentence or two about entities that are mentioned often, from memories only (the Assistant's
//! enrichment).

mod store;

use std::borrow::Cow;
use std::collections::HashMap;

use time::OffsetDateTime;

use super::named::{self, ExtractedNames, note_connection, note_names};
use super::prompt;
use super::reading::off_the_runtime;
use super::summary::facts::PromptFact;
use super::summary::narrative;
use super::{Consolidation, ConsolidationError};
use crate::db::UserId;
use crate::embedding::{QueryVector, serving_space};
use crate::entities::{self, RelationEvidence};
use crate::memories::mentions::normal::words;
use crate::memories::mentions::{self, FoundBy, FoundName, NamingSource};
use crate::memories::{ItemId, Trust, derived, with_key};
use crate::providers::chat::{ChatError, ChatPurpose};
use crate::queue::Slice;

/// Maximum memories per user and night, and per prompt.
const ITEMS_A_NIGHT: i64 = 50;
const ITEMS_AT_ONCE: usize = 10;
/// Memories with this many mentions are not read.
const MENTIONS_ENOUGH: i64 = 3;
const CONTENT_CHARS_MAX: i32 = 1_000;
/// Limits of the portraits: entities per user and night, mentions that an entity needs, and what is read of
/// each.
const PORTRAITS_A_NIGHT: i64 = 10;
const PORTRAIT_MENTIONS_MIN: i64 = 3;
const PORTRAIT_ITEMS: i64 = 12;
const PORTRAIT_CHARS_MAX: usize = 400;
const PORTRAIT_TEMPERATURE: f32 = 0.2;
/// Maximum summaries per user and night whose vectors are recomputed after a change of model.
const VECTORS_A_NIGHT: i64 = 500;

/// A memory, as the model reads it.
pub struct EnrichmentItem {
    pub id: i64,
    pub key: Option<String>,
    pub content: String,
    pub trust: Trust,
    pub created_at: OffsetDateTime,
}

impl EnrichmentItem {
    fn with_key(&self) -> Cow<'_, str> {
        with_key(self.key.as_deref(), &self.content)
    }
}

impl Consolidation {
    /// Runs one night of a user. If it is killed, finished batches are kept and the rest is read again.
    pub async fn enrich(&self, user: UserId, slice: &Slice) -> Result<(), ConsolidationError> {
        let why_not = match self.chat.effective(user, ChatPurpose::Enrichment).await {
            Ok(Some(_)) => None,
            Ok(None) => Some("no chat model is set, so nothing was read for entities"),
            Err(ChatError::Database(error)) => return Err(error.into()),
            Err(_) => Some("the chat model cannot be asked, so nothing was read for entities"),
        };
        let wants = entities::settings::of(&self.db, user).await?.by_model;
        match why_not {
            Some(why) => slice.say(why),
            None if !wants => {}
            None => {
                let done = self.read_items(user, slice).await?;
                if done {
                    self.portray(user, slice).await?;
                }
            }
        }
        self.renew_vectors(user, slice).await
    }

    /// False if the model stopped answering.
    async fn read_items(&self, user: UserId, slice: &Slice) -> Result<bool, ConsolidationError> {
        let mut tx = self.db.as_user(user).await?;
        let bounds = (MENTIONS_ENOUGH, CONTENT_CHARS_MAX, ITEMS_A_NIGHT);
        let items = store::list_poor(&mut tx, user, bounds, self.now()).await?;
        let ids: Vec<i64> = items.iter().map(|item| item.id).collect();
        let bases = derived::bases(&mut tx, user, &ids, None).await?;
        tx.commit().await?;
        // What says what does not hold any more names nothing new.
        let (outdated, items): (Vec<_>, Vec<_>) = items.into_iter().partition(|item| {
            bases.get(&item.id).is_some_and(|basis| basis.outdated(&item.content).is_some())
        });
        if !outdated.is_empty() {
            let ids: Vec<i64> = outdated.iter().map(|item| item.id).collect();
            let mut tx = self.db.as_writer(user).await?;
            store::note_enriched(&mut tx, user, &ids, self.now()).await?;
            tx.commit().await?;
        }
        let zone = self.zone(user).await?;
        for some in items.chunks(ITEMS_AT_ONCE) {
            if slice.is_stopping() {
                return Ok(false);
            }
            let told: Vec<_> = some.iter().map(EnrichmentItem::with_key).collect();
            let day = |item: &EnrichmentItem| zone.local(item.created_at).date();
            let texts: Vec<_> = told.iter().zip(some).map(|(told, i)| (&**told, day(i))).collect();
            let ask = prompt::naming(&texts);
            let answer = match self
                .ask_for(user, ChatPurpose::Enrichment, &ask, &prompt::naming_schema())
                .await
            {
                Ok(completion) => completion.text,
                Err(ChatError::Database(error)) => return Err(error.into()),
                Err(error) => {
                    tracing::debug!(user = user.0, %error, "memories were not read for entities");
                    slice.note(0, some.len());
                    slice.say("the chat model did not answer; the rest is read the next night");
                    return Ok(false);
                }
            };
            let contents: Vec<String> = some.iter().map(|i| i.content.clone()).collect();
            let read = move || {
                let texts: Vec<&str> = contents.iter().map(String::as_str).collect();
                named::read(&answer, &texts)
            };
            let names = off_the_runtime(read).await;
            self.keep_names(user, some, &names).await?;
            slice.note(some.len(), 0);
        }
        Ok(true)
    }

    async fn keep_names(
        &self,
        user: UserId,
        items: &[EnrichmentItem],
        names: &ExtractedNames,
    ) -> Result<(), ConsolidationError> {
        let now = self.now();
        let mut tx = self.db.as_writer(user).await?;
        // Some may have been deleted in the meantime.
        let ids: Vec<i64> = items.iter().map(|item| item.id).collect();
        let there = store::list_existing(&mut tx, user, &ids).await?;
        let is_there = |item: &&EnrichmentItem| there.contains(&item.id);
        let named: Vec<_> = names
            .entities
            .iter()
            .filter(|(text, ..)| there.contains(&items[text - 1].id))
            .map(|(_, name, t)| (name.as_str(), *t))
            .collect();
        note_names(&mut tx, user, named, now).await?;
        let mut by_text: HashMap<usize, Vec<FoundName>> = HashMap::new();
        for (text, name, entity_type) in &names.entities {
            if let Some((start, length)) = place_of(name, &items[text - 1].content) {
                by_text.entry(*text).or_default().push(FoundName {
                    name: name.clone(),
                    entity_type: *entity_type,
                    start,
                    length,
                    confidence: 90,
                    is_sure: true,
                });
            }
        }
        let sources: Vec<NamingSource> = (1..)
            .zip(items)
            .filter(|(_, item)| is_there(item))
            .filter_map(|(text, item)| {
                let by_model = by_text.remove(&text)?;
                let by_rules = mentions::find(&item.content);
                Some(NamingSource {
                    id: item.id,
                    at: item.created_at,
                    named: mentions::merged(by_model.into_iter().chain(by_rules).collect()),
                    by: FoundBy::Model,
                })
            })
            .collect();
        mentions::write(&mut tx, user, &sources, now).await?;
        for said in &names.connections {
            let item = &items[said.text - 1];
            if !is_there(&item) {
                continue;
            }
            let evidence = RelationEvidence {
                sentence: Some(
                    match !said.sentence.is_empty() && item.content.contains(&said.sentence) {
                        true => said.sentence.clone(),
                        false => item.content.chars().take(PORTRAIT_CHARS_MAX).collect(),
                    },
                ),
                item: Some(ItemId(item.id)),
                session: None,
                position: None,
                trust: item.trust,
                at: item.created_at.min(now),
            };
            note_connection(&mut tx, user, said, evidence, now).await?;
        }
        store::note_enriched(&mut tx, user, &there, now).await?;
        tx.commit().await?;
        Ok(())
    }

    /// Writes a sentence or two about entities that are mentioned often and are due for one.
    async fn portray(&self, user: UserId, slice: &Slice) -> Result<(), ConsolidationError> {
        let mut tx = self.db.as_user(user).await?;
        let due = store::list_unportrayed(&mut tx, user, PORTRAIT_MENTIONS_MIN, PORTRAITS_A_NIGHT)
            .await?;
        tx.commit().await?;
        for one in due {
            if slice.is_stopping() {
                return Ok(());
            }
            let mut tx = self.db.as_user(user).await?;
            let told = store::list_of_entity(
                &mut tx,
                user,
                one.id,
                (CONTENT_CHARS_MAX, PORTRAIT_ITEMS),
                self.now(),
            )
            .await?;
            let told =
                derived::still_told(&mut tx, user, told, |item| (item.id, &mut item.content));
            let told = told.await?;
            tx.commit().await?;
            if told.is_empty() {
                let mut tx = self.db.as_writer(user).await?;
                store::set_summary(&mut tx, user, (&one, &[]), None, None, self.now()).await?;
                tx.commit().await?;
                continue;
            }
            let memories: Vec<String> =
                told.iter().map(|item| item.with_key().into_owned()).collect();
            let ask = prompt::portrait(&one.name, &memories);
            let completion = match self
                .ask(user, ChatPurpose::Enrichment, &ask, None, PORTRAIT_TEMPERATURE)
                .await
            {
                Ok(completion) => completion,
                Err(ChatError::Database(error)) => return Err(error.into()),
                Err(_) => return Ok(()),
            };
            let facts: Vec<PromptFact> = told.iter().map(fact_of).collect();
            let read =
                move || narrative::read(&completion.text, completion.is_cut_off, &ask, &facts);
            let summary = off_the_runtime(read).await.ok();
            let summary = summary.map(|text| text.replace("\n\n", " "));
            let summary = summary.filter(|text| text.chars().count() <= PORTRAIT_CHARS_MAX);
            let vector = match &summary {
                Some(text) => self.vector_of(user, &one.name, text).await?,
                None => None,
            };
            let mut tx = self.db.as_writer(user).await?;
            // A source may have been deleted, archived or made one agent's own since: then the text is not written.
            let ids: Vec<i64> = told.iter().map(|item| item.id).collect();
            let there = store::list_shared(&mut tx, user, &ids, self.now()).await?;
            if there.len() == ids.len() {
                store::set_summary(
                    &mut tx,
                    user,
                    (&one, &ids),
                    summary.as_deref(),
                    vector.as_ref(),
                    self.now(),
                )
                .await?;
                if let Some(vector) = &vector {
                    entities::ask_about_near(&mut tx, user, one.id, vector, self.now()).await?;
                }
                tx.commit().await?;
            }
            slice.note(1, 0);
        }
        Ok(())
    }

    /// Recomputes vectors after the embedding model has changed, since vectors of two models cannot be
    /// compared.
    async fn renew_vectors(&self, user: UserId, slice: &Slice) -> Result<(), ConsolidationError> {
        let mut tx = self.db.as_user(user).await?;
        let stale = match serving_space(&mut tx, user).await? {
            Some(space) => {
                store::list_of_other_spaces(&mut tx, user, space, VECTORS_A_NIGHT).await?
            }
            None => Vec::new(),
        };
        tx.commit().await?;
        for one in stale {
            if slice.is_stopping() {
                return Ok(());
            }
            let Some(vector) = self.vector_of(user, &one.name, &one.summary).await? else {
                return Ok(());
            };
            let mut tx = self.db.as_writer(user).await?;
            store::set_vector(&mut tx, user, &one, &vector).await?;
            tx.commit().await?;
        }
        Ok(())
    }

    /// Embeds a name with its summary; `None` if the embedding model does not answer.
    async fn vector_of(
        &self,
        user: UserId,
        name: &str,
        summary: &str,
    ) -> Result<Option<QueryVector>, ConsolidationError> {
        let text = format!("{name}: {summary}");
        Ok(self.search.embed_query(user, &text).await?.vector)
    }
}

fn fact_of(item: &EnrichmentItem) -> PromptFact {
    PromptFact {
        id: ItemId(item.id),
        theme: String::new(),
        key: item.key.clone(),
        trust: item.trust,
        agent: None,
        is_persons: true,
        content: item.content.clone(),
    }
}

/// The character offset of a name in a text, and its length. Falls back to a case-insensitive match of its
/// first word.
fn place_of(name: &str, text: &str) -> Option<(usize, usize)> {
    if let Some(at) = text.find(name) {
        return Some((text[..at].chars().count(), name.chars().count()));
    }
    let first = words(name).into_iter().next()?;
    let lower = text.to_lowercase();
    let at = lower.find(&first).unwrap_or(0);
    let start = lower[..at].chars().count().min(text.chars().count());
    Some((start, name.chars().count()))
}
