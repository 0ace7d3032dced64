//! A person's data, as pages show it: what can be exported, the progress of an import, and receipts of
//! erasures. Numbers only.

use crate::view::{
    DataPage, ErasedKind, ImportProgress, ImportState, ItemErasure, Receipt as ReceiptView,
    RowCount,
};

use crate::accounts::Viewer;
use crate::erasure::{self, ErasedRows, ErasureKind, Receipt};
use crate::export::{self, Export, FileOrigin, ImportStatus, UPLOAD_BYTES_MAX};
use crate::memories::ItemId;
use crate::moment::whole_ms;
use crate::page::{Asked, Page, PageError, database};

/// The names of a receipt's rows for people, in display order.
const LABELS: [(&str, &str); 55] = [
    ("memory_items", "memories"),
    ("memory_embeddings", "vectors"),
    ("memory_item_events", "entries of history"),
    ("memory_origins", "links of memories to their sources"),
    ("memory_uses", "usage counts of memories"),
    ("fading_settings", "settings of fading"),
    ("secret_settings", "settings of secrets"),
    ("secret_findings", "fingerprints of secrets found"),
    ("secret_counts", "daily counts of secrets found"),
    ("memory_themes", "themes"),
    ("memory_summaries", "summary"),
    ("memory_summary_items", "places of memories in the summary, whose text is deleted too"),
    ("sessions", "sessions"),
    ("session_messages", "messages of sessions"),
    ("turns", "search entries of messages"),
    ("episodes", "episodes (summaries of sessions)"),
    ("recall_sessions", "sessions in which something was recalled"),
    ("session_extractions", "extraction records"),
    ("documents", "documents"),
    ("document_revisions", "revisions of documents"),
    ("parts", "search entries of documents"),
    ("entities", "entities"),
    ("entity_names", "names of entities"),
    ("entity_mentions", "places where entities are named"),
    ("entity_relations", "relations of entities"),
    ("entity_relation_sources", "source sentences of relations"),
    ("entity_pairs", "pairs of entities that may be the same"),
    ("entity_events", "entries of the history of entities"),
    ("entity_settings", "settings of entities"),
    ("dreams", "dreams"),
    ("dream_proposals", "changes that dreams proposed"),
    ("dream_settings", "settings of dreams"),
    ("proposals", "changes that agents proposed"),
    ("deletions", "deletions that waited for Undo"),
    ("agent_undos", "undos of agents"),
    ("memory_repeats", "places where memories were said again"),
    ("projects", "projects"),
    ("project_aliases", "names and places of projects"),
    ("activity", "calls of agents"),
    ("queries", "search queries of calls; the calls stay"),
    ("names", "names of themes, agents and projects"),
    ("mentions", "calls that concerned it; they stay, without it"),
    ("links", "links of other memories to it"),
    ("quotes", "memories that stay, without their source messages"),
    ("agents", "agents"),
    ("agent_tokens", "tokens"),
    ("embedding_spaces", "embedding spaces"),
    ("embedding_settings", "settings of embeddings"),
    ("chat_settings", "settings of the chat model"),
    ("chat_spend", "days of chat usage"),
    ("chat_spend_purposes", "days of chat usage by purpose"),
    ("chat_reservations", "calls of the chat model under way"),
    ("data_imports", "records of imports"),
    ("web_sessions", "web sessions"),
    ("users", "account"),
];

impl Asked {
    pub async fn receipt(&self, id: &str) -> Result<Option<ReceiptView>, PageError> {
        let found = erasure::find_receipt(&self.state.db, id).await;
        Ok(found.map_err(database)?.map(|receipt| self.receipt_view(receipt)))
    }

    pub(crate) fn receipt_view(&self, receipt: Receipt) -> ReceiptView {
        ReceiptView {
            id: receipt.id.as_str().to_owned(),
            kind: match receipt.kind {
                ErasureKind::Item => ErasedKind::Memory,
                ErasureKind::Session => ErasedKind::Session,
                ErasureKind::Document => ErasedKind::Document,
                ErasureKind::Account => ErasedKind::Account,
                ErasureKind::Chosen => ErasedKind::Chosen,
            },
            rows: rows_view(&receipt.found, &receipt.erased),
            stays: rows_view(&receipt.stays, &ErasedRows::new()),
            undo_ms: receipt
                .due_at
                .map(|at| whole_ms(at - self.state.clock.now()))
                .filter(|ms| *ms > 0),
            requested: receipt.requested_at,
            finished: receipt.finished_at,
        }
    }
}

impl Page {
    pub(crate) async fn data_view(&self, viewer: &Viewer) -> Result<DataPage, PageError> {
        let user = viewer.user_id;
        // Both count everything the user has, which may take long.
        let db = self.state.db.with_job_timeout();
        let overview = Export::overview(&db, user).await.map_err(database)?;
        let last = self.state.imports.last(user).await.map_err(database)?;
        let rows = erasure::weigh_account(&db, user).await;
        let receipts = erasure::list_receipts(&self.state.db, user).await;
        let receipts = receipts.map_err(database)?.into_iter();
        Ok(DataPage {
            items: overview.items,
            calls: overview.calls,
            export_bytes: overview.bytes,
            import: last.map(|import| self.import_view(import)),
            rows: rows_view(&rows.map_err(database)?, &ErasedRows::new()),
            receipts: receipts.map(|receipt| self.receipt_view(receipt)).collect(),
            storage: self.storage_view(user).await.map_err(database)?,
            upload_bytes_max: UPLOAD_BYTES_MAX as i64,
        })
    }

    pub(crate) fn import_view(&self, import: ImportStatus) -> ImportProgress {
        let outcome = import.outcome;
        let problems = outcome.problems.into_iter();
        ImportProgress {
            state: match import.state {
                export::ImportState::Running => ImportState::Running,
                export::ImportState::Done => ImportState::Done,
                export::ImportState::Failed => ImportState::Failed,
                export::ImportState::Interrupted => ImportState::Interrupted,
            },
            bytes_done: outcome.bytes as i64,
            bytes_total: import.bytes_total as i64,
            added: outcome.added as i64,
            known: outcome.known as i64,
            failed: outcome.failed as i64,
            documents: outcome.documents as i64,
            changed: outcome.changed as i64,
            skipped: outcome.skipped as i64,
            report: import.has_report.then(|| format!("/data/imports/{}/report.jsonl", import.id)),
            problems: problems.map(|p| (p.place, p.sentence)).collect(),
            error: import.error,
            whose: match import.origin {
                Some(FileOrigin::Signed) => "This server has written the file for you.",
                Some(FileOrigin::Vouched) => "You vouched for the file.",
                Some(FileOrigin::Unknown) => {
                    "Its memories are external: this server has not written the file for you, and you did not vouch for it."
                }
                None => "",
            },
            started: import.started_at,
        }
    }

    pub(crate) async fn item_erasure(
        &self,
        viewer: &Viewer,
        item: ItemId,
    ) -> Result<ItemErasure, PageError> {
        let rows = erasure::weigh_item(&self.state.db, viewer.user_id, item).await;
        let rows = rows.map_err(database)?;
        let of = |name| rows.get(name).copied().unwrap_or_default();
        Ok(ItemErasure {
            vectors: of("memory_embeddings"),
            events: of("memory_item_events"),
            mentions: of("mentions"),
            links: of("links"),
            is_in_summary: of("memory_summary_items") > 0,
            derived: of("memory_origins"),
        })
    }
}

/// Adds one line for all rows without a name here, so that nothing is omitted.
fn rows_view(found: &ErasedRows, erased: &ErasedRows) -> Vec<RowCount> {
    let of = |rows: &ErasedRows, name| rows.get(name).copied().unwrap_or_default();
    let is_named = |name: &str| LABELS.iter().any(|(named, _)| *named == name);
    let others = |rows: &ErasedRows| {
        let others = rows.iter().filter(|(name, _)| !is_named(name));
        others.map(|(_, count)| count).sum()
    };
    let named = LABELS.into_iter().map(|(name, label)| RowCount {
        label,
        erased: of(erased, name),
        found: of(found, name),
    });
    let others = RowCount {
        label: "other rows: internal data of search and background work",
        erased: others(erased),
        found: others(found),
    };
    named.chain([others]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_without_a_name_for_people_are_counted_too() {
        let rows = |rows: &[(&str, i64)]| -> ErasedRows {
            rows.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect()
        };
        let found = rows(&[("memory_items", 3), ("memory_passages", 4), ("job_runs", 2)]);
        let erased = rows(&[("memory_items", 3), ("job_runs", 1)]);
        let shown: Vec<_> = rows_view(&found, &erased)
            .into_iter()
            .filter(|row| row.found > 0)
            .map(|row| (row.label, row.found, row.erased))
            .collect();
        let others = "other rows: internal data of search and background work";
        assert_eq!(shown, [("memories", 3, 3), (others, 6, 1)]);
    }
}
