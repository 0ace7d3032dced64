//! User administration: listing, promoting and disabling users. An admin sees no memory here, only its bytes, and can disable
//! neither themself nor the last admin.

mod model;
pub(super) mod store;

pub use model::{ManagedAccount, People, Person};

use super::admin_events::{self, AdminAction, AdminActor, AdminSubject};
use super::{AccountError, Accounts, Email, Role, UserId, invitations, store as accounts_store};
use crate::replay::{self, Note, NotedAct};

/// Page size of the list.
pub const PEOPLE_A_PAGE: usize = 25;

impl Accounts {
    /// Users whose address contains `words`, newest first, continuing after `before`.
    pub async fn list_people(
        &self,
        words: &str,
        before: Option<UserId>,
    ) -> Result<People, AccountError> {
        let pattern = pattern_of(words);
        let mut tx = self.db.as_system().await?;
        let limit = PEOPLE_A_PAGE as i64 + 1;
        let mut rows = store::list(&mut tx, &pattern, before, limit).await?;
        let total = store::count(&mut tx, &pattern).await?;
        tx.commit().await?;
        let has_more = rows.len() > PEOPLE_A_PAGE;
        rows.truncate(PEOPLE_A_PAGE);
        let next_before = rows.last().filter(|_| has_more).map(|last| last.id);
        Ok(People { rows, total, next_before })
    }

    /// The addresses of these users, or `operator: id`; without those whose erasure has begun.
    pub async fn list_names(&self, users: &[i64]) -> Result<Vec<(i64, String)>, AccountError> {
        let mut conn = self.db.system_connection().await?;
        Ok(store::list_names(&mut conn, users).await?)
    }

    /// Includes disabled users.
    pub async fn find_person(&self, email: &Email) -> Result<Option<UserId>, AccountError> {
        let mut conn = self.db.system_connection().await?;
        Ok(accounts_store::find_user_by_email(&mut conn, email).await?)
    }

    /// Changes a user's rights, with effect from the next request. Returns the user's name. Disabling ends web sessions and
    /// blocks tokens; disabling and demoting revoke the user's invitations.
    pub async fn change_person(
        &self,
        by: AdminActor,
        user: UserId,
        action: AdminAction,
    ) -> Result<String, AccountError> {
        let now = self.clock.now();
        let mut tx = self.db.as_system_after(accounts_store::LOCK_ADMINS).await?;
        let subject = store::find(&mut tx, user).await?;
        let subject = subject.ok_or(AccountError::NotFound)?;
        if !subject.is_changed_by(action) {
            return Ok(subject.name);
        }
        let others = store::count_other_admins(&mut tx, user).await?;
        subject.check(by, action, others)?;
        let (role, disabled) = match action {
            AdminAction::Disable => (subject.role, true),
            AdminAction::Enable => (subject.role, false),
            AdminAction::Promote => (Role::Admin, subject.disabled),
            _ => (Role::Member, subject.disabled),
        };
        store::update(&mut tx, user, role, disabled, now).await?;
        if action == AdminAction::Disable {
            accounts_store::delete_web_sessions_of(&mut tx, user).await?;
        }
        if matches!(action, AdminAction::Disable | AdminAction::Demote) {
            invitations::store::revoke_all_of(&mut tx, user, now).await?;
        }
        admin_events::record(&mut tx, by, action, AdminSubject::User(user), now).await?;
        let noted = match action {
            AdminAction::Disable => NotedAct::AccountDisabled,
            AdminAction::Enable => NotedAct::AccountEnabled,
            AdminAction::Promote => NotedAct::AdminPromoted,
            _ => NotedAct::AdminDemoted,
        };
        replay::store::insert(&mut tx, &Note::of(noted, user, None, now)).await?;
        tx.commit().await?;
        Ok(subject.name)
    }
}

/// A LIKE pattern that matches the words literally, anywhere.
fn pattern_of(words: &str) -> String {
    let mut pattern = String::from("%");
    for c in words.trim().to_lowercase().chars() {
        if matches!(c, '\\' | '%' | '_') {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern.push('%');
    pattern
}
