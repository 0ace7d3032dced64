//! Reading what endpoints answer, in every form that is known, and turning their
//! refusals into ours. What they say is read for a hint and never repeated.

use serde::{Deserialize, Deserializer};

use super::client::Answer;
use super::error::{NotEmbeddings, ProviderError, WrongVector};

/// Of a refusal, this much is looked at.
const MAX_HINT_BYTES: usize = 4_096;

/// The vectors of an answer, in the order of the texts.
pub(super) fn vectors(
    answer: &Answer,
    asked_dimensions: bool,
) -> Result<Vec<Vec<f32>>, ProviderError> {
    if !(200..300).contains(&answer.status) {
        return Err(refusal(answer, asked_dimensions));
    }
    if looks_like_html(answer) {
        return Err(ProviderError::NotEmbeddings(NotEmbeddings::Html));
    }
    let parsed: Result<Body, _> = serde_json::from_slice(&answer.body);
    match parsed {
        Ok(body) => body.vectors(),
        Err(error) => Err(unreadable(answer, &error)),
    }
}

fn unreadable(answer: &Answer, error: &serde_json::Error) -> ProviderError {
    // Python writes what is no JSON; the parser stops right there.
    let not_finite = [&b"NaN"[..], b"Infinity"]
        .iter()
        .any(|word| answer.body.windows(word.len()).any(|w| w == *word));
    if not_finite {
        return ProviderError::WrongVector(WrongVector::NotFinite);
    }
    ProviderError::NotEmbeddings(if error.is_eof() {
        NotEmbeddings::HalfABody
    } else {
        NotEmbeddings::Shape
    })
}

/// Every shape of answer: OpenAI's `{data: [{index, embedding}]}`, Ollama's
/// `{embeddings: [[…]]}`, llama.cpp's `[{index, embedding: [[…]]}]`, TEI's `[[…]]`.
#[derive(Deserialize)]
#[serde(untagged)]
enum Body {
    Data { data: Vec<Row> },
    Embeddings { embeddings: Vec<Vec<Number>> },
    One { embedding: Vec<Number> },
    Rows(Vec<Row>),
    Bare(Vec<Vec<Number>>),
}

#[derive(Deserialize)]
struct Row {
    index: Option<usize>,
    embedding: Pooled,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Pooled {
    Flat(Vec<Number>),
    Nested(Vec<Vec<Number>>),
}

/// A number, or the `null` that stands for one that is not finite.
struct Number(f32);

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Option::<f64>::deserialize(deserializer)?;
        Ok(Self(value.map_or(f32::NAN, |v| v as f32)))
    }
}

impl Body {
    fn vectors(self) -> Result<Vec<Vec<f32>>, ProviderError> {
        match self {
            Self::Data { data } => by_index(data),
            Self::Rows(rows) => by_index(rows),
            Self::Embeddings { embeddings } => Ok(embeddings.into_iter().map(plain).collect()),
            Self::Bare(bare) => Ok(bare.into_iter().map(plain).collect()),
            Self::One { embedding } => Ok(vec![plain(embedding)]),
        }
    }
}

fn plain(numbers: Vec<Number>) -> Vec<f32> {
    numbers.into_iter().map(|Number(v)| v).collect()
}

/// Rows are in any order; their indices must be exactly 0, 1, 2, …
fn by_index(mut rows: Vec<Row>) -> Result<Vec<Vec<f32>>, ProviderError> {
    let shape = ProviderError::NotEmbeddings(NotEmbeddings::Shape);
    if rows.iter().any(|row| row.index.is_some()) {
        rows.sort_by_key(|row| row.index);
        let in_order = |(at, row): (usize, &Row)| row.index == Some(at);
        if !rows.iter().enumerate().all(in_order) {
            return Err(shape);
        }
    }
    rows.into_iter()
        .map(|row| match row.embedding {
            Pooled::Flat(numbers) => Ok(plain(numbers)),
            // One vector a token, where the server does not pool: nothing to compare with.
            Pooled::Nested(mut nested) if nested.len() == 1 => Ok(plain(nested.remove(0))),
            Pooled::Nested(_) => Err(shape.clone()),
        })
        .collect()
}

pub(super) fn looks_like_html(answer: &Answer) -> bool {
    let begins_with_tag = answer.body.trim_ascii_start().starts_with(b"<");
    answer.is_html || begins_with_tag
}

/// The beginning of an answer, in lower case: to look for words in, never to be shown.
pub(super) fn hint(answer: &Answer) -> String {
    let hint = &answer.body[..answer.body.len().min(MAX_HINT_BYTES)];
    String::from_utf8_lossy(hint).to_lowercase()
}

/// An endpoint's refusal, as ours.
pub(super) fn refusal(answer: &Answer, asked_dimensions: bool) -> ProviderError {
    let hint = hint(answer);
    let says = |words: &[&str]| words.iter().any(|word| hint.contains(word));
    let html = looks_like_html(answer);
    match answer.status {
        300..400 => ProviderError::NotEmbeddings(NotEmbeddings::Redirect),
        401 | 403 => ProviderError::KeyRejected,
        429 => ProviderError::RateLimited {
            retry_after: answer.retry_after,
        },
        400..600 if !html && says(TOO_LONG) => ProviderError::TooLong,
        404 if !html && hint.contains("model") => ProviderError::UnknownModel,
        404 | 405 | 501 => ProviderError::NotEmbeddings(NotEmbeddings::NothingThere),
        400..500 if html => ProviderError::NotEmbeddings(NotEmbeddings::Html),
        400..500 if hint.contains("model") && says(UNKNOWN) => ProviderError::UnknownModel,
        400 | 422 if asked_dimensions && hint.contains("dimension") => {
            ProviderError::DimensionsRefused
        }
        413 => ProviderError::TooLong,
        400 | 422 => ProviderError::BadInput,
        status => ProviderError::Server {
            status,
            retry_after: answer.retry_after,
        },
    }
}

/// How llama.cpp, Ollama, TEI, OpenAI and vLLM say that a text is too long.
const TOO_LONG: &[&str] = &[
    "too large to process",
    "too long",
    "context length",
    "context size",
    "context window",
    "exceed_context_size",
    "maximum input",
    "must have less than",
    "maximum number of tokens",
    "physical batch size",
];

const UNKNOWN: &[&str] = &[
    "not found",
    "does not exist",
    "not exist",
    "unknown model",
    "model_not_found",
    "invalid model",
    "no such model",
    "not loaded",
];
