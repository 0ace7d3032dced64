//! Well-known providers: their address, the API format they speak, and the header of their key. A choice of the
//! forms, which it fills in; nothing of it is stored. docs/configure.md has the same list.

use super::ProviderType;
use super::settings::EndpointKind;

pub struct Vendor {
    pub slug: &'static str,
    /// As the page shows it.
    pub name: &'static str,
    pub url: &'static str,
    pub key_header: &'static str,
    /// The API format of chat and of embeddings; `None`: it has none.
    chat: Option<ProviderType>,
    embeddings: Option<ProviderType>,
}

const OPENAI: Option<ProviderType> = Some(ProviderType::Openai);
const OLLAMA: Option<ProviderType> = Some(ProviderType::Ollama);
const UNKNOWN: Option<ProviderType> = Some(ProviderType::CustomHttp);

pub const VENDORS: [Vendor; 15] = [
    vendor("openai", "OpenAI", "https://api.openai.com/v1", OPENAI, OPENAI),
    Vendor {
        key_header: "api-key",
        ..vendor(
            "azure",
            "Azure OpenAI",
            "https://RESOURCE.openai.azure.com/openai/v1",
            OPENAI,
            OPENAI,
        )
    },
    vendor(
        "gemini",
        "Google Gemini",
        "https://generativelanguage.googleapis.com/v1beta/openai",
        OPENAI,
        OPENAI,
    ),
    Vendor {
        key_header: "x-api-key",
        ..vendor(
            "anthropic",
            "Anthropic",
            "https://api.anthropic.com/v1",
            Some(ProviderType::Anthropic),
            None,
        )
    },
    vendor("mistral", "Mistral", "https://api.mistral.ai/v1", OPENAI, OPENAI),
    vendor("openrouter", "OpenRouter", "https://openrouter.ai/api/v1", OPENAI, OPENAI),
    vendor("together", "Together AI", "https://api.together.xyz/v1", OPENAI, OPENAI),
    vendor("groq", "Groq", "https://api.groq.com/openai/v1", OPENAI, None),
    vendor("deepseek", "DeepSeek", "https://api.deepseek.com/v1", OPENAI, None),
    vendor("zhipu", "Zhipu (GLM)", "https://open.bigmodel.cn/api/paas/v4", OPENAI, OPENAI),
    vendor("vllm", "vLLM", "http://localhost:8000/v1", OPENAI, OPENAI),
    vendor("lmstudio", "LM Studio", "http://localhost:1234/v1", OPENAI, OPENAI),
    vendor("ollama", "Ollama", "http://localhost:11434", OLLAMA, OLLAMA),
    vendor(
        "llamacpp",
        "llama.cpp",
        "http://localhost:8080/v1",
        Some(ProviderType::Llamacpp),
        UNKNOWN,
    ),
    vendor("tei", "Text Embeddings Inference", "http://localhost:8080", None, UNKNOWN),
];

const fn vendor(
    slug: &'static str,
    name: &'static str,
    url: &'static str,
    chat: Option<ProviderType>,
    embeddings: Option<ProviderType>,
) -> Vendor {
    Vendor { slug, name, url, key_header: "", chat, embeddings }
}

impl Vendor {
    /// The API format for this kind of endpoint; `None`: it offers none.
    pub fn format(&self, kind: EndpointKind) -> Option<ProviderType> {
        match kind {
            EndpointKind::Chat => self.chat,
            EndpointKind::OwnEmbeddings => self.embeddings,
            // What it asks is OpenAI's API, whatever the provider.
            EndpointKind::SystemEmbeddings => self.embeddings.map(|_| ProviderType::Llamacpp),
        }
    }
}

/// Those that offer this kind of endpoint.
pub fn offering(kind: EndpointKind) -> impl Iterator<Item = &'static Vendor> {
    VENDORS.iter().filter(move |vendor| vendor.format(kind).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_lists_every_provider() {
        let document = include_str!("../../../docs/configure.md");
        for Vendor { name, url, key_header, .. } in &VENDORS {
            let header = match *key_header {
                "" => String::new(),
                name => format!("`{name}` "),
            };
            let row = format!("| {name} | `{url}` | {header}|");
            assert!(document.contains(&row), "{row}");
        }
    }
}
