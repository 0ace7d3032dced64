//! Admin › Users and invitations as their pages show them.

use app::view::{
    AdminEventRow, InvitationPage, InvitationRow, InvitationState, OperatedUserRow, PersonRow,
    UsersFilters, UsersPage,
};

use super::Ui;
use crate::accounts::invitations::{Invitation, InvitationToken};
use crate::accounts::people::{AdminEvent, Person};
use crate::accounts::{AccountError, ExternalId, OperatorId, Role, UserId};

impl Ui {
    pub(super) async fn users_view(
        &self,
        oneself: UserId,
        filters: &UsersFilters,
    ) -> Result<UsersPage, AccountError> {
        let accounts = &self.state.accounts;
        // No address has more characters, and PostgreSQL takes no NUL.
        let is_address = filters.q.chars().count() <= 254 && !filters.q.contains('\0');
        let words = if is_address {
            filters.q.as_str()
        } else {
            "\u{fffd}"
        };
        let people = accounts
            .list_people(words, filters.before.map(UserId))
            .await?;
        Ok(UsersPage {
            people: people
                .rows
                .into_iter()
                .map(|person| self.person_row(person, oneself))
                .collect(),
            total: people.total,
            next_before: people.next_before.map(|id| id.0),
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
        // What cannot be an id is nobody's.
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

    pub(super) async fn invitation_view(
        &self,
        token: &str,
    ) -> Result<Option<InvitationPage>, AccountError> {
        let Some(token) = InvitationToken::parse(token) else {
            return Ok(None);
        };
        let found = self.state.accounts.find_invitation(&token).await?;
        Ok(found.map(|open| InvitationPage {
            email: open.email.map(|email| email.as_str().to_owned()),
            is_admin: open.role == Role::Admin,
            expires: self.moment(open.expires_at),
        }))
    }

    fn person_row(&self, person: Person, oneself: UserId) -> PersonRow {
        PersonRow {
            id: person.id.0,
            email: person.email,
            is_admin: person.role == Role::Admin,
            is_disabled: person.disabled,
            is_oneself: person.id == oneself,
            created: self.moment(person.created_at),
            last_sign_in: person.last_sign_in_at.map(|at| self.moment(at)),
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
            invited_by: invitation.invited_by,
            used_by: invitation.used_by,
            created: self.moment(invitation.created_at),
            expires: self.moment(invitation.expires_at),
        }
    }

    fn event_row(&self, event: AdminEvent) -> AdminEventRow {
        let gone = || "somebody whose account is gone".to_owned();
        let what = match event.action.as_str() {
            "disable" => "disabled",
            "enable" => "enabled",
            "promote" => "made an admin of",
            "demote" => "took being an admin from",
            "invite_admin" => "invited an admin",
            "invite_member" => "invited a member",
            "revoke_invitation" => "revoked an invitation",
            _ => "accepted an invitation",
        };
        let is_about_somebody = matches!(
            event.action.as_str(),
            "disable" | "enable" | "promote" | "demote"
        );
        AdminEventRow {
            at: self.moment(event.at),
            who: match event.by_command {
                true => "the command line".to_owned(),
                false => event.actor.unwrap_or_else(gone),
            },
            what: what.to_owned(),
            whom: is_about_somebody.then(|| event.subject.unwrap_or_else(gone)),
        }
    }
}
