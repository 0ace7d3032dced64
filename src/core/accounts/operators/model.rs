//! An operator and its users, as they are listed.

use time::OffsetDateTime;

use crate::accounts::model::{OperatorId, TokenRecord, UserId};

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
    "this operator has {users_max} users, which is its limit; this user is not one of them. An admin can raise the limit on the page Admin"
)]
pub struct TooManyUsers {
    pub users_max: i32,
}

/// An operator's user, as listed by the command line.
#[derive(Clone, Debug)]
pub struct OperatedUser {
    pub id: UserId,
    pub operator: String,
    pub external_id: String,
    pub disabled: bool,
}
