//! Invitations: an admin's link that creates one account, regardless of `KEEPSAKE_SIGNUP`. Links that reset a password
//! (`resets.rs`) are stored with them. A link is shown once. An unknown, used, revoked or expired one always gives the same
//! answer.

pub mod store;

use std::fmt;

use rand::TryRngCore;
use rand::rngs::OsRng;
use sha2::{Digest, Sha256};
use sqlx::PgConnection;
use time::{Duration, OffsetDateTime};

use super::people::{About, Act, By};
use super::token::hex;
use super::{AccountError, Accounts, Email, Password, Role, UserId, address_taken, people};
use crate::input::Invalid;

pub const LIFETIME: Duration = Duration::days(7);
pub const OPEN_MAX: i64 = 200;
/// How long an ended invitation stays listed, with its address, after it would have expired.
const KEPT: Duration = Duration::days(30);
const RANDOM_BYTES: usize = 32;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvitationId(pub i64);

/// The secret of the link: 32 random bytes in lower-case hex.
#[derive(Clone, PartialEq, Eq)]
pub struct LinkToken(String);

impl LinkToken {
    pub(super) fn generate() -> Result<Self, rand::rand_core::OsError> {
        let mut random = [0_u8; RANDOM_BYTES];
        OsRng.try_fill_bytes(&mut random)?;
        Ok(Self(hex(&random)))
    }

    /// `None` if it cannot be one of this server.
    pub fn parse(text: &str) -> Option<Self> {
        let is_hex = text
            .bytes()
            .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        (is_hex && text.len() == RANDOM_BYTES * 2).then(|| Self(text.to_owned()))
    }

    pub(super) fn hash(&self) -> [u8; 32] {
        Sha256::digest(self.0.as_bytes()).into()
    }

    /// The token itself, for the only response that shows it.
    pub fn reveal(self) -> String {
        self.0
    }
}

impl fmt::Debug for LinkToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LinkToken(…)")
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
            && people::store::find_by_email(&mut tx, email)
                .await?
                .is_some()
        {
            return Err(address_taken());
        }
        let token = LinkToken::generate()?;
        let expires_at = now + LIFETIME;
        store::insert(&mut tx, &token.hash(), email, role, admin, now, expires_at).await?;
        let act = match role {
            Role::Admin => Act::InviteAdmin,
            Role::Member => Act::InviteMember,
        };
        people::record(&mut tx, By::Admin(admin), act, About::Nobody, now).await?;
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
        let by = By::Admin(admin);
        people::record(&mut tx, by, Act::RevokeInvitation, About::Nobody, now).await?;
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
        let user = super::store::insert_user(&mut tx, &email, &hash, found.role, now)
            .await?
            .ok_or_else(address_taken)?;
        super::store::note_sign_in(&mut tx, user, now).await?;
        store::set_used_by(&mut tx, id, user).await?;
        let by = By::Admin(user);
        people::record(&mut tx, by, Act::AcceptInvitation, About::User(user), now).await?;
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
