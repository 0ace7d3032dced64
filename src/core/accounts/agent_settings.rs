//! A user's settings for one agent, as a JSON document with GoClaw's field names. A missing field takes the server's default;
//! an unknown one is an error that names it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::db::labels;
use crate::input::Invalid;

/// Token budget of one recall.
pub const RECALL_TOKENS: std::ops::RangeInclusive<i64> = 30..=4_000;
const EPISODE_DAYS: std::ops::RangeInclusive<i64> = 1..=36_500;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AgentSettings {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto_inject_enabled: Option<bool>,
    /// 0 to 1
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto_inject_threshold: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto_inject_max_tokens: Option<i64>,
    /// Days to keep episodes of its sessions; `None`: the user's setting.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub episodic_ttl_days: Option<i64>,
    /// Whether its sessions are read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub consolidation_enabled: Option<bool>,
    /// What it sees of its user's memory, and who owns what it writes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_scope: Option<MemoryScope>,
}

labels! {
    /// Also read by the database: see the migration `scopes`.
    #[derive(Default, Deserialize)]
    pub enum MemoryScope {
        /// Sees shared memory; what it writes is shared.
        #[default]
        Shared = "shared",
        /// Sees its own and shared memory, its own first; owns what it writes.
        OwnFirst = "own_first",
        /// Sees only its own memory.
        OwnOnly = "own_only",
    }
}

/// The field names of [`AgentSettings`].
pub const NAMES: [&str; 6] = [
    "auto_inject_enabled",
    "auto_inject_threshold",
    "auto_inject_max_tokens",
    "episodic_ttl_days",
    "consolidation_enabled",
    "memory_scope",
];

impl AgentSettings {
    pub const THRESHOLD: f64 = 0.3;
    pub const MAX_TOKENS: i64 = 200;

    /// # Errors
    /// [`Invalid`] naming the field.
    pub fn parse(document: &Value) -> Result<Self, Invalid> {
        let Value::Object(fields) = document else {
            return Err(refused("settings", "The settings are a JSON object."));
        };
        if let Some(unknown) = fields.keys().find(|name| !NAMES.contains(&name.as_str())) {
            let shown: String = unknown.chars().take(64).collect();
            let sentence =
                format!("`{shown}` is not a setting of an agent; there are {}.", NAMES.join(", "));
            return Err(refused(&shown, &sentence));
        }
        let parsed: Result<Self, _> = serde_path_to_error::deserialize(document);
        let settings = parsed.map_err(|error| {
            let field = error.path().to_string();
            let kind = match field.as_str() {
                "auto_inject_threshold" => "a number from 0 to 1",
                "auto_inject_max_tokens" | "episodic_ttl_days" => "a whole number",
                "memory_scope" => "shared, own_first or own_only",
                _ => "true or false",
            };
            refused(&field, &format!("`{field}` is {kind}."))
        })?;
        if settings.auto_inject_threshold.is_some_and(|threshold| !(0.0..=1.0).contains(&threshold))
        {
            return Err(refused(
                "auto_inject_threshold",
                "`auto_inject_threshold` is a number from 0 to 1.",
            ));
        }
        check("auto_inject_max_tokens", settings.auto_inject_max_tokens, &RECALL_TOKENS)?;
        check("episodic_ttl_days", settings.episodic_ttl_days, &EPISODE_DAYS)?;
        Ok(settings)
    }

    /// From a column; it was validated when written.
    pub fn from_column(document: &Value) -> Self {
        Self::parse(document).unwrap_or_default()
    }

    pub fn scope(&self) -> MemoryScope {
        self.memory_scope.unwrap_or_default()
    }

    pub fn is_recall_on(&self) -> bool {
        self.auto_inject_enabled.unwrap_or(true)
    }

    pub fn threshold(&self) -> f64 {
        self.auto_inject_threshold.unwrap_or(Self::THRESHOLD)
    }

    pub fn max_tokens(&self) -> i64 {
        self.auto_inject_max_tokens.unwrap_or(Self::MAX_TOKENS)
    }
}

fn check(
    field: &str,
    number: Option<i64>,
    range: &std::ops::RangeInclusive<i64>,
) -> Result<(), Invalid> {
    match number {
        Some(number) if !range.contains(&number) => {
            let sentence =
                format!("`{field}` is a whole number from {} to {}.", range.start(), range.end());
            Err(refused(field, &sentence))
        }
        _ => Ok(()),
    }
}

fn refused(field: &str, sentence: &str) -> Invalid {
    Invalid::new(field.to_owned(), "invalid_settings", sentence)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_document_is_taken_whole_or_refused_by_name() {
        let settings =
            AgentSettings::parse(&json!({ "auto_inject_threshold": 0.5, "episodic_ttl_days": 7 }));
        let settings = settings.expect("taken");
        assert_eq!((settings.threshold(), settings.max_tokens()), (0.5, 200));
        assert_eq!(
            serde_json::to_value(&settings).expect("written"),
            json!({ "auto_inject_threshold": 0.5, "episodic_ttl_days": 7 })
        );
        for (document, field) in [
            (json!([]), "settings"),
            (json!({ "auto_inject": true }), "auto_inject"),
            (json!({ "auto_inject_enabled": "yes" }), "auto_inject_enabled"),
            (json!({ "auto_inject_threshold": 1.5 }), "auto_inject_threshold"),
            (
                json!({ "auto_inject_threshold": null, "auto_inject_max_tokens": 29 }),
                "auto_inject_max_tokens",
            ),
            (json!({ "auto_inject_max_tokens": 1e9 }), "auto_inject_max_tokens"),
            (json!({ "episodic_ttl_days": 0 }), "episodic_ttl_days"),
            (json!({ "memory_scope": "mine" }), "memory_scope"),
            (json!({ "consolidation_enabled": 1 }), "consolidation_enabled"),
        ] {
            let refused = AgentSettings::parse(&document).expect_err("refused");
            assert_eq!(refused.field, field, "{}", refused.sentence);
        }
    }
}
