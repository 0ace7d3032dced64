//! Measures what a rebuild changed, when its user asks for it: once per rebuild, within a day and before the
//! next rebuild. The request and each question with its results are rows, so that work continues after a
//! crash and can yield to other jobs between two questions. The questions are deleted at the end.

mod store;

use time::{Duration, OffsetDateTime};

use super::model::{AskedCounts, SideScores, SpaceSide};
use super::own::TEXTS_MAX;
use super::questions::{self, Estimate, ITEM_CHARS_MAX, ITEMS_A_CALL, QUESTIONS_MIN};
use super::{Evaluation, EvaluationError, store as kept};
use crate::db::UserId;
use crate::embedding::model::Space;
use crate::embedding::{Compared, Drained};
use crate::input::sentence;
use crate::providers::chat::ChatError;
use crate::queue::{self, Slice};
use store::MeasurementRequest;

/// Measurements kept per user.
const MEASUREMENTS_KEPT: i64 = 20;
/// After this many failed calls in a row, over some minutes, the model is given up.
const SILENCES_MAX: i32 = 8;
const BACK_OFF: Duration = Duration::seconds(2);

/// The state of measuring the last rebuild.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MeasurementState {
    /// There is nothing to compare.
    Nothing,
    /// It can be requested.
    Offered(MeasurementOffer),
    /// Answers so far.
    UnderWay {
        answers: i64,
        /// 0: the questions are not made yet.
        total: i64,
    },
    /// Why nothing was measured.
    GivenUp(String),
    Measured,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeasurementOffer {
    pub estimate: Estimate,
    /// The offer expires then, or when another rebuild begins.
    pub until: OffsetDateTime,
}

/// The outcome of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestOutcome {
    Begun,
    UnderWay,
    /// It was measured already, or given up.
    Over,
    /// The day is over, or another rebuild has begun.
    Gone,
    TooFew,
}

impl RequestOutcome {
    pub fn sentence(self) -> &'static str {
        match self {
            Self::Begun => "The same questions are asked of the old vectors and of the new.",
            Self::UnderWay => "It is being measured already.",
            Self::Over => {
                "This change was measured already; what the next rebuild changes can be measured again."
            }
            Self::Gone => {
                "There is nothing to compare with: a change can be measured for a day, until another rebuild begins."
            }
            Self::TooFew => {
                "There are too few memories to measure: at least 10 are needed that were there before the rebuild."
            }
        }
    }
}

impl Evaluation {
    pub async fn standing(&self, user: UserId) -> Result<MeasurementState, ChatError> {
        let now = self.embeddings.now();
        let mut tx = self.db.as_user(user).await?;
        if let Some(request) = store::find_open(&mut tx, user).await? {
            let (answers, total) = store::count_answers(&mut tx, user, &request).await?;
            return Ok(MeasurementState::UnderWay { answers, total });
        }
        let Some(Compared { now: space, before }) = self.embeddings.compared(&mut tx, user).await?
        else {
            return Ok(MeasurementState::Nothing);
        };
        let ended = store::find_ended(&mut tx, user, space.id).await?;
        match (ended, before) {
            (Some(None), _) => Ok(MeasurementState::Measured),
            // Shown for as long as it could have been measured.
            (Some(Some(problem)), Some(_)) => Ok(MeasurementState::GivenUp(problem)),
            (Some(Some(_)), None) | (None, None) => Ok(MeasurementState::Nothing),
            (None, Some(before)) => {
                let bounds = (TEXTS_MAX, ITEM_CHARS_MAX);
                let sample = kept::sample(&mut tx, user, before.space.id, bounds, now).await?;
                tx.commit().await?;
                let items = usize::try_from(sample.items).unwrap_or_default();
                if items < QUESTIONS_MIN {
                    return Ok(MeasurementState::Nothing);
                }
                let (_, chat) = self.chat.chosen(user).await?;
                let prefix = |space: &Space| space.settings.query_prefix.chars().count();
                let prefix_chars = prefix(&space).max(prefix(&before.space)) as u64;
                let chars = sample.chars.unsigned_abs();
                let has_model = chat.settings().is_some();
                Ok(MeasurementState::Offered(MeasurementOffer {
                    estimate: questions::estimate(items, chars, prefix_chars, has_model),
                    until: before.until,
                }))
            }
        }
    }

    /// Requests a measurement of the last rebuild.
    pub async fn ask_for(&self, user: UserId) -> Result<RequestOutcome, sqlx::Error> {
        let now = self.embeddings.now();
        let mut tx = self.db.as_user(user).await?;
        if store::find_open(&mut tx, user).await?.is_some() {
            return Ok(RequestOutcome::UnderWay);
        }
        let Some(Compared { now: space, before: Some(before) }) =
            self.embeddings.compared(&mut tx, user).await?
        else {
            return Ok(RequestOutcome::Gone);
        };
        let bounds = (QUESTIONS_MIN as i64, 1);
        let sample = kept::sample(&mut tx, user, before.space.id, bounds, now).await?;
        if sample.items < QUESTIONS_MIN as i64 {
            return Ok(RequestOutcome::TooFew);
        }
        if !store::insert(&mut tx, user, space.id, before.space.id, now).await? {
            return Ok(RequestOutcome::Over);
        }
        store::delete_older(&mut tx, user, MEASUREMENTS_KEPT).await?;
        queue::push_now(&mut tx, user, queue::EVALUATE, now).await?;
        tx.commit().await?;
        Ok(RequestOutcome::Begun)
    }

    /// Users whose measurement is in progress.
    pub async fn users_asked(&self) -> Result<Vec<UserId>, EvaluationError> {
        let mut conn = self.db.system_connection().await?;
        Ok(store::list_users(&mut conn).await?)
    }

    /// Continues the user's measurement until it ends or the slice is over, checked after each model call.
    /// Idempotent; if it is killed, one call is repeated.
    pub async fn continue_measurement(
        &self,
        user: UserId,
        slice: &Slice,
    ) -> Result<Drained, EvaluationError> {
        loop {
            let mut tx = self.db.as_user(user).await?;
            let Some(request) = store::find_open(&mut tx, user).await? else {
                return Ok(Drained::Done);
            };
            let compared = self.embeddings.compared(&mut tx, user).await?;
            tx.commit().await?;
            let stepped = match spaces_of(&request, compared) {
                Ok(spaces) => self.step(user, &request, &spaces).await,
                Err(why) => Ok(MeasurementStep::GiveUp(why.to_owned())),
            };
            let step = match stepped {
                Err(few @ EvaluationError::TooFew { .. }) => {
                    MeasurementStep::GiveUp(sentence(&few.to_string()))
                }
                stepped => stepped?,
            };
            match step {
                MeasurementStep::Done => slice.note(1, 0),
                MeasurementStep::Silent(side, why) => {
                    return self.wait(user, &request, side, &why).await;
                }
                MeasurementStep::GiveUp(why) => self.give_up(user, &request, &why).await?,
            }
            if slice.is_over() {
                return Ok(Drained::More(1));
            }
        }
    }

    /// Makes the next model call, or does what precedes and follows them.
    async fn step(
        &self,
        user: UserId,
        request: &MeasurementRequest,
        spaces: &ComparedSpaces,
    ) -> Result<MeasurementStep, EvaluationError> {
        if request.questions == 0 {
            return self.make_questions(user, request, spaces).await;
        }
        let mut tx = self.db.as_user(user).await?;
        let limit = ITEMS_A_CALL as i64;
        let for_model =
            store::list_for_model(&mut tx, user, request, limit, ITEM_CHARS_MAX).await?;
        // Finish one model before the other: an endpoint may have to load each.
        let (mut side, mut space, mut next) = (SpaceSide::Now, &spaces.now, None);
        if let Some(before) = &spaces.before {
            (side, space) = (SpaceSide::Before, before);
            next = store::find_next(&mut tx, user, request, side).await?;
        }
        if next.is_none() {
            (side, space) = (SpaceSide::Now, &spaces.now);
            next = store::find_next(&mut tx, user, request, side).await?;
        }
        tx.commit().await?;
        if !for_model.is_empty() {
            return self.put_by_model(user, request, &for_model).await;
        }
        let Some((number, question)) = next else {
            return self.store_scores(user, request, spaces).await;
        };
        let (place, tokens) = match self.ask(user, space, &question).await {
            Err(EvaluationError::Silent(why)) => return Ok(MeasurementStep::Silent(side, why)),
            answer => answer?,
        };
        let mut tx = self.db.as_user(user).await?;
        let answer = store::SideAnswer { number, side, place, tokens };
        store::note_answer(&mut tx, user, request, &answer).await?;
        tx.commit().await?;
        Ok(MeasurementStep::Done)
    }

    async fn make_questions(
        &self,
        user: UserId,
        request: &MeasurementRequest,
        spaces: &ComparedSpaces,
    ) -> Result<MeasurementStep, EvaluationError> {
        let oldest = spaces.before.as_ref().unwrap_or(&spaces.now).id;
        let (texts, questions) = self.own_questions(user, oldest).await?;
        let (_, chat) = self.chat.chosen(user).await?;
        let step = questions::step_by_model(questions.len());
        let is_for_model: Vec<bool> = (0..questions.len())
            .map(|number| chat.settings().is_some() && number % step == 0)
            .collect();
        let items = i64::try_from(texts.len()).unwrap_or(i64::MAX);
        let mut tx = self.db.as_user(user).await?;
        store::insert_questions(&mut tx, user, request, items, &questions, &is_for_model).await?;
        tx.commit().await?;
        Ok(MeasurementStep::Done)
    }

    /// If the model fails or its answer does not parse, the questions by words stay.
    async fn put_by_model(
        &self,
        user: UserId,
        request: &MeasurementRequest,
        for_model: &[(i32, String)],
    ) -> Result<MeasurementStep, EvaluationError> {
        let contents: Vec<&str> = for_model.iter().map(|(_, text)| text.as_str()).collect();
        let (put, tokens) = questions::put(&self.chat, user, &contents).await;
        let numbers: Vec<i32> = for_model.iter().map(|(number, _)| *number).collect();
        let mut tx = self.db.as_user(user).await?;
        match put {
            Some(put) => store::put(&mut tx, user, request, &numbers, &put).await?,
            None => store::keep_word_questions(&mut tx, user, request).await?,
        }
        store::add_chat_tokens(&mut tx, user, request, tokens).await?;
        tx.commit().await?;
        Ok(MeasurementStep::Done)
    }

    /// Stores the scores. Questions whose memory was erased in the meantime are gone.
    async fn store_scores(
        &self,
        user: UserId,
        request: &MeasurementRequest,
        spaces: &ComparedSpaces,
    ) -> Result<MeasurementStep, EvaluationError> {
        let mut tx = self.db.as_user(user).await?;
        let found = store::list_found(&mut tx, user, request).await?;
        let count = |n: usize| i32::try_from(n).unwrap_or(i32::MAX);
        let asked = AskedCounts {
            items: request.items,
            questions: count(found.len()),
            by_model: count(found.iter().filter(|found| found.is_by_model).count()),
        };
        let before: Vec<_> = found.iter().filter_map(|found| found.before).collect();
        let now: Vec<_> = found.iter().filter_map(|found| found.now).collect();
        if asked.questions == 0 {
            return Err(EvaluationError::TooFew { questions: 0 });
        }
        let sides = [
            (SpaceSide::Before, spaces.before.as_ref(), before),
            (SpaceSide::Now, Some(&spaces.now), now),
        ];
        for (side, space, places) in sides {
            let Some(space) = space else { continue };
            let row = kept::ScoresRow {
                space: request.space,
                side,
                scores: &SideScores::of(space, &places),
            };
            kept::insert(&mut tx, user, asked, row, self.embeddings.now()).await?;
        }
        kept::delete_older(&mut tx, user, MEASUREMENTS_KEPT).await?;
        store::end(&mut tx, user, request, None, self.embeddings.now()).await?;
        tx.commit().await?;
        Ok(MeasurementStep::Done)
    }

    /// Backs off. If the old model keeps failing, it is left out; if the serving one does, the measurement is
    /// given up.
    async fn wait(
        &self,
        user: UserId,
        request: &MeasurementRequest,
        side: SpaceSide,
        why: &str,
    ) -> Result<Drained, EvaluationError> {
        let now = self.embeddings.now();
        let mut tx = self.db.as_user(user).await?;
        let silences = store::note_silence(&mut tx, user, request).await?;
        if silences < SILENCES_MAX {
            tx.commit().await?;
            let doublings = silences.unsigned_abs().saturating_sub(1);
            return Ok(Drained::Later(now + BACK_OFF * 2_i32.pow(doublings)));
        }
        match side {
            SpaceSide::Before => store::leave_before_out(&mut tx, user, request).await?,
            SpaceSide::Now => {
                let why = sentence(&format!("the model that serves does not answer: {why}"));
                store::end(&mut tx, user, request, Some(&why), now).await?;
            }
        }
        tx.commit().await?;
        Ok(Drained::More(1))
    }

    async fn give_up(
        &self,
        user: UserId,
        request: &MeasurementRequest,
        why: &str,
    ) -> Result<(), EvaluationError> {
        let mut tx = self.db.as_user(user).await?;
        store::end(&mut tx, user, request, Some(why), self.embeddings.now()).await?;
        Ok(tx.commit().await?)
    }
}

/// The spaces that a request compares.
struct ComparedSpaces {
    now: Space,
    before: Option<Space>,
}

/// The spaces, or why they can no longer be compared.
fn spaces_of(
    request: &MeasurementRequest,
    compared: Option<Compared>,
) -> Result<ComparedSpaces, &'static str> {
    let Some(compared) = compared else {
        return Err("Embeddings were switched off before all questions were asked.");
    };
    if compared.now.id != request.space {
        return Err("Another rebuild ended before all questions were asked.");
    }
    let Some(wanted) = request.before else {
        return Ok(ComparedSpaces { now: compared.now, before: None });
    };
    let before = compared.before.map(|before| before.space);
    match before.filter(|space| space.id == wanted) {
        Some(before) => Ok(ComparedSpaces { now: compared.now, before: Some(before) }),
        None => Err("The day was over, or another rebuild began, before all questions were asked."),
    }
}

enum MeasurementStep {
    Done,
    /// Which model did not answer, and why.
    Silent(SpaceSide, String),
    /// Why nothing can be measured.
    GiveUp(String),
}
