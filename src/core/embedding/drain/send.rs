//! Sends texts to a provider and distinguishes a bad text from a dead endpoint. Does not access the database.

use std::time::Duration as StdDuration;

use super::SpaceWork;
use crate::embedding::model::{EmbeddedPassage, PendingPassage, Space};
use crate::embedding::query::OTHER_WIDTH;
use crate::embedding::tokens;
use crate::embedding::{Embeddings, Vector};
use crate::input::sentence;
use crate::providers::{Endpoint, ProviderError};

/// Deadline of a batch.
const CALL_DEADLINE: StdDuration = StdDuration::from_secs(30);
/// Deadline of the probe that distinguishes a bad text from a dead endpoint.
const PROBE_DEADLINE: StdDuration = StdDuration::from_secs(10);
const PROBE: &str = "She takes her coffee black.";

/// Why a space cannot be worked on at the moment.
pub(super) struct SpaceTrouble {
    pub sentence: String,
    pub retry_after: Option<StdDuration>,
}

impl From<&ProviderError> for SpaceTrouble {
    fn from(error: &ProviderError) -> Self {
        Self { sentence: sentence(&error.to_string()), retry_after: error.retry_after() }
    }
}

/// The result of a batch: what to write, and the problem that stopped it.
pub(super) struct BatchOutcome {
    pub written: Vec<EmbeddedPassage>,
    pub trouble: Option<SpaceTrouble>,
    /// Dimensions of the vectors.
    pub width: Option<usize>,
}

impl Embeddings {
    /// Sends the batches of a group concurrently.
    pub(super) async fn send_group(
        &self,
        endpoint: &Endpoint,
        of: SpaceWork<'_>,
        rows: &[PendingPassage],
        batch: usize,
    ) -> BatchOutcome {
        let calls = rows.chunks(batch).map(|rows| self.send_batch(endpoint, of, rows));
        let mut all =
            BatchOutcome { written: Vec::with_capacity(rows.len()), trouble: None, width: None };
        for answered in futures_util::future::join_all(calls).await {
            if is_other(all.width, answered.width) {
                return of_other_width();
            }
            all.written.extend(answered.written);
            all.width = all.width.or(answered.width);
            all.trouble = all.trouble.or(answered.trouble);
        }
        all
    }

    /// Sends a batch, and halves it as long as a single text may be the cause of a failure.
    async fn send_batch(
        &self,
        endpoint: &Endpoint,
        of: SpaceWork<'_>,
        rows: &[PendingPassage],
    ) -> BatchOutcome {
        let space = of.space;
        let mut answered =
            BatchOutcome { written: Vec::with_capacity(rows.len()), trouble: None, width: None };
        let mut parts = vec![rows];
        let mut is_alive = false;
        while let Some(part) = parts.pop() {
            let texts: Vec<String> = part.iter().map(|row| document(space, &row.content)).collect();
            let error = match self.shared.embedder.embed(endpoint, &texts, CALL_DEADLINE).await {
                Ok(embedded) => {
                    is_alive = true;
                    let width = embedded.vectors.first().map(Vec::len);
                    if is_other(answered.width, width) {
                        return of_other_width();
                    }
                    answered.width = width.or(answered.width);
                    let tokens = embedded.tokens.iter().map(Vec::as_slice);
                    let tokens = tokens.chain(std::iter::repeat(&[][..]));
                    for ((row, values), tokens) in part.iter().zip(&embedded.vectors).zip(tokens) {
                        let vector = Vector::from_answer(values);
                        let outcome = vector.map_err(|error| sentence(&error.to_string()));
                        answered.written.push(EmbeddedPassage {
                            token_signs: row.gets_signs.then(|| tokens::signs(tokens)),
                            ..written(row, outcome)
                        });
                    }
                    continue;
                }
                Err(error) => error,
            };
            if !may_be_one_text(&error) {
                answered.trouble = Some(SpaceTrouble::from(&error));
                return answered;
            }
            // Before splitting the batch, check whether the endpoint is alive.
            if !is_alive && !error.is_about_the_input() {
                if let Err(error) = self.probe(endpoint, space).await {
                    answered.trouble = Some(SpaceTrouble::from(&error));
                    return answered;
                }
                is_alive = true;
            }
            match part {
                [row] => match self.give_up(endpoint, space, row, &error).await {
                    Ok(one) => {
                        answered.written.push(one);
                        // The others wait for the next run: an endpoint that lets each call hang would hold this one for hours.
                        if matches!(error, ProviderError::TimedOut) {
                            return answered;
                        }
                    }
                    Err(trouble) => {
                        answered.trouble = Some(trouble);
                        return answered;
                    }
                },
                part => {
                    let (left, right) = part.split_at(part.len() / 2);
                    parts.extend([right, left]);
                }
            }
        }
        answered
    }

    /// Marks a bad passage as failed, after a probe has shown that the endpoint accepts other texts.
    async fn give_up(
        &self,
        endpoint: &Endpoint,
        space: &Space,
        row: &PendingPassage,
        error: &ProviderError,
    ) -> Result<EmbeddedPassage, SpaceTrouble> {
        let alive = self.probe(endpoint, space).await;
        alive.map_err(|error| SpaceTrouble::from(&error))?;
        Ok(written(row, Err(sentence(&error.to_string()))))
    }

    async fn probe(&self, endpoint: &Endpoint, space: &Space) -> Result<(), ProviderError> {
        let text = [document(space, PROBE)];
        self.shared.embedder.embed(endpoint, &text, PROBE_DEADLINE).await.map(drop)
    }
}

/// Whether vectors have another width than those before them.
fn is_other(width: Option<usize>, next: Option<usize>) -> bool {
    matches!((width, next), (Some(width), Some(next)) if width != next)
}

/// An endpoint that answers with vectors of several widths: nothing of it is written.
fn of_other_width() -> BatchOutcome {
    BatchOutcome {
        written: Vec::new(),
        trouble: Some(SpaceTrouble { sentence: sentence(OTHER_WIDTH), retry_after: None }),
        width: None,
    }
}

fn document(space: &Space, content: &str) -> String {
    format!("{}{content}", space.settings.document_prefix)
}

fn written(row: &PendingPassage, outcome: Result<Vector, String>) -> EmbeddedPassage {
    EmbeddedPassage {
        source_id: row.source_id,
        passage: row.passage,
        content_hash: row.content_hash.clone(),
        outcome,
        token_signs: None,
    }
}

/// Whether splitting the batch can help; any other error concerns the endpoint.
fn may_be_one_text(error: &ProviderError) -> bool {
    let may_be_either =
        matches!(error, ProviderError::TimedOut | ProviderError::Server { retry_after: None, .. });
    error.is_about_the_input() || may_be_either
}
