//! Operators: products that store memory for users of their own, named by the operator's ids. An operator can never reach an
//! account that signs in, and its users, created by their first tool call, never another operator's.

pub mod store;

use sqlx::PgConnection;
use time::OffsetDateTime;

use super::access::NewUser;
use super::model::{
    AgentName, ExternalId, OPERATORS_MAX, OperatorId, TOKENS_PER_OPERATOR_MAX, TokenId,
    TokenRecord, UsersMax, Viewer,
};
use super::people::{self, About, Act, By};
use super::{AccountError, Accounts, TokenWish, check_scopes, token::Token};
use crate::input::Invalid;

/// An operator on the admin page.
#[derive(Clone, Debug)]
pub struct Operator {
    pub id: OperatorId,
    pub name: String,
    pub users: i32,
    pub users_max: i32,
    /// The operator's id of the user whose memory is the pool of all its other users.
    pub pool: Option<String>,
    pub created_at: OffsetDateTime,
    /// Newest first.
    pub tokens: Vec<TokenRecord>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "this operator has {users_max} users, which is the most it may; this user is not among them. An admin can raise that on the page Admin"
)]
pub struct TooManyUsers {
    pub users_max: i32,
}

/// An operator's user, as listed by the command line.
#[derive(Clone, Debug)]
pub struct OperatedUser {
    pub id: super::UserId,
    pub operator: String,
    pub external_id: String,
    pub disabled: bool,
}

impl Accounts {
    /// Newest first.
    pub async fn list_operators(&self) -> Result<Vec<Operator>, AccountError> {
        let mut tx = self.db.as_system().await?;
        let mut operators = store::list_operators(&mut tx).await?;
        for (operator, token) in store::list_tokens(&mut tx).await? {
            if let Some(owner) = operators.iter_mut().find(|o| o.id == operator) {
                owner.tokens.push(token);
            }
        }
        tx.commit().await?;
        Ok(operators)
    }

    /// Oldest first.
    pub async fn list_operated_users(&self) -> Result<Vec<OperatedUser>, AccountError> {
        Ok(store::list_users(&mut *self.db.system_connection().await?).await?)
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
        let token = self.insert_service_token(&mut tx, operator, wish).await?;
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
        let token = self.insert_service_token(&mut tx, operator, wish).await?;
        tx.commit().await?;
        Ok(token)
    }

    /// Creates another token for an operator. Also returns the operator's name.
    pub async fn create_service_token(
        &self,
        operator: OperatorId,
        wish: &TokenWish,
    ) -> Result<(String, Token), AccountError> {
        let mut tx = self.db.as_system().await?;
        let name = store::find_operator_name(&mut tx, operator)
            .await?
            .ok_or(AccountError::NotFound)?;
        let token = self.insert_service_token(&mut tx, operator, wish).await?;
        tx.commit().await?;
        Ok((name, token))
    }

    /// Takes effect at the next request.
    pub async fn revoke_service_token(
        &self,
        operator: OperatorId,
        token: TokenId,
    ) -> Result<(), AccountError> {
        let mut tx = self.db.as_system().await?;
        let now = self.clock.now();
        if !store::revoke_token(&mut tx, operator, token, now).await? {
            return Err(AccountError::NotFound);
        }
        self.record(&mut tx, Act::RevokeServiceToken, operator)
            .await?;
        tx.commit().await?;
        Ok(())
    }

    /// A lower limit keeps existing users. The user of the pool need not exist yet.
    pub async fn change_operator(
        &self,
        operator: OperatorId,
        users_max: UsersMax,
        pool: Option<&ExternalId>,
    ) -> Result<(), AccountError> {
        let mut tx = self.db.as_system().await?;
        if !store::update(&mut tx, operator, users_max, pool).await? {
            return Err(AccountError::NotFound);
        }
        self.record(&mut tx, Act::ChangeOperator, operator).await?;
        tx.commit().await?;
        Ok(())
    }

    /// Creates a user and its agent, unless a concurrent call has just done so. Serialized in this process: waiting for the
    /// operator's row lock would occupy one of the few connections.
    pub async fn make_user(
        &self,
        user: &NewUser,
    ) -> Result<Result<Viewer, TooManyUsers>, sqlx::Error> {
        let full = TooManyUsers {
            users_max: user.users_max,
        };
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
            self.record(conn, Act::MakeOperator, operator).await?;
        }
        Ok(made)
    }

    async fn record(
        &self,
        conn: &mut PgConnection,
        act: Act,
        operator: OperatorId,
    ) -> Result<(), sqlx::Error> {
        let (about, now) = (About::Operator(operator), self.clock.now());
        people::record(conn, By::current(), act, about, now).await
    }

    async fn insert_service_token(
        &self,
        conn: &mut PgConnection,
        operator: OperatorId,
        wish: &TokenWish,
    ) -> Result<Token, AccountError> {
        check_scopes(&wish.scopes)?;
        if store::count_tokens(conn, operator).await? >= TOKENS_PER_OPERATOR_MAX {
            return Err(Invalid::new(
                "operator",
                "too_many",
                format!("This operator has {TOKENS_PER_OPERATOR_MAX} tokens, which is the most; revoke one first."),
            )
            .into());
        }
        let token = Token::generate()?;
        let now = self.clock.now();
        let expires_at = wish.lifetime.map(|lifetime| now + lifetime);
        store::insert_token(conn, operator, &token, &wish.scopes, expires_at, now).await?;
        if let Some(profile) = wish.profile {
            store::set_profile(conn, operator, profile).await?;
        }
        self.record(conn, Act::MakeServiceToken, operator).await?;
        Ok(token)
    }
}
