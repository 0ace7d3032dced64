//! Keeps what a reading found: decides of each statement whether it is new, known or takes
//! an older one's place, and writes all of it with the row of the ledger in one transaction.

use serde_json::Value;
use time::OffsetDateTime;

use super::keep::{Fate, Known, answered, fate, says_the_same};
use super::prompt::{self, Relation};
use super::reading::{End, Found, Reading};
use super::{Consolidation, ConsolidationError, store};
use crate::accounts::Viewer;
use crate::db::UserId;
use crate::memories::quota::ItemQuota;
use crate::memories::{self, ItemKey, MemoryError, NewItem, Provenance, Tries, Yielding};
use crate::search::{self, RawQuery, SearchQuery};
use crate::sessions::ledger;
use crate::sessions::model::{Counts, Ending, Extraction, Outcome};

/// Items that a statement is compared with.
const NEAREST: i64 = 5;
/// Statements that are looked up before the lease is renewed.
const RENEWED_AFTER: usize = 16;
/// Pairs that a model compares in one answer.
const PAIRS_MAX: usize = 20;

impl Consolidation {
    pub(super) async fn keep(
        &self,
        user: UserId,
        row: &Extraction,
        mut reading: Reading,
    ) -> Result<(), ConsolidationError> {
        if reading.end == End::Lost {
            return Ok(());
        }
        let mut repeated = 0;
        let found = once_each(std::mem::take(&mut reading.found), &mut repeated);
        let viewer =
            store::viewer_of(&mut *self.db.as_user(user).await?, user, row.session_id).await?;
        let mut fates = Vec::with_capacity(found.len());
        for (n, one) in found.iter().enumerate() {
            // Each of them may wait for a vector.
            if n % RENEWED_AFTER == RENEWED_AFTER - 1 && !self.renew(user, row).await? {
                return Ok(());
            }
            let known = self.known(&viewer, one).await?;
            let key = one.key.as_ref().map(ItemKey::as_str);
            fates.push((fate(one.theme, key, &one.value, &known), known));
        }
        let fates = self.resolve(user, row, &found, fates, &mut reading).await?;
        let mut tries = Tries::default();
        loop {
            let written = self.write(&viewer, row, &found, &fates, repeated, &reading);
            match written.await {
                Err(ConsolidationError::Memory(error)) if tries.again(&error) => {}
                ended => return ended,
            }
        }
    }

    /// Active items that the statement may have to do with: of its key, and the nearest.
    async fn known(&self, viewer: &Viewer, one: &Found) -> Result<Vec<Known>, ConsolidationError> {
        let raw = RawQuery {
            query: &one.value,
            limit: Some(NEAREST),
            explain: true,
            without_turns: true,
            ..RawQuery::default()
        };
        // A value has fewer characters than a query may have.
        let near = match SearchQuery::parse(raw) {
            Ok(query) if query.text.is_some() => {
                search::find(&self.db, &self.embeddings, viewer, &query)
                    .await?
                    .hits
            }
            _ => Vec::new(),
        };
        let ids: Vec<i64> = near.iter().map(|hit| hit.item.id.0).collect();
        let key = one.key.as_ref().map(ItemKey::as_str);
        let mut tx = self.db.as_user(viewer.user_id).await?;
        let mut known =
            store::list_active(&mut tx, viewer.user_id, &ids, one.theme, key, self.now()).await?;
        tx.commit().await?;
        for item in &mut known {
            let hit = near.iter().find(|hit| hit.item.id == item.id);
            item.cosine = hit
                .and_then(|hit| hit.explanation.distance)
                .map(|d| 1.0 - d);
        }
        Ok(known)
    }

    /// Lets the model say what words and vectors cannot. Where it says nothing, both stay.
    async fn resolve(
        &self,
        user: UserId,
        row: &Extraction,
        found: &[Found],
        fates: Vec<(Fate, Vec<Known>)>,
        reading: &mut Reading,
    ) -> Result<Vec<Fate>, ConsolidationError> {
        let mut resolved = Vec::with_capacity(fates.len());
        let mut open = Vec::new();
        for (n, (fate, known)) in fates.into_iter().enumerate() {
            if let Fate::Ask(id) = fate
                && let Some(older) = known.iter().find(|item| item.id == id)
            {
                open.push((n, id, (older.content.clone(), found[n].value.clone())));
            }
            resolved.push(if matches!(fate, Fate::Ask(_)) {
                Fate::Add
            } else {
                fate
            });
        }
        if reading.end != End::Read {
            // Whoever did not answer just now is not asked again.
            return Ok(resolved);
        }
        for some in open.chunks(PAIRS_MAX) {
            if !self.renew(user, row).await? {
                break;
            }
            let pairs: Vec<(String, String)> =
                some.iter().map(|(_, _, pair)| pair.clone()).collect();
            let schema: Value = prompt::comparison_schema(pairs.len());
            let Ok(completion) = self
                .ask_holding(user, row, &prompt::comparison(&pairs), &schema)
                .await
            else {
                break;
            };
            reading.pay(&completion);
            let relations = prompt::relations(&completion.text, pairs.len());
            let relations = relations.unwrap_or_else(|| vec![Relation::Unrelated; pairs.len()]);
            for ((n, id, _), relation) in some.iter().zip(relations) {
                resolved[*n] = answered(*id, relation);
            }
        }
        Ok(resolved)
    }

    async fn write(
        &self,
        viewer: &Viewer,
        row: &Extraction,
        found: &[Found],
        fates: &[Fate],
        repeated: i32,
        reading: &Reading,
    ) -> Result<(), ConsolidationError> {
        let now = self.now();
        let user = viewer.user_id;
        let mut tx = self.db.as_user(user).await?;
        let mut counts = Counts {
            merged: repeated,
            malformed: i32::try_from(reading.malformed).unwrap_or(i32::MAX),
            skipped_chars: i64::try_from(reading.skipped_chars).unwrap_or(i64::MAX),
            tokens_in: i64::try_from(reading.tokens_in).unwrap_or(i64::MAX),
            tokens_out: i64::try_from(reading.tokens_out).unwrap_or(i64::MAX),
            duration_ms: i64::try_from(reading.began.elapsed().as_millis()).unwrap_or(i64::MAX),
            ..Counts::default()
        };
        let quota = ItemQuota::default();
        let room = quota.count_and_take(&mut tx, user, found.len() as i64);
        let has_room = room.await?.is_ok();
        for (one, fate) in found.iter().zip(fates) {
            if let Fate::Merge(id) = fate
                && memories::see_again(&mut tx, user, *id, one.confidence, now).await?
            {
                counts.merged += 1;
                continue;
            }
            let Some(item) = item_of(one, row).filter(|_| has_room) else {
                counts.malformed += 1;
                continue;
            };
            let added = memories::add_in(&mut tx, &self.embeddings, viewer, &item, now).await;
            let added = match added {
                // There are as many themes as there may be: reading it again would find no more.
                Err(MemoryError::Invalid(_)) => {
                    counts.malformed += 1;
                    continue;
                }
                added => added?,
            };
            match added.duplicate {
                true => counts.merged += 1,
                false => counts.stored += 1,
            }
            counts.superseded += i32::from(added.superseded.is_some());
            if let Fate::Supersede(older) = fate
                && *older != added.id
                && memories::supersede_in(&mut tx, viewer, *older, added.id, now).await?
            {
                counts.superseded += 1;
            }
        }
        let is_ours = match reading.read_to {
            // What was read has come to its end; the rest is a stretch of its own.
            Some(read_to) if read_to < row.last_position => {
                let rest = Ending {
                    counts: Counts::default(),
                    ..ending(reading, counts.clone())
                };
                let done = ending_of_read(reading, counts);
                ledger::finish_in_part(&mut tx, user, row, read_to, (&done, &rest), now).await?
            }
            _ => ledger::finish(&mut tx, user, row, &ending(reading, counts), now).await?,
        };
        if is_ours {
            tx.commit().await?;
        }
        Ok(())
    }
}

fn ending_of_read(reading: &Reading, counts: Counts) -> Ending<'_> {
    Ending {
        outcome: match counts.stored + counts.merged {
            0 => Outcome::Nothing,
            _ => Outcome::Stored,
        },
        reason: None,
        counts,
        is_fallback: reading.is_fallback,
        model: reading.model.as_deref(),
        next_try_at: None,
    }
}

fn ending<'a>(reading: &'a Reading, counts: Counts) -> Ending<'a> {
    let (outcome, reason, next_try_at): (_, _, Option<OffsetDateTime>) = match &reading.end {
        End::Failed(why, again) => (Outcome::Failed, Some(why.as_str()), *again),
        End::Skipped(why, again) => (Outcome::Skipped, Some(why.as_str()), *again),
        End::Read | End::Lost => return ending_of_read(reading, counts),
    };
    Ending {
        outcome,
        reason,
        counts,
        is_fallback: reading.is_fallback,
        model: reading.model.as_deref(),
        next_try_at,
    }
}

/// `None` where it breaks a rule of items, which a fact that was read does not.
fn item_of(one: &Found, row: &Extraction) -> Option<NewItem> {
    let item = NewItem::parse(one.item_type, &one.value, Some(one.theme), &[]).ok()?;
    let item = item
        .with_key(one.key.clone())
        .yielding(Yielding::PutAside)
        .with_provenance(Provenance {
            source: one.source,
            context: one.quote.clone(),
            confidence: Some(one.confidence),
            session_id: Some(row.session_id.0),
            message_id: one.position.map(i64::from),
            said_at: one.said_at,
        });
    Some(item)
}

/// Without what the same reading said before in nearly the same words; in the order of
/// keys, in which two readings of one user do not wait for each other.
fn once_each(found: Vec<Found>, repeated: &mut i32) -> Vec<Found> {
    let mut kept: Vec<Found> = Vec::with_capacity(found.len());
    for one in found {
        let is_known = kept
            .iter()
            .any(|other| says_the_same(&one.value, &other.value));
        match is_known {
            true => *repeated += 1,
            false => kept.push(one),
        }
    }
    kept.sort_by(|a, b| (a.theme, &a.key).cmp(&(b.theme, &b.key)));
    kept
}
