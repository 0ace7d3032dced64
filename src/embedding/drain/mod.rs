//! Works off a user's pending passages: in batches, with no connection held while
//! the provider is called, writing one batch while the next is on its way. What was
//! made of the same text before is copied and not sent. A batch that fails is halved
//! until the poison passage stands alone. After a bounded number of batches it ends,
//! so that one user's rebuild cannot starve another's.

mod send;
mod signs;
pub(super) mod store;

use std::collections::HashSet;
use std::time::Duration as StdDuration;

use rand::Rng;
use time::{Duration, OffsetDateTime};

use self::send::{Answered, Trouble};
use super::keys::endpoint;
use super::model::{Row, Space, TokenSigns, tokens_of};
use super::query::OTHER_WIDTH;
use super::spaces::Spaces;
use super::{COMPARED_FOR, EmbeddingError, Embeddings, PENDING_MAX, RETIRED_FOR};
use crate::db::{Tx, UserId, note_changes};
use crate::input::sentence;
use crate::providers::settings::{self, Pace, SYSTEM_KEY, own_key};
use crate::providers::{BuiltinFlaw, Endpoint, EndpointUrl, ProviderError, ProviderType, Reach};
use crate::queue::Slice;

/// Texts of a page that is read from the database at once.
const TEXTS_A_PAGE: usize = 256;
/// Of the builtin model on two cores: half a second, whatever the length of its texts (bench/RESULTS.md).
const BUILTIN_TOKENS_A_BATCH: usize = 750;
const BACK_OFF: Duration = Duration::seconds(2);
const BACK_OFF_MAX: Duration = Duration::minutes(5);

/// How a job ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drained {
    /// Nothing waits.
    Done,
    /// About so many tokens more wait, for another slice.
    More(usize),
    /// Something waits that may not be tried before.
    Later(OffsetDateTime),
}

/// A space whose passages are sent.
#[derive(Clone, Copy)]
struct Of<'a> {
    space: &'a Space,
    /// Searches compare with it.
    serves: bool,
    /// What made the same vectors before.
    kept: Option<&'a Space>,
    /// Its first passages get the signs of their tokens.
    with_signs: bool,
    makes: Makes,
}

/// What is sent for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Makes {
    /// The vectors of what is pending, with signs where these are wanted.
    Vectors,
    /// The signs of what has its vector and none of them.
    Signs,
}

impl Embeddings {
    /// Works on one user's vectors until nothing waits or the slice is over. The job of the user is
    /// the caller's meanwhile: two at once would send the same texts. Nothing is done for a user who is disabled; the sweep brings the work on again once they are enabled.
    pub async fn drain(&self, user: UserId, slice: &Slice) -> Result<Drained, EmbeddingError> {
        let mut tx = self.0.db.as_user(user).await?;
        if store::is_disabled(&mut tx, user).await? {
            return Ok(Drained::Done);
        }
        tx.commit().await?;
        self.follow_if_behind(user).await?;
        let spaces = self.remove_outlived(user).await?;
        let mut tx = self.0.db.as_user(user).await?;
        let (user_settings, effective) = self.effective(&mut tx, user).await?;
        tx.commit().await?;
        if effective.settings().is_none() {
            return Ok(Drained::Done);
        }
        let system = self.system_settings().await?;
        let serving = spaces.serving().map(|space| space.id);
        let mut outcome = Drained::Done;
        for space in [&spaces.active, &spaces.building].into_iter().flatten() {
            let is_own = space.settings.system_provider_id.is_none()
                && space.settings.provider_type != ProviderType::Builtin;
            let pace = if is_own {
                user_settings.pace
            } else {
                system.pace
            };
            let is_building = space.activated_at.is_none();
            // Boxed: the state of all calls to a provider is large.
            let of = Of {
                space,
                serves: Some(space.id) == serving,
                kept: spaces.known_to(space),
                with_signs: system.late_interaction
                    && space.settings.provider_type == ProviderType::Builtin,
                makes: Makes::Vectors,
            };
            let signs = self.begin_signs(user, of).await?;
            let mut drained = Box::pin(self.drain_space(user, of, pace, slice)).await?;
            if drained == Drained::Done && is_building {
                if self.swap(user, space).await? {
                    // Items came in between.
                    drained = Drained::More(1);
                }
                self.remove_outlived(user).await?;
            }
            if drained == Drained::Done && signs == TokenSigns::Some {
                drained = Box::pin(self.end_signs(user, of, pace, slice)).await?;
            }
            outcome = outcome.and(drained);
        }
        Ok(outcome)
    }

    /// What retired and is of no use goes, and the keys of what is only kept. Returns what is left.
    async fn remove_outlived(&self, user: UserId) -> Result<Spaces, sqlx::Error> {
        let now = self.0.clock.now();
        let mut tx = self.0.db.as_user(user).await?;
        let mut spaces = Spaces::of(&mut tx, user).await?;
        let outlived = spaces.outlived(now);
        if !outlived.is_empty() {
            super::store::delete_retired(&mut tx, user, &outlived).await?;
            spaces
                .retired
                .retain(|space| !outlived.contains(&space.id.0));
        }
        if !spaces.retired.is_empty() {
            super::store::forget_old_keys(&mut tx, user, now - COMPARED_FOR).await?;
        }
        tx.commit().await?;
        Ok(spaces)
    }

    async fn drain_space(
        &self,
        user: UserId,
        of: Of<'_>,
        pace: Pace,
        slice: &Slice,
    ) -> Result<Drained, EmbeddingError> {
        let space = of.space;
        let mut tx = self.0.db.as_user_again(user).await?;
        store::set_full(&mut tx, user, space.id, PENDING_MAX).await?;
        let waits = of.makes == Makes::Signs || store::has_pending(&mut tx, user, space.id).await?;
        let now = self.0.clock.now();
        tx.commit().await?;
        if !waits {
            return Ok(Drained::Done);
        }
        if let Some(again) = space.retry_at.filter(|at| *at > now) {
            return Ok(Drained::Later(again));
        }
        let sent = self.send_pending(user, of, pace, slice).await?;
        let mut tx = self.0.db.as_user_again(user).await?;
        let signs = of.makes == Makes::Signs;
        let lengths = store::list_lengths_to_send(&mut tx, user, space.id, signs).await?;
        let left = lengths.into_iter().map(tokens_of).sum();
        let mut paused_until = None;
        if let Sent::UntilPause(pause) = sent {
            // In the space's row, so that what is added meanwhile waits as well.
            let until = self.0.clock.now() + pause;
            store::set_pause(&mut tx, user, space.id, until).await?;
            paused_until = Some(until);
        }
        tx.commit().await?;
        match (sent, paused_until) {
            (Sent::UntilTrouble(trouble), _) => {
                Ok(Drained::Later(self.note(user, space, trouble).await?))
            }
            _ if left == 0 => Ok(Drained::Done),
            (_, Some(until)) => Ok(Drained::Later(until)),
            _ => Ok(Drained::More(left)),
        }
    }

    /// Sends what waits until the slice is over. The write of one group and the call for
    /// the next go side by side.
    async fn send_pending(
        &self,
        user: UserId,
        of: Of<'_>,
        pace: Pace,
        slice: &Slice,
    ) -> Result<Sent, EmbeddingError> {
        let space = of.space;
        let endpoint = match self.endpoint(user, space).await {
            Ok(endpoint) => endpoint,
            Err(EmbeddingError::Database(error)) => return Err(error.into()),
            Err(error) => {
                return Ok(Sent::UntilTrouble(Trouble {
                    sentence: sentence(&error.to_string()),
                    retry_after: None,
                }));
            }
        };
        slice.calls(endpoint.url.as_str());
        let batch = pace.batch_size.max(1) as usize;
        let group = batch * pace.concurrency.max(1) as usize;
        let mut after = (false, 0, 0);
        let mut to_write: Option<Answered> = None;
        'pages: loop {
            let page_size = TEXTS_A_PAGE.next_multiple_of(group).max(group);
            let mut tx = self.0.db.as_user_again(user).await?;
            let page = match of.makes {
                Makes::Vectors => {
                    let (known, signs) = (of.known(), of.with_signs);
                    let size = page_size as i64;
                    store::list_pending(&mut tx, user, &known, signs, after, size).await?
                }
                Makes::Signs => {
                    let (space, size) = (space.id, page_size as i64);
                    store::list_without_signs(&mut tx, user, space, after.1, size).await?
                }
            };
            tx.commit().await?;
            let Some(last) = page.last() else { break };
            after = (last.is_turn, last.source_id, last.passage);
            let unknown = self.copy_known(user, of, page, slice).await?;
            let mut rest = unknown.as_slice();
            if slice.is_over() {
                break;
            }
            while !rest.is_empty() {
                let (rows, more) = rest.split_at(first_group(space, rest, group));
                rest = more;
                if slice.is_over() {
                    break 'pages;
                }
                let calls = self.send_group(&endpoint, of, rows, batch);
                let write = self.write(user, of, to_write.take());
                let (answered, written) = tokio::join!(calls, write);
                if let Some(trouble) = written? {
                    return Ok(Sent::UntilTrouble(trouble));
                }
                slice.note(answered.written.len(), 0);
                let is_trouble = answered.trouble.is_some();
                to_write = Some(answered);
                if is_trouble {
                    break 'pages;
                }
                if pace.pause_ms > 0 {
                    // Whoever pauses holds no place that another could have.
                    let trouble = self.write(user, of, to_write).await?;
                    let pause = Duration::milliseconds(pace.pause_ms.into());
                    return Ok(trouble.map_or(Sent::UntilPause(pause), Sent::UntilTrouble));
                }
            }
        }
        let trouble = self.write(user, of, to_write).await?;
        Ok(trouble.map_or(Sent::Slice, Sent::UntilTrouble))
    }

    /// Copies the vectors that were made of the same texts before. Returns the rows that have none.
    async fn copy_known(
        &self,
        user: UserId,
        of: Of<'_>,
        page: Vec<Row>,
        slice: &Slice,
    ) -> Result<Vec<Row>, EmbeddingError> {
        if page.iter().all(|row| row.known_space.is_none()) {
            return Ok(page);
        }
        let Of { space, kept, .. } = of;
        let mut tx = self.to_write(user, of).await?;
        if let Some(width) = kept.and_then(|kept| kept.dimensions)
            && !store::keep_dimensions(&mut tx, user, space.id, width).await?
        {
            return Ok(page);
        }
        let now = self.0.clock.now();
        let copied = store::copy_known(&mut tx, user, space.id, &page, now).await?;
        if of.serves {
            let sources: Vec<i64> = copied.iter().map(|(source, _)| *source).collect();
            note_changes(&mut tx, &sources).await?;
        }
        tx.commit().await?;
        slice.note(copied.len(), 0);
        let copied: HashSet<_> = copied.into_iter().collect();
        let is_left = |row: &Row| !copied.contains(&(row.source_id, row.passage));
        Ok(page.into_iter().filter(is_left).collect())
    }

    /// Where a space that takes over vectors meets others by now, it is built anew without them.
    async fn begin_again(&self, user: UserId, of: Of<'_>) -> Result<(), sqlx::Error> {
        if of.kept.is_none() || of.space.activated_at.is_some() {
            return Ok(());
        }
        let outlived = self.0.clock.now() - RETIRED_FOR * 2;
        let mut tx = self.0.db.as_writer(user).await?;
        let building = Spaces::of(&mut tx, user).await?.building;
        if building.is_none_or(|building| building.id != of.space.id) {
            return Ok(());
        }
        super::store::let_go(&mut tx, user, &of.space.settings, outlived).await?;
        super::store::delete_building(&mut tx, user).await?;
        tx.commit().await
    }

    /// What serves changes for searches with each vector; signs they read as they are.
    async fn to_write(&self, user: UserId, of: Of<'_>) -> Result<Tx, sqlx::Error> {
        match of.serves && of.makes == Makes::Vectors {
            true => self.0.db.as_writer(user).await,
            false => self.0.db.as_user_again(user).await,
        }
    }

    /// Writes what came, under the guards. Another width than the space's is
    /// trouble, and nothing of it is written.
    async fn write(
        &self,
        user: UserId,
        of: Of<'_>,
        answered: Option<Answered>,
    ) -> Result<Option<Trouble>, EmbeddingError> {
        let Some(answered) = answered else {
            return Ok(None);
        };
        let space = of.space;
        let mut tx = self.to_write(user, of).await?;
        if let Some(width) = answered.width {
            let width = i32::try_from(width).unwrap_or(i32::MAX);
            if !store::keep_dimensions(&mut tx, user, space.id, width).await? {
                tx.rollback().await?;
                self.begin_again(user, of).await?;
                return Ok(Some(Trouble {
                    sentence: sentence(OTHER_WIDTH),
                    retry_after: None,
                }));
            }
        }
        if !answered.written.is_empty() {
            let written = &answered.written;
            if of.makes == Makes::Signs {
                store::write_signs(&mut tx, user, space.id, written).await?;
            } else {
                let now = self.0.clock.now();
                let sources = store::write_answers(&mut tx, user, space.id, written, now).await?;
                if of.serves {
                    note_changes(&mut tx, &sources).await?;
                }
            }
            super::store::clear_problem(&mut tx, user, space.id).await?;
        }
        tx.commit().await?;
        Ok(answered.trouble)
    }

    /// Keeps what is wrong where the page shows it, and when to try again where a
    /// restart does not lose it.
    async fn note(
        &self,
        user: UserId,
        space: &Space,
        trouble: Trouble,
    ) -> Result<OffsetDateTime, EmbeddingError> {
        let mut tx = self.0.db.as_user(user).await?;
        let failures = store::count_failures(&mut tx, user, space.id).await?;
        let retry_at = self.0.clock.now() + back_off(failures, trouble.retry_after);
        store::set_problem(&mut tx, user, space.id, &trouble.sentence, retry_at).await?;
        tx.commit().await?;
        tracing::warn!(
            user = user.0,
            space = space.id.0,
            reason = trouble.sentence,
            "no vectors can be made for now"
        );
        Ok(retry_at)
    }

    /// All that a call for this space needs; the key is opened here, and only here.
    pub(super) async fn endpoint(
        &self,
        user: UserId,
        space: &Space,
    ) -> Result<Endpoint, EmbeddingError> {
        let settings = &space.settings;
        if settings.provider_type == ProviderType::Builtin {
            if !self.system_settings().await?.builtin_enabled {
                return Err(ProviderError::BuiltinMissing(BuiltinFlaw::Off).into());
            }
            return Ok(Endpoint::builtin());
        }
        let url = EndpointUrl::parse("url", &settings.endpoint)?;
        let (key, bound, reach) = match settings.system_provider_id {
            Some(id) => {
                let in_force = self.system_settings().await?.provider;
                let in_force = in_force.filter(|p| p.system_provider_id == Some(id));
                let key = match in_force {
                    Some(provider) => provider.sealed_key,
                    None => {
                        let mut conn = self.0.db.system_connection().await?;
                        settings::store::find_system_key(&mut conn, id).await?
                    }
                };
                (key, SYSTEM_KEY, Reach::Private)
            }
            None => {
                let reach = self.reach(user, &url).await?;
                (settings.sealed_key.clone(), own_key(user), reach)
            }
        };
        let key = key
            .map(|sealed| self.0.sealer.open(bound, &sealed))
            .transpose()?;
        Ok(endpoint(settings, url, key, reach))
    }
}

impl Of<'_> {
    /// Of the spaces whose vectors it may have, itself first.
    fn known(self) -> Vec<i64> {
        let kept = self.kept.map(|kept| kept.id.0);
        [self.space.id.0].into_iter().chain(kept).collect()
    }
}

/// How far a slice came.
enum Sent {
    /// Until nothing was pending or the slice was over.
    Slice,
    /// Its user wants a pause between batches.
    UntilPause(Duration),
    UntilTrouble(Trouble),
}

/// How many of these rows are sent together: `group` at most, and no more than the builtin model
/// does in about half a second.
fn first_group(space: &Space, rows: &[Row], group: usize) -> usize {
    if space.settings.provider_type != ProviderType::Builtin {
        return group.min(rows.len());
    }
    let mut tokens = 0;
    let within = rows.iter().take_while(|row| {
        tokens += tokens_of(row.content.len());
        tokens <= BUILTIN_TOKENS_A_BATCH
    });
    within.count().clamp(1, group)
}

impl Drained {
    /// Of two spaces: what a next job must heed.
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::More(a), Self::More(b)) => Self::More(a + b),
            (Self::More(left), _) | (_, Self::More(left)) => Self::More(left),
            (Self::Later(a), Self::Later(b)) => Self::Later(a.min(b)),
            (Self::Later(a), Self::Done) | (Self::Done, Self::Later(a)) => Self::Later(a),
            (Self::Done, Self::Done) => Self::Done,
        }
    }
}

/// Twice as long each time, within a quarter of chance, and never shorter than
/// the endpoint asks for.
fn back_off(failures: i32, retry_after: Option<StdDuration>) -> Duration {
    let doublings = failures.clamp(0, 10).unsigned_abs();
    let planned = (BACK_OFF * 2_i32.pow(doublings)).min(BACK_OFF_MAX);
    let jittered: Duration = planned * rand::rng().random_range(0.75..1.25_f64);
    let asked = retry_after.and_then(|d| Duration::try_from(d).ok());
    // Nobody may keep us away for longer than an hour.
    jittered.max(asked.unwrap_or(Duration::ZERO).min(Duration::hours(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn back_off_doubles_up_to_its_limit_and_heeds_what_is_asked_for() {
        for (failures, seconds) in [(0, 2.0), (1, 4.0), (5, 64.0), (9, 300.0), (1_000, 300.0)] {
            let waits = back_off(failures, None).as_seconds_f64();
            assert!(
                (seconds * 0.75..=seconds * 1.25).contains(&waits),
                "{failures}: {waits}"
            );
        }
        assert_eq!(
            back_off(0, Some(StdDuration::from_secs(90))),
            Duration::seconds(90)
        );
        assert_eq!(
            back_off(0, Some(StdDuration::from_secs(86_400))),
            Duration::hours(1)
        );
    }
}
