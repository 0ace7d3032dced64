//! Admin › Users and invitations, as their pages show them.

use crate::view::{
    AdminEventRow, InvitationPage, InvitationRow, InvitationState, OperatedUserRow, PersonRow,
    ResetPage, UsersFilters, UsersPage,
};

use crate::accounts::admin_events::AdminEvent;
use crate::accounts::invitations::Invitation;
use crate::accounts::people::Person;
use crate::accounts::{AccountError, ExternalId, LinkToken, OperatorId, Role, UserId};
use crate::jobs;
use crate::page::{Asked, Page, PageError, account_error};

impl Asked {
    pub(crate) async fn invitation_view(
        &self,
        token: &str,
    ) -> Result<Option<InvitationPage>, AccountError> {
        let Some(token) = LinkToken::parse(token) else {
            return Ok(None);
        };
        let found = self.state.accounts.find_invitation(&token).await?;
        Ok(found.map(|open| InvitationPage {
            email: open.email.map(|email| email.as_str().to_owned()),
            is_admin: open.role == Role::Admin,
            expires: open.expires_at,
        }))
    }

    pub(crate) async fn reset_view(&self, token: &str) -> Result<Option<ResetPage>, AccountError> {
        let Some(token) = LinkToken::parse(token) else {
            return Ok(None);
        };
        let found = self.state.accounts.find_reset(&token).await?;
        Ok(found.map(|open| ResetPage { email: open.email, expires: open.expires_at }))
    }
}

impl Page {
    /// `None`: no admin asks.
    pub async fn users_page(&self, filters: &UsersFilters) -> Result<Option<UsersPage>, PageError> {
        match self.is_admin() {
            true => {
                let page = self.users_view(self.signed_in.0.id, filters).await;
                page.map(Some).map_err(account_error)
            }
            false => Ok(None),
        }
    }

    pub(crate) async fn users_view(
        &self,
        oneself: UserId,
        filters: &UsersFilters,
    ) -> Result<UsersPage, AccountError> {
        let accounts = &self.state.accounts;
        // No e-mail address is longer, and PostgreSQL rejects NUL.
        let is_address = filters.q.chars().count() <= 254 && !filters.q.contains('\0');
        let words = if is_address { filters.q.as_str() } else { "\u{fffd}" };
        let people = accounts.list_people(words, filters.before.map(UserId)).await?;
        let ids: Vec<i64> = people.rows.iter().map(|person| person.id.0).collect();
        let mut sizes = self.sizes_of(&ids).await?;
        Ok(UsersPage {
            people: people
                .rows
                .into_iter()
                .map(|person| PersonRow {
                    stored: sizes.remove(&person.id.0),
                    ..self.person_row(person, oneself)
                })
                .collect(),
            total: people.total,
            next_before: people.next_before.map(|id| id.0),
            storage: self.storage_list().await?,
            invitations: accounts
                .list_invitations()
                .await?
                .into_iter()
                .map(|invitation| self.invitation_row(invitation))
                .collect(),
            operated: self.operated(filters).await?,
            events: accounts
                .list_admin_events()
                .await?
                .into_iter()
                .map(|event| self.event_row(event))
                .collect(),
        })
    }

    async fn operated(
        &self,
        filters: &UsersFilters,
    ) -> Result<Option<Option<OperatedUserRow>>, AccountError> {
        let Some(operator) = filters.operator else {
            return Ok(None);
        };
        // An invalid external id belongs to nobody.
        let Ok(external) = ExternalId::parse(filters.external_id.as_bytes()) else {
            return Ok(Some(None));
        };
        let accounts = &self.state.accounts;
        let found = accounts.find_operated_user(OperatorId(operator), &external);
        Ok(Some(found.await?.map(|user| OperatedUserRow {
            id: user.id.0,
            operator: user.operator,
            external_id: user.external_id,
            is_disabled: user.disabled,
        })))
    }

    fn person_row(&self, person: Person, oneself: UserId) -> PersonRow {
        PersonRow {
            id: person.id.0,
            email: person.email,
            is_admin: person.role == Role::Admin,
            is_disabled: person.disabled,
            is_oneself: person.id == oneself,
            created: person.created_at,
            last_sign_in: person.last_sign_in_at,
            stored: None,
        }
    }

    fn invitation_row(&self, invitation: Invitation) -> InvitationRow {
        let is_over = invitation.expires_at <= self.state.clock.now();
        InvitationRow {
            id: invitation.id.0,
            email: invitation.email,
            is_admin: invitation.role == Role::Admin,
            state: match (&invitation.used_by, invitation.revoked_at) {
                (Some(_), _) => InvitationState::Used,
                (None, Some(_)) => InvitationState::Revoked,
                (None, None) if is_over => InvitationState::Expired,
                (None, None) => InvitationState::Open,
            },
            resets: invitation.resets,
            invited_by: invitation.invited_by,
            used_by: invitation.used_by,
            created: invitation.created_at,
            expires: invitation.expires_at,
        }
    }

    fn event_row(&self, event: AdminEvent) -> AdminEventRow {
        let gone = || "a deleted account".to_owned();
        let (what, is_about) = match event.action.as_str() {
            "disable" => ("disabled", true),
            "enable" => ("enabled", true),
            "promote" => ("gave the admin role to", true),
            "demote" => ("removed the admin role from", true),
            "invite_admin" => ("invited an admin", false),
            "invite_member" => ("invited a member", false),
            "revoke_invitation" => ("revoked an invitation or a reset link", false),
            "make_reset_link" => ("created a password reset link for", true),
            "use_reset_link" => ("set a new password by a reset link", false),
            "set_password" => ("set the password of", true),
            "make_operator" => ("created the operator", true),
            "change_operator" => ("changed the limit of the operator", true),
            "make_service_token" => ("created a service token of", true),
            "revoke_service_token" => ("revoked a service token of", true),
            "set_provider" => ("set the embedding provider of the server", false),
            "remove_provider" => ("removed the embedding provider of the server", false),
            "set_chat" => ("set the chat model of the server", false),
            "remove_chat" => ("removed the chat model of the server", false),
            "builtin_on" => ("switched the builtin model on", false),
            "builtin_off" => ("switched the builtin model off", false),
            "builtin_multilingual" => ("chose the multilingual builtin model", false),
            "builtin_english" => ("kept the English builtin model", false),
            "late_on" => ("switched late interaction on", false),
            "late_off" => ("switched late interaction off", false),
            "allow_endpoint" => ("allowed an endpoint", false),
            "disallow_endpoint" => ("removed an allowed endpoint", false),
            "close_browser" => ("made the memory browser read-only", false),
            "open_browser" => ("made the memory browser editable again", false),
            "set_storage" => ("changed the storage limit of each user", false),
            "run_job" => ("ran the job", true),
            "pause_job" => ("paused the job", true),
            "resume_job" => ("resumed the job", true),
            "retry_job" if event.subject.is_some() => ("retried the failed runs of the job", true),
            "retry_job" => ("retried all failed runs", false),
            "schedule_job" => ("changed the schedule of the job", true),
            "unschedule_job" => ("set the default schedule of the job", true),
            "retry_vectors" => ("retried all failed embeddings", false),
            _ => ("accepted an invitation", false),
        };
        let subject = match event.action.ends_with("_job") {
            true => event.subject.map(title_of_job),
            false => event.subject,
        };
        AdminEventRow {
            at: event.at,
            who: match event.by_command {
                true => "the command line".to_owned(),
                false => event.actor.unwrap_or_else(gone),
            },
            what: what.to_owned(),
            whom: is_about.then(|| subject.unwrap_or_else(gone)),
        }
    }
}

/// A job that no longer exists is shown by its name.
fn title_of_job(name: String) -> String {
    jobs::find(&name).map_or(name, |job| job.title.to_owned())
}
