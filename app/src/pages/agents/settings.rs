//! What an agent does otherwise than the others: field by field, or as one JSON document.

use std::collections::BTreeMap;

use axum::response::Response;
use leptos::prelude::*;
use serde::Deserialize;
use serde_json::Value;

use super::{PATH, show};
use crate::accounts::{AGENT_SETTINGS, AgentId, AgentSettings, MemoryScope};
use crate::components::FormError;
use crate::forms::{Field, FormName, FormState, Outcome, Posted};
use crate::input::Invalid;

struct SettingField {
    name: &'static str,
    label: &'static str,
    hint: &'static str,
    /// Empty: as the server has it.
    value: String,
    default: String,
    /// What it may be, each with its words; a number where there are none.
    choices: Vec<(&'static str, &'static str)>,
}

/// All settings: by name, where an empty one means the default, or as one JSON document.
#[derive(Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum AgentSettingsForm {
    Save(BTreeMap<String, String>),
    Document { document: Field },
}

pub async fn change(Posted(mut posted, form): Posted<AgentSettingsForm>) -> Response {
    posted.show_id("agent");
    let attempt = async {
        let (user, agent) = (posted.user(), AgentId(posted.id()?));
        let document = match form? {
            AgentSettingsForm::Save(settings) => document_of(&settings),
            AgentSettingsForm::Document { document } => {
                serde_json::from_str(&document).map_err(|_| {
                    let sentence = "The settings are a JSON object.";
                    Invalid::new("document", "invalid_settings", sentence)
                })?
            }
        };
        let settings = AgentSettings::parse(&document)?;
        let accounts = &posted.state.accounts;
        accounts.set_agent_settings(user, agent, &settings).await?;
        Ok(Outcome::Redirect)
    };
    posted.respond(show, PATH, FormName::Settings, attempt.await).await
}

/// Anything but a number, on and off stays text, and is refused by the validation.
fn document_of(settings: &BTreeMap<String, String>) -> Value {
    let fields = AGENT_SETTINGS.into_iter().filter_map(|name| {
        let value = match settings.get(name)?.trim() {
            "" => return None,
            "on" => Value::Bool(true),
            "off" => Value::Bool(false),
            text => serde_json::from_str::<serde_json::Number>(text)
                .map_or_else(|_| text.into(), Value::Number),
        };
        Some((name.to_owned(), value))
    });
    Value::Object(fields.collect())
}

/// Each setting with its default.
fn fields_of(settings: &AgentSettings) -> Vec<SettingField> {
    let on = |value: Option<bool>| match value {
        None => String::new(),
        Some(true) => "on".to_owned(),
        Some(false) => "off".to_owned(),
    };
    let number = |value: Option<String>| value.unwrap_or_default();
    let switch = |name, label, hint, value| SettingField {
        name,
        label,
        hint,
        value: on(value),
        default: "on".to_owned(),
        choices: vec![("on", "on"), ("off", "off")],
    };
    let of = |name, label, hint, value, default: String| SettingField {
        name,
        label,
        hint,
        value: number(value),
        default,
        choices: Vec::new(),
    };
    let words_of = |scope| match scope {
        MemoryScope::Shared => "shared: memories that all agents share",
        MemoryScope::OwnFirst => "own_first: its own, then shared memories",
        MemoryScope::OwnOnly => "own_only: only its own",
    };
    let scope = SettingField {
        name: "memory_scope",
        label: "Memory scope",
        hint: "With the last two, its new memories are its own: your other agents do not see them. You see all",
        value: settings.memory_scope.map(|scope| scope.as_str().to_owned()).unwrap_or_default(),
        default: "shared".to_owned(),
        choices: MemoryScope::ALL.map(|scope| (scope.as_str(), words_of(scope))).to_vec(),
    };
    vec![
        scope,
        switch(
            "auto_inject_enabled",
            "Recall",
            "Adds memories to its prompts automatically, where it calls recall before each turn",
            settings.auto_inject_enabled,
        ),
        of(
            "auto_inject_threshold",
            "Minimum relevance",
            "0 to 1; less relevant memories stay out of its prompts",
            settings.auto_inject_threshold.map(|n| n.to_string()),
            AgentSettings::THRESHOLD.to_string(),
        ),
        of(
            "auto_inject_max_tokens",
            "Tokens per turn",
            "30 to 4,000; the most that one recall returns",
            settings.auto_inject_max_tokens.map(|n| n.to_string()),
            AgentSettings::MAX_TOKENS.to_string(),
        ),
        of(
            "episodic_ttl_days",
            "Days to keep episodes",
            "1 to 36,500; applies to its future sessions",
            settings.episodic_ttl_days.map(|n| n.to_string()),
            "as on the page Sessions".to_owned(),
        ),
        switch(
            "consolidation_enabled",
            "Session reading",
            "Its sessions become memories and episodes",
            settings.consolidation_enabled,
        ),
    ]
}

#[component]
pub fn Settings(
    id: i64,
    settings: AgentSettings,
    /// Empty where none of this agent was just posted.
    form: FormState,
    of: String,
) -> impl IntoView {
    let has_failed = form.error.is_some();
    // Without what is as the server has it.
    let document = serde_json::to_string_pretty(&settings).unwrap_or_default();
    let settings = fields_of(&settings);
    let changed = settings.iter().filter(|setting| !setting.value.is_empty()).count();
    let told = match changed {
        0 => "server defaults".to_owned(),
        1 => "1 changed".to_owned(),
        n => format!("{n} changed"),
    };
    let document = match has_failed && form.value("action") == "document" {
        true => form.value("document"),
        false => document,
    };
    let names: Vec<&'static str> = settings.iter().map(|setting| setting.name).collect();
    let fields = settings.into_iter().map(|setting| {
        let value = match form.error.is_some() && form.value("action") != "document" {
            true => form.value(setting.name).to_owned(),
            false => setting.value,
        };
        let field = format!("agent-{id}-{}", setting.name);
        let control = match setting.choices.is_empty() {
            false => {
                let default = format!("server default ({})", setting.default);
                let choices = setting.choices.into_iter().map(|(choice, words)| {
                    view! { <option value=choice selected=value == choice>{words}</option> }
                });
                view! {
                    <select id=field.clone() name=setting.name>
                        <option value="">{default}</option>
                        {choices.collect_view()}
                    </select>
                }
                .into_any()
            }
            true => view! {
                <input
                    id=field.clone()
                    name=setting.name
                    value=value
                    inputmode="decimal"
                    maxlength="8"
                    autocomplete="off"
                    placeholder=setting.default
                />
            }
            .into_any(),
        };
        view! {
            <div class="field">
                <label for=field>{setting.label}</label>
                <p class="hint">{setting.hint}</p>
                {control}
            </div>
        }
    });
    let fields = fields.collect_view();
    let path = format!("/agents/{id}/settings");
    view! {
        <details class="fold" open=has_failed>
            <summary>
                "Settings" <span class="visually-hidden">" of " {of}</span> <span class="hint">": " {told}</span>
            </summary>
            <form class="stack" method="post" action=path.clone()>
                <FormError form=form fields=&[] />
                {fields}
                <div>
                    <button type="submit" name="action" value="save">"Save settings"</button>
                </div>
            </form>
            <form class="stack" method="post" action=path>
                <div class="field">
                    <label for=format!("agent-{id}-document")>"As JSON"</label>
                    <p class="hint">{format!("An object of {}. What is left out uses the server's default.", names.join(", "))}</p>
                    <textarea id=format!("agent-{id}-document") name="document" rows="4" spellcheck="false">
                        {document}
                    </textarea>
                </div>
                <div>
                    <button type="submit" name="action" value="document">"Save JSON"</button>
                </div>
            </form>
        </details>
    }
    .into_any()
}
