//! Measures what a rebuild did to what is found.

use super::{Failure, Job, Next, Work};
use crate::evaluation::{Evaluation, EvaluationError};
use crate::queue;

pub static JOB: Job = Job {
    name: queue::EVALUATE,
    title: "Evaluation",
    about: "Measures what a change of the model did to what is found.",
    // Lost, it costs nothing but the figures.
    work: Work::OfUsers(|_| Box::pin(async { Ok(Vec::new()) })),
    schedule: None,
    at_once: 1,
    run: |context, user, slice| {
        Box::pin(async move {
            let evaluation = Evaluation::new(context.db, context.embeddings);
            evaluation.after_rebuild(user, &slice).await?;
            Ok(Next::Done)
        })
    },
};

impl From<EvaluationError> for Failure {
    fn from(error: EvaluationError) -> Self {
        match error {
            EvaluationError::Database(error) => error.into(),
            error if error.is_of_a_gone_user() => Self::Gone,
            other => Self::Other(other.to_string()),
        }
    }
}
