//! Measures how a rebuild changed search results, when a user asks for it.

use super::{BackgroundJob, JobFailure, JobWork, Services};
use crate::evaluation::EvaluationError;
use crate::queue;

pub static JOB: BackgroundJob = BackgroundJob {
    name: queue::EVALUATE,
    title: "Evaluation",
    about: "Measures how a change of the model changed search, where the user requests it.",
    work: JobWork::OfUsers(|context: Services| {
        Box::pin(async move {
            let now = context.now();
            let evaluation = &context.evaluation;
            let users = evaluation.users_asked().await?;
            Ok(users.into_iter().map(|user| (user, now)).collect())
        })
    }),
    schedule: None,
    at_once: 1,
    adds: true,
    run: |context, user, slice| {
        Box::pin(async move {
            let evaluation = &context.evaluation;
            Ok(evaluation.continue_measurement(user, &slice).await?.into())
        })
    },
};

impl From<EvaluationError> for JobFailure {
    fn from(error: EvaluationError) -> Self {
        match error {
            EvaluationError::Database(error) => error.into(),
            error if error.is_of_a_gone_user() => Self::Gone,
            other => Self::Other(other.to_string()),
        }
    }
}
