//! Which tool calls of a conversation are Keepsake's own: their results are memory already.

/// All tools of Keepsake.
pub const OWN_TOOLS: [&str; 18] = [
    "search",
    "fetch",
    "memory",
    "memory_search",
    "memory_get",
    "memory_add",
    "memory_list_themes",
    "memory_describe_theme",
    "memory_archive",
    "memory_correct",
    "memory_confirm",
    "memory_summary",
    "memory_stats",
    "memory_recall",
    "memory_forget",
    "memory_entity",
    "memory_graph",
    "memory_files",
];

/// Those whose names tools of others have too: ours if the client's prefix says so.
const COMMON_NAMES: [&str; 2] = ["search", "fetch"];
const OWN_PREFIX: &str = "keepsake";

/// Clients prefix tool names with their own: `mcp__keepsake__memory_search`.
pub fn is_own_tool(name: &str) -> bool {
    let name = name.replace('.', "_");
    OWN_TOOLS.iter().any(|own| {
        name.strip_suffix(own).is_some_and(|before| {
            let is_common = COMMON_NAMES.contains(own);
            !before.ends_with(char::is_alphanumeric)
                && (!is_common || before.to_ascii_lowercase().contains(OWN_PREFIX))
        })
    })
}

/// Whether that is certain: another server's tool may have the same name behind its prefix.
pub fn is_surely_own_tool(name: &str) -> bool {
    is_own_tool(name)
        && (OWN_TOOLS.contains(&name) || name.to_ascii_lowercase().contains(OWN_PREFIX))
}
