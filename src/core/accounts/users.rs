//! Users who sign in: sign-up, passwords, and settings of the whole account.

use std::sync::PoisonError;

use time::Duration;

use super::model::{Email, Password, Role, SignUpState, User, UserId, VerifiedUser};
use super::{AccountError, Accounts, address_taken, invitations, store};
use crate::clock::Zone;
use crate::config::SignUp;
use crate::input::Invalid;
use crate::replay::{NotedAct, note_own};

const OFFER_KEPT: Duration = Duration::seconds(5);

impl Accounts {
    /// Cached for a few seconds, so that a flood of sign-ins costs one query. Signing up itself checks the current state.
    pub async fn sign_up_offer(&self) -> Result<SignUpState, AccountError> {
        let now = self.clock.now();
        let kept = *self.offer.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, state)) = kept
            && (Duration::ZERO..OFFER_KEPT).contains(&(now - at))
        {
            return Ok(state);
        }
        let state = self.sign_up_state().await?;
        // Not cached while there is no account: that changes with the first sign-up.
        let kept = (!state.is_first).then_some((now, state));
        *self.offer.lock().unwrap_or_else(PoisonError::into_inner) = kept;
        Ok(state)
    }

    /// Whether the first account does not exist yet, and whether sign-up is open.
    async fn sign_up_state(&self) -> Result<SignUpState, AccountError> {
        let mut conn = self.db.system_connection().await?;
        let is_first = !store::any_admin_exists(&mut conn).await?;
        Ok(SignUpState {
            is_first,
            has_accounts: !is_first || store::any_account_exists(&mut conn).await?,
            is_open: self.sign_up_is_open(is_first),
        })
    }

    fn sign_up_is_open(&self, is_first: bool) -> bool {
        match self.sign_up {
            SignUp::First => is_first,
            SignUp::Open => true,
            SignUp::Closed => false,
        }
    }

    /// Creates an account, if sign-up is allowed; the first one is an admin.
    pub async fn sign_up(&self, email: &Email, password: Password) -> Result<UserId, AccountError> {
        let place = self.hashing.place()?;
        if !self.sign_up_state().await?.is_open {
            return Err(AccountError::SignUpClosed);
        }
        let hash = self.hashing.hash(place, password).await?;
        let mut tx = self.db.as_system_after(store::LOCK_ADMINS).await?;
        let is_first = !store::any_admin_exists(&mut tx).await?;
        if !self.sign_up_is_open(is_first) {
            return Err(AccountError::SignUpClosed);
        }
        let role = if is_first { Role::Admin } else { Role::Member };
        let user = store::insert_user(&mut tx, email, &hash, role, self.clock.now())
            .await?
            .ok_or_else(address_taken)?;
        store::note_sign_in(&mut tx, user, self.clock.now()).await?;
        tx.commit().await?;
        Ok(user)
    }

    /// Creates an account from the command line (`keepsake user create`).
    pub async fn create_user(
        &self,
        email: &Email,
        password: Password,
        role: Role,
    ) -> Result<UserId, AccountError> {
        let hash = self.hashing.hash(self.hashing.place()?, password).await?;
        let mut tx = self.db.as_system().await?;
        let user = store::insert_user(&mut tx, email, &hash, role, self.clock.now())
            .await?
            .ok_or_else(address_taken)?;
        tx.commit().await?;
        Ok(user)
    }

    /// All users who sign in.
    pub async fn list_users(&self) -> Result<Vec<User>, AccountError> {
        Ok(store::list_users(&mut *self.db.system_connection().await?).await?)
    }

    /// Users who sign in, and operators' users.
    pub async fn count_users(&self) -> Result<i64, AccountError> {
        Ok(store::count_users(&mut *self.db.system_connection().await?).await?)
    }

    /// Takes the same time for an unknown address. After creating the web session, the caller must call
    /// [`Accounts::finish_sign_in`].
    pub async fn sign_in(
        &self,
        email: &Email,
        password: Password,
    ) -> Result<VerifiedUser, AccountError> {
        let place = self.hashing.place()?;
        // Release the connection before the slow part.
        let found =
            store::find_credentials(&mut *self.db.system_connection().await?, email).await?;
        let hash = found.as_ref().map(|found| found.password_hash.clone());
        let matches = self.hashing.verify(place, password, hash).await?;
        let found = found.filter(|_| matches);
        let found = found.ok_or(AccountError::WrongPassword)?;
        Ok(VerifiedUser { user: found.user_id, password_hash: found.password_hash })
    }

    /// Returns false if the password was changed or the account disabled since; the new web session must then be deleted.
    /// Called after that session exists, so that a later change deletes it.
    pub async fn finish_sign_in(&self, verified: &VerifiedUser) -> Result<bool, AccountError> {
        let now = self.clock.now();
        let mut conn = self.db.system_connection().await?;
        Ok(store::note_verified_sign_in(&mut conn, verified, now).await?)
    }

    /// Checks the password of a signed-in user who must confirm an action.
    pub async fn is_password_of(
        &self,
        user: UserId,
        password: Password,
    ) -> Result<bool, AccountError> {
        Ok(self.verify(user, password).await?.is_some())
    }

    async fn verify(
        &self,
        user: UserId,
        password: Password,
    ) -> Result<Option<VerifiedUser>, AccountError> {
        let place = self.hashing.place()?;
        let hash =
            store::find_password_hash(&mut *self.db.system_connection().await?, user).await?;
        let matches = self.hashing.verify(place, password, hash.clone()).await?;
        Ok(hash.filter(|_| matches).map(|password_hash| VerifiedUser { user, password_hash }))
    }

    /// Ends all web sessions of the user, including this one, and open reset links. The new password is verified:
    /// [`Accounts::finish_sign_in`] after this browser's new session is there.
    pub async fn change_password(
        &self,
        user: UserId,
        current: Password,
        new: Password,
    ) -> Result<VerifiedUser, AccountError> {
        let wrong = || {
            Invalid::new("current_password", "wrong_password", "This is not your current password.")
        };
        let verified = self.verify(user, current).await?.ok_or_else(wrong)?;
        let hash = self.hashing.hash(self.hashing.place()?, new).await?;
        let mut tx = self.db.as_system().await?;
        let now = self.clock.now();
        if !store::replace_password(&mut tx, &verified, &hash, now).await? {
            return Err(wrong().into());
        }
        invitations::store::revoke_resets_of(&mut tx, user, now).await?;
        tx.commit().await?;
        Ok(VerifiedUser { user, password_hash: hash })
    }

    /// The user of a web session; `None` if disabled.
    pub async fn active_user(&self, user: UserId) -> Result<Option<User>, AccountError> {
        let found = store::find_user(&mut *self.db.system_connection().await?, user).await?;
        Ok(found.filter(|u| !u.disabled))
    }

    pub async fn find_user_by_email(&self, email: &Email) -> Result<Option<UserId>, AccountError> {
        let found =
            store::find_credentials(&mut *self.db.system_connection().await?, email).await?;
        Ok(found.map(|c| c.user_id))
    }

    /// Deletes expired web sessions; called periodically.
    pub async fn sweep_web_sessions(&self) -> Result<u64, AccountError> {
        let mut conn = self.db.system_connection().await?;
        Ok(store::delete_expired_web_sessions(&mut conn, self.clock.now()).await?)
    }

    /// Takes effect at the next call of any agent of the user.
    pub async fn switch_user_memory(&self, user: UserId, on: bool) -> Result<(), AccountError> {
        let now = self.clock.now();
        let mut tx = self.db.as_user(user).await?;
        store::switch_user_memory(&mut tx, user, on, now).await?;
        let noted = if on { NotedAct::MemoryOn } else { NotedAct::MemoryOff };
        note_own(&mut tx, noted, None, now).await?;
        tx.commit().await?;
        Ok(())
    }

    /// Takes effect when a schedule is next due.
    pub async fn set_time_zone(&self, user: UserId, zone: &Zone) -> Result<(), AccountError> {
        let mut tx = self.db.as_user(user).await?;
        store::set_time_zone(&mut tx, user, zone, self.clock.now()).await?;
        tx.commit().await?;
        Ok(())
    }
}
