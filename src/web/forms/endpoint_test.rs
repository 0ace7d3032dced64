//! The result of *Test* on a page: the endpoint's report, or the kind of failure. The form keeps its values,
//! except the key.

use app::view::{FormState, TestResult};

use super::{Form, Outcome};
use crate::input::sentence;
use crate::providers::ProviderError;
use crate::web::ui::host_port;

/// The page with the submitted form and the result of the test.
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

/// A headline for each kind of failure (DESIGN §5).
fn headline(error: &ProviderError) -> &'static str {
    match error {
        ProviderError::Refused(_) => "The endpoint cannot be reached",
        ProviderError::TimedOut => "No answer in time",
        ProviderError::KeyRejected => "The key was rejected",
        ProviderError::UnknownModel => "The endpoint does not know this model",
        ProviderError::NotEmbeddings(_) => "This is not an embeddings endpoint",
        ProviderError::NotChat(_) => "This is not a chat endpoint",
        ProviderError::Forbidden => "This address is not allowed",
        ProviderError::RateLimited { .. } => "The endpoint limits our requests",
        ProviderError::WrongVector(_) | ProviderError::DimensionsRefused => {
            "It answers, but its embeddings cannot be used"
        }
        _ => "The endpoint failed",
    }
}
