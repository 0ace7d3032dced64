//! What goes wrong, as pages say it.

use app::backend::PageError;

use crate::accounts::AccountError;
use crate::embedding::EmbeddingError;
use crate::input::{Invalid, sentence};
use crate::memories::MemoryError;
use crate::providers::chat::ChatError;
use crate::web::error::{DATABASE_SENTENCE, Problem};

pub(super) fn invalid(invalid: Invalid) -> PageError {
    PageError {
        is_invalid: true,
        sentence: invalid.sentence,
    }
}

pub(super) fn database(error: sqlx::Error) -> PageError {
    // Logged where every database error is.
    let Problem { detail, .. } = error.into();
    PageError {
        is_invalid: false,
        sentence: detail,
    }
}

pub(super) fn memory_error(error: MemoryError) -> PageError {
    match error {
        MemoryError::Database(error) => database(error),
        MemoryError::Embedding(error) => embedding_error(error),
        MemoryError::NotFound(_) => PageError {
            is_invalid: false,
            sentence: "There is no such memory.".to_owned(),
        },
        // Pages add and correct nothing.
        error => PageError {
            is_invalid: true,
            sentence: sentence(&error.to_string()),
        },
    }
}

pub(super) fn embedding_error(error: EmbeddingError) -> PageError {
    let problem = Problem::from(error);
    PageError {
        is_invalid: problem.status.is_client_error(),
        sentence: problem.detail,
    }
}

pub(super) fn chat_error(error: ChatError) -> PageError {
    let problem = Problem::from(error);
    PageError {
        is_invalid: problem.status.is_client_error(),
        sentence: problem.detail,
    }
}

pub(super) fn account_error(error: AccountError) -> PageError {
    match error {
        AccountError::Database(error) => database(error),
        _ => PageError {
            is_invalid: false,
            sentence: DATABASE_SENTENCE.to_owned(),
        },
    }
}
