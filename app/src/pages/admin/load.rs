//! What the page Admin shows.

use crate::accounts::operators::Operator;
use crate::memories;
use crate::page::{Page, PageError, account_error, chat_error, database, embedding_error};
use crate::view::{AdminPage, OperatorRow};

impl Page {
    pub async fn admin_page(&self) -> Result<Option<AdminPage>, PageError> {
        if !self.is_admin() {
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

    fn operator_row(&self, operator: Operator) -> OperatorRow {
        let tokens = operator.tokens.into_iter();
        OperatorRow {
            id: operator.id.0,
            name: operator.name,
            created: operator.created_at,
            users: operator.users.into(),
            users_max: operator.users_max.into(),
            pool: operator.pool,
            tokens: tokens.map(|token| self.token_row(token)).collect(),
        }
    }
}
