//! Why a provider returned no vectors or no text, by what helps: waiting, other settings, or giving up one
//! text. Messages are clauses for people and never contain a key, a text or the endpoint's answer.

use std::time::Duration;

use super::MAX_DIMENSIONS;
use super::builtin_model::BuiltinModel;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProviderError {
    #[error("the endpoint cannot be reached: {0}")]
    Refused(Unreachable),
    #[error("the endpoint did not answer in time")]
    TimedOut,
    #[error("the built-in model is busy")]
    Busy,
    #[error("the endpoint rejected the key: check it, or enter it again")]
    KeyRejected,
    #[error("the endpoint does not know this model: check its name, or load it there first")]
    UnknownModel,
    #[error(
        "the model does not offer the dimensions asked for: leave `dimensions` empty, or choose others"
    )]
    DimensionsRefused,
    #[error("this is not an embeddings endpoint: {0}")]
    NotEmbeddings(NotEmbeddings),
    #[error("this is not a chat endpoint: {0}")]
    NotChat(NotChat),
    #[error(
        "the model reasoned and gave no answer: switch its thinking off, or choose another model"
    )]
    NoAnswer,
    #[error("the endpoint is asked too often and wants us to wait")]
    RateLimited { retry_after: Option<Duration> },
    #[error("the text is longer than the model takes")]
    TooLong,
    #[error("the endpoint did not accept the text")]
    BadInput,
    #[error("the endpoint failed with status {status}")]
    Server { status: u16, retry_after: Option<Duration> },
    #[error("the endpoint's answer cannot be used: {0}")]
    WrongVector(WrongVector),
    #[error(
        "this address is not allowed: ask an admin to allow its host and port for embeddings and chat, on the page Admin"
    )]
    Forbidden,
    #[error("the built-in model is not available: {0}")]
    BuiltinMissing(BuiltinFlaw),
}

/// Why no connection was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreachable {
    #[error("there is no host of this name")]
    NoSuchHost,
    #[error("nothing accepts connections at this address and port")]
    NoConnection,
    #[error(
        "no secure connection came about: check its certificate, and whether the address should begin with http"
    )]
    Tls,
    #[error(
        "this machine has no CA certificates to check it with: install the package ca-certificates and restart Keepsake"
    )]
    NoCertificates,
    #[error("it hung up before it answered")]
    HungUp,
}

/// Why an answer contains no embeddings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotEmbeddings {
    #[error("it answers with a web page")]
    Html,
    #[error("nothing is served at this path")]
    NothingThere,
    #[error("it redirects elsewhere, which is not followed; give the address it redirects to")]
    Redirect,
    #[error("it answers in a form that is not known")]
    Shape,
    #[error("its answer breaks off in the middle")]
    HalfABody,
    #[error(
        "its answer is larger than the vectors of these texts can be: set `dimensions` to {MAX_DIMENSIONS} or fewer, or choose a smaller model"
    )]
    TooLarge,
    #[error("it answered {got} vectors to {sent} texts")]
    WrongCount { sent: usize, got: usize },
}

/// Why an answer contains no text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotChat {
    #[error("it answers with a web page")]
    Html,
    #[error("nothing is served at this path")]
    NothingThere,
    #[error("it redirects elsewhere, which is not followed; give the address it redirects to")]
    Redirect,
    #[error("it answers in a form that is not known")]
    Shape,
    #[error("its answer breaks off in the middle")]
    HalfABody,
    #[error("its answer is larger than the tokens asked for can be")]
    TooLarge,
    #[error("it serves no model that is made for chat; name another model")]
    NoChatModel,
    #[error("its answer holds no text")]
    NoText,
}

impl From<NotEmbeddings> for NotChat {
    fn from(flaw: NotEmbeddings) -> Self {
        match flaw {
            NotEmbeddings::Html => Self::Html,
            NotEmbeddings::NothingThere => Self::NothingThere,
            NotEmbeddings::Redirect => Self::Redirect,
            NotEmbeddings::Shape | NotEmbeddings::WrongCount { .. } => Self::Shape,
            NotEmbeddings::HalfABody => Self::HalfABody,
            NotEmbeddings::TooLarge => Self::TooLarge,
        }
    }
}

/// Why a vector cannot be stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WrongVector {
    #[error("the vector is empty")]
    Empty,
    #[error(
        "the vector has {dimensions} dimensions, and at most {MAX_DIMENSIONS} are kept: set `dimensions` to {MAX_DIMENSIONS} or fewer, or choose a smaller model"
    )]
    TooWide { dimensions: usize },
    #[error("the vector holds something that is not a number")]
    NotFinite,
    #[error("the vector is all zeros")]
    Zero,
}

/// Why the built-in model does not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BuiltinFlaw {
    #[error("the files of {} are not in the data folder; `{}` fetches them", .0.name(), .0.fetched_by())]
    NoFiles(BuiltinModel),
    #[error("its files cannot be read: check who may read the data folder")]
    Unreadable,
    #[error(
        "its files are damaged: remove the folders `model-…` from runtime in the data folder and run `make build`"
    )]
    Damaged,
    #[error("it failed on this text")]
    Failed,
    #[error("it is switched off")]
    Off,
}

impl ProviderError {
    /// The name in metrics.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Refused(_) => "unreachable",
            Self::TimedOut => "timed_out",
            Self::Busy => "busy",
            Self::KeyRejected => "key_rejected",
            Self::UnknownModel => "unknown_model",
            Self::DimensionsRefused => "dimensions_refused",
            Self::NotEmbeddings(_) => "not_embeddings",
            Self::NotChat(_) => "not_chat",
            Self::NoAnswer => "no_answer",
            Self::RateLimited { .. } => "rate_limited",
            Self::TooLong => "too_long",
            Self::BadInput => "bad_input",
            Self::Server { .. } => "server_error",
            Self::WrongVector(_) => "wrong_vector",
            Self::Forbidden => "forbidden",
            Self::BuiltinMissing(_) => "builtin_missing",
        }
    }

    /// Whether another text could have succeeded: then a batch is halved, and a single text is given up. All
    /// other errors are about the endpoint.
    pub fn is_about_the_input(&self) -> bool {
        matches!(
            self,
            Self::TooLong
                | Self::BadInput
                | Self::WrongVector(WrongVector::NotFinite | WrongVector::Zero)
                | Self::BuiltinMissing(BuiltinFlaw::Failed)
        )
    }

    /// The same error for a chat call.
    pub(super) fn of_chat(self) -> Self {
        match self {
            Self::NotEmbeddings(flaw) => Self::NotChat(flaw.into()),
            other => other,
        }
    }

    /// Whether a chat model may have processed the prompt, and charged for it, although there is no answer.
    pub fn may_have_cost(&self) -> bool {
        matches!(
            self,
            Self::TimedOut
                | Self::NoAnswer
                | Self::Refused(Unreachable::HungUp)
                | Self::Server { status: 504, .. }
                | Self::NotChat(NotChat::HalfABody | NotChat::TooLarge | NotChat::NoText)
        )
    }

    /// How long the endpoint asks us to wait.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::RateLimited { retry_after } | Self::Server { retry_after, .. } => *retry_after,
            _ => None,
        }
    }
}
