//! Password resets: by a link from an admin, valid once and for a day, or from the command line. Both end all web sessions of
//! the account and do not enable a disabled one. The link is stored as an invitation that creates no account.

use time::Duration;

use super::admin_events::{self, AdminAction, AdminActor, AdminSubject};
use super::invitations::{OpenReset, check_room, store};
use super::tokens::LinkToken;
use super::{AccountError, Accounts, Password, UserId, people, store as users};

pub const LIFETIME: Duration = Duration::hours(24);

impl Accounts {
    /// For an account that signs in, disabled or not; replaces its previous link.
    pub async fn make_reset_link(
        &self,
        admin: UserId,
        user: UserId,
    ) -> Result<(String, LinkToken), AccountError> {
        let now = self.clock.now();
        let mut tx = self.db.as_system().await?;
        let subject = people::store::find(&mut tx, user).await?;
        let subject = subject.filter(|subject| subject.signs_in);
        let subject = subject.ok_or(AccountError::NotFound)?;
        store::revoke_resets_of(&mut tx, user, now).await?;
        check_room(&mut tx, now).await?;
        let token = LinkToken::generate()?;
        store::insert_reset(&mut tx, &token.hash(), user, admin, now, now + LIFETIME).await?;
        let (by, about) = (AdminActor::Admin(admin), AdminSubject::User(user));
        admin_events::record(&mut tx, by, AdminAction::MakeResetLink, about, now).await?;
        tx.commit().await?;
        Ok((subject.name, token))
    }

    pub async fn find_reset(&self, token: &LinkToken) -> Result<Option<OpenReset>, AccountError> {
        let mut conn = self.db.system_connection().await?;
        Ok(store::find_open_reset(&mut conn, &token.hash(), self.clock.now()).await?)
    }

    /// Sets the password and ends all web sessions of the account.
    pub async fn use_reset_link(
        &self,
        token: &LinkToken,
        password: Password,
    ) -> Result<(), AccountError> {
        let place = self.hashing.place()?;
        let found = self.find_reset(token).await?;
        found.ok_or(AccountError::ResetLinkOver)?;
        let hash = self.hashing.hash(place, password).await?;
        let now = self.clock.now();
        let mut tx = self.db.as_system().await?;
        let used = store::mark_reset_used(&mut tx, &token.hash(), now).await?;
        let user = used.ok_or(AccountError::ResetLinkOver)?;
        users::update_password(&mut tx, user, &hash, now).await?;
        let (by, subject) = (AdminActor::Admin(user), AdminSubject::User(user));
        admin_events::record(&mut tx, by, AdminAction::UseResetLink, subject, now).await?;
        tx.commit().await?;
        Ok(())
    }

    /// From the command line (`keepsake user set-password`).
    pub async fn set_password(&self, user: UserId, password: Password) -> Result<(), AccountError> {
        let hash = self.hashing.hash(self.hashing.place()?, password).await?;
        let now = self.clock.now();
        let mut tx = self.db.as_system().await?;
        users::update_password(&mut tx, user, &hash, now).await?;
        store::revoke_resets_of(&mut tx, user, now).await?;
        let (by, subject) = (AdminActor::Command, AdminSubject::User(user));
        admin_events::record(&mut tx, by, AdminAction::SetPassword, subject, now).await?;
        tx.commit().await?;
        Ok(())
    }
}
