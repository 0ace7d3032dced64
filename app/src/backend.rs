//! The port: all that pages may ask of the server, for the one person whose
//! request is being answered. `src/web/ui.rs` implements it; a page gets it
//! with [`backend`]. The user is never a parameter: it is in the backend.

use std::sync::Arc;

use async_trait::async_trait;
use leptos::prelude::expect_context;

use crate::view::{
    AboutPage, Account, ActivityFilters, ActivityPage, AdminPage, AgentsPage, BackupsPage,
    ChatPage, ConsentPage, DataPage, DayFilters, DocsPage, DocumentFilters, DocumentPage,
    DocumentsPage, DreamsPage, EmbeddingsPage, EntitiesPage, EntityFilters, EntityPage, FadingPage,
    FormState, GraphFilters, GraphPage, InvitationPage, ItemPage, JobsPage, JoinPage, LearnedPage,
    MemoryFilters, MemoryPage, Receipt, ResetPage, SecretsPage, SessionFilters, SessionPage,
    SessionsPage, SignInOffer, SummaryPage, TimelineFilters, TimelinePage, UsagePage, UsersFilters,
    UsersPage, WebhooksPage, WorkPage,
};

/// In the context of every render: whether `/pkg/keepsake.js` and `.wasm` exist.
/// Without them the pages are plain HTML, and complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IslandsBuilt(pub bool);

/// Rows a step of "load more", and at first.
pub const PAGE_SIZE: usize = 25;

/// Rows a list by date can grow to on one page; past it, a search helps more.
pub const ROWS_MAX: usize = 500;

/// Messages of a session on one page.
pub const MESSAGES_SHOWN: i32 = 100;

/// Memories that came of a session, on its page.
pub const MEMORIES_SHOWN: usize = 200;

/// Memories that name an entity, on its page.
pub const MENTIONED_IN_SHOWN: usize = 25;

/// Entities in one picture.
pub const GRAPH_NODES_SHOWN: usize = 500;

/// Documents in one tree; a folder that has more has a page of its own.
pub const DOCUMENTS_SHOWN: usize = 1_000;

/// Deleted documents below the tree.
pub const DELETED_SHOWN: usize = 200;

/// Lines of a document that are shown as text.
pub const LINES_SHOWN: usize = 5_000;

/// Calls that found a document, on its page.
pub const FOUND_SHOWN: usize = 20;

/// Rows a ranked list has at most.
pub const RANKED_MAX: usize = 50;

/// Why a page could not be made. The sentence is for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageError {
    /// What the address asks for cannot be; otherwise the server cannot now.
    pub is_invalid: bool,
    pub sentence: String,
}

#[async_trait]
pub trait Backend: Send + Sync {
    fn viewer(&self) -> Option<Account>;
    /// How the form posted in this request ended; the default when none was.
    fn form(&self) -> FormState;
    /// Time zones to choose from, by name.
    fn time_zones(&self) -> Vec<String>;
    /// Answers 404 with the page that is being rendered.
    fn not_found(&self);
    /// Answers 422 or 503 with the page that is being rendered.
    fn failed(&self, error: &PageError);

    /// For everybody, and without the database.
    fn docs_page(&self) -> DocsPage;
    async fn sign_in_offer(&self) -> Result<SignInOffer, PageError>;
    async fn memory_page(&self, filters: &MemoryFilters) -> Result<MemoryPage, PageError>;
    /// `None` when there is no such item, or it is another's.
    /// On another day, as it was known then; refused where it was not. With `query`, also whether and why a search for it finds this item.
    async fn item_page(
        &self,
        item_id: i64,
        query: Option<&str>,
        day: &DayFilters,
    ) -> Result<Option<ItemPage>, PageError>;
    async fn entities_page(&self, filters: &EntityFilters) -> Result<EntitiesPage, PageError>;
    /// `None` when there is no such entity, or it is another's. Of one that was merged, the one
    /// that it is now.
    async fn entity_page(&self, entity_id: i64) -> Result<Option<EntityPage>, PageError>;
    /// Of those below this folder.
    async fn documents_page(&self, folder: Option<&str>) -> Result<DocumentsPage, PageError>;
    /// `None` when there is no such document or revision, or it is another's.
    async fn document_page(
        &self,
        document_id: i64,
        filters: &DocumentFilters,
    ) -> Result<Option<DocumentPage>, PageError>;
    /// `None` when the entity that it is around is not there, or another's.
    async fn graph_page(&self, filters: &GraphFilters) -> Result<Option<GraphPage>, PageError>;
    async fn sessions_page(&self, filters: &SessionFilters) -> Result<SessionsPage, PageError>;
    /// From the message at this position on. `None` when there is no such session, or it is
    /// another's.
    async fn session_page(
        &self,
        session_id: i64,
        from: i32,
    ) -> Result<Option<SessionPage>, PageError>;
    async fn summary_page(&self) -> Result<SummaryPage, PageError>;
    async fn activity_page(&self, filters: &ActivityFilters) -> Result<ActivityPage, PageError>;
    async fn usage_page(&self) -> Result<UsagePage, PageError>;
    async fn agents_page(&self) -> Result<AgentsPage, PageError>;
    async fn data_page(&self) -> Result<DataPage, PageError>;
    /// The fields of what is asked for are in the query.
    async fn about_page(&self, asked: &[(String, String)]) -> Result<AboutPage, PageError>;
    /// For whoever holds its id, signed in or not.
    async fn receipt(&self, id: &str) -> Result<Option<Receipt>, PageError>;
    async fn chat_page(&self) -> Result<ChatPage, PageError>;
    async fn embeddings_page(&self) -> Result<EmbeddingsPage, PageError>;
    async fn learned_page(&self) -> Result<LearnedPage, PageError>;
    /// From before this dream on.
    async fn dreams_page(&self, before: Option<i64>) -> Result<DreamsPage, PageError>;
    async fn timeline_page(&self, filters: &TimelineFilters) -> Result<TimelinePage, PageError>;
    async fn fading_page(&self) -> Result<FadingPage, PageError>;
    async fn secrets_page(&self) -> Result<SecretsPage, PageError>;
    async fn work_page(&self) -> Result<WorkPage, PageError>;
    async fn webhooks_page(&self) -> Result<WebhooksPage, PageError>;
    /// `None` when the person is no admin.
    async fn admin_page(&self) -> Result<Option<AdminPage>, PageError>;
    /// `None` when the person is no admin.
    async fn jobs_page(&self) -> Result<Option<JobsPage>, PageError>;
    /// `None` when the person is no admin.
    async fn backups_page(&self) -> Result<Option<BackupsPage>, PageError>;
    /// `None` when the person is no admin.
    async fn users_page(&self, filters: &UsersFilters) -> Result<Option<UsersPage>, PageError>;
    /// Where an invitation to a team leads; `None` when it cannot be used (any more).
    /// A program's request for access, as it stands in the address.
    async fn consent_page(&self, query: &str) -> Result<ConsentPage, PageError>;
    async fn join_page(&self, token: &str) -> Result<Option<JoinPage>, PageError>;
    /// `None` when it cannot be used (any more), for whatever reason.
    async fn invitation_page(&self, token: &str) -> Result<Option<InvitationPage>, PageError>;
    /// The same, of a link that sets a new password.
    async fn reset_page(&self, token: &str) -> Result<Option<ResetPage>, PageError>;
}

/// The backend of the request that is being rendered.
pub fn backend() -> Arc<dyn Backend> {
    expect_context::<Arc<dyn Backend>>()
}
