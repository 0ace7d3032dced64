//! Invitations: an admin's link that creates one account, regardless of `KEEPSAKE_SIGNUP`. Links that reset a password
//! (`resets.rs`) are stored with them. A link is shown once. An unknown, used, revoked or expired one always gives the same
//! answer.

mod model;
pub(super) mod store;

pub use model::{Invitation, InvitationId, OpenInvitation, OpenReset};

use sqlx::PgConnection;
use time::{Duration, OffsetDateTime};

use super::admin_events::{self, AdminAction, AdminActor, AdminSubject};
use super::tokens::LinkToken;
use super::{AccountError, Accounts, Email, Password, Role, UserId, address_taken, store as users};
use crate::input::Invalid;

pub const LIFETIME: Duration = Duration::days(7);
pub const OPEN_MAX: i64 = 200;
/// How long an ended invitation stays listed, with its address, after it would have expired.
const KEPT: Duration = Duration::days(30);

impl Accounts {
    pub async fn invite(
        &self,
        admin: UserId,
        email: Option<&Email>,
        role: Role,
    ) -> Result<LinkToken, AccountError> {
        let now = self.clock.now();
        let mut tx = self.db.as_system().await?;
        check_room(&mut tx, now).await?;
        if let Some(email) = email
            && users::find_user_by_email(&mut tx, email).await?.is_some()
        {
            return Err(address_taken());
        }
        let token = LinkToken::generate()?;
        let expires_at = now + LIFETIME;
        store::insert(&mut tx, &token.hash(), email, role, admin, now, expires_at).await?;
        let action = match role {
            Role::Admin => AdminAction::InviteAdmin,
            Role::Member => AdminAction::InviteMember,
        };
        let (by, subject) = (AdminActor::Admin(admin), AdminSubject::Nobody);
        admin_events::record(&mut tx, by, action, subject, now).await?;
        tx.commit().await?;
        Ok(token)
    }

    /// Newest first: valid ones, and those that ended recently.
    pub async fn list_invitations(&self) -> Result<Vec<Invitation>, AccountError> {
        Ok(store::list(&mut *self.db.system_connection().await?).await?)
    }

    /// Takes effect at once. Revoking again keeps the first time; a used one stays used.
    pub async fn revoke_invitation(
        &self,
        admin: UserId,
        id: InvitationId,
    ) -> Result<(), AccountError> {
        let now = self.clock.now();
        let mut tx = self.db.as_system().await?;
        if !store::revoke(&mut tx, id, now).await? {
            return Err(AccountError::NotFound);
        }
        let (by, subject) = (AdminActor::Admin(admin), AdminSubject::Nobody);
        admin_events::record(&mut tx, by, AdminAction::RevokeInvitation, subject, now).await?;
        tx.commit().await?;
        Ok(())
    }

    pub async fn find_invitation(
        &self,
        token: &LinkToken,
    ) -> Result<Option<OpenInvitation>, AccountError> {
        let mut conn = self.db.system_connection().await?;
        Ok(store::find_open(&mut conn, &token.hash(), self.clock.now()).await?)
    }

    /// Creates the account. `typed` is the address if the invitation is not bound to one.
    pub async fn accept_invitation(
        &self,
        token: &LinkToken,
        typed: &str,
        password: Password,
    ) -> Result<UserId, AccountError> {
        let place = self.hashing.place()?;
        let found = self.find_invitation(token).await?;
        let found = found.ok_or(AccountError::InvitationOver)?;
        let email = match found.email {
            Some(bound) => bound,
            None => Email::parse(typed)?,
        };
        let hash = self.hashing.hash(place, password).await?;
        let now = self.clock.now();
        let mut tx = self.db.as_system().await?;
        let used = store::mark_used(&mut tx, &token.hash(), now).await?;
        let id = used.ok_or(AccountError::InvitationOver)?;
        let user = users::insert_user(&mut tx, &email, &hash, found.role, now)
            .await?
            .ok_or_else(address_taken)?;
        users::note_sign_in(&mut tx, user, now).await?;
        store::set_used_by(&mut tx, id, user).await?;
        let (by, subject) = (AdminActor::Admin(user), AdminSubject::User(user));
        admin_events::record(&mut tx, by, AdminAction::AcceptInvitation, subject, now).await?;
        tx.commit().await?;
        Ok(user)
    }

    /// Deletes those that ended some time ago; called periodically.
    pub async fn sweep_invitations(&self) -> Result<u64, AccountError> {
        let mut conn = self.db.system_connection().await?;
        Ok(store::delete_ended(&mut conn, self.clock.now() - KEPT).await?)
    }
}

/// Checks the limit on valid links.
pub(super) async fn check_room(
    conn: &mut PgConnection,
    now: OffsetDateTime,
) -> Result<(), AccountError> {
    if store::count_open(conn, now).await? < OPEN_MAX {
        return Ok(());
    }
    let sentence =
        format!("There are {OPEN_MAX} open invitations, which is the most; revoke one first.");
    Err(Invalid::new("email", "too_many", sentence).into())
}
