//! Implements the pages' interface ([`app::backend::Backend`]) for the visitor of one request, and converts
//! domain types into view types.

mod about;
mod activity;
mod agents;
mod backups;
mod chat;
mod consent;
mod data;
mod docs;
mod documents;
mod dreams;
mod embeddings;
mod endpoint;
mod entities;
mod fading;
mod graph;
mod items;
mod jobs;
mod learned;
mod lineage;
mod memory;
mod moment;
mod related;
mod secrets;
mod sessions;
mod storage;
mod summary;
mod timeline;
mod usage;
mod users;
mod webhooks;
mod work;

pub(super) use endpoint::host_port;

use app::backend::{Backend, PageError};
use app::view::{
    AboutPage, Account, ActivityFilters, ActivityPage, AdminPage, AgentRow, AgentsPage,
    BackupsPage, ChatPage, ConsentPage, DataPage, DayFilters, DocsPage, DocumentFilters,
    DocumentPage, DocumentsPage, DreamsPage, EmbeddingsPage, EntitiesPage, EntityFilters,
    EntityPage, FadingPage, FormState, GraphFilters, GraphPage, InvitationPage, ItemPage, JobsPage,
    JoinPage, LearnedPage, MemoryFilters, MemoryPage, Moment, OperatorRow, Receipt, ResetPage,
    SecretsPage, SessionFilters, SessionPage, SessionsPage, SignInOffer, SummaryPage,
    TimelineFilters, TimelinePage, TokenRow, TokenState, UsagePage, UsersFilters, UsersPage,
    WebhooksPage, WorkPage,
};
use async_trait::async_trait;
use axum::http::{StatusCode, header};
use leptos::prelude::use_context;
use leptos_axum::ResponseOptions;
use time::format_description::BorrowedFormatItem;
use time::macros::format_description;
use time::{Duration, OffsetDateTime};

use super::AppState;
use super::error::{DATABASE_SENTENCE, Problem, RETRY_AFTER_S};
use super::visitor::Visitor;
use crate::accounts::model::TokenRecord;
use crate::accounts::operators::Operator;
use crate::accounts::{AccountError, Role, Viewer};
use crate::clock::Zone;
use crate::containment;
use crate::embedding::EmbeddingError;
use crate::erasure;
use crate::input::{Invalid, sentence};
use crate::memories::{self, MemoryError, Trust};
use crate::providers::chat::ChatError;

/// What a field for a date and a time takes.
const LOCAL_MINUTE: &[BorrowedFormatItem<'_>] =
    format_description!("[year]-[month]-[day]T[hour]:[minute]");
/// An agent that called so recently is shown as active.
const ACTIVE_FOR: Duration = Duration::minutes(5);

pub struct Ui {
    state: AppState,
    visitor: Visitor,
    form: FormState,
}

impl Ui {
    pub fn new(state: &AppState, visitor: Visitor, form: FormState) -> Self {
        Self { state: state.clone(), visitor, form }
    }

    fn memory_viewer(&self) -> Result<Viewer, PageError> {
        match &self.visitor {
            Visitor::SignedIn(signed_in) => Ok(signed_in.viewer()),
            Visitor::Stranger => Err(PageError {
                is_invalid: false,
                sentence: "Sign in to see this page.".to_owned(),
            }),
        }
    }

    fn moment(&self, at: OffsetDateTime) -> Moment {
        moment::moment(at, self.state.clock.now())
    }

    fn operator_row(&self, operator: Operator) -> OperatorRow {
        let tokens = operator.tokens.into_iter();
        OperatorRow {
            id: operator.id.0,
            name: operator.name,
            created: self.moment(operator.created_at),
            users: operator.users.into(),
            users_max: operator.users_max.into(),
            pool: operator.pool,
            tokens: tokens.map(|token| self.token_row(token)).collect(),
        }
    }

    fn token_row(&self, token: TokenRecord) -> TokenRow {
        let client = token.client.as_ref().map(|client| self.connected(client));
        TokenRow {
            client,
            state: token_state(&token, self.state.clock.now()),
            id: token.id.0,
            hint: format!("ks_…{}", token.hint),
            scopes: token.scopes,
            created: self.moment(token.created_at),
            expires: token.expires_at.map(|at| self.moment(at)),
            last_used: token.last_used_at.map(|at| self.moment(at)),
        }
    }
}

#[async_trait]
impl Backend for Ui {
    fn viewer(&self) -> Option<Account> {
        match &self.visitor {
            Visitor::SignedIn(signed_in) => Some(Account {
                email: signed_in.0.email.clone(),
                is_admin: signed_in.0.role == Role::Admin,
                memory_enabled: signed_in.0.memory_enabled,
                time_zone: signed_in.0.time_zone.name().to_owned(),
            }),
            Visitor::Stranger => None,
        }
    }

    fn form(&self) -> FormState {
        self.form.clone()
    }

    fn time_zones(&self) -> Vec<String> {
        Zone::names()
    }

    fn not_found(&self) {
        set_status(StatusCode::NOT_FOUND);
    }

    fn failed(&self, error: &PageError) {
        set_status(match error.is_invalid {
            true => StatusCode::UNPROCESSABLE_ENTITY,
            false => StatusCode::SERVICE_UNAVAILABLE,
        });
        if let Some(options) = use_context::<ResponseOptions>().filter(|_| !error.is_invalid) {
            options.insert_header(header::RETRY_AFTER, RETRY_AFTER_S.into());
        }
    }

    fn docs_page(&self) -> DocsPage {
        docs::page(&self.state.published, self.state.public_url.as_str())
    }

    async fn sign_in_offer(&self) -> Result<SignInOffer, PageError> {
        let sign_up = self.state.accounts.sign_up_offer().await.map_err(account_error)?;
        Ok(match (sign_up.is_open, sign_up.is_first) {
            (true, true) if sign_up.has_accounts => SignInOffer::SignInOrFirstAdmin,
            (true, true) => SignInOffer::FirstAccount,
            (true, false) => SignInOffer::SignInOrSignUp,
            (false, _) => SignInOffer::SignIn,
        })
    }

    async fn memory_page(&self, filters: &MemoryFilters) -> Result<MemoryPage, PageError> {
        let viewer = self.memory_viewer()?;
        self.memory_view(&viewer, filters).await
    }

    async fn item_page(
        &self,
        item_id: i64,
        query: Option<&str>,
        day: &DayFilters,
    ) -> Result<Option<ItemPage>, PageError> {
        self.item_view(item_id, query, &self.day(day)?).await
    }

    async fn activity_page(&self, filters: &ActivityFilters) -> Result<ActivityPage, PageError> {
        let viewer = self.memory_viewer()?;
        self.activity_view(&viewer, filters).await
    }

    async fn usage_page(&self) -> Result<UsagePage, PageError> {
        let viewer = self.memory_viewer()?;
        self.usage_view(&viewer).await
    }

    async fn entities_page(&self, filters: &EntityFilters) -> Result<EntitiesPage, PageError> {
        let viewer = self.memory_viewer()?;
        self.entities_view(&viewer, filters).await
    }

    async fn entity_page(&self, entity_id: i64) -> Result<Option<EntityPage>, PageError> {
        let viewer = self.memory_viewer()?;
        self.entity_view(&viewer, entity_id).await
    }

    async fn documents_page(&self, folder: Option<&str>) -> Result<DocumentsPage, PageError> {
        let viewer = self.memory_viewer()?;
        self.documents_view(&viewer, folder).await
    }

    async fn document_page(
        &self,
        document_id: i64,
        filters: &DocumentFilters,
    ) -> Result<Option<DocumentPage>, PageError> {
        let viewer = self.memory_viewer()?;
        self.document_view(&viewer, document_id, filters).await
    }

    async fn graph_page(&self, filters: &GraphFilters) -> Result<Option<GraphPage>, PageError> {
        let viewer = self.memory_viewer()?;
        self.graph_view(&viewer, filters).await
    }

    async fn sessions_page(&self, filters: &SessionFilters) -> Result<SessionsPage, PageError> {
        let viewer = self.memory_viewer()?;
        self.sessions_view(&viewer, filters).await
    }

    async fn session_page(
        &self,
        session_id: i64,
        from: i32,
    ) -> Result<Option<SessionPage>, PageError> {
        let viewer = self.memory_viewer()?;
        self.session_view(&viewer, session_id, from).await
    }

    async fn summary_page(&self) -> Result<SummaryPage, PageError> {
        let viewer = self.memory_viewer()?;
        self.summary_view(&viewer).await
    }

    async fn data_page(&self) -> Result<DataPage, PageError> {
        let viewer = self.memory_viewer()?;
        self.data_view(&viewer).await
    }

    async fn about_page(&self, asked: &[(String, String)]) -> Result<AboutPage, PageError> {
        let viewer = self.memory_viewer()?;
        self.about_view(&viewer, asked).await
    }

    async fn receipt(&self, id: &str) -> Result<Option<Receipt>, PageError> {
        let found = erasure::find_receipt(&self.state.db, id).await;
        let found = found.map_err(database)?;
        Ok(found.map(|receipt| self.receipt_view(receipt)))
    }

    async fn embeddings_page(&self) -> Result<EmbeddingsPage, PageError> {
        let viewer = self.memory_viewer()?;
        let overview = self.state.embeddings.overview(viewer.user_id).await;
        let chat = self.state.chat.overview(viewer.user_id).await;
        let is_admin = self.viewer().is_some_and(|v| v.is_admin);
        let (overview, chat) = (overview.map_err(embedding_error)?, chat.map_err(chat_error)?);
        let evaluation = &self.state.evaluation;
        let measured = evaluation.latest(viewer.user_id).await;
        let standing = evaluation.standing(viewer.user_id).await;
        Ok(self.embeddings_view(
            overview,
            &chat.settings.own,
            measured.map_err(database)?,
            standing.map_err(chat_error)?,
            is_admin,
        ))
    }

    async fn work_page(&self) -> Result<WorkPage, PageError> {
        let viewer = self.memory_viewer()?;
        self.work_view(&viewer).await
    }

    async fn webhooks_page(&self) -> Result<WebhooksPage, PageError> {
        let viewer = self.memory_viewer()?;
        self.webhooks_view(&viewer).await
    }

    async fn dreams_page(&self, before: Option<i64>) -> Result<DreamsPage, PageError> {
        let viewer = self.memory_viewer()?;
        self.dreams_view(&viewer, before).await
    }

    async fn learned_page(&self) -> Result<LearnedPage, PageError> {
        let viewer = self.memory_viewer()?;
        self.learned_view(&viewer).await
    }

    async fn timeline_page(&self, filters: &TimelineFilters) -> Result<TimelinePage, PageError> {
        let viewer = self.memory_viewer()?;
        self.timeline_view(&viewer, filters).await
    }

    async fn fading_page(&self) -> Result<FadingPage, PageError> {
        let viewer = self.memory_viewer()?;
        self.fading_view(&viewer).await
    }

    async fn secrets_page(&self) -> Result<SecretsPage, PageError> {
        let viewer = self.memory_viewer()?;
        self.secrets_view(&viewer).await
    }

    async fn chat_page(&self) -> Result<ChatPage, PageError> {
        let viewer = self.memory_viewer()?;
        let overview = self.state.chat.overview(viewer.user_id).await;
        let is_admin = self.viewer().is_some_and(|v| v.is_admin);
        Ok(self.chat_view(overview.map_err(chat_error)?, is_admin))
    }

    async fn admin_page(&self) -> Result<Option<AdminPage>, PageError> {
        if !self.viewer().is_some_and(|v| v.is_admin) {
            return Ok(None);
        }
        let system = self.state.embeddings.system_overview().await;
        let chat = self.state.chat.system_overview().await;
        let users = self.state.accounts.count_users().await;
        let operators = self.state.accounts.list_operators().await;
        let read_only = memories::manage::is_browser_read_only(&self.state.db).await;
        let operators = operators.map_err(account_error)?.into_iter();
        let storage = self.server_storage().await;
        Ok(Some(self.admin_view(
            system.map_err(embedding_error)?,
            &chat.map_err(chat_error)?,
            users.map_err(account_error)?,
            operators.map(|o| self.operator_row(o)).collect(),
            (self.jobs_line().await?, storage.map_err(database)?),
            read_only.map_err(database)?,
        )))
    }

    async fn jobs_page(&self) -> Result<Option<JobsPage>, PageError> {
        match self.viewer() {
            Some(viewer) if viewer.is_admin => Ok(Some(self.jobs_view().await?)),
            _ => Ok(None),
        }
    }

    async fn backups_page(&self) -> Result<Option<BackupsPage>, PageError> {
        match self.viewer() {
            Some(viewer) if viewer.is_admin => Ok(Some(self.backups_view().await?)),
            _ => Ok(None),
        }
    }

    async fn users_page(&self, filters: &UsersFilters) -> Result<Option<UsersPage>, PageError> {
        match &self.visitor {
            Visitor::SignedIn(signed_in) if signed_in.0.role == Role::Admin => {
                let page = self.users_view(signed_in.0.id, filters).await;
                Ok(Some(page.map_err(account_error)?))
            }
            _ => Ok(None),
        }
    }

    async fn join_page(&self, token: &str) -> Result<Option<JoinPage>, PageError> {
        let viewer = self.memory_viewer()?;
        let page = self.join_view(viewer.user_id, token).await;
        page.map_err(account_error)
    }

    async fn consent_page(&self, query: &str) -> Result<ConsentPage, PageError> {
        let viewer = self.memory_viewer()?;
        let page = self.consent_view(viewer.user_id, query).await;
        page.map_err(account_error)
    }

    async fn invitation_page(&self, token: &str) -> Result<Option<InvitationPage>, PageError> {
        let page = self.invitation_view(token).await;
        page.map_err(account_error)
    }

    async fn reset_page(&self, token: &str) -> Result<Option<ResetPage>, PageError> {
        let page = self.reset_view(token).await;
        page.map_err(account_error)
    }

    async fn agents_page(&self) -> Result<AgentsPage, PageError> {
        let viewer = self.memory_viewer()?;
        let agents =
            self.state.accounts.list_agents(viewer.user_id).await.map_err(account_error)?;
        let teams = self.state.accounts.teams(viewer.user_id).await;
        let undone =
            containment::list_made(&self.state.db, viewer.user_id).await.map_err(database)?;
        let mut teams = self.team_views(teams.map_err(account_error)?, &agents);
        let now = self.state.clock.now();
        let is_active = |tokens: &[TokenRecord]| {
            let used = tokens.iter().filter_map(|token| token.last_used_at).max();
            used.is_some_and(|at| now - at < ACTIVE_FOR)
                && tokens.iter().any(|token| token_state(token, now) == TokenState::Valid)
        };
        let rows = agents.into_iter().map(|(agent, tokens)| AgentRow {
            is_active: is_active(&tokens),
            team: teams.remove(&agent.id.0).unwrap_or_default(),
            undone: undone
                .get(&agent.id.0)
                .map(|made| (self.moment(made.made_at), self.moment(made.since))),
            id: agent.id.0,
            name: agent.name,
            created: self.moment(agent.created_at),
            memory_enabled: agent.memory_enabled,
            profile: agent.profile.as_str(),
            item_count: agent.item_count,
            settings: agents::settings(&agent.settings),
            settings_document: serde_json::to_string_pretty(&agent.settings).unwrap_or_default(),
            tokens: tokens.into_iter().map(|token| self.token_row(token)).collect(),
        });
        Ok(AgentsPage {
            agents: rows.collect(),
            a_day_ago: self
                .zone()
                .local(now - Duration::DAY)
                .format(LOCAL_MINUTE)
                .unwrap_or_default(),
            public_url: self.state.public_url.as_str().to_owned(),
        })
    }
}

fn token_state(token: &TokenRecord, now: OffsetDateTime) -> TokenState {
    match token.revoked_at {
        Some(_) => TokenState::Revoked,
        None if token.is_valid(now) => TokenState::Valid,
        None => TokenState::Expired,
    }
}

fn set_status(status: StatusCode) {
    if let Some(options) = use_context::<ResponseOptions>() {
        options.set_status(status);
    }
}

fn invalid(invalid: Invalid) -> PageError {
    PageError { is_invalid: true, sentence: invalid.sentence }
}

fn database(error: sqlx::Error) -> PageError {
    // The conversion logs the error.
    let Problem { detail, .. } = error.into();
    PageError { is_invalid: false, sentence: detail }
}

fn memory_error(error: MemoryError) -> PageError {
    match error {
        MemoryError::Database(error) => database(error),
        MemoryError::Embedding(error) => embedding_error(error),
        MemoryError::NotFound(_) => {
            PageError { is_invalid: false, sentence: "There is no such memory.".to_owned() }
        }
        // Pages never add or correct items.
        error => PageError { is_invalid: true, sentence: sentence(&error.to_string()) },
    }
}

fn embedding_error(error: EmbeddingError) -> PageError {
    let problem = Problem::from(error);
    PageError { is_invalid: problem.status.is_client_error(), sentence: problem.detail }
}

fn chat_error(error: ChatError) -> PageError {
    let problem = Problem::from(error);
    PageError { is_invalid: problem.status.is_client_error(), sentence: problem.detail }
}

fn account_error(error: AccountError) -> PageError {
    match error {
        AccountError::Database(error) => database(error),
        _ => PageError { is_invalid: false, sentence: DATABASE_SENTENCE.to_owned() },
    }
}

/// The source of a memory in words.
pub(super) fn whose(trust: Trust) -> &'static str {
    match trust {
        Trust::User => "stated by you",
        Trust::Agent => "stated by an agent",
        Trust::Tool => "from a tool",
        Trust::External => "from outside",
    }
}
