//! How the form that was just posted ended, as its page shows it: what was typed is still in place, with the error beside its field.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Each form of the pages, with the beginning of its fields' ids.
macro_rules! form_names {
    ($($name:ident = $id:literal,)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        pub enum FormName {
            $($name,)*
        }

        impl FormName {
            fn id(self) -> &'static str {
                match self {
                    $(Self::$name => $id,)*
                }
            }
        }
    };
}

form_names! {
    // Sign-in, consent, invitations
    Login = "login",
    SignUp = "signup",
    Consent = "consent",
    Reset = "reset",
    Invitation = "invitation",
    Join = "join",
    // Account
    Password = "password",
    Memory = "memory",
    TimeZone = "time_zone",
    // Agents
    Agent = "agent",
    Token = "token",
    Revoke = "revoke",
    Tools = "tools",
    Settings = "settings",
    Team = "team",
    AgentUndo = "agent_undo",
    // Sessions, Summary
    Turns = "turns",
    Lifetimes = "lifetimes",
    Summary = "summary",
    // Entities, documents
    Entity = "entity",
    EntityRename = "entity_rename",
    EntityMerge = "entity_merge",
    EntitySplit = "entity_split",
    EntityPairs = "entity_pairs",
    EntitySettings = "entity_settings",
    Document = "document",
    DocumentErase = "document_erase",
    // A memory; Learned, Dreams, Activity
    Manage = "manage",
    HalfLife = "half_life",
    Learned = "learned",
    Unwanted = "unwanted",
    Dreams = "dreams",
    DreamSettings = "dream_settings",
    Queries = "queries",
    // Settings
    Embeddings = "embeddings",
    Progress = "progress",
    Chat = "chat",
    ChatSwitch = "chat_switch",
    ChatLimits = "chat_limits",
    Fading = "fading",
    FadingSettings = "fading_settings",
    Webhook = "webhook",
    Webhooks = "webhooks",
    Secrets = "secrets",
    SecretSettings = "secret_settings",
    // Your data
    Import = "import",
    Delete = "delete",
    Erase = "erase",
    About = "about",
    // Admin
    Jobs = "jobs",
    Backups = "backups",
    People = "people",
    ResetLink = "reset_link",
    System = "system",
    ChatSystem = "chat_system",
    Builtin = "builtin",
    Late = "late",
    Storage = "storage",
    Browser = "browser",
    Endpoint = "endpoint",
    Operator = "operator",
    ServiceToken = "service_token",
    ServiceRevoke = "service_revoke",
    UsersMax = "users-max",
    FindUser = "find",
}

/// A new token and whose it is: an agent's or an operator's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewToken {
    pub agent_name: String,
    pub token: String,
}

/// An active memory in the place of one that was to be restored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rival {
    pub id: i64,
    pub beginning: String,
}

/// What Test found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestResult {
    pub is_ok: bool,
    /// "Works: 384 dimensions in 41 ms", "The key was rejected"
    pub headline: String,
    /// What was looked at, and what was seen; of a failure, what would help.
    pub details: Vec<(&'static str, String)>,
}

/// What a save would set in motion. The confirming form sends all that was typed
/// again, and `staged` in the place of the key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Confirmation {
    /// "1,234 memories will be rebuilt with … at …. Search keeps using …"
    pub sentence: String,
    pub items: i64,
    /// Of an admin's change: how many users it reaches.
    pub users: Option<i64>,
    /// Names what the server put aside, the key in it; never the key itself.
    pub staged: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FormState {
    /// `None`: the page was just opened.
    pub form: Option<FormName>,
    /// Of which row, where each row has a form of this name; only for the ids of its fields.
    #[serde(skip)]
    pub row: Option<i64>,
    /// The field to blame, by its `name`.
    #[serde(skip)]
    pub field: Option<String>,
    /// One sentence.
    #[serde(skip)]
    pub error: Option<String>,
    /// One sentence, when it went well.
    pub done: Option<String>,
    /// What was typed (never passwords, never keys), by field name. Checked boxes of one name are joined by a space; `agent` and
    /// `operator` are the ids of those whose form was posted.
    pub values: BTreeMap<String, String>,
    pub new_token: Option<NewToken>,
    /// An invitation or a reset link.
    pub new_link: Option<String>,
    /// What stands in the place of the memory that was to be restored.
    #[serde(skip)]
    pub rivals: Vec<Rival>,
    /// What Test found, of the endpoint that was typed.
    #[serde(skip)]
    pub test: Option<TestResult>,
    /// What a save would set in motion, to be confirmed.
    #[serde(skip)]
    pub confirm: Option<Confirmation>,
}

impl FormState {
    /// This state if it is about the form called `form`, else that of an untouched form.
    pub fn of(&self, form: FormName) -> Self {
        match self.form == Some(form) {
            true => self.clone(),
            false => Self { form: Some(form), ..Self::default() },
        }
    }

    /// With what is saved in the fields, unless the form was just posted.
    pub fn or_saved(mut self, saved: Vec<(&str, String)>) -> Self {
        if self.values.is_empty() {
            let named = |(name, value): (&str, String)| (name.to_owned(), value);
            self.values = saved.into_iter().map(named).collect();
        }
        self
    }

    /// The id of a field.
    pub fn id_of(&self, field: &str) -> String {
        let form = self.form.map_or("", FormName::id);
        match self.row {
            Some(row) => format!("{form}-{row}-{field}"),
            None => format!("{form}-{field}"),
        }
    }

    pub fn value(&self, field: &str) -> String {
        self.values.get(field).cloned().unwrap_or_default()
    }

    /// The error, when it is this field's.
    pub fn error_of(&self, field: &str) -> Option<String> {
        self.error.clone().filter(|_| self.field.as_deref() == Some(field))
    }

    /// The error, when it is of none of these fields: so that none is lost.
    pub fn error_beside_none_of(&self, fields: &[&str]) -> Option<String> {
        let is_placed = |field: &String| fields.contains(&field.as_str());
        self.error.clone().filter(|_| !self.field.as_ref().is_some_and(is_placed))
    }

    /// Something was done, and the page is to say so once.
    pub fn has_news(&self) -> bool {
        self.done.is_some() || self.new_token.is_some() || self.new_link.is_some()
    }
}
