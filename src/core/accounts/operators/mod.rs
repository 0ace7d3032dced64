//! Operators: products that store memory for users of their own, named by the operator's ids. An operator can never reach an
//! account that signs in, and its users, created by their first tool call, never another operator's.

mod model;
mod store;

pub use model::{OperatedUser, Operator, TooManyUsers};

use sqlx::PgConnection;

use super::admin_events::AdminAction;
use super::model::{AgentName, ExternalId, OPERATORS_MAX, OperatorId, UsersMax, Viewer};
use super::tokens::{self, NewUser, Token, TokenHolder, TokenWish};
use super::{AccountError, Accounts};
use crate::db::citus;
use crate::input::Invalid;

impl Accounts {
    /// Newest first.
    pub async fn list_operators(&self) -> Result<Vec<Operator>, AccountError> {
        let mut tx = self.db.as_system().await?;
        let mut operators = store::list_operators(&mut tx).await?;
        let mut tokens = tokens::store::list(&mut tx, None).await?;
        tx.commit().await?;
        for operator in &mut operators {
            let held = tokens.remove(&TokenHolder::Operator(operator.id));
            operator.tokens = held.unwrap_or_default();
        }
        Ok(operators)
    }

    /// Oldest first.
    pub async fn list_operated_users(&self) -> Result<Vec<OperatedUser>, AccountError> {
        Ok(store::list_users(&mut *self.db.system_connection().await?).await?)
    }

    pub async fn find_operated_user(
        &self,
        operator: OperatorId,
        external: &ExternalId,
    ) -> Result<Option<OperatedUser>, AccountError> {
        let mut conn = self.db.system_connection().await?;
        Ok(store::find_user_by_external_id(&mut conn, operator, external).await?)
    }

    /// Creates an operator and its first token, which is shown only this once.
    pub async fn create_operator(
        &self,
        name: &AgentName,
        users_max: UsersMax,
        wish: &TokenWish,
    ) -> Result<Token, AccountError> {
        let mut tx = self.db.as_system().await?;
        let operator = self.insert_operator(&mut tx, name, users_max).await?;
        let operator = operator.ok_or_else(|| {
            Invalid::new(
                "name",
                "taken",
                "There is an operator of this name already; choose another name, or give that one a further token.",
            )
        })?;
        let token = self.insert_token(&mut tx, TokenHolder::Operator(operator), wish).await?;
        tx.commit().await?;
        Ok(token)
    }

    /// Creates a token for the operator with this name, creating that if needed (`keepsake token create --service`).
    pub async fn create_service_token_by_name(
        &self,
        name: &AgentName,
        wish: &TokenWish,
    ) -> Result<Token, AccountError> {
        let mut tx = self.db.as_system().await?;
        let operator = match store::find_operator_by_name(&mut tx, name).await? {
            Some(there) => there,
            // `None` if it was created concurrently.
            None => self
                .insert_operator(&mut tx, name, UsersMax::default())
                .await?
                .ok_or(AccountError::NotFound)?,
        };
        let token = self.insert_token(&mut tx, TokenHolder::Operator(operator), wish).await?;
        tx.commit().await?;
        Ok(token)
    }

    /// A lower limit keeps existing users. The user of the pool need not exist yet.
    pub async fn change_operator(
        &self,
        operator: OperatorId,
        users_max: UsersMax,
        pool: Option<&ExternalId>,
    ) -> Result<(), AccountError> {
        let mut tx = self.db.as_system().await?;
        if pool.is_some() {
            citus::require_one_server(&mut tx, "pool", "There are no pools").await??;
        }
        if !store::update(&mut tx, operator, users_max, pool).await? {
            return Err(AccountError::NotFound);
        }
        self.record_of_holder(
            &mut tx,
            AdminAction::ChangeOperator,
            TokenHolder::Operator(operator),
        )
        .await?;
        tx.commit().await?;
        Ok(())
    }

    /// Creates a user and its agent, unless a concurrent call has just done so. Serialized in this process: waiting for the
    /// operator's row lock would occupy one of the few connections.
    pub async fn make_user(
        &self,
        user: &NewUser,
    ) -> Result<Result<Viewer, TooManyUsers>, sqlx::Error> {
        let full = TooManyUsers { users_max: user.users_max };
        if user.users_count >= user.users_max {
            return Ok(Err(full));
        }
        let _turn = self.making_users.lock().await;
        let mut tx = self.db.as_system().await?;
        let has_room = store::count_user(&mut tx, user.operator_id).await?;
        if let Some(made) = store::find_user(&mut tx, user).await? {
            // Without a commit: the call that created it has counted it.
            return Ok(Ok(made));
        }
        if !has_room {
            return Ok(Err(full));
        }
        let made = store::insert_user(&mut tx, user, self.clock.now()).await?;
        // With the pool, which its first call reads too.
        let made = store::find_user(&mut tx, user).await?.unwrap_or(made);
        tx.commit().await?;
        Ok(Ok(made))
    }

    /// `None` if an operator with this name exists.
    async fn insert_operator(
        &self,
        conn: &mut PgConnection,
        name: &AgentName,
        users_max: UsersMax,
    ) -> Result<Option<OperatorId>, AccountError> {
        if store::count_operators(conn).await? >= OPERATORS_MAX {
            return Err(Invalid::new(
                "name",
                "too_many",
                format!("There are {OPERATORS_MAX} operators, which is the most; use one of them."),
            )
            .into());
        }
        let made = store::insert_operator(conn, name, users_max, self.clock.now()).await?;
        if let Some(operator) = made {
            self.record_of_holder(conn, AdminAction::MakeOperator, TokenHolder::Operator(operator))
                .await?;
        }
        Ok(made)
    }
}
