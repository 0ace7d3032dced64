//! An item's metadata: its key, its source, its confidence and its expiry. Parsed here with their limits. None of the
//! values may appear in an error or a log line.

use time::{Duration, OffsetDateTime};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use super::trust::Trust;
use crate::db::labels;
use crate::input::{Invalid, check_text};
use crate::json::json_labels;
use crate::texts::is_ignored;

pub const KEY_CHARS_MAX: usize = 128;
pub const SOURCE_CONTEXT_CHARS_MAX: usize = 2_000;
pub const CONFIDENCE_MAX: i64 = 100;
pub const EXPIRES_IN_DAYS_MAX: i64 = 36_500;
/// Confidence of a confirmed item.
pub const CONFIRMED_CONFIDENCE: i16 = 100;
/// Upper limit of a superseded item's confidence.
pub const SUPERSEDED_CONFIDENCE: i16 = 30;

/// The name of a fact within its theme, in its normal form: lower case, words joined by `_`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ItemKey(String);

impl ItemKey {
    /// `"Home City"` → `home_city`; blank → none.
    pub fn parse(text: &str) -> Result<Option<Self>, Invalid> {
        check_text("key", text, KEY_CHARS_MAX)?;
        let key = slug(text, '_');
        match (key.as_str(), text.trim()) {
            ("", "") => Ok(None),
            ("", _) => Err(Invalid::new(
                "key",
                "invalid_key",
                "`key` has no letter or digit; give a name such as home_city, or none.",
            )),
            // Case folding may have lengthened the text checked above.
            (key, _) => check_text("key", key, KEY_CHARS_MAX).map(|()| Some(Self(key.to_owned()))),
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// See [`key_form`].
    pub fn form(&self) -> String {
        key_form(&self.0)
    }
}

/// What is the same of all spellings of a key: `home_city` and `homecity`, `e_mail` and `email`. SQL compares it as
/// `replace(key, '_', '')`.
pub fn key_form(key: &str) -> String {
    key.replace('_', "")
}

/// The normal form of a name: lower case, with each run of other characters than letters, digits and `_` replaced by one
/// `joint`, and [`signs`] by words. Idempotent.
pub(super) fn slug(text: &str, joint: char) -> String {
    // Lower-casing may produce decomposed characters, so the text is normalized again.
    let seen = text.chars().filter(|c| !is_ignored(*c));
    let text: String = seen.nfkc().flat_map(char::to_lowercase).nfkc().collect();
    let is_replaced =
        |c: char| !c.is_alphanumeric() && !is_combining_mark(c) && (c != '_' || joint == '_');
    let mut words: Vec<&str> = Vec::new();
    let mut rest = text.trim_start_matches(is_replaced);
    while !rest.is_empty() {
        let (word, after) = rest.split_at(rest.find(is_replaced).unwrap_or(rest.len()));
        rest = after.trim_start_matches(is_replaced);
        words.push(word);
        words.extend(signs(&after[..after.len() - rest.len()], rest.is_empty()));
    }
    words.join(joint.to_string().as_str())
}

/// The words of signs after a word that tell names apart: `C++` and `C#`, at the end also `rating +` and `rating -`.
fn signs(between: &str, is_end: bool) -> &'static [&'static str] {
    let after = between.trim_start_matches(['+', '#']);
    let attached = &between[..between.len() - after.len()];
    let signs = match is_end {
        true if attached.is_empty() => between.trim(),
        false if after.is_empty() => "",
        _ => attached,
    };
    match signs {
        "+" => &["plus"],
        "++" => &["plus", "plus"],
        "#" => &["sharp"],
        "-" | "−" => &["minus"],
        _ => &[],
    }
}

labels! {
    /// Where an item's content comes from.
    #[derive(Default)]
    pub enum ItemSource {
        /// Default: the agent named no source.
        #[default]
        Agent = "agent",
        /// Stated or implied in a conversation.
        Conversation = "conversation",
        /// A tool's result.
        ToolCall = "tool_call",
        /// Found by the agent itself on the user's machine.
        AutoDiscovery = "auto_discovery",
        /// The user said so.
        UserExplicit = "user_explicit",
        Web = "web",
        Guess = "guess",
        /// Written by the chat model, from existing memories.
        Derived = "derived",
    }
}

json_labels!(ItemSource: ItemSource::NAMED);

impl ItemSource {
    /// The sources that callers can name; [`ItemSource::Agent`] is the default.
    pub const NAMED: [Self; 6] = [
        Self::Conversation,
        Self::ToolCall,
        Self::AutoDiscovery,
        Self::UserExplicit,
        Self::Web,
        Self::Guess,
    ];

    /// The default trust. `UserExplicit` gets an agent's trust only, because nobody has verified the agent's claim.
    pub fn trust(self) -> Trust {
        match self {
            Self::Agent | Self::Conversation | Self::UserExplicit | Self::Guess | Self::Derived => {
                Trust::Agent
            }
            Self::ToolCall | Self::AutoDiscovery => Trust::Tool,
            Self::Web => Trust::External,
        }
    }

    /// The default confidence, 0 to 100. Extraction reads the user's own words, and sets its own higher value.
    pub fn confidence(self) -> i16 {
        match self {
            Self::ToolCall | Self::AutoDiscovery => 95,
            Self::UserExplicit => 80,
            Self::Agent | Self::Conversation | Self::Derived => 70,
            Self::Web => 50,
            Self::Guess => 30,
        }
    }
}

/// 0 to 100.
pub fn parse_confidence(confidence: i64) -> Result<i16, Invalid> {
    i16::try_from(confidence)
        .ok()
        .filter(|_| (0..=CONFIDENCE_MAX).contains(&confidence))
        .ok_or_else(|| {
            Invalid::new(
                "confidence",
                "out_of_range",
                format!("`confidence` is out of range; give 0 to {CONFIDENCE_MAX}."),
            )
        })
}

/// The quote that an item was derived from; blank → `None`.
pub fn parse_source_context(text: &str) -> Result<Option<String>, Invalid> {
    check_text("source_context", text, SOURCE_CONTEXT_CHARS_MAX)?;
    let text = text.trim();
    Ok((!text.is_empty()).then(|| text.to_owned()))
}

/// The origin of an item.
#[derive(Clone, Debug, Default)]
pub struct Provenance {
    pub source: ItemSource,
    /// Verified trust; `None`: [`ItemSource::trust`]
    pub trust: Option<Trust>,
    /// [`parse_source_context`]
    pub context: Option<String>,
    /// [`parse_confidence`]; `None`: [`ItemSource::confidence`]
    pub confidence: Option<i16>,
    /// The session, and the message in it.
    pub session_id: Option<i64>,
    pub message_id: Option<i64>,
    /// When it was said, if before now; becomes the item's creation time.
    pub said_at: Option<OffsetDateTime>,
}

/// When an item expires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expiry {
    /// Relative to when it is added.
    In(Duration),
    At(OffsetDateTime),
}

impl Expiry {
    pub fn in_days(days: i64) -> Result<Self, Invalid> {
        if (1..=EXPIRES_IN_DAYS_MAX).contains(&days) {
            return Ok(Self::In(Duration::days(days)));
        }
        Err(Invalid::new(
            "expires_in_days",
            "out_of_range",
            format!(
                "`expires_in_days` is out of range; give 1 to {EXPIRES_IN_DAYS_MAX}, or leave it out."
            ),
        ))
    }

    pub fn from(self, now: OffsetDateTime) -> OffsetDateTime {
        match self {
            Self::In(lifetime) => now + lifetime,
            Self::At(at) => at,
        }
    }
}

/// What happens to a new item if the active item with its key stays ([`super::trust::verdict`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ConflictPolicy {
    /// It is stored archived and linked to the active one. If that one stays because it is confirmed, the add fails, so
    /// that the caller can ask the user or correct it.
    #[default]
    Refused,
    /// It is always stored archived: for background jobs, which can ask nobody and must not lose it.
    PutAside,
    /// The active item never stays: this is a correction.
    Never,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_normalised() {
        for (text, key) in [
            ("Home City", Some("home_city")),
            ("prefers-dark-ui", Some("prefers_dark_ui")),
            ("prefers_dark_ui", Some("prefers_dark_ui")),
            ("  __Editor!! ", Some("editor")),
            ("a__b", Some("a_b")),
            ("料理", Some("料理")),
            ("C++", Some("c_plus_plus")),
            ("C#", Some("c_sharp")),
            ("c", Some("c")),
            ("rating +", Some("rating_plus")),
            ("rating -", Some("rating_minus")),
            ("Ｃ＋＋ notes!", Some("c_plus_plus_notes")),
            ("salt + pepper", Some("salt_pepper")),
            ("a+b", Some("a_b")),
            ("## Heading ##", Some("heading")),
            ("home\u{200b}_city\u{feff}", Some("home_city")),
            ("Cafe\u{301}", Some("café")),
            ("می‌خواهم", Some("میخواهم")),
            ("", None),
            ("  ", None),
        ] {
            let parsed = ItemKey::parse(text).expect("valid");
            assert_eq!(parsed.as_ref().map(ItemKey::as_str), key, "{text:?}");
        }
        for refused in ["!!!", "\u{200b}", "a\0b", &"x".repeat(129)] {
            assert_eq!(ItemKey::parse(refused).expect_err("invalid").field, "key");
        }
    }

    #[test]
    fn a_key_in_its_normal_form_stays_as_it_is() {
        for text in ["İstanbul_x", "straße", "ﬁve  keys", "ǅ-ǆ"] {
            let once = ItemKey::parse(text).expect("valid").expect("a key");
            let twice = ItemKey::parse(once.as_str()).expect("valid");
            assert_eq!(Some(once), twice);
        }
    }

    #[test]
    fn each_limit_is_told_by_its_field() {
        assert!(parse_confidence(0).is_ok() && parse_confidence(100).is_ok());
        for out in [-1, 101, i64::MAX] {
            assert_eq!(parse_confidence(out).expect_err("out").field, "confidence");
        }
        for out in [0, -1, EXPIRES_IN_DAYS_MAX + 1, i64::MIN] {
            let field = Expiry::in_days(out).expect_err("out").field;
            assert_eq!(field, "expires_in_days");
        }
        assert_eq!(parse_source_context("  "), Ok(None));
        assert!(parse_source_context(&"x".repeat(2_001)).is_err());
    }
}
