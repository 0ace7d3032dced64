//! A person's data as pages show it: what there is to take along, how far an import
//! is, and receipts of what was erased. All in numbers.

use app::backend::PageError;
use app::view::{
    DataPage, ErasedKind, ImportProgress, ImportState, ItemErasure, Receipt as ReceiptView,
    RowCount,
};

use super::{Ui, database};
use crate::accounts::Viewer;
use crate::erasure::{self, Kind, Receipt, Rows};
use crate::export::{Overview, Shown, State, UPLOAD_BYTES_MAX};
use crate::memories::ItemId;

/// Rows of a receipt as people call them, in the order in which they are told.
const LABELS: [(&str, &str); 32] = [
    ("memory_items", "memories"),
    ("memory_embeddings", "vectors"),
    ("memory_item_events", "entries of history"),
    ("memory_uses", "counts of how often memories were used"),
    ("fading_settings", "settings of fading"),
    ("memory_themes", "themes"),
    ("memory_summaries", "summary"),
    (
        "memory_summary_items",
        "places of memories in the summary, whose text goes with them",
    ),
    ("sessions", "sessions"),
    ("session_messages", "messages of sessions"),
    ("turns", "messages as searches find them"),
    ("episodes", "episodes, which say what sessions were about"),
    (
        "recall_sessions",
        "sessions in which something was recalled",
    ),
    ("session_extractions", "entries of the ledger"),
    ("documents", "documents"),
    ("document_revisions", "revisions of documents"),
    ("parts", "parts of documents as searches find them"),
    ("activity", "calls of agents"),
    (
        "mentions",
        "calls that were about it; they stay, without it",
    ),
    ("links", "links of other memories to it"),
    (
        "quotes",
        "memories that stay, without the words they came from",
    ),
    ("agents", "agents"),
    ("agent_tokens", "tokens"),
    ("embedding_spaces", "embedding spaces"),
    ("embedding_settings", "settings of embeddings"),
    ("chat_settings", "settings of the chat model"),
    ("chat_spend", "days of what chat cost"),
    ("chat_spend_purposes", "the same by what it was for"),
    ("chat_reservations", "calls of the chat model under way"),
    ("data_imports", "records of imports"),
    ("web_sessions", "web sessions"),
    ("users", "account"),
];

impl Ui {
    pub(super) async fn data_view(&self, viewer: &Viewer) -> Result<DataPage, PageError> {
        let user = viewer.user_id;
        // Both count all that the user has.
        let db = self.state.db.with_job_timeout();
        let overview = Overview::of(&db, user).await.map_err(database)?;
        let last = self.state.imports.last(user).await.map_err(database)?;
        let rows = erasure::weigh_account(&db, user).await;
        let receipts = erasure::list_receipts(&self.state.db, user).await;
        let receipts = receipts.map_err(database)?.into_iter();
        Ok(DataPage {
            items: overview.items,
            calls: overview.calls,
            export_bytes: overview.bytes,
            import: last.map(|import| self.import_view(import)),
            rows: rows_view(&rows.map_err(database)?, &Rows::new()),
            receipts: receipts.map(|receipt| self.receipt_view(receipt)).collect(),
            upload_bytes_max: UPLOAD_BYTES_MAX as i64,
        })
    }

    pub(super) fn import_view(&self, import: Shown) -> ImportProgress {
        let outcome = import.outcome;
        let problems = outcome.problems.into_iter();
        ImportProgress {
            state: match import.state {
                State::Running => ImportState::Running,
                State::Done => ImportState::Done,
                State::Failed => ImportState::Failed,
                State::Interrupted => ImportState::Interrupted,
            },
            bytes_done: outcome.bytes as i64,
            bytes_total: import.bytes_total as i64,
            added: outcome.added as i64,
            known: outcome.known as i64,
            failed: outcome.failed as i64,
            problems: problems.map(|p| (p.place, p.sentence)).collect(),
            error: import.error,
            started: self.moment(import.started_at),
        }
    }

    pub(super) fn receipt_view(&self, receipt: Receipt) -> ReceiptView {
        ReceiptView {
            id: receipt.id.as_str().to_owned(),
            kind: match receipt.kind {
                Kind::Item => ErasedKind::Memory,
                Kind::Session => ErasedKind::Session,
                Kind::Document => ErasedKind::Document,
                Kind::Account => ErasedKind::Account,
            },
            rows: rows_view(&receipt.found, &receipt.erased),
            requested: self.moment(receipt.requested_at),
            finished: receipt.finished_at.map(|at| self.moment(at)),
        }
    }

    pub(super) async fn item_erasure(
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

fn rows_view(found: &Rows, erased: &Rows) -> Vec<RowCount> {
    let of = |rows: &Rows, name| rows.get(name).copied().unwrap_or_default();
    LABELS
        .into_iter()
        .map(|(name, label)| RowCount {
            label,
            erased: of(erased, name),
            found: of(found, name),
        })
        .collect()
}
