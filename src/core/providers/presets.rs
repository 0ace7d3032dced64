//! The prefixes that well-known models need before a text. A wrong prefix fails silently: the vectors are
//! only worse. Source: the models' cards.

/// The prefixes of a query and of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefixes {
    pub query: &'static str,
    pub document: &'static str,
}

const NONE: Prefixes = Prefixes { query: "", document: "" };
const INSTRUCT: Prefixes = Prefixes {
    query: "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:",
    document: "",
};
const INSTRUCT_SPACED: Prefixes = Prefixes {
    query: "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery: ",
    document: "",
};
const REPRESENT: Prefixes =
    Prefixes { query: "Represent this sentence for searching relevant passages: ", document: "" };

/// Parts of a model's name, in lower case with `-` for `_`, ` ` and `.`. All parts of a line must occur; the
/// first matching line decides.
const KNOWN: [(&[&str], Prefixes); 13] = [
    (&["e5", "instruct"], INSTRUCT_SPACED),
    (&["e5-mistral"], INSTRUCT_SPACED),
    (&["e5-"], Prefixes { query: "query: ", document: "passage: " }),
    (&["nomic-embed"], Prefixes { query: "search_query: ", document: "search_document: " }),
    (&["bge-m3"], NONE),
    (&["bge-", "-en"], REPRESENT),
    (
        &["bge-", "-zh"],
        Prefixes {
            query: "为这个句子生成表示以用于检索相关文章：", document: ""
        },
    ),
    (&["qwen3-embedding"], INSTRUCT),
    (&["gte-qwen2"], INSTRUCT_SPACED),
    (&["mxbai-embed"], REPRESENT),
    (
        &["embeddinggemma"],
        Prefixes { query: "task: search result | query: ", document: "title: none | text: " },
    ),
    (&["minilm"], NONE),
    (&["gte-"], NONE),
];

/// A choice of the form: the prefixes of a well-known model.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    pub slug: &'static str,
    /// As the page shows it.
    pub name: &'static str,
    model: &'static str,
}

pub const PRESETS: [Preset; 6] = [
    preset("minilm", "MiniLM", "all-minilm-l6-v2"),
    preset("e5", "E5", "e5-base-v2"),
    preset("nomic", "nomic-embed", "nomic-embed-text"),
    preset("bge", "BGE", "bge-base-en-v1.5"),
    preset("qwen3", "Qwen3-Embedding", "qwen3-embedding"),
    preset("none", "No prefixes", ""),
];

const fn preset(slug: &'static str, name: &'static str, model: &'static str) -> Preset {
    Preset { slug, name, model }
}

impl Preset {
    pub fn prefixes(&self) -> Prefixes {
        prefixes_of(self.model)
    }
}

/// The preset that gives these prefixes; empty: the model's name does. `None`: no preset does.
pub fn preset_of(model: &str, query: &str, document: &str) -> Option<&'static str> {
    let gives = |of: Prefixes| (of.query, of.document) == (query, document);
    if gives(prefixes_of(model)) {
        return Some("");
    }
    // Searched from the end: for models without prefixes, the last preset describes that best.
    let mut presets = PRESETS.iter().rev();
    Some(presets.find(|preset| gives(preset.prefixes()))?.slug)
}

/// The prefixes of a model; none if it is not known.
pub fn prefixes_of(model: &str) -> Prefixes {
    preset_for(model).unwrap_or(NONE)
}

/// The prefixes of a well-known model, by its name or file name. `None`: unknown, which differs from needing
/// none.
fn preset_for(model: &str) -> Option<Prefixes> {
    let name = model.to_lowercase().replace(['_', ' ', '.', ':'], "-");
    // `e5-` would match inside other names, such as `some5-b`.
    let has = |part: &&str| {
        name.match_indices(*part).any(|(at, _)| {
            part.starts_with('-')
                || !name[..at].ends_with(|before: char| before.is_ascii_alphanumeric())
                || *part == "minilm"
        })
    };
    KNOWN.iter().find(|(parts, _)| parts.iter().all(has)).map(|(_, prefixes)| *prefixes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn well_known_models_are_known_by_any_of_their_names() {
        let query = |model| preset_for(model).map(|p| p.query);
        let document = |model| preset_for(model).map(|p| p.document);
        assert_eq!(query("intfloat/e5-base-v2"), Some("query: "));
        assert_eq!(document("multilingual-e5-small.Q8_0.gguf"), Some("passage: "));
        let instruct = query("intfloat/multilingual-e5-large-instruct").expect("known");
        assert!(instruct.starts_with("Instruct: ") && instruct.ends_with("Query: "));
        assert_eq!(document("multilingual-e5-large-instruct"), Some(""));
        assert_eq!(query("nomic-embed-text:latest"), Some("search_query: "));
        assert_eq!(document("nomic-embed-text-v1.5.f16.gguf"), Some("search_document: "));
        assert_eq!(query("BAAI/bge-small-en-v1.5"), Some(REPRESENT.query));
        assert_eq!(query("BAAI/bge-m3"), Some(""));
        assert_eq!(query("all-MiniLM-L6-v2"), Some(""));
        assert_eq!(query("sentence-transformers/paraphrase-MiniLM-L3-v2"), Some(""));
        assert!(query("Qwen/Qwen3-Embedding-0.6B").expect("known").ends_with("Query:"));
        assert_eq!(query("mxbai-embed-large"), Some(REPRESENT.query));
        assert_eq!(query("thenlper/gte-base"), Some(""));
        assert_eq!(query("embeddinggemma:300m"), Some("task: search result | query: "));
    }

    #[test]
    fn what_is_not_known_is_not_guessed() {
        assert_eq!(preset_for("text-embedding-3-small"), None);
        assert_eq!(preset_for("some5-b"), None);
        assert_eq!(preset_for(""), None);
    }
}
