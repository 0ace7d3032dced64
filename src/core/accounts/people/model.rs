//! People, as the pages of admins list them, and the rules for changing an account.

use time::OffsetDateTime;

use crate::accounts::admin_events::{AdminAction, AdminActor};
use crate::accounts::model::{Role, UserId};
use crate::input::Invalid;

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

/// An account to change.
pub struct ManagedAccount {
    pub id: UserId,
    /// The address, or `operator: id`.
    pub name: String,
    pub role: Role,
    pub disabled: bool,
    pub signs_in: bool,
}

impl ManagedAccount {
    pub(super) fn is_changed_by(&self, action: AdminAction) -> bool {
        match action {
            AdminAction::Disable => !self.disabled,
            AdminAction::Enable => self.disabled,
            AdminAction::Promote => self.role == Role::Member,
            _ => self.role == Role::Admin,
        }
    }

    pub(super) fn check(
        &self,
        by: AdminActor,
        action: AdminAction,
        other_admins: i64,
    ) -> Result<(), Invalid> {
        let refuse = |code, sentence: &str| Err(Invalid::new("action", code, sentence));
        let takes_away = matches!(action, AdminAction::Disable | AdminAction::Demote);
        if action == AdminAction::Promote && !self.signs_in {
            return refuse(
                "not_a_person",
                "A user of an operator does not sign in, and cannot be an admin.",
            );
        }
        if takes_away && by == AdminActor::Admin(self.id) {
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
