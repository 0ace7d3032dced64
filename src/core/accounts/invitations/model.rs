//! Invitations and links that reset a password, which are stored with them.

use time::OffsetDateTime;

use crate::accounts::model::{Email, Role, UserId};

#[derive(Clone, Copy, Debug, PartialEq, Eq, sqlx::Type)]
#[sqlx(transparent)]
pub struct InvitationId(pub i64);

impl From<i64> for InvitationId {
    fn from(id: i64) -> Self {
        Self(id)
    }
}

/// An entry of the admin page.
#[derive(Clone, Debug)]
pub struct Invitation {
    pub id: InvitationId,
    /// `None`: for anybody with the link.
    pub email: Option<String>,
    /// Role of the account it creates.
    pub role: Role,
    /// Address of the account whose password it resets, instead of creating one.
    pub resets: Option<String>,
    /// The admin's address; `None` if that account is deleted.
    pub invited_by: Option<String>,
    pub created_at: OffsetDateTime,
    pub expires_at: OffsetDateTime,
    pub revoked_at: Option<OffsetDateTime>,
    /// Address of the created account.
    pub used_by: Option<String>,
}

/// An invitation that is still valid.
#[derive(Clone, Debug)]
pub struct OpenInvitation {
    /// The address it is bound to.
    pub email: Option<Email>,
    pub role: Role,
    pub expires_at: OffsetDateTime,
}

/// A reset link that is still valid.
#[derive(Clone, Debug)]
pub struct OpenReset {
    pub user_id: UserId,
    pub email: String,
    pub expires_at: OffsetDateTime,
}
