//! How well a user finds their own memory, and what a rebuild changed about that. Questions are
//! made of the items ([`super::questions`]) and asked of the space that serves and of the one that
//! served before it, while its vectors are still there, by the search that agents use. What is
//! kept is counts.

use std::time::{Duration, Instant};

use time::OffsetDateTime;

use super::questions::{self, OwnQuestion, QUESTIONS_MIN};
use super::score::{CUTOFFS, Scores};
use super::{Arm, Evaluation, EvaluationError, all_candidates, store};
use crate::accounts::Viewer;
use crate::db::UserId;
use crate::embedding::model::Space;
use crate::memories::speakers::names;
use crate::providers::ProviderType;
use crate::queue::Slice;
use crate::search;

/// The newest items, of which questions are made.
const TEXTS_MAX: i64 = 2_000;
/// What has been asked by then counts.
const ASKING_MAX: Duration = Duration::from_secs(30);
/// After a rebuild. Where the model is silent for so long, it is left at that.
const TRIED_FOR: time::Duration = time::Duration::minutes(10);
/// What takes longer is nothing to wait for at the page.
const AWAITED_FOR: time::Duration = time::Duration::minutes(2);
const MEASUREMENTS_KEPT: i64 = 20;

/// Of which space the figures are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Before,
    Now,
}

impl Side {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Before => "before",
            Self::Now => "now",
        }
    }
}

/// What was asked; of both sides the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// Of which questions could be made.
    pub items: i64,
    pub questions: i32,
    /// Of the questions, those that the chat model put.
    pub by_model: i32,
}

/// Questions whose item came first, among the first 5, among the first 10.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SideScores {
    pub provider_type: ProviderType,
    pub model: String,
    /// By words and meaning, as search answers.
    pub found: [i32; CUTOFFS.len()],
    pub found_by_meaning: [i32; CUTOFFS.len()],
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measured {
    pub at: OffsetDateTime,
    pub asked: Asked,
    pub now: SideScores,
    /// `None` where its vectors were gone, or its model did not answer any more.
    pub before: Option<SideScores>,
}

/// A space while it is asked.
struct Contender {
    space: Space,
    found: Scores,
    by_meaning: Scores,
}

impl Contender {
    fn new(space: Space) -> Self {
        Self {
            space,
            found: Scores::default(),
            by_meaning: Scores::default(),
        }
    }

    fn scores(&self) -> SideScores {
        let counts = |scores: &Scores| scores.any.map(|n| i32::try_from(n).unwrap_or(i32::MAX));
        SideScores {
            provider_type: self.space.settings.provider_type,
            model: self.space.settings.model.clone(),
            found: counts(&self.found),
            found_by_meaning: counts(&self.by_meaning),
        }
    }
}

impl Evaluation {
    /// Measures what a rebuild has changed, once for each; true where it did. Of what became of the
    /// last one, [`Self::latest`] tells.
    pub async fn after_rebuild(
        &self,
        user: UserId,
        slice: &Slice,
    ) -> Result<bool, EvaluationError> {
        if !self.is_unmeasured(user, TRIED_FOR).await? {
            return Ok(false);
        }
        let ((now, before), asked) = match self.contest(user, |_, _| !slice.is_stopping()).await {
            Ok(Some(contest)) => contest,
            Ok(None) => return Ok(false),
            Err(EvaluationError::TooFew { .. }) => return self.note_too_few(user).await,
            Err(error) => return Err(error),
        };
        let mut tx = self.db.as_user(user).await?;
        let sides = [(Side::Before, before.as_ref()), (Side::Now, Some(&now))];
        for (side, contender) in sides {
            let Some(contender) = contender else { continue };
            let scores = &contender.scores();
            let space = now.space.id;
            let row = store::Row {
                space,
                side,
                scores,
            };
            store::insert(&mut tx, user, asked, row, self.embeddings.now()).await?;
        }
        store::delete_older(&mut tx, user, MEASUREMENTS_KEPT).await?;
        tx.commit().await?;
        Ok(true)
    }

    /// It is not tried again for this space.
    async fn note_too_few(&self, user: UserId) -> Result<bool, EvaluationError> {
        let Some(spaces) = self.embeddings.spaces_to_compare(user).await? else {
            return Ok(false);
        };
        let nothing = Contender::new(spaces.now);
        let row = store::Row {
            space: nothing.space.id,
            side: Side::Now,
            scores: &nothing.scores(),
        };
        let mut tx = self.db.as_user(user).await?;
        store::insert(&mut tx, user, Asked::default(), row, self.embeddings.now()).await?;
        tx.commit().await?;
        Ok(false)
    }

    /// Whether a rebuild has just ended that is still to be measured.
    pub async fn is_measuring(&self, user: UserId) -> Result<bool, sqlx::Error> {
        self.is_unmeasured(user, AWAITED_FOR).await
    }

    async fn is_unmeasured(
        &self,
        user: UserId,
        within: time::Duration,
    ) -> Result<bool, sqlx::Error> {
        let since = self.embeddings.now() - within;
        let mut tx = self.db.as_user(user).await?;
        store::is_unmeasured(&mut tx, user, since).await
    }

    /// What the last rebuild that was measured changed.
    pub async fn latest(&self, user: UserId) -> Result<Option<Measured>, sqlx::Error> {
        let mut tx = self.db.as_user(user).await?;
        store::find_latest(&mut tx, user).await
    }

    /// What serves, measured now, and kept nowhere. `tell` is called with how many questions were
    /// asked, and of how many; false breaks it off.
    ///
    /// # Errors
    /// [`EvaluationError::TooFew`], [`EvaluationError::NothingServes`].
    pub async fn measure(
        &self,
        user: UserId,
        tell: impl FnMut(usize, usize) -> bool,
    ) -> Result<Measured, EvaluationError> {
        let contest = self.contest(user, tell).await?;
        let ((now, before), asked) = contest.ok_or(EvaluationError::NothingServes)?;
        Ok(Measured {
            at: self.embeddings.now(),
            asked,
            now: now.scores(),
            before: before.map(|contender| contender.scores()),
        })
    }

    /// Asks the same questions of what serves and of what served before. `None` where nothing
    /// serves, what serves does not answer, or it was broken off.
    async fn contest(
        &self,
        user: UserId,
        mut tell: impl FnMut(usize, usize) -> bool,
    ) -> Result<Option<((Contender, Option<Contender>), Asked)>, EvaluationError> {
        let Some(spaces) = self.embeddings.spaces_to_compare(user).await? else {
            return Ok(None);
        };
        let (questions, items) = self.own_questions(user).await?;
        let mut now = Contender::new(spaces.now);
        let mut before = spaces.before.map(Contender::new);
        let began = Instant::now();
        let (mut asked, mut by_model) = (0, 0);
        for question in &questions {
            if began.elapsed() > ASKING_MAX {
                break;
            }
            if let Some(contender) = &mut before
                && !self.ask(user, contender, question).await?
            {
                before = None;
            }
            if !self.ask(user, &mut now, question).await? {
                return Ok(None);
            }
            asked += 1;
            by_model += i32::from(question.is_by_model);
            if !tell(asked, questions.len()) {
                return Ok(None);
            }
        }
        // Its vectors may have gone in the middle of it.
        if let Some(contender) = &before
            && !self
                .embeddings
                .is_space_there(user, contender.space.id)
                .await?
        {
            before = None;
        }
        let asked = Asked {
            items,
            questions: i32::try_from(asked).unwrap_or(i32::MAX),
            by_model,
        };
        Ok(Some(((now, before), asked)))
    }

    async fn own_questions(
        &self,
        user: UserId,
    ) -> Result<(Vec<OwnQuestion>, i64), EvaluationError> {
        let mut tx = self.db.as_user(user).await?;
        let texts = store::list_texts(&mut tx, user, TEXTS_MAX, self.embeddings.now()).await?;
        tx.commit().await?;
        let mut questions = questions::by_words(&texts);
        if questions.len() < QUESTIONS_MIN {
            return Err(EvaluationError::TooFew {
                questions: questions.len(),
            });
        }
        questions::ask_model(&self.embeddings.chat(), user, &texts, &mut questions).await;
        Ok((questions, i64::try_from(texts.len()).unwrap_or(i64::MAX)))
    }

    /// False where the space's model does not answer.
    async fn ask(
        &self,
        user: UserId,
        contender: &mut Contender,
        question: &OwnQuestion,
    ) -> Result<bool, EvaluationError> {
        let embeddings = &self.embeddings;
        let Ok(vector) = embeddings
            .vector_in(
                user,
                &contender.space,
                &question.text,
                &names(&question.text),
            )
            .await
        else {
            return Ok(false);
        };
        let viewer = Viewer {
            user_id: user,
            agent_id: None,
        };
        let query = all_candidates(&question.text);
        let mut tx = self.db.as_user(user).await?;
        let page =
            search::search(&mut tx, &viewer, &query, Some(&vector), embeddings.now()).await?;
        drop(tx);
        let evidence = [question.item_id];
        contender
            .found
            .note(&Arm::Both.ranked(&page.hits), &evidence);
        contender
            .by_meaning
            .note(&Arm::Meaning.ranked(&page.hits), &evidence);
        Ok(true)
    }
}
