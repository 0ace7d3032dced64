//! Secrets are not memories: texts are scanned as they come in, before anything of them is stored, embedded or recorded.
//! What is found is stored with a warning, replaced, or refused, as the user has set. What a person marks `<private>` is
//! always removed. Nothing here may return, log or store a secret; it is known by its rule and a keyed fingerprint
//! (docs/secrets.md).

mod cards;
mod findings;
mod ibans;
mod json;
mod masked;
mod private;
mod readings;
mod rules;
mod store;

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};

use hmac::{Hmac, Mac};
use rand::TryRngCore;
use rand::rngs::OsRng;
use schemars::JsonSchema;
use serde::Serialize;
use sha2::Sha256;
use sqlx::PgConnection;

use findings::COUNTED_FOR;
pub use findings::{FINDINGS_MAX, SecretFinding, SecretOverview};
pub use json::fields_of;
pub use masked::without_secrets;
pub use private::without_private;
pub use rules::{FoundSecret, ScanWork, rule_count, scan, scan_counted};

use crate::accounts::AgentId;
use crate::clock::SharedClock;
use crate::db::{Db, UserId, labels};
use crate::input::Invalid;
use crate::seal::{SealError, Sealer, SecretOwner};
use store::NewFinding;

/// Larger texts are scanned, compared and masked off the runtime's threads.
const INLINE_BYTES_MAX: usize = 32 * 1024;
/// Warnings in one answer.
pub const WARNINGS_MAX: usize = 20;
/// Secrets of one call that may be allowed; further ones are not looked up.
const KNOWN_A_CALL_MAX: usize = 2_000;
/// Findings recorded of one call; further ones are treated alike, and not listed.
const FINDINGS_A_CALL_MAX: usize = 100;
const FINGERPRINT_BYTES: usize = 16;
/// Of a fingerprint, as it is shown.
const SHOWN_BYTES: usize = 6;
const KEY_BYTES: usize = 32;
/// Limit of a finding's field name.
const FIELD_CHARS_MAX: usize = 100;
/// In place of a message that was private as a whole.
const ONLY_PRIVATE: &str = "[removed: private]";

/// What a user's key of fingerprints is sealed for.
pub fn fingerprint_key(user: UserId) -> SecretOwner {
    SecretOwner { user_id: user.0, column: "secret_settings.sealed_key" }
}

labels! {
    /// What happens to secrets in texts that come in.
    #[derive(Default)]
    pub enum SecretPolicy {
        /// Stored as they are; the answer warns.
        #[default]
        Warn = "warn",
        /// Replaced.
        Mask = "mask",
        /// The call is refused; where that cannot be ([`TextDoor`]), they are replaced.
        Refuse = "refuse",
    }
}

impl SecretPolicy {
    /// # Errors
    /// [`Invalid`] naming `policy`.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        Self::from_label(text).ok_or_else(|| {
            let sentence = "`policy` is not known; give warn, mask or refuse.";
            Invalid::new("policy", "invalid_policy", sentence)
        })
    }
}

/// How a text comes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextDoor {
    /// A call or a form, whose caller can change it.
    Call,
    /// A conversation, which nobody can change: nothing is refused, and a message that is private as a whole becomes a
    /// marker, so that the session keeps its order.
    Conversation,
    /// A record of an import: only one that is private as a whole is refused.
    Import,
    /// An answer of the chat model: its texts came in before, so that only what is replaced counts.
    Model,
    /// What is searched for, before it is embedded: it is not stored, so nothing is refused, counted or recorded. What is
    /// private as a whole becomes blank.
    Query,
}

/// A text with the name of its field.
pub struct ScreenedField<'a> {
    pub name: String,
    pub text: &'a mut String,
}

impl<'a> ScreenedField<'a> {
    pub fn new(name: impl Into<String>, text: &'a mut String) -> Self {
        Self { name: name.into(), text }
    }
}

/// A possible secret that was found. It does not contain the secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SecretWarning {
    /// The input field that contains it.
    pub field: String,
    /// The rule that matched, such as github-pat or card-number.
    pub rule: &'static str,
    /// Identifies the secret when the user allows it on the page Settings › Secrets.
    pub fingerprint: String,
    /// The secret was replaced and not stored. Otherwise it was stored unchanged.
    pub removed: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum RedactionError {
    #[error(transparent)]
    Invalid(#[from] Invalid),
    #[error(transparent)]
    Database(#[from] sqlx::Error),
    #[error(transparent)]
    Seal(#[from] SealError),
}

impl From<RedactionError> for sqlx::Error {
    /// For callers that know no other error; a text that is refused has one of its own.
    fn from(error: RedactionError) -> Self {
        match error {
            RedactionError::Database(error) => error,
            error => Self::Io(std::io::Error::other(error.to_string())),
        }
    }
}

/// Screens texts. Cheap to clone.
#[derive(Clone)]
pub struct Redactor {
    db: Db,
    clock: SharedClock,
    sealer: Sealer,
}

type Fingerprint = [u8; FINGERPRINT_BYTES];
/// Whose texts, from which agent, and how.
type Sender = (UserId, Option<AgentId>, TextDoor);

/// Texts without their private sections.
struct Examined {
    texts: Vec<String>,
    /// The secrets of each.
    found: Vec<Vec<FoundSecret>>,
    /// The first text that was private as a whole.
    all_private: Option<usize>,
}

/// A secret of a call: which text, and where in it.
struct Located {
    text: usize,
    secret: FoundSecret,
    /// `None` beyond [`KNOWN_A_CALL_MAX`].
    fingerprint: Option<Fingerprint>,
}

impl Redactor {
    pub fn new(db: Db, clock: SharedClock, sealer: Sealer) -> Self {
        Self { db, clock, sealer }
    }

    /// Removes private sections, and treats secrets as the user has set. The database is asked only if there is a secret.
    ///
    /// # Errors
    /// [`Invalid`] if a field is private as a whole, or has a secret and the user refuses them, as [`TextDoor`] says.
    pub async fn screen(
        &self,
        user: UserId,
        agent: Option<AgentId>,
        door: TextDoor,
        fields: &mut [ScreenedField<'_>],
    ) -> Result<Vec<SecretWarning>, RedactionError> {
        let texts: Vec<String> = fields.iter_mut().map(|f| std::mem::take(f.text)).collect();
        let names: Vec<String> = fields.iter().map(|field| field.name.clone()).collect();
        let bytes = texts.iter().map(String::len).sum();
        let examined = off_runtime(bytes, move || examined(texts, door)).await?;
        if let Some(at) = examined.all_private
            && matches!(door, TextDoor::Call | TextDoor::Import)
        {
            return Err(all_private(&names[at]).into());
        }
        let (texts, warnings) = match examined.found.iter().all(Vec::is_empty) {
            true => (examined.texts, Vec::new()),
            false => self.treat((user, agent, door), &names, examined).await?,
        };
        for (field, text) in fields.iter_mut().zip(texts) {
            *field.text = text;
        }
        Ok(warnings)
    }

    /// [`Self::screen`] of one text.
    ///
    /// # Errors
    /// Those of [`Self::screen`].
    pub async fn screen_text(
        &self,
        user: UserId,
        agent: Option<AgentId>,
        door: TextDoor,
        (name, text): (&str, &mut String),
    ) -> Result<Vec<SecretWarning>, RedactionError> {
        let field = ScreenedField::new(name, text);
        self.screen(user, agent, door, &mut [field]).await
    }

    /// The texts with their secrets as the user wants them, and the warnings.
    async fn treat(
        &self,
        sender: Sender,
        names: &[String],
        Examined { texts, found, .. }: Examined,
    ) -> Result<(Vec<String>, Vec<SecretWarning>), RedactionError> {
        let (user, _, door) = sender;
        let bytes = texts.iter().map(String::len).sum();
        let mut tx = self.db.as_user(user).await?;
        let (policy, key) = self.settings_and_key(&mut tx, user).await?;
        // Fingerprints of long secrets take time, in which no connection is held.
        tx.commit().await?;
        let locate = move || (located(&texts, &found, &key), texts);
        let (located, mut texts) = off_runtime(bytes, locate).await?;
        let located = self.record(sender, policy, names, located).await?;
        let warnings = warnings_of(names, &located, policy != SecretPolicy::Warn);
        if located.is_empty() || policy == SecretPolicy::Warn {
            return Ok((texts, warnings));
        }
        if policy == SecretPolicy::Refuse && door == TextDoor::Call {
            return Err(refusal(names, &located).into());
        }
        let places: Vec<_> = located.iter().map(|one| (one.text, one.secret)).collect();
        let mask = move || {
            masked::mask_all(&mut texts, &places);
            texts
        };
        Ok((off_runtime(bytes, mask).await?, warnings))
    }

    /// The secrets that are not allowed, after recording them.
    async fn record(
        &self,
        (user, agent, door): Sender,
        policy: SecretPolicy,
        names: &[String],
        mut located: Vec<Located>,
    ) -> Result<Vec<Located>, sqlx::Error> {
        let now = self.clock.now();
        let mut tx = self.db.as_user(user).await?;
        let fingerprints = located.iter().filter_map(|one| one.fingerprint);
        let fingerprints: Vec<Vec<u8>> = fingerprints.map(|f| f.to_vec()).collect();
        let allowed = store::list_allowed(&mut tx, user, &fingerprints).await?;
        let allowed: HashSet<Vec<u8>> = allowed.into_iter().collect();
        let is_allowed = |one: &Located| one.fingerprint.is_some_and(|f| allowed.contains(&f[..]));
        located.retain(|one| !is_allowed(one));
        let counts = match door {
            TextDoor::Call | TextDoor::Conversation | TextDoor::Import => true,
            TextDoor::Model => policy != SecretPolicy::Warn,
            TextDoor::Query => false,
        };
        if !located.is_empty() && counts {
            // One call of a user at a time, so that none deletes what another holds.
            store::lock_settings(&mut tx, user).await?;
            let findings = findings_of(names, &located, agent);
            store::add_findings(&mut tx, user, &findings, now).await?;
            store::trim_findings(&mut tx, user, FINDINGS_MAX).await?;
            let days = ((now - COUNTED_FOR).date(), now.date());
            store::add_counts(&mut tx, user, &rules_of(&located), days).await?;
        }
        tx.commit().await?;
        Ok(located)
    }

    /// The user's key is made when it is first needed, or when no key of the server opens it any more: then nothing is
    /// allowed any more either.
    async fn settings_and_key(
        &self,
        conn: &mut PgConnection,
        user: UserId,
    ) -> Result<(SecretPolicy, Vec<u8>), RedactionError> {
        let bound = fingerprint_key(user);
        let (policy, sealed) = store::find_settings(&mut *conn, user).await?;
        let opened = sealed.map(|sealed| self.sealer.open(bound, &sealed));
        if let Some(Ok(key)) = opened {
            return Ok((policy, key.into_bytes()));
        }
        let is_lost = opened.is_some();
        let sealed = self.sealer.seal(bound, &new_key()?)?;
        if is_lost {
            tracing::warn!(user = user.0, "no key opens the key of fingerprints; it is made again");
            store::replace_key(&mut *conn, user, &sealed).await?;
            store::disallow_all(&mut *conn, user).await?;
        }
        // Another call may have made one meanwhile.
        let sealed = store::ensure_key(conn, user, &sealed).await?;
        let key = self.sealer.open(bound, &sealed)?;
        Ok((policy, key.into_bytes()))
    }
}

/// Runs work on so many bytes of text off the runtime's threads if they are many.
async fn off_runtime<T: Send + 'static>(
    bytes: usize,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, sqlx::Error> {
    if bytes <= INLINE_BYTES_MAX {
        return Ok(work());
    }
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| sqlx::Error::Io(error.into()))
}

fn examined(mut texts: Vec<String>, door: TextDoor) -> Examined {
    let mut all_private = None;
    if door != TextDoor::Model {
        for (at, text) in texts.iter_mut().enumerate() {
            if remove_private(text, door) {
                all_private.get_or_insert(at);
            }
        }
    }
    Examined { found: texts.iter().map(|text| scan(text)).collect(), texts, all_private }
}

/// Returns whether the text was private as a whole.
fn remove_private(text: &mut String, door: TextDoor) -> bool {
    let Cow::Owned(kept) = without_private(text) else {
        return false;
    };
    let is_all = kept.trim().is_empty();
    *text = match is_all && door == TextDoor::Conversation {
        true => ONLY_PRIVATE.to_owned(),
        false => kept,
    };
    is_all
}

fn located(texts: &[String], found: &[Vec<FoundSecret>], key: &[u8]) -> Vec<Located> {
    let mut located = Vec::new();
    for (text, secrets) in found.iter().enumerate() {
        for &secret in secrets {
            let is_known = located.len() < KNOWN_A_CALL_MAX;
            let word = &texts[text][secret.start..secret.end];
            located.push(Located {
                text,
                secret,
                fingerprint: is_known.then(|| fingerprint(key, word)),
            });
        }
    }
    located
}

fn all_private(field: &str) -> Invalid {
    let sentence = format!(
        "`{field}` has nothing outside <private>…</private>, so nothing was stored; leave it out, or write outside what may be kept."
    );
    Invalid::new(field.to_owned(), "private", sentence)
}

fn refusal(names: &[String], found: &[Located]) -> Invalid {
    let first = &found[0];
    let (field, shown) = (&names[first.text], shown_of(first));
    let sentence = format!(
        "`{field}` has what looks like a secret ({}, fingerprint {shown}), and this user refuses secrets, so nothing was stored; leave it out, or, if it is none, let the user allow it on the page Settings › Secrets.",
        first.secret.rule
    );
    Invalid::new(field.clone(), "secret_found", sentence)
}

fn warnings_of(names: &[String], found: &[Located], removed: bool) -> Vec<SecretWarning> {
    let warnings = found.iter().take(WARNINGS_MAX).map(|one| SecretWarning {
        field: names[one.text].clone(),
        rule: one.secret.rule,
        fingerprint: shown_of(one),
        removed,
    });
    warnings.collect()
}

/// One for each secret.
fn findings_of(names: &[String], found: &[Located], agent: Option<AgentId>) -> Vec<NewFinding> {
    let mut findings: Vec<NewFinding> = Vec::new();
    for one in found {
        let Some(fingerprint) = one.fingerprint else {
            break;
        };
        let is_full = findings.len() == FINDINGS_A_CALL_MAX;
        let known = findings.iter_mut().find(|known| known.fingerprint == fingerprint);
        match known {
            Some(known) => known.count += 1,
            None if is_full => {}
            None => findings.push(NewFinding {
                fingerprint: fingerprint.to_vec(),
                rule: one.secret.rule,
                field: names[one.text].chars().take(FIELD_CHARS_MAX).collect(),
                agent: agent.map(|agent| agent.0),
                count: 1,
            }),
        }
    }
    findings
}

/// Each rule with how often it was found, by name.
fn rules_of(found: &[Located]) -> Vec<(&'static str, i64)> {
    let mut counts = BTreeMap::new();
    for one in found {
        *counts.entry(one.secret.rule).or_insert(0) += 1;
    }
    counts.into_iter().collect()
}

/// HMAC-SHA-256 by the user's key, cut: without the key nobody can try guesses of a short secret.
fn fingerprint(key: &[u8], secret: &str) -> Fingerprint {
    let mut fingerprint = [0; FINGERPRINT_BYTES];
    // A key of any length is accepted.
    if let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) {
        mac.update(secret.as_bytes());
        let whole = mac.finalize().into_bytes();
        fingerprint.copy_from_slice(&whole[..FINGERPRINT_BYTES]);
    }
    fingerprint
}

fn shown_of(one: &Located) -> String {
    one.fingerprint.map_or_else(String::new, |f| shown(&f))
}

/// Its beginning, in hex.
fn shown(fingerprint: &[u8]) -> String {
    hex(&fingerprint[..SHOWN_BYTES.min(fingerprint.len())])
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn new_key() -> Result<String, SealError> {
    let mut key = [0; KEY_BYTES];
    let filled = OsRng.try_fill_bytes(&mut key);
    filled.map_err(|_| SealError::Randomness)?;
    Ok(hex(&key))
}
