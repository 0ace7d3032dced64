//! What a page says after *Test*: the endpoint's answer, or which kind of failure it
//! was. What was typed stays in the form, but for the key.

use app::view::{FormState, TestResult};

use super::{Form, Outcome};
use crate::input::sentence;
use crate::providers::ProviderError;
use crate::web::ui::host_port;

/// The page again, with the form as it was and what came of the test.
pub(super) fn tried(form: &Form, name: &str, test: TestResult) -> Outcome {
    Outcome::Page(Box::new(FormState {
        form: name.to_owned(),
        values: form.values(),
        test: Some(test),
        ..FormState::default()
    }))
}

pub(super) fn failed(form: &Form, error: &ProviderError) -> TestResult {
    TestResult {
        is_ok: false,
        headline: headline(error).to_owned(),
        details: vec![
            ("Asked".to_owned(), host_port(form.get("url"))),
            ("What happened".to_owned(), sentence(&error.to_string())),
        ],
    }
}

/// The kinds of failure, told apart (DESIGN §5).
fn headline(error: &ProviderError) -> &'static str {
    match error {
        ProviderError::Refused(_) => "The endpoint cannot be reached",
        ProviderError::TimedOut => "No answer in time",
        ProviderError::KeyRejected => "The key was rejected",
        ProviderError::UnknownModel => "The endpoint does not know this model",
        ProviderError::NotEmbeddings(_) => "This is not an embeddings endpoint",
        ProviderError::NotChat(_) => "This is not a chat endpoint",
        ProviderError::Forbidden => "This address is not allowed",
        ProviderError::RateLimited { .. } => "The endpoint is asked too often",
        ProviderError::WrongVector(_) | ProviderError::DimensionsRefused => {
            "It answers, but its vectors cannot be kept"
        }
        _ => "The endpoint failed",
    }
}
