//! User administration: listing, promoting and disabling users, and the log of such changes. An admin sees no memory here, not
//! even its size, and can disable neither themself nor the last admin.

pub mod store;

use sqlx::PgConnection;
use time::OffsetDateTime;

use super::operators::OperatedUser;
use super::{
    AccountError, Accounts, Email, ExternalId, OperatorId, Role, UserId, invitations,
    store as accounts_store,
};
use crate::db::actor;
use crate::input::Invalid;

/// Page size of the list.
pub const PEOPLE_A_PAGE: usize = 25;
const EVENTS_SHOWN: i64 = 20;

/// A user who signs in.
#[derive(Clone, Debug)]
pub struct Person {
    pub id: UserId,
    pub email: String,
    pub role: Role,
    pub disabled: bool,
    pub created_at: OffsetDateTime,
    pub last_sign_in_at: Option<OffsetDateTime>,
}

/// A page of users, newest first.
#[derive(Clone, Debug)]
pub struct People {
    pub rows: Vec<Person>,
    /// Number of users whose address matches the filter.
    pub total: i64,
    /// The cursor of the next page.
    pub next_before: Option<UserId>,
}

/// Who changes an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    Admin(UserId),
    /// Somebody who can run `keepsake` on the server.
    Command,
}

impl By {
    /// The user of the current request; outside of a request, the command line or the server's startup.
    pub fn current() -> Self {
        match actor::person() {
            Some(user) => Self::Admin(user),
            None => Self::Command,
        }
    }
}

/// The subject of an admin action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    Nobody,
    User(UserId),
    Operator(OperatorId),
    /// By name.
    Job(&'static str),
}

/// Records an action in the transaction that performs it.
pub async fn record(
    conn: &mut PgConnection,
    by: By,
    act: Act,
    about: About,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    store::insert_event(conn, by, act, about, now).await
}

/// An admin action, as stored in `admin_events`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    Disable,
    Enable,
    Promote,
    Demote,
    InviteMember,
    InviteAdmin,
    RevokeInvitation,
    AcceptInvitation,
    MakeResetLink,
    UseResetLink,
    SetPassword,
    MakeOperator,
    ChangeOperator,
    MakeServiceToken,
    RevokeServiceToken,
    SetProvider,
    RemoveProvider,
    SetChat,
    RemoveChat,
    BuiltinOn,
    BuiltinOff,
    LateOn,
    LateOff,
    AllowEndpoint,
    DisallowEndpoint,
    CloseBrowser,
    OpenBrowser,
    RunJob,
    PauseJob,
    ResumeJob,
    RetryJob,
    ScheduleJob,
    UnscheduleJob,
    RetryVectors,
}

impl Act {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Disable => "disable",
            Self::Enable => "enable",
            Self::Promote => "promote",
            Self::Demote => "demote",
            Self::InviteMember => "invite_member",
            Self::InviteAdmin => "invite_admin",
            Self::RevokeInvitation => "revoke_invitation",
            Self::AcceptInvitation => "accept_invitation",
            Self::MakeResetLink => "make_reset_link",
            Self::UseResetLink => "use_reset_link",
            Self::SetPassword => "set_password",
            Self::MakeOperator => "make_operator",
            Self::ChangeOperator => "change_operator",
            Self::MakeServiceToken => "make_service_token",
            Self::RevokeServiceToken => "revoke_service_token",
            Self::SetProvider => "set_provider",
            Self::RemoveProvider => "remove_provider",
            Self::SetChat => "set_chat",
            Self::RemoveChat => "remove_chat",
            Self::BuiltinOn => "builtin_on",
            Self::BuiltinOff => "builtin_off",
            Self::LateOn => "late_on",
            Self::LateOff => "late_off",
            Self::AllowEndpoint => "allow_endpoint",
            Self::DisallowEndpoint => "disallow_endpoint",
            Self::CloseBrowser => "close_browser",
            Self::OpenBrowser => "open_browser",
            Self::RunJob => "run_job",
            Self::PauseJob => "pause_job",
            Self::ResumeJob => "resume_job",
            Self::RetryJob => "retry_job",
            Self::ScheduleJob => "schedule_job",
            Self::UnscheduleJob => "unschedule_job",
            Self::RetryVectors => "retry_vectors",
        }
    }

    /// Parses an action that changes one account.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Disable, Self::Enable, Self::Promote, Self::Demote]
            .into_iter()
            .find(|act| act.as_str() == text)
    }
}

#[derive(Clone, Debug)]
pub struct AdminEvent {
    pub at: OffsetDateTime,
    pub by_command: bool,
    /// An address; `None` if the account is deleted.
    pub actor: Option<String>,
    pub action: String,
    /// An address, `operator: id`, an operator's name, or a job's name.
    pub subject: Option<String>,
}

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
        Ok(People {
            rows,
            total,
            next_before,
        })
    }

    pub async fn find_operated_user(
        &self,
        operator: OperatorId,
        external: &ExternalId,
    ) -> Result<Option<OperatedUser>, AccountError> {
        let mut conn = self.db.system_connection().await?;
        Ok(store::find_operated(&mut conn, operator, external).await?)
    }

    /// Includes disabled users.
    pub async fn find_person(&self, email: &Email) -> Result<Option<UserId>, AccountError> {
        let mut conn = self.db.system_connection().await?;
        Ok(store::find_by_email(&mut conn, email).await?)
    }

    /// Newest first.
    pub async fn list_admin_events(&self) -> Result<Vec<AdminEvent>, AccountError> {
        let mut conn = self.db.system_connection().await?;
        Ok(store::list_events(&mut conn, EVENTS_SHOWN).await?)
    }

    /// Changes a user's rights, with effect from the next request. Returns the user's name. Disabling ends web sessions and
    /// blocks tokens; disabling and demoting revoke the user's invitations.
    pub async fn change_person(
        &self,
        by: By,
        user: UserId,
        act: Act,
    ) -> Result<String, AccountError> {
        let now = self.clock.now();
        let mut tx = self.db.as_system_after(accounts_store::LOCK_ADMINS).await?;
        let subject = store::find(&mut tx, user).await?;
        let subject = subject.ok_or(AccountError::NotFound)?;
        if !subject.is_changed_by(act) {
            return Ok(subject.name);
        }
        let others = store::count_other_admins(&mut tx, user).await?;
        subject.check(by, act, others)?;
        match act {
            Act::Disable => store::set_disabled(&mut tx, user, Some(now), now).await?,
            Act::Enable => store::set_disabled(&mut tx, user, None, now).await?,
            Act::Promote => store::set_role(&mut tx, user, Role::Admin, now).await?,
            _ => store::set_role(&mut tx, user, Role::Member, now).await?,
        }
        if act == Act::Disable {
            accounts_store::delete_web_sessions_of(&mut tx, user).await?;
        }
        if matches!(act, Act::Disable | Act::Demote) {
            invitations::store::revoke_all_of(&mut tx, user, now).await?;
        }
        record(&mut tx, by, act, About::User(user), now).await?;
        tx.commit().await?;
        Ok(subject.name)
    }
}

/// An account to change.
pub struct Subject {
    pub id: UserId,
    /// The address, or `operator: id`.
    pub name: String,
    pub role: Role,
    pub disabled: bool,
    pub signs_in: bool,
}

impl Subject {
    fn is_changed_by(&self, act: Act) -> bool {
        match act {
            Act::Disable => !self.disabled,
            Act::Enable => self.disabled,
            Act::Promote => self.role == Role::Member,
            _ => self.role == Role::Admin,
        }
    }

    fn check(&self, by: By, act: Act, other_admins: i64) -> Result<(), Invalid> {
        let refuse = |code, sentence: &str| Err(Invalid::new("action", code, sentence));
        let takes_away = matches!(act, Act::Disable | Act::Demote);
        if act == Act::Promote && !self.signs_in {
            return refuse(
                "not_a_person",
                "A user of an operator does not sign in, and cannot be an admin.",
            );
        }
        if takes_away && by == By::Admin(self.id) {
            return refuse(
                "oneself",
                "You cannot disable yourself or give up being an admin; another admin can do it.",
            );
        }
        if takes_away && self.role == Role::Admin && !self.disabled && other_admins == 0 {
            return refuse(
                "last_admin",
                "This is the only admin who can sign in; make somebody else an admin first.",
            );
        }
        Ok(())
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
