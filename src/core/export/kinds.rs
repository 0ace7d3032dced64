//! The kinds of records in an export. `write.rs` and `read.rs` both go through this list, and the compiler asks both for a new
//! kind. `docs/export.md` describes each.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordKind {
    Account,
    Agent,
    EmbeddingSettings,
    ChatSettings,
    ChatSpend,
    Summary,
    Project,
    Theme,
    Item,
    Entity,
    Relation,
    Document,
    Revision,
    Episode,
    Origins,
    Unwanted,
    Session,
    Message,
    Extraction,
    Call,
    End,
}

/// The kinds in the order of the file, each with its name there, and the name of its count in the last line.
pub const KINDS: [(RecordKind, &str, Option<&str>); 21] = [
    (RecordKind::Account, "account", None),
    (RecordKind::Agent, "agent", Some("agents")),
    (RecordKind::EmbeddingSettings, "embedding_settings", None),
    (RecordKind::ChatSettings, "chat_settings", None),
    (RecordKind::ChatSpend, "chat_spend", None),
    (RecordKind::Summary, "summary", None),
    (RecordKind::Project, "project", Some("projects")),
    (RecordKind::Theme, "theme", Some("themes")),
    (RecordKind::Item, "item", Some("items")),
    (RecordKind::Entity, "entity", Some("entities")),
    (RecordKind::Relation, "relation", Some("relations")),
    (RecordKind::Document, "document", Some("documents")),
    (RecordKind::Revision, "revision", Some("revisions")),
    (RecordKind::Episode, "episode", Some("episodes")),
    (RecordKind::Origins, "origins", Some("origins")),
    (RecordKind::Unwanted, "unwanted", None),
    (RecordKind::Session, "session", Some("sessions")),
    (RecordKind::Message, "message", Some("messages")),
    (RecordKind::Extraction, "extraction", Some("extractions")),
    (RecordKind::Call, "call", Some("calls")),
    (RecordKind::End, "end", None),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_describes_the_kinds_in_the_order_of_the_file() {
        let document = include_str!("../../../docs/export.md");
        let rows = document.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` |"));
        let described: Vec<&str> = rows.map(|(name, _)| name).collect();
        assert_eq!(described, KINDS.map(|(_, name, _)| name));
        let counts = document.lines().find(|line| line.starts_with("| `end` |"));
        for counted in KINDS.iter().filter_map(|(_, _, counted)| *counted) {
            let is_described = counts.is_some_and(|line| line.contains(&format!("`{counted}`")));
            assert!(is_described, "{counted}");
        }
    }
}
