//! An admin action: who did what to whom.

use time::OffsetDateTime;

use crate::accounts::model::{OperatorId, UserId};
use crate::db::actor;

/// Who changes something of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdminActor {
    Admin(UserId),
    /// Somebody who can run `keepsake` on the server.
    Command,
}

impl AdminActor {
    /// The user of the current request; outside of a request, the command line or the server's startup.
    pub fn current() -> Self {
        actor::person().map_or(Self::Command, Self::Admin)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdminSubject {
    Nobody,
    User(UserId),
    Operator(OperatorId),
    /// By name.
    Job(&'static str),
}

/// As stored in `admin_events`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdminAction {
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
    BuiltinMultilingual,
    BuiltinEnglish,
    LateOn,
    LateOff,
    AllowEndpoint,
    DisallowEndpoint,
    CloseBrowser,
    OpenBrowser,
    SetStorage,
    RunJob,
    PauseJob,
    ResumeJob,
    RetryJob,
    ScheduleJob,
    UnscheduleJob,
    RetryVectors,
}

impl AdminAction {
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
            Self::BuiltinMultilingual => "builtin_multilingual",
            Self::BuiltinEnglish => "builtin_english",
            Self::LateOn => "late_on",
            Self::LateOff => "late_off",
            Self::AllowEndpoint => "allow_endpoint",
            Self::DisallowEndpoint => "disallow_endpoint",
            Self::CloseBrowser => "close_browser",
            Self::OpenBrowser => "open_browser",
            Self::SetStorage => "set_storage",
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
