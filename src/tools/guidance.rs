//! What goes into an agent's prompt (DESIGN §7, Nova §3.3): when to use the
//! tools, never what is remembered.

/// When to search, read, add and archive. MCP gives it as the server's instructions.
pub const INSTRUCTIONS: &str = "\
You have a long-term memory of this user, through tools.
- memory_search: when something personal comes up (names, preferences, projects, earlier decisions) or before you assume; not by reflex at every turn.
- memory_get: read a result whole when its snippet is cut or you need its source and dates.
- memory_add: when the user says something that will matter in later conversations, or asks you to remember; one self-contained statement an item.
- memory_archive: only when the user asks to forget, or an item is clearly wrong; to correct one, add the new item and archive the old.
- query \"*\" lists the newest items; searches find active items unless you ask for status \"archived\" or \"any\".";
