//! Differences between endpoints with the same API: whether they enforce a schema, and how they name limits.
//! A server is first asked in the usual way; a parameter that it refuses is left out from then on, and
//! remembered by address and model.

use std::hash::{BuildHasher, RandomState};
use std::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError};

use lru::LruCache;

use super::message::ChatRequest;
use crate::providers::client::HttpAnswer;
use crate::providers::{Endpoint, ProviderError, wire};

/// Maximum remembered pairs of address and model.
const KNOWN_MAX: NonZeroUsize = NonZeroUsize::new(1_000).expect("is not zero");

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Dialect {
    pub(super) knows_schema: bool,
    pub(super) knows_temperature: bool,
    /// OpenAI's newer models require `max_completion_tokens`.
    pub(super) says_completion_tokens: bool,
}

impl Default for Dialect {
    fn default() -> Self {
        Self { knows_schema: true, knows_temperature: true, says_completion_tokens: false }
    }
}

impl Dialect {
    /// The dialect for a retry after this refusal; `None`: a retry would not help.
    pub(super) fn after(
        self,
        error: &ProviderError,
        answer: &HttpAnswer,
        request: &ChatRequest<'_>,
    ) -> Option<Self> {
        if *error != ProviderError::BadInput {
            return None;
        }
        let hint = wire::hint(answer);
        if !self.says_completion_tokens && hint.contains("max_completion_tokens") {
            return Some(Self { says_completion_tokens: true, ..self });
        }
        if self.knows_temperature && hint.contains("temperature") {
            return Some(Self { knows_temperature: false, ..self });
        }
        (self.knows_schema && request.schema.is_some())
            .then_some(Self { knows_schema: false, ..self })
    }
}

/// What was learned, keyed by a hash of address and model, so that an erased account leaves neither here.
pub(super) struct Dialects {
    known: Mutex<LruCache<u64, Dialect>>,
    hasher: RandomState,
}

impl Default for Dialects {
    fn default() -> Self {
        Self { known: Mutex::new(LruCache::new(KNOWN_MAX)), hasher: RandomState::new() }
    }
}

impl Dialects {
    pub(super) fn of(&self, endpoint: &Endpoint) -> Dialect {
        let known = self.lock().get(&self.key(endpoint)).copied();
        known.unwrap_or_default()
    }

    /// Called only after a success.
    pub(super) fn learn(&self, endpoint: &Endpoint, dialect: Dialect) {
        if dialect != Dialect::default() {
            self.lock().put(self.key(endpoint), dialect);
        }
    }

    pub(super) fn forget(&self, endpoint: &Endpoint) {
        self.lock().pop(&self.key(endpoint));
    }

    fn key(&self, endpoint: &Endpoint) -> u64 {
        self.hasher.hash_one((&endpoint.url, &endpoint.model))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, LruCache<u64, Dialect>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
