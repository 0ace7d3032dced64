//! An admin action: who did what to whom.

use time::OffsetDateTime;

use crate::accounts::model::{OperatorId, UserId};
use crate::db::actor;
use crate::db::labels;

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

labels! {
    /// As stored in `admin_events`.
    pub enum AdminAction {
        Disable = "disable",
        Enable = "enable",
        Promote = "promote",
        Demote = "demote",
        InviteMember = "invite_member",
        InviteAdmin = "invite_admin",
        RevokeInvitation = "revoke_invitation",
        AcceptInvitation = "accept_invitation",
        MakeResetLink = "make_reset_link",
        UseResetLink = "use_reset_link",
        SetPassword = "set_password",
        MakeOperator = "make_operator",
        ChangeOperator = "change_operator",
        MakeServiceToken = "make_service_token",
        RevokeServiceToken = "revoke_service_token",
        SetProvider = "set_provider",
        RemoveProvider = "remove_provider",
        SetChat = "set_chat",
        RemoveChat = "remove_chat",
        BuiltinOn = "builtin_on",
        BuiltinOff = "builtin_off",
        BuiltinMultilingual = "builtin_multilingual",
        BuiltinEnglish = "builtin_english",
        LateOn = "late_on",
        LateOff = "late_off",
        AllowEndpoint = "allow_endpoint",
        DisallowEndpoint = "disallow_endpoint",
        CloseBrowser = "close_browser",
        OpenBrowser = "open_browser",
        SetStorage = "set_storage",
        RunJob = "run_job",
        PauseJob = "pause_job",
        ResumeJob = "resume_job",
        RetryJob = "retry_job",
        ScheduleJob = "schedule_job",
        UnscheduleJob = "unschedule_job",
        RetryVectors = "retry_vectors",
    }
}

impl AdminAction {
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
    pub action: AdminAction,
    /// An address, `operator: id`, an operator's name, or a job's name.
    pub subject: Option<String>,
}
