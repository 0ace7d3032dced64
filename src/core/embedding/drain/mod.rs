//! The job that embeds a user's pending passages in batches. It holds no connection during a provider call, and writes one
//! batch while the next is in flight. Known texts are copied instead of sent. A failing batch is halved until the bad passage
//! is isolated. A job ends after a slice, so that one user's rebuild cannot starve the others.

mod send;
mod signs;
pub(super) mod store;
mod swap;

use std::collections::HashSet;
use std::time::Duration as StdDuration;

use rand::Rng;
use time::{Duration, OffsetDateTime};

use self::send::{BatchOutcome, SpaceTrouble};
use super::model::{PendingPassage, Space, TokenSigns, tokens_of};
use super::query::{OTHER_WIDTH, WAIT_MAX};
use super::spaces::Spaces;
use super::store::set_wait;
use super::{COMPARED_FOR, EmbeddingError, Embeddings, PENDING_MAX, RETIRED_FOR};
use crate::db::{Tx, UserId, note_changes};
use crate::input::sentence;
use crate::providers::settings::{
    self, EndpointPurpose, Pace, SYSTEM_EMBEDDING_KEY, own_embedding_key,
};
use crate::providers::{BuiltinFlaw, Endpoint, EndpointUrl, ProviderError, Reach};
use crate::queue::Slice;
use crate::quota;

/// Page size when reading pending texts.
const TEXTS_A_PAGE: usize = 256;
/// About half a second for the builtin model on two cores, for texts of any length (bench/RESULTS.md).
const BUILTIN_TOKENS_A_BATCH: usize = 750;
const BACK_OFF: Duration = Duration::seconds(2);
const BACK_OFF_MAX: Duration = Duration::minutes(5);

/// The result of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drained {
    /// Nothing is pending.
    Done,
    /// About this many tokens are left for the next slice.
    More(usize),
    /// Something is pending, but must not be tried before this time.
    Later(OffsetDateTime),
}

/// A space to work on.
#[derive(Clone, Copy)]
struct SpaceWork<'a> {
    space: &'a Space,
    /// Searches use it.
    serves: bool,
    /// The retired space whose embeddings it can reuse.
    kept: Option<&'a Space>,
    /// What is compared token by token gets token signs.
    with_signs: bool,
    work: DrainWork,
}

/// What the calls are for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DrainWork {
    /// Embeddings of pending passages, with token signs if wanted.
    Vectors,
    /// Token signs of passages that have an embedding only.
    Signs,
}

impl Embeddings {
    /// Embeds a user's passages until nothing is pending or the slice is over. The caller must hold the user's job: two at
    /// once would send the same texts. Does nothing for a disabled user; the sweep resumes the work when enabled again.
    pub async fn drain(&self, user: UserId, slice: &Slice) -> Result<Drained, EmbeddingError> {
        let mut tx = self.db.as_user(user).await?;
        if store::is_disabled(&mut tx, user).await? {
            return Ok(Drained::Done);
        }
        tx.commit().await?;
        self.follow_if_behind(user).await?;
        let spaces = self.remove_outlived(user).await?;
        let mut tx = self.db.as_user(user).await?;
        let (user_settings, effective) = self.effective(&mut tx, user).await?;
        tx.commit().await?;
        if effective.settings().is_none() {
            return Ok(Drained::Done);
        }
        if let Some(again) = self.quota().full_until(user, slice).await? {
            return Ok(Drained::Later(again));
        }
        let system = self.system_settings().await?;
        let serving = spaces.serving().map(|space| space.id);
        let mut outcome = Drained::Done;
        for space in [&spaces.active, &spaces.building].into_iter().flatten() {
            let is_own =
                space.settings.system_provider_id.is_none() && !space.settings.is_builtin();
            let pace = if is_own { user_settings.pace } else { system.pace };
            let is_building = space.activated_at.is_none();
            // Boxed because the state of the provider calls is large.
            let of = SpaceWork {
                space,
                serves: Some(space.id) == serving,
                kept: spaces.known_to(space),
                with_signs: system.late_interaction && space.settings.is_builtin(),
                work: DrainWork::Vectors,
            };
            let signs = self.begin_signs(user, of).await?;
            let mut drained = Box::pin(self.drain_space(user, of, pace, slice)).await?;
            if drained == Drained::Done && is_building {
                if self.swap(user, space).await? {
                    // Items were added meanwhile.
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

    /// Deletes retired spaces that are of no more use, and the keys of those that are only kept. Returns the rest.
    async fn remove_outlived(&self, user: UserId) -> Result<Spaces, sqlx::Error> {
        let now = self.now();
        let mut tx = self.db.as_user(user).await?;
        let mut spaces = Spaces::of(&mut tx, user).await?;
        let outlived = spaces.outlived(now);
        if !outlived.is_empty() {
            super::store::delete_retired(&mut tx, user, &outlived).await?;
            quota::recount_soon(&mut tx, user, now).await?;
            spaces.retired.retain(|space| !outlived.contains(&space.id.0));
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
        of: SpaceWork<'_>,
        pace: Pace,
        slice: &Slice,
    ) -> Result<Drained, EmbeddingError> {
        let space = of.space;
        let mut tx = self.db.as_user_async_commit(user).await?;
        store::set_full(&mut tx, user, space.id, PENDING_MAX).await?;
        let waits =
            of.work == DrainWork::Signs || store::has_pending(&mut tx, user, space.id).await?;
        let now = self.now();
        tx.commit().await?;
        if !waits {
            return Ok(Drained::Done);
        }
        if let Some(again) = space.retry_at.max(space.wait_until).filter(|at| *at > now) {
            return Ok(Drained::Later(again));
        }
        let sent = self.send_pending(user, of, pace, slice).await?;
        let mut tx = self.db.as_user_async_commit(user).await?;
        let signs = of.work == DrainWork::Signs;
        let lengths = store::list_lengths_to_send(&mut tx, user, space.id, signs).await?;
        let left = lengths.into_iter().map(tokens_of).sum();
        let mut paused_until = None;
        if let SliceEnd::UntilPause(pause) = sent {
            // Stored in the space's row, so that work added meanwhile is delayed too.
            let until = self.now() + pause;
            store::set_pause(&mut tx, user, space.id, until).await?;
            paused_until = Some(until);
        }
        tx.commit().await?;
        match (sent, paused_until) {
            (SliceEnd::UntilTrouble(trouble), _) => {
                Ok(Drained::Later(self.note(user, space, trouble).await?))
            }
            _ if left == 0 => Ok(Drained::Done),
            (_, Some(until)) => Ok(Drained::Later(until)),
            _ => Ok(Drained::More(left)),
        }
    }

    /// Sends pending texts until the slice is over. Writes one group while the next call is in flight.
    async fn send_pending(
        &self,
        user: UserId,
        of: SpaceWork<'_>,
        pace: Pace,
        slice: &Slice,
    ) -> Result<SliceEnd, EmbeddingError> {
        let space = of.space;
        let endpoint = match self.endpoint(user, space).await {
            Ok(endpoint) => endpoint,
            Err(EmbeddingError::Database(error)) => return Err(error.into()),
            Err(error) => {
                return Ok(SliceEnd::UntilTrouble(SpaceTrouble {
                    sentence: sentence(&error.to_string()),
                    retry_after: None,
                }));
            }
        };
        slice.calls(endpoint.url.as_str());
        let batch = pace.batch_size.max(1) as usize;
        let group = batch * pace.concurrency.max(1) as usize;
        let mut after = (false, 0, 0);
        let mut to_write: Option<BatchOutcome> = None;
        'pages: loop {
            let page_size = TEXTS_A_PAGE.next_multiple_of(group).max(group);
            let mut tx = self.db.as_user_async_commit(user).await?;
            let page = match of.work {
                DrainWork::Vectors => {
                    let (known, signs) = (of.known(), of.with_signs);
                    let size = page_size as i64;
                    store::list_pending(&mut tx, user, &known, signs, after, size).await?
                }
                DrainWork::Signs => {
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
                    return Ok(SliceEnd::UntilTrouble(trouble));
                }
                slice.note(answered.written.len(), 0);
                let is_trouble = answered.trouble.is_some();
                to_write = Some(answered);
                if is_trouble {
                    break 'pages;
                }
                if pace.pause_ms > 0 {
                    // End the job during the pause, so that another user can use its slot.
                    let trouble = self.write(user, of, to_write).await?;
                    let pause = Duration::milliseconds(pace.pause_ms.into());
                    return Ok(trouble.map_or(SliceEnd::UntilPause(pause), SliceEnd::UntilTrouble));
                }
            }
        }
        let trouble = self.write(user, of, to_write).await?;
        Ok(trouble.map_or(SliceEnd::Slice, SliceEnd::UntilTrouble))
    }

    /// Copies existing embeddings of the same texts. Returns the rows without one.
    async fn copy_known(
        &self,
        user: UserId,
        of: SpaceWork<'_>,
        page: Vec<PendingPassage>,
        slice: &Slice,
    ) -> Result<Vec<PendingPassage>, EmbeddingError> {
        if page.iter().all(|row| row.known_space.is_none()) {
            return Ok(page);
        }
        let SpaceWork { space, kept, .. } = of;
        let mut tx = self.to_write(user, of).await?;
        if let Some(width) = kept.and_then(|kept| kept.dimensions)
            && !store::keep_dimensions(&mut tx, user, space.id, width).await?
        {
            return Ok(page);
        }
        let now = self.now();
        let copied = store::copy_known(&mut tx, user, space.id, &page, now).await?;
        if of.serves {
            let sources: Vec<i64> = copied.iter().map(|(source, _)| *source).collect();
            note_changes(&mut tx, &sources).await?;
        }
        tx.commit().await?;
        slice.note(copied.len(), 0);
        let copied: HashSet<_> = copied.into_iter().collect();
        let is_left = |row: &PendingPassage| !copied.contains(&(row.source_id, row.passage));
        Ok(page.into_iter().filter(is_left).collect())
    }

    /// If a space's reused embeddings have other dimensions than the new ones, deletes it, to be rebuilt without reuse.
    async fn begin_again(&self, user: UserId, of: SpaceWork<'_>) -> Result<(), sqlx::Error> {
        if of.kept.is_none() || of.space.activated_at.is_some() {
            return Ok(());
        }
        let outlived = self.now() - RETIRED_FOR * 2;
        let mut tx = self.db.as_writer(user).await?;
        let building = Spaces::of(&mut tx, user).await?.building;
        if building.is_none_or(|building| building.id != of.space.id) {
            return Ok(());
        }
        super::store::let_go(&mut tx, user, &of.space.settings, outlived).await?;
        super::store::delete_building(&mut tx, user).await?;
        tx.commit().await
    }

    /// An embedding in the serving space changes searches, so it needs a write transaction; token signs do not.
    async fn to_write(&self, user: UserId, of: SpaceWork<'_>) -> Result<Tx, sqlx::Error> {
        match of.serves && of.work == DrainWork::Vectors {
            true => self.db.as_writer(user).await,
            false => self.db.as_user_async_commit(user).await,
        }
    }

    /// Writes a group's results, if they are still current. Different dimensions than the space's are a problem; then nothing
    /// is written.
    async fn write(
        &self,
        user: UserId,
        of: SpaceWork<'_>,
        answered: Option<BatchOutcome>,
    ) -> Result<Option<SpaceTrouble>, EmbeddingError> {
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
                return Ok(Some(SpaceTrouble {
                    sentence: sentence(OTHER_WIDTH),
                    retry_after: None,
                }));
            }
        }
        if !answered.written.is_empty() {
            let written = &answered.written;
            if of.work == DrainWork::Signs {
                store::write_signs(&mut tx, user, space.id, written).await?;
            } else {
                let now = self.now();
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

    /// Stores the problem for the page, and the time of the next attempt, which must survive a restart.
    async fn note(
        &self,
        user: UserId,
        space: &Space,
        trouble: SpaceTrouble,
    ) -> Result<OffsetDateTime, EmbeddingError> {
        let mut tx = self.db.as_user(user).await?;
        let failures = store::count_failures(&mut tx, user, space.id).await?;
        let retry_at = self.now() + back_off(failures, trouble.retry_after);
        store::set_problem(&mut tx, user, space.id, &trouble.sentence, retry_at).await?;
        if trouble.retry_after.is_some() {
            set_wait(&mut tx, user, space.id, retry_at).await?;
        }
        tx.commit().await?;
        tracing::warn!(
            user = user.0,
            space = space.id.0,
            reason = trouble.sentence,
            "no vectors can be made for now"
        );
        Ok(retry_at)
    }

    /// The endpoint of a space. This is the only place where its key is opened.
    pub(super) async fn endpoint(
        &self,
        user: UserId,
        space: &Space,
    ) -> Result<Endpoint, EmbeddingError> {
        let settings = &space.settings;
        if settings.is_builtin() {
            if !self.system_settings().await?.builtin_enabled {
                return Err(ProviderError::BuiltinMissing(BuiltinFlaw::Off).into());
            }
            return Ok(Endpoint::builtin(&settings.endpoint.model));
        }
        let url = EndpointUrl::parse("url", &settings.endpoint.url)?;
        let sealer = &self.shared.sealer;
        let Some(id) = settings.system_provider_id else {
            let reach = EndpointPurpose::Models.reach(&self.db, Some(user), &url).await?;
            return Ok(settings.open(sealer, own_embedding_key(user), url, reach)?);
        };
        let in_force = self.system_settings().await?.provider;
        let in_force = in_force.filter(|p| p.system_provider_id == Some(id));
        let mut settings = settings.clone();
        settings.endpoint.sealed_key = match in_force {
            Some(provider) => {
                settings.endpoint.key_header = provider.endpoint.key_header;
                provider.endpoint.sealed_key
            }
            None => {
                let mut conn = self.db.system_connection().await?;
                settings::store::find_system_key(&mut conn, id).await?
            }
        };
        Ok(settings.open(sealer, SYSTEM_EMBEDDING_KEY, url, Reach::Private)?)
    }
}

impl SpaceWork<'_> {
    /// The spaces whose embeddings it can use, itself first.
    fn known(self) -> Vec<i64> {
        let kept = self.kept.map(|kept| kept.id.0);
        [self.space.id.0].into_iter().chain(kept).collect()
    }
}

/// How a slice ended.
enum SliceEnd {
    /// Nothing was pending, or the slice was over.
    Slice,
    /// The user's settings want a pause between batches.
    UntilPause(Duration),
    UntilTrouble(SpaceTrouble),
}

/// How many of these rows to send together: at most `group`, and for the builtin model about half a second of work.
fn first_group(space: &Space, rows: &[PendingPassage], group: usize) -> usize {
    if !space.settings.is_builtin() {
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
    /// Combines the results of two spaces.
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

/// Exponential backoff with 25 % jitter, at least as long as the endpoint asks for.
fn back_off(failures: i32, retry_after: Option<StdDuration>) -> Duration {
    let doublings = failures.clamp(0, 10).unsigned_abs();
    let planned = (BACK_OFF * 2_i32.pow(doublings)).min(BACK_OFF_MAX);
    let jittered: Duration = planned * rand::rng().random_range(0.75..1.25_f64);
    let asked = retry_after.and_then(|d| Duration::try_from(d.min(WAIT_MAX)).ok());
    jittered.max(asked.unwrap_or(Duration::ZERO))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn back_off_doubles_up_to_its_limit_and_heeds_what_is_asked_for() {
        for (failures, seconds) in [(0, 2.0), (1, 4.0), (5, 64.0), (9, 300.0), (1_000, 300.0)] {
            let waits = back_off(failures, None).as_seconds_f64();
            assert!((seconds * 0.75..=seconds * 1.25).contains(&waits), "{failures}: {waits}");
        }
        assert_eq!(back_off(0, Some(StdDuration::from_secs(90))), Duration::seconds(90));
        assert_eq!(back_off(0, Some(StdDuration::from_secs(86_400))), Duration::hours(1));
    }
}
