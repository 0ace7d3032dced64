//! Embeds pending texts.

use super::{BackgroundJob, JobFailure, JobWork, NextDue, Services};
use crate::embedding::{Drained, EmbeddingError};
use crate::queue;

pub static JOB: BackgroundJob = BackgroundJob {
    name: queue::EMBED,
    title: "Vectors",
    about: "Embeds new texts, and all texts when the model changes.",
    work: JobWork::OfUsers(|context: Services| {
        Box::pin(async move {
            context.embeddings.take_offered().await?;
            let now = context.now();
            let users = context.embeddings.users_with_work().await?;
            Ok(users.into_iter().map(|user| (user, now)).collect())
        })
    }),
    schedule: None,
    // Runs mostly wait for a provider; at most half as many call the same one.
    at_once: 8,
    adds: false,
    run: |context, user, slice| {
        Box::pin(async move { Ok(context.embeddings.drain(user, &slice).await?.into()) })
    },
};

impl From<Drained> for NextDue {
    fn from(drained: Drained) -> Self {
        match drained {
            Drained::Done => Self::Done,
            Drained::More(left) => Self::More(left),
            Drained::Later(at) => Self::At(at),
        }
    }
}

impl From<EmbeddingError> for JobFailure {
    fn from(error: EmbeddingError) -> Self {
        match error {
            EmbeddingError::Database(error) => error.into(),
            other => Self::Other(other.to_string()),
        }
    }
}
