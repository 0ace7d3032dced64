//! The item: its type, status, theme, and the limits of its text (Nova §3.1).

use std::borrow::Cow;
use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;
use sha2::{Digest, Sha256};
use time::OffsetDateTime;

pub use super::item_type::ItemType;
use super::part::{DocumentPart, EpisodeSpan, TurnPosition};
use super::period::Period;
use super::projects::{Project, ProjectId};
use super::provenance::{ConflictPolicy, Expiry, ItemKey, Provenance, slug};
use super::trust::{Holder, Newcomer, Trust};
use crate::accounts::AgentId;
use crate::db::labels;
use crate::input::{Invalid, check_text, required_text};
use crate::json::json_labels;
use crate::texts::{comparable, is_same};

pub const CONTENT_CHARS_MAX: usize = 20_000;
pub const TAGS_MAX: usize = 32;
pub const TAG_CHARS_MAX: usize = 64;
pub const THEME_CHARS_MAX: usize = 64;
/// Of a theme's description.
pub const DESCRIPTION_CHARS_MAX: usize = 500;
/// An item that expires within this time counts as expiring soon.
pub const EXPIRING_SOON: time::Duration = time::Duration::days(7);
/// The theme of an item added without one (Nova §3.2.2).
pub const THEME_DEFAULT: &str = "general";

#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema, sqlx::Type,
)]
#[sqlx(transparent)]
pub struct ItemId(pub i64);

impl fmt::Display for ItemId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

labels! {
    pub enum Status {
        Active = "active",
        Archived = "archived",
    }
}

json_labels!(Status: Status::ALL);

impl Status {
    /// The effective status: an active item past its expiry counts as archived.
    pub fn at(self, expires_at: Option<OffsetDateTime>, now: OffsetDateTime) -> Self {
        match expires_at {
            Some(at) if at <= now => Self::Archived,
            _ => self,
        }
    }
}

/// A theme's name in its normal form: lower case, words joined by `-`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, sqlx::Type)]
#[sqlx(transparent)]
pub struct ThemeSlug(String);

impl ThemeSlug {
    /// `"Work Stuff"` → `work-stuff`; blank → `general`.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        check_text("theme", text, THEME_CHARS_MAX)?;
        let slug = slug(text, '-');
        match (slug.as_str(), text.trim()) {
            ("", "") => Ok(Self(THEME_DEFAULT.to_owned())),
            ("", _) => Err(Invalid::new(
                "theme",
                "invalid_theme",
                "`theme` has no letter or digit; give a name such as work or home-lab.",
            )),
            // Case folding may have lengthened the text checked above.
            (slug, _) => check_text("theme", slug, THEME_CHARS_MAX).map(|()| Self(slug.to_owned())),
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for ThemeSlug {
    fn default() -> Self {
        Self(THEME_DEFAULT.to_owned())
    }
}

/// A validated item that is not added yet.
#[derive(Clone, Debug)]
pub struct NewItem {
    item_type: ItemType,
    content: String,
    theme: ThemeSlug,
    theme_display_name: String,
    tags: Vec<String>,
    key: Option<ItemKey>,
    provenance: Provenance,
    expiry: Option<Expiry>,
    period: Period,
    project: Option<ProjectId>,
    yielding: ConflictPolicy,
}

impl NewItem {
    /// # Errors
    /// [`Invalid`] naming the first field that exceeds its limit.
    pub fn parse(
        item_type: ItemType,
        content: &str,
        theme: Option<&str>,
        tags: &[String],
    ) -> Result<Self, Invalid> {
        let content = required_text("content", content, CONTENT_CHARS_MAX)?.to_owned();
        let theme_text = theme.unwrap_or_default();
        let theme = ThemeSlug::parse(theme_text)?;
        let theme_text = theme_text.trim();
        let theme_display_name =
            if theme_text.is_empty() { theme.0.clone() } else { theme_text.to_owned() };
        Ok(Self {
            item_type,
            content,
            theme,
            theme_display_name,
            tags: parse_tags(tags)?,
            key: None,
            provenance: Provenance::default(),
            expiry: None,
            period: Period::default(),
            project: None,
            yielding: ConflictPolicy::default(),
        })
    }

    /// Sets the key: the item supersedes the active one with the same key and theme.
    pub fn with_key(mut self, key: Option<ItemKey>) -> Self {
        self.key = key;
        self
    }

    /// Without it, the source is `Source::Agent`.
    pub fn with_provenance(mut self, provenance: Provenance) -> Self {
        self.provenance = provenance;
        self
    }

    pub fn with_expiry(mut self, expiry: Option<Expiry>) -> Self {
        self.expiry = expiry;
        self
    }

    /// Sets when the content is true in the world.
    pub fn with_period(mut self, period: Period) -> Self {
        self.period = period;
        self
    }

    /// Sets what it was learned of; `None`: of the person.
    pub fn in_project(mut self, project: Option<ProjectId>) -> Self {
        self.project = project;
        self
    }

    /// Sets what happens if the active item with its key must stay.
    pub fn yielding(mut self, yielding: ConflictPolicy) -> Self {
        self.yielding = yielding;
        self
    }

    pub fn item_type(&self) -> ItemType {
        self.item_type
    }

    pub fn content(&self) -> &str {
        &self.content
    }

    pub fn theme(&self) -> &ThemeSlug {
        &self.theme
    }

    pub fn theme_display_name(&self) -> &str {
        &self.theme_display_name
    }

    pub fn tags(&self) -> &[String] {
        &self.tags
    }

    pub fn key(&self) -> Option<&ItemKey> {
        self.key.as_ref()
    }

    pub fn provenance(&self) -> &Provenance {
        &self.provenance
    }

    pub fn trust(&self) -> Trust {
        let provenance = &self.provenance;
        provenance.trust.unwrap_or(provenance.source.trust())
    }

    /// The item as the argument of `verdict`: it contradicts an existing one.
    pub(super) fn as_newcomer(&self) -> Newcomer {
        Newcomer { trust: self.trust(), said_at: self.provenance.said_at }
    }

    /// 0 to 100.
    pub fn confidence(&self) -> i16 {
        let by_source = self.provenance.source.confidence();
        self.provenance.confidence.unwrap_or(by_source)
    }

    /// When it was said, but never in the future.
    pub fn created_at(&self, now: OffsetDateTime) -> OffsetDateTime {
        self.provenance.said_at.map_or(now, |at| at.min(now))
    }

    pub fn expires_at(&self, now: OffsetDateTime) -> Option<OffsetDateTime> {
        self.expiry.map(|expiry| expiry.from(now))
    }

    pub fn period(&self) -> Period {
        self.period
    }

    pub fn project(&self) -> Option<ProjectId> {
        self.project
    }

    pub(super) fn yields(&self) -> ConflictPolicy {
        self.yielding
    }

    /// SHA-256 of the content as it is compared; equal hashes are duplicates.
    pub fn content_hash(&self) -> [u8; 32] {
        hash_of(&self.content)
    }
}

/// See [`NewItem::content_hash`].
pub(super) fn hash_of(content: &str) -> [u8; 32] {
    Sha256::digest(comparable(content).as_bytes()).into()
}

/// Trims and deduplicates tags, keeping their order.
fn parse_tags(tags: &[String]) -> Result<Vec<String>, Invalid> {
    if tags.len() > TAGS_MAX {
        return Err(Invalid::new(
            "tags",
            "too_many",
            format!("`tags` has {} entries; at most {TAGS_MAX} are accepted.", tags.len()),
        ));
    }
    let mut parsed: Vec<String> = Vec::with_capacity(tags.len());
    for tag in tags {
        let tag = required_text("tags", tag, TAG_CHARS_MAX)?;
        if !parsed.iter().any(|known| is_same(known, tag)) {
            parsed.push(tag.to_owned());
        }
    }
    Ok(parsed)
}

/// A text with its key, as it is embedded, searched and shown: a bare value means nothing without its key.
pub fn with_key<'a>(key: Option<&str>, content: &'a str) -> Cow<'a, str> {
    match key {
        Some(key) => Cow::Owned(format!("{key}: {content}")),
        None => Cow::Borrowed(content),
    }
}

/// A complete item (Nova §3.2.3).
#[derive(Clone, Debug)]
pub struct MemoryItem {
    pub id: ItemId,
    /// The theme's slug; `None` for turns and document parts.
    pub theme: Option<String>,
    pub theme_display_name: Option<String>,
    pub item_type: ItemType,
    pub key: Option<String>,
    pub content: String,
    pub tags: Vec<String>,
    pub status: Status,
    pub source: String,
    pub trust: Trust,
    pub source_context: Option<String>,
    /// Name of the agent that added it.
    pub agent: Option<String>,
    /// Id and name of the only agent that can see it; `None`: shared.
    pub owner: Option<(i64, String)>,
    /// `None`: it is about the person, in all projects.
    pub project: Option<Project>,
    /// 0 to 100
    pub confidence: i16,
    /// Somebody confirmed it: it does not fade.
    pub protected: bool,
    /// The person confirmed it: agents change it by proposal only.
    pub locked: bool,
    pub expires_at: Option<OffsetDateTime>,
    /// When its content is true in the world.
    pub period: Period,
    /// When it was last stated or confirmed to be true.
    pub last_verified_at: Option<OffsetDateTime>,
    /// As stored: the reader may not see it, and is told of `successor`.
    pub superseded_by: Option<ItemId>,
    /// The item that superseded it, if the reader sees that one.
    pub successor: Option<ItemId>,
    /// When a deletion requested by the user is due.
    pub delete_at: Option<OffsetDateTime>,
    /// The session it was read from, and the message's position in it.
    pub said_in: Option<(i64, Option<i32>)>,
    /// The agent's ids of that session and message.
    pub source_session: Option<String>,
    pub source_message: Option<String>,
    /// Only for turns.
    pub turn: Option<TurnPosition>,
    /// Only for document parts.
    pub part: Option<DocumentPart>,
    /// Only for episodes.
    pub span: Option<EpisodeSpan>,
    pub created_at: OffsetDateTime,
    pub updated_at: OffsetDateTime,
}

impl MemoryItem {
    /// The status with expiry applied, even if the item is not archived yet.
    pub fn status_at(&self, now: OffsetDateTime) -> Status {
        self.status.at(self.expires_at, now)
    }

    /// When it was last stated.
    pub fn stated_at(&self) -> OffsetDateTime {
        let again = self.last_verified_at.unwrap_or(self.created_at);
        again.max(self.created_at)
    }

    /// Whether it says the same as a new item, for as long, in the same place.
    pub(super) fn says_what(&self, new: &NewItem) -> bool {
        let has_its_tags = self.tags.len() == new.tags().len()
            && self.tags.iter().zip(new.tags()).all(|(tag, other)| is_same(tag, other));
        is_same(&self.content, new.content())
            && has_its_tags
            && self.item_type == new.item_type()
            && self.theme.as_deref() == Some(new.theme().as_str())
            && self.key.as_deref() == new.key().map(ItemKey::as_str)
            && self.period == new.period()
    }

    pub(super) fn project_id(&self) -> Option<ProjectId> {
        self.project.as_ref().map(|project| project.id)
    }

    pub(super) fn as_holder(&self) -> Holder {
        Holder { trust: self.trust, is_locked: self.locked, stated_at: self.stated_at() }
    }
}

/// Item counts of one user.
#[derive(Clone, Debug, Default)]
pub struct Stats {
    pub active: i64,
    /// Includes expired items; `faded` counts those of them that faded.
    pub archived: i64,
    pub faded: i64,
    /// `confirmed` and `with_key` count active items.
    pub confirmed: i64,
    pub with_key: i64,
    /// Active items that expire within [`EXPIRING_SOON`].
    pub expiring_soon: i64,
    /// `episodes` and `turns` are sources, not items.
    pub episodes: i64,
    pub turns: i64,
    pub oldest: Option<OffsetDateTime>,
    pub newest: Option<OffsetDateTime>,
    /// Active items, largest count first.
    pub by_type: Vec<(ItemType, i64)>,
    /// The largest themes, at most eleven.
    pub by_theme: Vec<ThemeCount>,
}

/// A theme's new name and description; `None` keeps the old value.
#[derive(Clone, Debug)]
pub struct ThemeNames {
    pub(super) display_name: Option<String>,
    pub(super) description: Option<String>,
}

impl ThemeNames {
    pub fn parse(display_name: Option<&str>, description: Option<&str>) -> Result<Self, Invalid> {
        let display_name = display_name
            .map(|name| required_text("display_name", name, THEME_CHARS_MAX))
            .transpose()?;
        if let Some(text) = description {
            check_text("description", text, DESCRIPTION_CHARS_MAX)?;
        }
        Ok(Self {
            display_name: display_name.map(str::to_owned),
            description: description.map(|text| text.trim().to_owned()),
        })
    }
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct MemoryTheme {
    /// Value for `theme` of the other tools.
    pub slug: String,
    /// Display name.
    pub display_name: String,
    /// What belongs in the theme; empty if not described.
    pub description: String,
    /// The agent that wrote the description. Omitted if the user wrote it, or there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub described_by: Option<String>,
    /// Number of active items.
    #[schemars(range(min = 0))]
    pub active_count: i64,
}

// A theme's slug and its number of active items; its schema has no description.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ThemeCount {
    #[serde(rename = "theme")]
    pub slug: String,
    #[serde(rename = "count")]
    pub active_count: i64,
}

/// An item that was added or corrected, and not compared with what was held before.
#[derive(Clone, Debug)]
pub struct UncomparedItem {
    pub id: ItemId,
    /// Who added it.
    pub agent: Option<AgentId>,
    /// As stored.
    pub is_active: bool,
    /// To a chat model, as the agent's settings say.
    pub may_be_sent: bool,
    pub theme: String,
    pub key: Option<String>,
    pub content: String,
    pub period: Period,
    pub created_at: OffsetDateTime,
    pub project: Option<Project>,
}

/// A list entry for an item read from a session.
#[derive(Clone, Debug)]
pub struct SessionItem {
    pub id: ItemId,
    pub theme: String,
    pub item_type: ItemType,
    /// Its first [`SessionItem::CHARS_MAX`] characters.
    pub beginning: String,
    /// As stored: an expired item may still be `Active`.
    pub status: Status,
    pub is_superseded: bool,
    pub expires_at: Option<OffsetDateTime>,
    /// The message's position in its session.
    pub position: Option<i64>,
}

impl SessionItem {
    pub const CHARS_MAX: i32 = 240;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn theme_slugs_are_normalised() {
        for (text, slug) in [
            ("Work Stuff", "work-stuff"),
            ("  --Home/Lab!! ", "home-lab"),
            ("snake_case", "snake_case"),
            ("", "general"),
            ("   ", "general"),
            ("料理", "料理"),
            ("Été", "été"),
            ("C++", "c-plus-plus"),
            ("C#", "c-sharp"),
            ("C++/Rust", "c-plus-plus-rust"),
            ("rating +", "rating-plus"),
            ("rating -", "rating-minus"),
            ("الأسرة +", "الأسرة-plus"),
        ] {
            assert_eq!(ThemeSlug::parse(text).map(|s| s.0).as_deref(), Ok(slug), "{text:?}");
        }
        assert!(ThemeSlug::parse("!!!").is_err());
        assert!(ThemeSlug::parse(&"x".repeat(65)).is_err());
    }

    #[test]
    fn tags_are_trimmed_and_kept_once() {
        let tags = ["a ", "b", "a", "é", "e\u{301}", "b\u{200b}"].map(str::to_owned);
        assert_eq!(parse_tags(&tags).expect("valid"), ["a", "b", "é"]);
        assert!(parse_tags(&vec!["x".to_owned(); 33]).is_err());
        assert!(parse_tags(&[" ".to_owned()]).is_err());
        assert!(parse_tags(&["\u{200b}".to_owned()]).is_err());
    }
}
