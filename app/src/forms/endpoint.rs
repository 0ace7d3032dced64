//! The endpoint forms of embeddings and chat: their fields, and *Test*. The form keeps its values, except the key, which is
//! sealed or sent to the endpoint, and never part of a response.

use std::collections::BTreeMap;

use keepsake_edge::error::Problem;
use serde::Deserialize;

use super::{Attempt, FormName, FormState, Outcome, Submission, TestResult, page};
use crate::input::{Invalid, sentence};
use crate::providers::chat::ChatReport;
use crate::providers::settings::{EndpointForm, EndpointKind};
use crate::providers::vendors::offering;
use crate::providers::{EmbeddingReport, NotChat, ProviderError, Tested};

/// The fields of an endpoint form, as posted.
#[derive(Deserialize)]
pub struct EndpointFields(BTreeMap<String, String>);

impl EndpointFields {
    pub fn text(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }

    pub fn form(&self) -> EndpointForm<'_> {
        EndpointForm {
            own_enabled: self.text("own_enabled") == "1",
            provider_type: self.text("provider_type"),
            url: self.text("url"),
            model: self.text("model"),
            key: self.text("key"),
            clear_key: self.text("clear_key") == "1",
            key_header: self.text("key_header"),
            is_thinking_off: self.text("thinking_off") == "1",
            staged: self.text("staged"),
            dimensions: self.text("dimensions"),
            preset: self.text("preset"),
            query_prefix: self.text("query_prefix"),
            document_prefix: self.text("document_prefix"),
            batch_size: self.text("batch_size"),
            concurrency: self.text("concurrency"),
            pause_ms: self.text("pause_ms"),
        }
    }
}

/// Fills in what is known of a provider; nothing is saved. The page shows the rest as it is saved.
pub fn fill(name: FormName, kind: EndpointKind, slug: &str) -> Attempt {
    let mut vendors = offering(kind).filter(|vendor| vendor.slug == slug);
    let vendor = vendors.next().and_then(|vendor| Some((vendor, vendor.format(kind)?)));
    let (vendor, format) = vendor.ok_or_else(|| {
        let slugs: Vec<&str> = offering(kind).map(|vendor| vendor.slug).collect();
        let sentence = format!("`vendor` is not known; give one of {}.", slugs.join(", "));
        Invalid::new("vendor", "unknown_vendor", sentence)
    })?;
    let values = [
        ("vendor", slug),
        ("own_enabled", "1"),
        ("provider_type", format.as_str()),
        ("url", vendor.url),
        ("model", ""),
        ("key_header", vendor.key_header),
    ];
    let values = values.map(|(name, value)| (name.to_owned(), value.to_owned()));
    Ok(Outcome::from(FormState { values: values.into(), ..page(name) }))
}

/// Runs a test. The page shows the endpoint's report, or the kind of failure. An address that works better than
/// the typed one is in the form, to be saved.
pub async fn test<R, E>(
    posted: &Submission,
    name: FormName,
    test: impl Future<Output = Result<Tested<R>, E>>,
) -> Attempt
where
    TestResult: From<R>,
    Problem: From<E>,
{
    posted.state.throttles.check_test(posted.user())?;
    let Tested { report, asked, works_at, learned } = test.await?;
    let mut values = posted.fields.values();
    let mut test = match report {
        Ok(report) => report.into(),
        Err(error) => TestResult {
            is_ok: false,
            headline: headline(&error).to_owned(),
            details: vec![("What happened", sentence(&error.to_string()))],
        },
    };
    let details = [
        ("Asked", asked.join(", then ")),
        ("Adjustments", learned.join("; ")),
        (
            "To save",
            works_at.map_or(String::new(), |url| {
                values.insert("url".to_owned(), url);
                "The URL below is now the address that answered. Press Save to keep it.".to_owned()
            }),
        ),
    ];
    test.details.extend(details.into_iter().filter(|(_, fact)| !fact.is_empty()));
    Ok(Outcome::from(FormState { values, test: Some(test), ..page(name) }))
}

/// A headline for each kind of failure (DESIGN §5).
fn headline(error: &ProviderError) -> &'static str {
    match error {
        ProviderError::Refused(_) => "The endpoint cannot be reached",
        ProviderError::TimedOut => "No answer in time",
        ProviderError::KeyRejected => "The key was rejected",
        ProviderError::UnknownModel => "The endpoint does not know this model",
        ProviderError::NotEmbeddings(_) => "This is not an embeddings endpoint",
        ProviderError::NotChat(NotChat::NoText) | ProviderError::NoAnswer => {
            "It answers, but with no text"
        }
        ProviderError::NotChat(_) => "This is not a chat endpoint",
        ProviderError::Forbidden => "This address is not allowed",
        ProviderError::RateLimited { .. } => "The endpoint limits our requests",
        ProviderError::WrongVector(_) | ProviderError::DimensionsRefused => {
            "It answers, but its embeddings cannot be used"
        }
        _ => "The endpoint failed",
    }
}

impl From<EmbeddingReport> for TestResult {
    fn from(report: EmbeddingReport) -> Self {
        let (dimensions, ms) = (report.dimensions, report.latency.as_millis().max(1));
        let model = report.model_found.map(|model| ("Model", model));
        let mut details = Vec::from_iter(model);
        details.extend([
            (
                "Dimensions",
                match report.requested_dimensions_honoured {
                    None => format!("{dimensions}; no number was requested"),
                    Some(true) => format!("{dimensions}, as requested"),
                    Some(false) => format!(
                        "{dimensions}: the endpoint ignores the requested number; leave `dimensions` empty"
                    ),
                },
            ),
            (
                "Length",
                match (report.norm - 1.0).abs() < 0.01 {
                    true => "1, so the endpoint normalises".to_owned(),
                    false => format!("{:.3}; Keepsake normalises to 1", report.norm),
                },
            ),
            (
                "Order",
                match report.order_kept {
                    true => "Kept: each answer belongs to its text",
                    false => "Not kept: a text sent alone gets a different embedding than in a batch; set the batch size to 1",
                }
                .to_owned(),
            ),
            (
                "Meaning",
                match report.similar_closer {
                    true => "A question is closer to its answer than to another text",
                    false => "A question is no closer to its answer than to another text. Is this an embedding model, and are the prefixes right?",
                }
                .to_owned(),
            ),
        ]);
        // A width other than the requested one would be refused at the first memory.
        let is_ok = report.requested_dimensions_honoured != Some(false);
        let headline = match is_ok {
            true => format!("Works: {dimensions} dimensions in {ms} ms"),
            false => "It answers, but not with the requested dimensions".to_owned(),
        };
        Self { is_ok, headline, details }
    }
}

impl From<ChatReport> for TestResult {
    fn from(report: ChatReport) -> Self {
        let ms = report.latency.as_millis().max(1);
        let model = report.model.map(|model| ("Model", model));
        let mut details = Vec::from_iter(model);
        let schema = match (report.is_schema_honoured, report.is_cut_off) {
            (true, _) => "Supported",
            (false, true) => {
                "Unknown: its tokens were used up before it answered; a reasoning model needs more"
            }
            (false, false) => {
                "Not supported: its answers are parsed leniently, and more of them may be lost"
            }
        };
        details.push(("JSON schema output", schema.to_owned()));
        let (tokens_in, tokens_out) = (report.tokens_in, report.tokens_out);
        let tokens = match report.are_tokens_estimated {
            false => format!("{tokens_in} input, {tokens_out} output, counted by the endpoint"),
            true => format!(
                "about {tokens_in} input and {tokens_out} output, estimated at four characters per token, because the endpoint does not count them"
            ),
        };
        details.push(("Tokens", tokens));
        Self { is_ok: true, headline: format!("Works: an answer in {ms} ms"), details }
    }
}
