//! Who there is: users, agents, tokens. Types that cannot be mixed up, and the
//! rules a name, an address or a password must keep.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use time::OffsetDateTime;

use super::agents::settings::AgentSettings;
use crate::clock::Zone;
use crate::input::{Invalid, check_text, required_text};

pub const EMAIL_CHARS_MAX: usize = 254;
pub const PASSWORD_CHARS_MIN: usize = 10;
pub const PASSWORD_CHARS_MAX: usize = 256;
pub const AGENT_NAME_CHARS_MAX: usize = 64;
pub const AGENTS_PER_USER_MAX: i64 = 200;
pub const TOKENS_PER_AGENT_MAX: i64 = 50;
pub const TOKEN_DAYS_MAX: i64 = 3_650;
pub const OPERATORS_MAX: i64 = 200;
pub const TOKENS_PER_OPERATOR_MAX: i64 = 50;
pub const USERS_PER_OPERATOR_DEFAULT: i32 = 10_000;
pub const USERS_PER_OPERATOR_MAX: i32 = 10_000_000;
pub const EXTERNAL_ID_CHARS_MAX: usize = 200;

/// The scope that only service tokens have.
pub const ACT_AS: &str = "act_as";

pub use crate::db::UserId;
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AgentId(pub i64);
/// Of an agent's token or of an operator's: each kind counts for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TokenId(pub i64);
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OperatorId(pub i64);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Admin,
    Member,
}

impl Role {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Admin => "admin",
            Self::Member => "member",
        }
    }

    /// The column's check admits nothing else.
    pub fn from_column(role: &str) -> Self {
        if role == "admin" {
            Self::Admin
        } else {
            Self::Member
        }
    }
}

/// Somebody who signs in.
#[derive(Clone, Debug)]
pub struct User {
    pub id: UserId,
    pub email: String,
    pub role: Role,
    pub disabled: bool,
    /// Whether their agents may read and write memory.
    pub memory_enabled: bool,
    pub time_zone: Zone,
    pub created_at: OffsetDateTime,
}

/// An e-mail address, lower case.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Email(String);

impl Email {
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let text = required_text("email", text, EMAIL_CHARS_MAX)?;
        let well_formed = text.split_once('@').is_some_and(|(name, host)| {
            !name.is_empty()
                && !host.is_empty()
                && !host.contains('@')
                && !text
                    .chars()
                    .any(|c| c.is_whitespace() || c.is_control() || is_invisible(c))
        });
        if !well_formed {
            return Err(Invalid::new(
                "email",
                "invalid_email",
                "`email` is not an address; give one like anna@example.com.",
            ));
        }
        Ok(Self(text.to_lowercase()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A password as typed. It has no way into a log, a page or a column.
#[derive(Clone)]
pub struct Password(String);

impl Password {
    /// For a new password: 10 to 256 characters, whatever they are.
    pub fn parse_new(field: &'static str, text: &str) -> Result<Self, Invalid> {
        check_text(field, text, PASSWORD_CHARS_MAX)?;
        if text.chars().count() < PASSWORD_CHARS_MIN {
            return Err(Invalid::new(
                field,
                "too_short",
                format!(
                    "The password is too short; give at least {PASSWORD_CHARS_MIN} characters."
                ),
            ));
        }
        Ok(Self(text.to_owned()))
    }

    /// For one that is only compared.
    pub fn to_compare(text: &str) -> Self {
        Self(text.chars().take(PASSWORD_CHARS_MAX + 1).collect())
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password(…)")
    }
}

/// Of an agent; an operator's too, since its agents are called after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentName(String);

impl AgentName {
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let name = required_text("name", text, AGENT_NAME_CHARS_MAX)?;
        if name.chars().any(char::is_control) {
            return Err(Invalid::new(
                "name",
                "invalid_text",
                "`name` contains a control character; give a name on one line.",
            ));
        }
        Ok(Self(name.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// How an operator calls one of its users: an opaque name, compared exactly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExternalId(String);

impl ExternalId {
    pub const HEADER: &str = "Keepsake-User";

    /// From the bytes of the header.
    pub fn parse(bytes: &[u8]) -> Result<Self, Invalid> {
        let refuse = |code, what: &str| {
            let sentence = format!(
                "`Keepsake-User` {what}; give your id of the user: 1 to {EXTERNAL_ID_CHARS_MAX} visible characters in UTF-8."
            );
            Invalid::new(Self::HEADER, code, sentence)
        };
        let text = str::from_utf8(bytes).map_err(|_| refuse("invalid_text", "is not UTF-8"))?;
        let id = text.trim();
        match id.chars().count() {
            0 => return Err(refuse("required", "is empty")),
            1..=EXTERNAL_ID_CHARS_MAX => {}
            _ => return Err(refuse("too_long", "is too long")),
        }
        if id.chars().any(|c| c.is_control() || is_invisible(c)) {
            return Err(refuse("invalid_text", "has characters that cannot be seen"));
        }
        Ok(Self(id.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Two ids or addresses that look the same are better no two users: soft hyphens, zero widths,
/// directions, line and paragraph separators.
fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
    )
}

/// How many users an operator may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UsersMax(i32);

impl UsersMax {
    /// Blank means the default.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        match text.trim() {
            "" => Ok(Self::default()),
            text => text
                .parse()
                .ok()
                .filter(|n| (1..=USERS_PER_OPERATOR_MAX).contains(n))
                .map(Self)
                .ok_or_else(|| {
                    Invalid::new(
                        "users_max",
                        "out_of_range",
                        format!(
                            "`users_max` is out of range; give 1 to {USERS_PER_OPERATOR_MAX} users."
                        ),
                    )
                }),
        }
    }

    pub fn get(self) -> i32 {
        self.0
    }
}

impl Default for UsersMax {
    fn default() -> Self {
        Self(USERS_PER_OPERATOR_DEFAULT)
    }
}

/// What a token may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    MemoryRead,
    MemoryWrite,
    SessionsWrite,
}

impl Scope {
    pub const ALL: [Self; 3] = [Self::MemoryRead, Self::MemoryWrite, Self::SessionsWrite];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::MemoryRead => "memory:read",
            Self::MemoryWrite => "memory:write",
            Self::SessionsWrite => "sessions:write",
        }
    }
}

impl FromStr for Scope {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        Self::ALL
            .into_iter()
            .find(|scope| scope.as_str() == text)
            .ok_or_else(|| {
                Invalid::new(
                    "scope",
                    "invalid_scope",
                    "`scope` is not known; give memory:read, memory:write or sessions:write.",
                )
            })
    }
}

pub type Scopes = BTreeSet<Scope>;

/// Which tools an agent is told of: every conversation pays for the list. It permits nothing and
/// forbids nothing, as that is what scopes are for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum ToolProfile {
    /// One tool for everything, for models that several confuse.
    Single,
    /// What every agent needs.
    #[default]
    Core,
    /// All of them.
    Full,
}

impl ToolProfile {
    pub const ALL: [Self; 3] = [Self::Single, Self::Core, Self::Full];

    /// Whether its list has a tool whose smallest list this is.
    pub fn lists(self, smallest: Self) -> bool {
        match (self, smallest) {
            (Self::Single, _) | (_, Self::Single) => self == smallest,
            _ => smallest <= self,
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Single => "single",
            Self::Core => "core",
            Self::Full => "full",
        }
    }

    /// The column's check admits nothing else.
    pub(in crate::accounts) fn from_column(text: &str) -> Self {
        text.parse().unwrap_or_default()
    }
}

impl FromStr for ToolProfile {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let known = Self::ALL.into_iter().find(|p| p.as_str() == text);
        known.ok_or_else(|| {
            Invalid::new(
                "profile",
                "invalid_profile",
                "`profile` is not known; give single, core or full.",
            )
        })
    }
}

/// Of a column: a scope that this version does not know allows nothing.
pub(super) fn parse_scopes(column: &[String]) -> Scopes {
    column.iter().filter_map(|s| s.parse().ok()).collect()
}

/// How long a token lives: `None` for ever, otherwise 1 to 3,650 days.
pub fn parse_expires_days(days: Option<i64>) -> Result<Option<time::Duration>, Invalid> {
    match days {
        None => Ok(None),
        Some(days @ 1..=TOKEN_DAYS_MAX) => Ok(Some(time::Duration::days(days))),
        Some(_) => Err(Invalid::new(
            "expires_days",
            "out_of_range",
            format!("`expires_days` is out of range; give 1 to {TOKEN_DAYS_MAX} days, or none."),
        )),
    }
}

/// # Errors
/// [`Invalid`] where no time zone has this name.
pub fn parse_time_zone(name: &str) -> Result<Zone, Invalid> {
    Zone::find(name.trim()).ok_or_else(|| {
        Invalid::new(
            "time_zone",
            "invalid_time_zone",
            "`time_zone` is not the name of a time zone; give one such as Europe/Vienna, or UTC.",
        )
    })
}

#[derive(Clone, Debug)]
pub struct Agent {
    pub id: AgentId,
    pub name: String,
    pub created_at: OffsetDateTime,
    pub memory_enabled: bool,
    pub profile: ToolProfile,
    /// Items this agent wrote, active and archived.
    pub item_count: i64,
    pub settings: AgentSettings,
}

/// A token as it is kept: everything but the token.
#[derive(Clone, Debug)]
pub struct TokenRecord {
    pub id: TokenId,
    pub hint: String,
    pub scopes: Vec<String>,
    pub created_at: OffsetDateTime,
    pub expires_at: Option<OffsetDateTime>,
    pub last_used_at: Option<OffsetDateTime>,
    pub revoked_at: Option<OffsetDateTime>,
}

/// On whose behalf something is done, and by which agent: what every operation
/// on memory asks for. A person at a page has no agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Viewer {
    pub user_id: UserId,
    pub agent_id: Option<AgentId>,
    /// Memory of somebody else that it may read after its own.
    pub lent: Option<Lent>,
}

impl Viewer {
    /// At a page.
    pub fn person(user_id: UserId) -> Self {
        Self {
            user_id,
            agent_id: None,
            lent: None,
        }
    }

    pub fn agent(user_id: UserId, agent_id: AgentId) -> Self {
        Self {
            user_id,
            agent_id: Some(agent_id),
            lent: None,
        }
    }
}

/// What a team's leader or an operator's pool lends, as its token's look-up found it; each transaction that reads it asks
/// again (`crate::db::Db::lent_to`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lent {
    pub user_id: UserId,
    /// The leader; `None`: it is the operator's pool.
    pub leader: Option<AgentId>,
    /// What answers call it.
    pub name: Arc<str>,
}

impl Lent {
    /// What answers call an operator's pool.
    pub const POOL: &'static str = "the global pool";

    /// Of somebody else than this reader.
    pub fn is_anothers(&self, reader: UserId) -> bool {
        self.user_id != reader
    }

    /// Why a write that names something of it is refused (GoClaw's words, of a team).
    pub fn refusal(&self) -> &'static str {
        match self.leader {
            Some(_) => "memory is read-only for team members",
            None => "memory of the global pool is read-only",
        }
    }
}
