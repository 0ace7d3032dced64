//! The ways to ask a model not to think. Each host has its own; where none is known, they are tried in turn,
//! and what is refused, or accepted without effect, is left out from then on.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::endpoint::{Endpoint, ProviderType};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Thinking {
    /// `chat_template_kwargs.enable_thinking`: vLLM, SGLang, llama.cpp.
    Template,
    /// `reasoning_effort`: OpenAI, Gemini, Groq.
    EffortNone,
    EffortMinimal,
    EffortLow,
    /// `thinking.type`: DeepSeek, Zhipu.
    Disabled,
    /// `reasoning.enabled`: OpenRouter.
    Reasoning,
    /// `think`: Ollama.
    Think,
    /// `/no_think` after the question: Qwen's models.
    Command,
    /// Nothing is sent.
    Unsaid,
}

impl Thinking {
    /// The ways to try at this endpoint, in order. The last is always accepted.
    pub(super) fn ways(endpoint: &Endpoint) -> &'static [Self] {
        use Thinking::{
            Command, Disabled, EffortLow, EffortMinimal, EffortNone, Reasoning, Template, Think,
            Unsaid,
        };
        let of_host = |names: &[&str]| {
            let host = endpoint.url.host();
            names.iter().any(|name| {
                host.strip_suffix(name).is_some_and(|sub| sub.is_empty() || sub.ends_with('.'))
            })
        };
        match endpoint.provider_type {
            ProviderType::Ollama => &[Think, Command],
            // It thinks only when it is asked to.
            ProviderType::Anthropic => &[Unsaid],
            _ if of_host(&["openai.com", "azure.com", "googleapis.com", "groq.com"]) => {
                &[EffortNone, EffortMinimal, EffortLow, Unsaid]
            }
            _ if of_host(&["openrouter.ai"]) => &[Reasoning, Unsaid],
            _ if of_host(&["deepseek.com", "bigmodel.cn", "z.ai"]) => &[Disabled, Unsaid],
            _ if of_host(&["mistral.ai"]) => &[Unsaid],
            _ => &[Template, EffortNone, Command],
        }
    }

    /// The way to try after this one.
    pub(super) fn next(self, endpoint: &Endpoint) -> Option<Self> {
        let mut ways = Self::ways(endpoint).iter().skip_while(|way| **way != self);
        ways.next();
        ways.next().copied()
    }

    /// The parameter to send.
    pub(super) fn parameter(self) -> Map<String, Value> {
        let value = match self {
            Self::Template => json!({ "chat_template_kwargs": { "enable_thinking": false } }),
            Self::EffortNone => json!({ "reasoning_effort": "none" }),
            Self::EffortMinimal => json!({ "reasoning_effort": "minimal" }),
            Self::EffortLow => json!({ "reasoning_effort": "low" }),
            Self::Disabled => json!({ "thinking": { "type": "disabled" } }),
            Self::Reasoning => json!({ "reasoning": { "enabled": false } }),
            Self::Think => json!({ "think": false }),
            Self::Command | Self::Unsaid => json!({}),
        };
        match value {
            Value::Object(parameter) => parameter,
            _ => Map::new(),
        }
    }

    pub(super) fn in_words(self) -> &'static str {
        match self {
            Self::Template => "thinking off by chat_template_kwargs",
            Self::EffortNone | Self::EffortMinimal | Self::EffortLow => {
                "thinking off by reasoning_effort"
            }
            Self::Disabled => "thinking off by thinking",
            Self::Reasoning => "thinking off by reasoning",
            Self::Think => "thinking off by think",
            Self::Command => "thinking off by /no_think",
            Self::Unsaid => "thinking cannot be switched off",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::providers::{EndpointUrl, Reach};

    #[test]
    fn each_host_is_asked_in_its_own_way_first() {
        for (url, way) in [
            ("https://api.openai.com/v1", Thinking::EffortNone),
            ("https://x.openai.azure.com/openai/v1", Thinking::EffortNone),
            ("https://generativelanguage.googleapis.com/v1beta/openai", Thinking::EffortNone),
            ("https://openrouter.ai/api/v1", Thinking::Reasoning),
            ("https://api.deepseek.com", Thinking::Disabled),
            ("https://open.bigmodel.cn/api/paas/v4", Thinking::Disabled),
            ("https://api.mistral.ai/v1", Thinking::Unsaid),
            ("https://notopenai.com/v1", Thinking::Template),
            ("http://localhost:8000/v1", Thinking::Template),
        ] {
            let endpoint = Endpoint {
                provider_type: ProviderType::Openai,
                url: EndpointUrl::parse("url", url).expect("a url"),
                model: String::new(),
                dimensions: None,
                key: None,
                key_header: String::new(),
                is_thinking_off: true,
                reach: Reach::Public,
            };
            assert_eq!(Thinking::ways(&endpoint)[0], way, "{url}");
        }
    }
}
