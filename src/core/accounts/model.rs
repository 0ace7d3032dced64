//! Users, agents and tokens: distinct id types, and the rules for names, addresses and passwords.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use time::OffsetDateTime;

use super::agent_settings::AgentSettings;
use crate::clock::Zone;
use crate::db::actor::READ_ONLY_TEAM;
use crate::db::labels;
use crate::input::{Invalid, check_text, number, required_text};

pub const EMAIL_CHARS_MAX: usize = 254;
pub const PASSWORD_CHARS_MIN: usize = 10;
pub const PASSWORD_CHARS_MAX: usize = 256;
pub const AGENT_NAME_CHARS_MAX: usize = 64;
pub const AGENTS_PER_USER_MAX: i64 = 200;
pub const TOKENS_PER_HOLDER_MAX: i64 = 50;
/// Of an agent, with those that were revoked and are still listed.
pub const LISTED_TOKENS_MAX: i64 = 100;
pub const TOKEN_DAYS_MAX: i64 = 3_650;
pub const OPERATORS_MAX: i64 = 200;
pub const USERS_PER_OPERATOR_DEFAULT: i32 = 10_000;
pub const USERS_PER_OPERATOR_MAX: i32 = 10_000_000;
pub const EXTERNAL_ID_CHARS_MAX: usize = 200;

pub use crate::db::UserId;
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, sqlx::Type)]
#[sqlx(transparent)]
pub struct AgentId(pub i64);
/// Of an agent's or an operator's token; the two kinds are numbered separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, sqlx::Type)]
#[sqlx(transparent)]
pub struct TokenId(pub i64);
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, sqlx::Type)]
#[sqlx(transparent)]
pub struct OperatorId(pub i64);

labels! {
    pub enum Role {
        Admin = "admin",
        Member = "member",
    }
}

/// A user who signs in.
#[derive(Clone, Debug)]
pub struct User {
    pub id: UserId,
    pub email: String,
    pub role: Role,
    pub disabled: bool,
    /// Whether the user's agents may read and write memory.
    pub memory_enabled: bool,
    pub time_zone: Zone,
    pub created_at: OffsetDateTime,
}

/// A user whose password was verified, with the hash it was verified against.
pub struct VerifiedUser {
    pub user: UserId,
    pub(super) password_hash: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignUpState {
    /// There is no admin yet. Accounts created from the command line (or by `make demo`) do not count.
    pub is_first: bool,
    /// Somebody can sign in.
    pub has_accounts: bool,
    pub is_open: bool,
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
                && !text.chars().any(|c| c.is_whitespace() || c.is_control() || is_invisible(c))
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

/// A password as typed. Cannot be logged, displayed or stored.
#[derive(Clone)]
pub struct Password(String);

impl Password {
    /// A new password: 10 to 256 characters of any kind.
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

    /// A password that is only compared.
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

/// Name of an agent or of an operator, whose agents have its name.
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

/// An operator's id of one of its users: opaque, compared exactly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExternalId(String);

impl ExternalId {
    pub const HEADER: &str = "Keepsake-User";

    /// From the bytes of an HTTP header.
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

/// Rejected, because two ids or addresses could look the same: soft hyphens, zero-width and direction characters, line and
/// paragraph separators.
pub(super) fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
    )
}

/// Limit on the users of an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UsersMax(i32);

impl UsersMax {
    /// Blank is the default.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        match text.trim() {
            "" => Ok(Self::default()),
            text => {
                let accepted = format!("give 1 to {USERS_PER_OPERATOR_MAX} users");
                number("users_max", text, 1..=USERS_PER_OPERATOR_MAX, accepted).map(Self)
            }
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

/// A permission of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    MemoryRead,
    MemoryWrite,
    SessionsWrite,
    /// To add to an operator's global pool, which all its users read, and to change it.
    PoolWrite,
}

impl Scope {
    /// Of a token for which nothing else is said.
    pub const ALL: [Self; 3] = [Self::MemoryRead, Self::MemoryWrite, Self::SessionsWrite];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::MemoryRead => "memory:read",
            Self::MemoryWrite => "memory:write",
            Self::SessionsWrite => "sessions:write",
            Self::PoolWrite => "pool:write",
        }
    }
}

impl FromStr for Scope {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let mut all = Self::ALL.into_iter().chain([Self::PoolWrite]);
        all.find(|scope| scope.as_str() == text).ok_or_else(|| {
            Invalid::new(
                "scope",
                "invalid_scope",
                "`scope` is not known; give memory:read, memory:write, sessions:write or, for a service token, pool:write.",
            )
        })
    }
}

pub type Scopes = BTreeSet<Scope>;

labels! {
    /// Which tools are listed to an agent, because every conversation pays for the list. Grants and forbids nothing: that is what
    /// scopes are for.
    #[derive(Default, PartialOrd, Ord)]
    pub enum ToolProfile {
        /// One tool for everything, for models that confuse several.
        Single = "single",
        /// `search` and `fetch` alone, as ChatGPT expects them of a connector.
        Connector = "connector",
        /// The tools that every agent needs.
        #[default]
        Core = "core",
        /// All tools.
        Full = "full",
    }
}

impl ToolProfile {
    /// Whether this profile lists a tool whose smallest profile is `smallest`.
    pub fn lists(self, smallest: Self) -> bool {
        match (self, smallest) {
            (Self::Core | Self::Full, Self::Core | Self::Full) => smallest <= self,
            _ => self == smallest,
        }
    }
}

impl FromStr for ToolProfile {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        Self::from_label(text).ok_or_else(|| {
            Invalid::new(
                "profile",
                "invalid_profile",
                "`profile` is not known; give single, connector, core or full.",
            )
        })
    }
}

/// A token's lifetime: 1 to 3,650 days; `None`: unlimited.
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
/// [`Invalid`] if no time zone has this name.
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
    /// Number of items the agent wrote, active and archived.
    pub item_count: i64,
    pub settings: AgentSettings,
}

/// A stored token, without its secret.
#[derive(Clone, Debug)]
pub struct TokenRecord {
    pub id: TokenId,
    pub hint: String,
    pub scopes: Vec<String>,
    pub created_at: OffsetDateTime,
    pub expires_at: Option<OffsetDateTime>,
    pub last_used_at: Option<OffsetDateTime>,
    pub revoked_at: Option<OffsetDateTime>,
    /// The client that has it, if a person allowed one by OAuth.
    pub client: Option<ConnectedClient>,
}

impl TokenRecord {
    /// When it ends by itself. A client renews what it was given.
    pub fn ends_at(&self) -> Option<OffsetDateTime> {
        match &self.client {
            Some(client) => client.refresh_expires_at,
            None => self.expires_at,
        }
    }

    pub fn is_valid(&self, now: OffsetDateTime) -> bool {
        self.revoked_at.is_none() && self.ends_at().is_none_or(|at| at > now)
    }
}

/// The client to which a person gave a token by OAuth.
#[derive(Clone, Debug)]
pub struct ConnectedClient {
    /// As it calls itself; unverified.
    pub name: String,
    pub redirect_uri: String,
    pub since: OffsetDateTime,
    /// Without a refresh until then, it has to ask again.
    pub refresh_expires_at: Option<OffsetDateTime>,
}

/// The user, and the agent if any, for whom an operation on memory runs. A user on a page has no agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Viewer {
    pub user_id: UserId,
    pub agent_id: Option<AgentId>,
    /// Another user's memory that it may also read.
    pub lent: Option<LentMemory>,
}

impl Viewer {
    /// On a page.
    pub fn person(user_id: UserId) -> Self {
        Self { user_id, agent_id: None, lent: None }
    }

    pub fn agent(user_id: UserId, agent_id: AgentId) -> Self {
        Self { user_id, agent_id: Some(agent_id), lent: None }
    }
}

/// Memory lent by a team's leader or an operator's pool, as found when the token was looked up. Each transaction that reads it
/// checks again (`crate::db::Db::lent_to`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LentMemory {
    pub user_id: UserId,
    /// The leader; `None`: the operator's pool.
    pub leader: Option<AgentId>,
    /// Display name.
    pub name: Arc<str>,
}

impl LentMemory {
    /// Display name of an operator's pool.
    pub const POOL: &'static str = "the global pool";

    pub fn of_pool(pool: UserId) -> Self {
        Self { user_id: pool, leader: None, name: Self::POOL.into() }
    }

    /// Whether it belongs to another user than the reader.
    pub fn is_anothers(&self, reader: UserId) -> bool {
        self.user_id != reader
    }

    /// Why a write to it is refused, as clients are told it.
    pub fn refusal(&self) -> &'static str {
        match self.leader {
            Some(_) => READ_ONLY_TEAM,
            None => "Memory of the global pool is read-only.",
        }
    }
}
