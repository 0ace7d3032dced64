//! Measures how well a user finds their own memory. Questions are made of the items ([`super::questions`])
//! and asked through the search that agents use, in the serving space and in the one that served before it,
//! as long as its vectors exist.

use super::model::{AskedCounts, Measurement, MeasurementTokens, QuestionRanks, SideScores};
use super::questions::{self, OwnQuestion, QUESTIONS_MIN, QuestionItem};
use super::{Arm, Evaluation, EvaluationError, all_candidates, store};
use crate::accounts::Viewer;
use crate::db::UserId;
use crate::embedding::model::{Space, SpaceId};
use crate::search::query::Ingredients;

/// Questions are made of this many newest items,
const TEXTS_MAX: i64 = 2_000;
/// read in pages of this size,
const TEXTS_A_PAGE: i64 = 200;
/// from their beginnings only.
const TEXT_CHARS_MAX: i32 = 2_000;

impl Evaluation {
    /// Measures the serving space, and the one before it if there still is one. Stores nothing. `tell` is called with the number of questions
    /// asked, and the total.
    ///
    /// # Errors
    /// [`EvaluationError::TooFew`], [`EvaluationError::NothingServes`].
    pub async fn measure(
        &self,
        user: UserId,
        mut tell: impl FnMut(usize, usize),
    ) -> Result<Measurement, EvaluationError> {
        let mut tx = self.db.as_user(user).await?;
        let compared = self.embeddings.compared(&mut tx, user).await?;
        tx.commit().await?;
        let compared = compared.ok_or(EvaluationError::NothingServes)?;
        let mut before = compared.before;
        let oldest = before.as_ref().unwrap_or(&compared.now).id;
        let (texts, mut questions) = self.own_questions(user, oldest).await?;
        let mut tokens = MeasurementTokens {
            chat: questions::ask_model(&self.chat, user, &texts, &mut questions).await,
            ..MeasurementTokens::default()
        };
        let (total, mut told) = (questions.len() * if before.is_some() { 2 } else { 1 }, 0);
        let (mut places_before, mut places_now) = (Vec::new(), Vec::new());
        for question in &questions {
            let Some(space) = &before else { break };
            match self.ask(user, space, question).await {
                Ok((place, sent)) => {
                    places_before.push(place);
                    tokens.embedding += sent;
                }
                Err(EvaluationError::Silent(_)) => before = None,
                Err(error) => return Err(error),
            }
            told += 1;
            tell(told, total);
        }
        for question in &questions {
            let (place, sent) = match self.ask(user, &compared.now, question).await {
                Err(EvaluationError::Silent(_)) => return Err(EvaluationError::NothingServes),
                answer => answer?,
            };
            places_now.push(place);
            tokens.embedding += sent;
            told += 1;
            tell(told, total);
        }
        let count = |n: usize| i32::try_from(n).unwrap_or(i32::MAX);
        let by_model = questions.iter().filter(|question| question.is_by_model);
        Ok(Measurement {
            at: self.embeddings.now(),
            asked: AskedCounts {
                items: i64::from(count(texts.len())),
                questions: count(questions.len()),
                by_model: count(by_model.count()),
            },
            now: SideScores::of(&compared.now, &places_now),
            before: before.map(|space| SideScores::of(&space, &places_before)),
            tokens,
        })
    }

    /// Makes questions of items that were in this space while it served, so that it could find them.
    async fn own_questions(
        &self,
        user: UserId,
        space: SpaceId,
    ) -> Result<(Vec<QuestionItem>, Vec<OwnQuestion>), EvaluationError> {
        let now = self.embeddings.now();
        let mut texts: Vec<QuestionItem> = Vec::new();
        while texts.len() < usize::try_from(TEXTS_MAX).unwrap_or(usize::MAX) {
            let after = texts.last().map(|text| (text.created_at, text.item_id));
            let page = store::TextPage { after, limit: TEXTS_A_PAGE, chars_max: TEXT_CHARS_MAX };
            let mut tx = self.db.as_user(user).await?;
            let found = store::list_texts(&mut tx, user, space, page, now).await?;
            tx.commit().await?;
            let is_last = found.len() < usize::try_from(TEXTS_A_PAGE).unwrap_or(usize::MAX);
            texts.extend(found);
            if is_last {
                break;
            }
        }
        let made = tokio::task::spawn_blocking(move || {
            let questions = questions::by_words(&texts);
            (texts, questions)
        });
        let (texts, questions) = made.await.map_err(|_| EvaluationError::BrokenOff)?;
        if questions.len() < QUESTIONS_MIN {
            return Err(EvaluationError::TooFew { questions: questions.len() });
        }
        Ok((texts, questions))
    }

    /// The rank at which the question finds its item in this space, and the tokens sent for it.
    ///
    /// # Errors
    /// [`EvaluationError::Silent`] if the space's model does not answer.
    async fn ask(
        &self,
        user: UserId,
        space: &Space,
        question: &OwnQuestion,
    ) -> Result<(QuestionRanks, i64), EvaluationError> {
        let viewer = Viewer::person(user);
        let query = all_candidates(&question.text, Ingredients::default());
        let found = self.search.find_in(&viewer, &query, &question.text, space);
        let (page, tokens) = found.await?.map_err(EvaluationError::Silent)?;
        let place = |arm: Arm| {
            let ranked = arm.ranked(&page.hits);
            let at = ranked.iter().position(|id| *id == question.item_id);
            at.map_or(0, |at| i32::try_from(at + 1).unwrap_or(i32::MAX))
        };
        let place = QuestionRanks { found: place(Arm::Both), by_meaning: place(Arm::Meaning) };
        Ok((place, i64::try_from(tokens).unwrap_or(i64::MAX)))
    }
}
