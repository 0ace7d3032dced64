//! Parses endpoints' answers in all known formats, and maps refusals to our errors. Error texts are searched
//! for hints and never repeated.

use std::borrow::Cow;
use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::client::HttpAnswer;
use super::error::{NotEmbeddings, ProviderError, WrongVector};

/// How much of a refusal is searched.
const MAX_HINT_BYTES: usize = 4_096;

/// An error, and what the endpoint said, for searching only: it is never shown.
pub(super) struct EndpointRefusal {
    pub(super) error: ProviderError,
    pub(super) status: u16,
    hint: String,
}

impl From<ProviderError> for EndpointRefusal {
    fn from(error: ProviderError) -> Self {
        Self { error, status: 0, hint: String::new() }
    }
}

impl EndpointRefusal {
    pub(super) fn of(answer: &HttpAnswer, error: ProviderError) -> Self {
        // JSON in JSON has its quotes escaped.
        Self { error, status: answer.status, hint: hint(answer).replace('\\', "") }
    }

    /// Whether one of these words occurs, in lower case.
    pub(super) fn says(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.hint.contains(word))
    }

    /// Whether an endpoint may answer so to a parameter that it does not know.
    pub(super) fn may_be_of_a_parameter(&self) -> bool {
        matches!(self.status, 400 | 404 | 422 | 500 | 501) && self.error != ProviderError::TooLong
    }
}

/// The vectors of an answer, in the order of the texts.
pub(super) fn vectors(
    answer: &HttpAnswer,
    asked_dimensions: bool,
) -> Result<Vec<Vec<f32>>, EndpointRefusal> {
    if !(200..300).contains(&answer.status) {
        return Err(EndpointRefusal::of(answer, refusal(answer, asked_dimensions)));
    }
    read(answer).map_err(EndpointRefusal::from)
}

fn read(answer: &HttpAnswer) -> Result<Vec<Vec<f32>>, ProviderError> {
    if looks_like_html(answer) {
        return Err(ProviderError::NotEmbeddings(NotEmbeddings::Html));
    }
    let parsed: Result<VectorsBody, _> = serde_json::from_slice(&answer.body);
    match parsed {
        Ok(body) => body.vectors(),
        Err(error) => Err(unreadable(answer, &error)),
    }
}

fn unreadable(answer: &HttpAnswer, error: &serde_json::Error) -> ProviderError {
    // Python writes `NaN`, which is not JSON, so the parser stops there.
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

/// All formats of answers: OpenAI's `{data: [{index, embedding}]}`, Ollama's `{embeddings: [[…]]}`, llama.cpp's
/// `[{index, embedding: [[…]]}]`, TEI's `[[…]]`. Parsed by visitors, number by number: serde's derived untagged
/// enums buffer the whole answer first, at 32 bytes per number.
enum VectorsBody {
    Rows(Vec<VectorRow>),
    Vectors(Vec<Vec<f32>>),
}

#[derive(Deserialize)]
struct VectorRow {
    index: Option<usize>,
    embedding: Pooled,
}

/// A vector, or one per token.
enum Pooled {
    Flat(Vec<f32>),
    Nested(Vec<Vec<f32>>),
}

/// An entry of a list: a number, `null` in place of a non-finite number, a vector, or a row with a vector.
enum VectorEntry {
    Number(f32),
    Numbers(Numbers),
    Row(VectorRow),
}

struct Numbers(Vec<f32>);

impl<'de> Deserialize<'de> for VectorsBody {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(BodyVisitor)
    }
}

struct BodyVisitor;

impl<'de> Visitor<'de> for BodyVisitor {
    type Value = VectorsBody;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("vectors")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<VectorsBody, A::Error> {
        let mut found = None;
        while let Some(name) = map.next_key::<Cow<'de, str>>()? {
            let body = match name.as_ref() {
                "data" => VectorsBody::Rows(map.next_value()?),
                "embeddings" => {
                    let vectors: Vec<Numbers> = map.next_value()?;
                    VectorsBody::Vectors(vectors.into_iter().map(|Numbers(v)| v).collect())
                }
                "embedding" => {
                    let Numbers(vector) = map.next_value()?;
                    VectorsBody::Vectors(vec![vector])
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                    continue;
                }
            };
            found.get_or_insert(body);
        }
        found.ok_or_else(|| A::Error::custom("no vectors"))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<VectorsBody, A::Error> {
        let (mut rows, mut vectors) = (Vec::new(), Vec::new());
        while let Some(entry) = list.next_element()? {
            match entry {
                VectorEntry::Row(row) if vectors.is_empty() => rows.push(row),
                VectorEntry::Numbers(Numbers(vector)) if rows.is_empty() => vectors.push(vector),
                _ => return Err(A::Error::custom("neither rows nor vectors")),
            }
        }
        Ok(match rows.is_empty() {
            true => VectorsBody::Vectors(vectors),
            false => VectorsBody::Rows(rows),
        })
    }
}

impl<'de> Deserialize<'de> for Pooled {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(PooledVisitor)
    }
}

struct PooledVisitor;

impl<'de> Visitor<'de> for PooledVisitor {
    type Value = Pooled;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a vector")
    }

    /// In base64, as 32-bit little-endian floats: OpenAI's other `encoding_format`, which nobody here asks for.
    fn visit_str<E: Error>(self, text: &str) -> Result<Pooled, E> {
        let bytes = STANDARD.decode(text).map_err(|_| E::custom("neither numbers nor base64"))?;
        let (numbers, rest) = bytes.as_chunks();
        match rest {
            [] => Ok(Pooled::Flat(numbers.iter().map(|n| f32::from_le_bytes(*n)).collect())),
            _ => Err(E::custom("not whole numbers")),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Pooled, A::Error> {
        let (mut flat, mut nested) = (Vec::new(), Vec::new());
        while let Some(entry) = list.next_element()? {
            match entry {
                VectorEntry::Number(number) if nested.is_empty() => flat.push(number),
                VectorEntry::Numbers(Numbers(vector)) if flat.is_empty() => nested.push(vector),
                _ => return Err(A::Error::custom("neither numbers nor vectors")),
            }
        }
        Ok(match nested.is_empty() {
            true => Pooled::Flat(flat),
            false => Pooled::Nested(nested),
        })
    }
}

impl<'de> Deserialize<'de> for Numbers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Pooled::deserialize(deserializer)? {
            Pooled::Flat(numbers) => Ok(Self(numbers)),
            Pooled::Nested(_) => Err(D::Error::custom("vectors in a vector")),
        }
    }
}

impl<'de> Deserialize<'de> for VectorEntry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(EntryVisitor)
    }
}

struct EntryVisitor;

impl<'de> Visitor<'de> for EntryVisitor {
    type Value = VectorEntry;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number, a vector or a row")
    }

    fn visit_unit<E>(self) -> Result<VectorEntry, E> {
        Ok(VectorEntry::Number(f32::NAN))
    }

    fn visit_f64<E>(self, number: f64) -> Result<VectorEntry, E> {
        Ok(VectorEntry::Number(number as f32))
    }

    fn visit_i64<E>(self, number: i64) -> Result<VectorEntry, E> {
        Ok(VectorEntry::Number(number as f32))
    }

    fn visit_u64<E>(self, number: u64) -> Result<VectorEntry, E> {
        Ok(VectorEntry::Number(number as f32))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<VectorEntry, A::Error> {
        let numbers = Numbers::deserialize(SeqAccessDeserializer::new(list));
        numbers.map(VectorEntry::Numbers)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<VectorEntry, A::Error> {
        let row = VectorRow::deserialize(MapAccessDeserializer::new(map));
        row.map(VectorEntry::Row)
    }
}

impl VectorsBody {
    fn vectors(self) -> Result<Vec<Vec<f32>>, ProviderError> {
        match self {
            Self::Rows(rows) => by_index(rows),
            Self::Vectors(vectors) => Ok(vectors),
        }
    }
}

/// Rows may be in any order; their indexes must be exactly 0, 1, 2, …
fn by_index(mut rows: Vec<VectorRow>) -> Result<Vec<Vec<f32>>, ProviderError> {
    let shape = ProviderError::NotEmbeddings(NotEmbeddings::Shape);
    if rows.iter().any(|row| row.index.is_some()) {
        rows.sort_by_key(|row| row.index);
        let in_order = |(at, row): (usize, &VectorRow)| row.index == Some(at);
        if !rows.iter().enumerate().all(in_order) {
            return Err(shape);
        }
    }
    rows.into_iter()
        .map(|row| match row.embedding {
            Pooled::Flat(numbers) => Ok(numbers),
            // One vector per token: the server does not pool, so there is nothing to compare.
            Pooled::Nested(mut nested) if nested.len() == 1 => Ok(nested.remove(0)),
            Pooled::Nested(_) => Err(shape.clone()),
        })
        .collect()
}

pub(super) fn looks_like_html(answer: &HttpAnswer) -> bool {
    let begins_with_tag = answer.body.trim_ascii_start().starts_with(b"<");
    answer.is_html || begins_with_tag
}

/// The beginning of an answer in lower case, for searching only, never to be shown.
pub(super) fn hint(answer: &HttpAnswer) -> String {
    let hint = &answer.body[..answer.body.len().min(MAX_HINT_BYTES)];
    String::from_utf8_lossy(hint).to_lowercase()
}

/// Maps an endpoint's refusal to our error.
pub(super) fn refusal(answer: &HttpAnswer, asked_dimensions: bool) -> ProviderError {
    let hint = hint(answer);
    let says = |words: &[&str]| words.iter().any(|word| hint.contains(word));
    let html = looks_like_html(answer);
    match answer.status {
        300..400 => ProviderError::NotEmbeddings(NotEmbeddings::Redirect),
        401 | 403 => ProviderError::KeyRejected,
        429 => ProviderError::RateLimited { retry_after: answer.retry_after },
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
        status => ProviderError::Server { status, retry_after: answer.retry_after },
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
