//! Runs a data set through the product: each group becomes the memory of a scratch account, is added,
//! embedded and searched with the functions that agents reach, and is erased at the end, even after an error.
//! Scratch accounts are separate from all others.

use std::collections::BTreeMap;
use std::time::Duration;

use uuid::Uuid;

use super::dataset::{DataSet, DataSetGroup};
use super::score::Scores;
use super::{Arm, Evaluation, EvaluationError, all_candidates};
use crate::accounts::{Accounts, Email, Password, Role, UserId, Viewer};
use crate::db::labels;
use crate::embedding::model::TokenSigns;
use crate::erasure::{self, ErasureStep};
use crate::memories;
use crate::search::Mode;
use crate::search::query::Ingredients;

/// The domain of scratch accounts; no mail reaches it.
const SCRATCH_DOMAIN: &str = "evaluation.invalid";
/// Older scratch accounts were left by a run that was killed.
const ABANDONED_AFTER: time::Duration = time::Duration::days(1);
const ITEMS_A_TRANSACTION: usize = 200;
/// After this many failed calls in a row, the endpoint counts as down.
const FAILURES_MAX: i32 = 5;
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// The stage, and how many of `of` are `done`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrialProgress {
    pub stage: TrialStage,
    pub done: usize,
    pub of: usize,
}

labels! {
    pub enum TrialStage {
        Adding = "adding",
        Embedding = "embedding",
        Asking = "asking",
        Erasing = "erasing",
    }
}

/// The result of a data set.
#[derive(Debug, Default)]
pub struct TrialReport {
    pub groups: usize,
    pub items: usize,
    /// Items without an embedding: the model refused them, or there is no model.
    pub without_vector: i64,
    /// Questions that were searched by words only.
    pub by_words_alone: u32,
    /// For questions that nothing answers, and for the others.
    pub absent: AbsenceCounts,
    pub present: AbsenceCounts,
    pub arms: BTreeMap<Arm, Scores>,
    /// As search ranks, by category of the questions.
    pub categories: BTreeMap<String, Scores>,
}

/// How often search said that the answer is probably absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AbsenceCounts {
    pub questions: u32,
    pub said: u32,
}

impl AbsenceCounts {
    fn note(&mut self, is_said: bool) {
        self.questions += 1;
        self.said += u32::from(is_said);
    }

    /// 0 to 1
    pub fn share(self) -> f64 {
        f64::from(self.said) / f64::from(self.questions.max(1))
    }
}

impl Evaluation {
    /// Runs the data set. `tell` gets the progress; it returns false to abort. Somebody else must run the job
    /// `embed` meanwhile.
    ///
    /// # Errors
    /// Errors of adding and searching, or [`EvaluationError::BrokenOff`]. The scratch accounts are erased
    /// even then.
    pub async fn try_out(
        &self,
        accounts: &Accounts,
        data: &DataSet,
        ingredients: Ingredients,
        mut tell: impl FnMut(TrialProgress) -> bool,
    ) -> Result<TrialReport, EvaluationError> {
        let mut scratch = self.abandoned(accounts).await?;
        let tried = self.try_groups(accounts, data, ingredients, &mut scratch, &mut tell).await;
        let erased = self.erase(&scratch, &mut tell).await;
        let report = tried?;
        erased?;
        Ok(report)
    }

    async fn try_groups(
        &self,
        accounts: &Accounts,
        data: &DataSet,
        ingredients: Ingredients,
        scratch: &mut Vec<UserId>,
        tell: &mut impl FnMut(TrialProgress) -> bool,
    ) -> Result<TrialReport, EvaluationError> {
        let mut report = TrialReport {
            groups: data.groups.len(),
            items: data.items(),
            ..TrialReport::default()
        };
        let mut groups = Vec::new();
        let mut done = 0;
        for group in data.groups.values() {
            let user = new_account(accounts).await?;
            scratch.push(user);
            let mut ids = Vec::new();
            for items in group.items.chunks(ITEMS_A_TRANSACTION) {
                ids.extend(self.add(user, items).await?);
                done += items.len();
                continue_if(tell(TrialProgress {
                    stage: TrialStage::Adding,
                    done,
                    of: report.items,
                }))?;
            }
            groups.push((user, group, ids));
        }
        let users: Vec<UserId> = groups.iter().map(|(user, ..)| *user).collect();
        report.without_vector = self.embed(&users, report.items, tell).await?;
        let (mut done, of) = (0, data.questions());
        for (user, group, ids) in &groups {
            for at in 0..group.questions.len() {
                self.ask_of(*user, group, at, ids, ingredients, &mut report).await?;
                done += 1;
                continue_if(tell(TrialProgress { stage: TrialStage::Asking, done, of }))?;
            }
        }
        Ok(report)
    }

    /// Returns the ids in order. Items with the same text share one id.
    async fn add(
        &self,
        user: UserId,
        items: &[memories::NewItem],
    ) -> Result<Vec<i64>, EvaluationError> {
        let viewer = Viewer::person(user);
        let mut ids = Vec::with_capacity(items.len());
        let mut tx = self.db.as_writer(user).await?;
        for item in items {
            let now = self.embeddings.now();
            let added = memories::add_in(&mut tx, &self.embeddings, &viewer, item, now).await?;
            ids.push(added.id.0);
        }
        tx.commit().await?;
        Ok(ids)
    }

    /// Waits until the job has embedded the items. Returns how many have no embedding.
    async fn embed(
        &self,
        users: &[UserId],
        items: usize,
        tell: &mut impl FnMut(TrialProgress) -> bool,
    ) -> Result<i64, EvaluationError> {
        let (mut done, mut without) = (0, 0);
        for user in users {
            loop {
                let overview = self.embeddings.overview(*user).await?;
                let counts = overview.counts;
                let of_user = overview.texts.total() - counts.pending;
                continue_if(tell(TrialProgress {
                    stage: TrialStage::Embedding,
                    done: done + usize::try_from(of_user).unwrap_or_default(),
                    of: items,
                }))?;
                let serving = overview.serving.as_ref();
                let has_open_signs =
                    serving.is_some_and(|space| space.token_signs == TokenSigns::Some);
                let is_done = counts.pending == 0 && !has_open_signs;
                if overview.effective.settings().is_none() || is_done {
                    done += usize::try_from(overview.texts.total()).unwrap_or_default();
                    without += overview.texts.total() - counts.ready;
                    break;
                }
                if let Some(space) = overview.serving
                    && space.failures >= FAILURES_MAX
                {
                    let problem = space.problem.unwrap_or_default();
                    return Err(EvaluationError::NoVectors { problem });
                }
                tokio::time::sleep(LOOK_EVERY).await;
            }
        }
        Ok(without)
    }

    async fn ask_of(
        &self,
        user: UserId,
        group: &DataSetGroup,
        at: usize,
        ids: &[i64],
        ingredients: Ingredients,
        report: &mut TrialReport,
    ) -> Result<(), EvaluationError> {
        let question = &group.questions[at];
        let evidence: Vec<i64> = question.evidence.iter().map(|place| ids[*place]).collect();
        let viewer = Viewer::person(user);
        let mut query = all_candidates(&question.text, ingredients);
        query.filters.asked_at = question.asked_at;
        let page = self.search.find(&viewer, &query).await?;
        report.by_words_alone += u32::from(page.mode == Mode::Fts);
        let is_said_absent = page.is_probably_absent();
        let absence = match evidence.is_empty() {
            true => &mut report.absent,
            false => &mut report.present,
        };
        absence.note(is_said_absent);
        if evidence.is_empty() {
            return Ok(());
        }
        for arm in Arm::ALL {
            let ranked = arm.ranked(&page.hits);
            report.arms.entry(arm).or_default().note(&ranked, &evidence);
            if let (Arm::Both, Some(category)) = (arm, &question.category) {
                let of_category = report.categories.entry(category.clone()).or_default();
                of_category.note(&ranked, &evidence);
            }
        }
        Ok(())
    }

    async fn abandoned(&self, accounts: &Accounts) -> Result<Vec<UserId>, EvaluationError> {
        let before = self.embeddings.now() - ABANDONED_AFTER;
        let users = accounts.list_users().await?;
        let is_abandoned = |user: &&crate::accounts::User| {
            user.email.ends_with(&format!("@{SCRATCH_DOMAIN}")) && user.created_at < before
        };
        Ok(users.iter().filter(is_abandoned).map(|user| user.id).collect())
    }

    async fn erase(
        &self,
        users: &[UserId],
        tell: &mut impl FnMut(TrialProgress) -> bool,
    ) -> Result<(), EvaluationError> {
        for (done, user) in users.iter().enumerate() {
            tell(TrialProgress { stage: TrialStage::Erasing, done, of: users.len() });
            let receipt = match erasure::begin(&self.db, *user, self.embeddings.now()).await {
                Err(erasure::ErasureError::Gone) => continue,
                begun => begun?,
            };
            while !self.is_erased(receipt.as_str()).await? {
                let step = erasure::step(&self.db, *user, self.embeddings.now()).await?;
                if matches!(step, ErasureStep::Waiting | ErasureStep::Nothing) {
                    tokio::time::sleep(LOOK_EVERY).await;
                }
            }
        }
        Ok(())
    }

    async fn is_erased(&self, receipt: &str) -> Result<bool, EvaluationError> {
        let receipt = erasure::find_receipt(&self.db, receipt).await?;
        Ok(receipt.is_none_or(|receipt| receipt.finished_at.is_some()))
    }
}

fn continue_if(is_wanted: bool) -> Result<(), EvaluationError> {
    match is_wanted {
        true => Ok(()),
        false => Err(EvaluationError::BrokenOff),
    }
}

/// Its password is random and not stored.
async fn new_account(accounts: &Accounts) -> Result<UserId, EvaluationError> {
    let name = Uuid::new_v4().simple();
    let email = Email::parse(&format!("{name}@{SCRATCH_DOMAIN}"))?;
    let password = Password::parse_new("password", &Uuid::new_v4().to_string())?;
    Ok(accounts.create_user(&email, password, Role::Member).await?)
}
