//! An agent's settings, as its form has them.

use app::view::AgentSetting;

use crate::accounts::{AgentSettings, MemoryScope};

/// Each with what holds where it is not set.
pub(super) fn settings(settings: &AgentSettings) -> Vec<AgentSetting> {
    let on = |value: Option<bool>| match value {
        None => String::new(),
        Some(true) => "on".to_owned(),
        Some(false) => "off".to_owned(),
    };
    let number = |value: Option<String>| value.unwrap_or_default();
    let switch = |name, label, hint, value| AgentSetting {
        name,
        label,
        hint,
        value: on(value),
        default: "on".to_owned(),
        choices: vec![("on", "on"), ("off", "off")],
    };
    let of = |name, label, hint, value, default: String| AgentSetting {
        name,
        label,
        hint,
        value: number(value),
        default,
        choices: Vec::new(),
    };
    let words_of = |scope| match scope {
        MemoryScope::Shared => "shared: what all agents share",
        MemoryScope::OwnFirst => "own_first: its own, then what is shared",
        MemoryScope::OwnOnly => "own_only: its own alone",
    };
    let scope = AgentSetting {
        name: "memory_scope",
        label: "What it remembers",
        hint: "With either of the last two, what it adds from now on is its own: no other agent of yours sees it. You see all",
        value: settings
            .memory_scope
            .map(|scope| scope.as_str().to_owned())
            .unwrap_or_default(),
        default: "shared".to_owned(),
        choices: MemoryScope::ALL
            .map(|scope| (scope.as_str(), words_of(scope)))
            .to_vec(),
    };
    vec![
        scope,
        switch(
            "auto_inject_enabled",
            "Recall",
            "Memories come into its prompts by themselves, where it asks for them before each turn",
            settings.auto_inject_enabled,
        ),
        of(
            "auto_inject_threshold",
            "Least relevance",
            "0 to 1: what is less relevant stays out of its prompts",
            settings.auto_inject_threshold.map(|n| n.to_string()),
            AgentSettings::THRESHOLD.to_string(),
        ),
        of(
            "auto_inject_max_tokens",
            "Tokens a turn",
            "30 to 4,000: recall hands out no more at once",
            settings.auto_inject_max_tokens.map(|n| n.to_string()),
            AgentSettings::MAX_TOKENS.to_string(),
        ),
        of(
            "episodic_ttl_days",
            "Days of an episode",
            "1 to 36,500, of what comes of its sessions from now on",
            settings.episodic_ttl_days.map(|n| n.to_string()),
            "as on the page Sessions".to_owned(),
        ),
        switch(
            "consolidation_enabled",
            "Reading of its sessions",
            "What it hands over becomes memories and episodes",
            settings.consolidation_enabled,
        ),
    ]
}
