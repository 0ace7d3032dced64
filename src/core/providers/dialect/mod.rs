//! How endpoints of one API differ: where it is served, and which parameters are refused. An endpoint is first
//! asked in the usual way; what it refuses is left out from then on. That is kept in the database by a hash of
//! address and model, so that a restart does not learn again and an erased account leaves neither. It holds no
//! text, key or address.

mod store;

use std::num::NonZeroUsize;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use lru::LruCache;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use time::Duration;

use super::endpoint::ProviderType;
use super::thinking::Thinking;
use crate::clock::SharedClock;
use crate::db::Db;

/// Maximum remembered endpoints of a process.
const KNOWN_MAX: NonZeroUsize = NonZeroUsize::new(1_000).expect("is not zero");
/// After this, an endpoint is asked in the usual way again: it may have learned more.
const LEARNED_FOR: Duration = Duration::days(30);

/// Where an API is served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Served {
    /// OpenAI's or the API format's own, at the likelier address.
    #[default]
    Usual,
    /// At the other way to complete the address.
    OtherPath,
    /// TEI's own API.
    Tei,
    /// llama.cpp's own API.
    Llamacpp,
}

/// What was learned of an endpoint; the default is the usual way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Dialect {
    pub(super) served: Served,
    pub(super) no_schema: bool,
    pub(super) no_temperature: bool,
    /// OpenAI's newer models require `max_completion_tokens`.
    pub(super) says_completion_tokens: bool,
    /// The system's message goes into the user's.
    pub(super) no_system_role: bool,
    pub(super) no_encoding_format: bool,
    /// How the model is asked not to think; `None`: as its host usually takes it.
    pub(super) thinking: Option<Thinking>,
}

impl Dialect {
    /// The parameter that asks the model not to think.
    pub(super) fn thinking_parameter(&self) -> Map<String, Value> {
        self.thinking.map(Thinking::parameter).unwrap_or_default()
    }

    /// What was learned, in the words of the settings page.
    pub(super) fn in_words(&self) -> Vec<&'static str> {
        let served = match self.served {
            Served::Usual => None,
            Served::OtherPath => Some("another path is served"),
            Served::Tei => Some("TEI's own API"),
            Served::Llamacpp => Some("llama.cpp's own API"),
        };
        let flags = [
            (self.no_schema, "no JSON schema"),
            (self.no_temperature, "no temperature"),
            (self.says_completion_tokens, "max_completion_tokens for max_tokens"),
            (self.no_system_role, "no system role"),
            (self.no_encoding_format, "no encoding_format"),
        ];
        let flags = flags.into_iter().filter_map(|(is_so, words)| is_so.then_some(words));
        served.into_iter().chain(flags).chain(self.thinking.map(Thinking::in_words)).collect()
    }
}

/// What an endpoint is asked for: it may speak another dialect for each.
#[derive(Clone, Copy)]
pub(super) enum DialectUse {
    Embeddings,
    Chat,
}

/// Names what was learned, without holding address or model.
pub(super) type DialectKey = [u8; 32];

pub(super) fn key(used_for: DialectUse, kind: ProviderType, url: &str, model: &str) -> DialectKey {
    let used_for: &[u8] = match used_for {
        DialectUse::Embeddings => b"embeddings",
        DialectUse::Chat => b"chat",
    };
    let mut hash = Sha256::new();
    for part in [used_for, kind.as_str().as_bytes(), url.as_bytes(), model.as_bytes()] {
        hash.update(part);
        hash.update([0]);
    }
    hash.finalize().into()
}

/// How sure a refusal is about what was left out after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Certainty {
    Sure,
    /// A failure of the server that named nothing: it counts when it happens twice in a row.
    Suspected,
}

/// What was learned of all endpoints.
pub(super) struct Dialects {
    known: Mutex<LruCache<DialectKey, Dialect>>,
    suspected: Mutex<LruCache<DialectKey, Dialect>>,
    kept_in: OnceLock<Db>,
    clock: SharedClock,
}

impl Dialects {
    pub(super) fn new(clock: SharedClock) -> Self {
        let cache = || Mutex::new(LruCache::new(KNOWN_MAX));
        Self { known: cache(), suspected: cache(), kept_in: OnceLock::new(), clock }
    }

    /// From now on, what is learned outlives the process.
    pub(super) fn keep_in(&self, db: Db) {
        let _ = self.kept_in.set(db);
    }

    /// `None`: it has not answered yet.
    pub(super) async fn of(&self, key: DialectKey) -> Option<Dialect> {
        let known = lock(&self.known).get(&key).copied();
        if known.is_some() {
            return known;
        }
        let kept = self.read(key).await;
        let kept = kept.inspect_err(|error| tracing::debug!(%error, "no dialect could be read"));
        let kept = kept.ok().flatten()?;
        lock(&self.known).put(key, kept);
        Some(kept)
    }

    async fn read(&self, key: DialectKey) -> Result<Option<Dialect>, sqlx::Error> {
        let Some(db) = self.kept_in.get() else {
            return Ok(None);
        };
        let mut conn = db.system_connection().await?;
        let kept = store::find(&mut conn, &key, self.clock.now() - LEARNED_FOR).await?;
        // A newer version's words are learned again.
        Ok(kept.and_then(|kept| serde_json::from_value(kept).ok()))
    }

    /// Called only after a success.
    pub(super) async fn learn(&self, key: DialectKey, dialect: Dialect, certainty: Certainty) {
        let before = lock(&self.known).get(&key).copied();
        if before == Some(dialect) {
            lock(&self.suspected).pop(&key);
            return;
        }
        if certainty == Certainty::Suspected
            && lock(&self.suspected).put(key, dialect) != Some(dialect)
        {
            return;
        }
        lock(&self.known).put(key, dialect);
        // The usual way is not kept.
        if before.unwrap_or_default() != dialect {
            self.write(key, Some(dialect)).await;
        }
    }

    /// The endpoint is asked in the usual way again.
    pub(super) async fn forget(&self, key: DialectKey) {
        lock(&self.known).pop(&key);
        lock(&self.suspected).pop(&key);
        self.write(key, None).await;
    }

    /// A hint: if it cannot be written, it is learned again.
    async fn write(&self, key: DialectKey, dialect: Option<Dialect>) {
        let Some(db) = self.kept_in.get() else {
            return;
        };
        let now = self.clock.now();
        let written = async {
            let mut conn = db.system_connection().await?;
            store::delete(&mut conn, &key, now - LEARNED_FOR).await?;
            if let Some(value) = dialect.and_then(|dialect| serde_json::to_value(dialect).ok()) {
                store::insert(&mut conn, &key, &value, now).await?;
            }
            Ok::<_, sqlx::Error>(())
        };
        if let Err(error) = written.await {
            tracing::debug!(%error, "a dialect could not be kept");
        }
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
