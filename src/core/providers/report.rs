//! The report of *Test* for an endpoint: three short texts are embedded, together and separately,
//! and the vectors are compared. User content is never sent.

use std::time::Duration;

use url::Url;

use super::dialect::{Dialect, Served};
use super::{Embedded, ProviderError, address};

/// A question, its answer, and an unrelated text.
const QUESTION: &str = "Which drink does she have in the morning?";
const DOCUMENTS: [&str; 2] = [
    "At breakfast she takes a cup of black coffee.",
    "The invoice for the garage roof is due on Friday.",
];

/// Allowed difference between vectors of one text, since batches are summed in another order.
const SAME_TO: f64 = 1e-2;

/// What an endpoint supports.
#[derive(Clone, Debug, PartialEq)]
pub struct EmbeddingReport {
    pub dimensions: usize,
    /// `None` if no dimensions were requested.
    pub requested_dimensions_honoured: Option<bool>,
    /// Length of the first vector; 1 if the provider normalises.
    pub norm: f64,
    /// Each text sent alone has the same vector as in the batch.
    pub order_kept: bool,
    /// Latency of the batch.
    pub latency: Duration,
    /// The model name that the endpoint returns.
    pub model_found: Option<String>,
    /// The question is nearer to its answer than to the unrelated text.
    pub similar_closer: bool,
}

/// What *Test* found.
#[derive(Clone, Debug)]
pub struct Tested<R> {
    pub report: Result<R, ProviderError>,
    /// The addresses that were asked, without their queries; the last one answered.
    pub asked: Vec<String>,
    /// The address that works, if it is not the one that the settings lead to first: it is offered to be saved.
    pub works_at: Option<String>,
    /// What the endpoint refused, in words.
    pub learned: Vec<&'static str>,
}

impl<R> Tested<R> {
    pub(super) fn of(report: Result<R, ProviderError>, learned: Dialect, asked: &[Url]) -> Self {
        let is_elsewhere = report.is_ok() && learned.served == Served::OtherPath;
        Self {
            report,
            asked: asked.iter().map(address::shown).collect(),
            works_at: asked.last().filter(|_| is_elsewhere).map(Url::to_string),
            learned: learned.in_words(),
        }
    }
}

pub(super) fn texts(query_prefix: &str, document_prefix: &str) -> Vec<String> {
    let documents = DOCUMENTS.map(|text| format!("{document_prefix}{text}"));
    std::iter::once(format!("{query_prefix}{QUESTION}")).chain(documents).collect()
}

/// `together` and `apart`: the vectors of [`texts`], in order.
pub(super) fn compare(
    together: &Embedded,
    apart: &[Vec<f32>],
    requested: Option<u16>,
    latency: Duration,
    model_found: Option<String>,
) -> EmbeddingReport {
    let vectors = &together.vectors;
    let dimensions = vectors[0].len();
    EmbeddingReport {
        dimensions,
        requested_dimensions_honoured: requested.map(|asked| usize::from(asked) == dimensions),
        norm: dot(&vectors[0], &vectors[0]).sqrt(),
        order_kept: vectors
            .iter()
            .zip(apart)
            .all(|(one, other)| cosine(one, other) > 1.0 - SAME_TO),
        latency,
        model_found,
        similar_closer: cosine(&vectors[0], &vectors[1]) > cosine(&vectors[0], &vectors[2]),
    }
}

fn dot(a: &[f32], b: &[f32]) -> f64 {
    let pairs = a.iter().zip(b);
    pairs.map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
}

/// -1 to 1; 0 for vectors of different widths, which cannot be compared.
fn cosine(a: &[f32], b: &[f32]) -> f64 {
    if a.len() != b.len() {
        return 0.0;
    }
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}
