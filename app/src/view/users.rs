//! The types of Admin › Users and of the page that an invitation's link opens.
//! No memory is among them; of how much there is, the bytes alone.

use super::StorageList;
use time::OffsetDateTime;

/// What the address of `/admin/users` says: `?q=&before=&operator=&external_id=`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UsersFilters {
    /// Part of an address.
    pub q: String,
    /// Where the page before this one ended.
    pub before: Option<i64>,
    /// With `external_id`: a user of an operator, to be found.
    pub operator: Option<i64>,
    pub external_id: String,
}

#[derive(Clone, Debug, PartialEq)]
pub struct UsersPage {
    /// Newest first.
    pub people: Vec<PersonRow>,
    /// How many match the search.
    pub total: i64,
    pub next_before: Option<i64>,
    pub storage: StorageList,
    /// Newest first.
    pub invitations: Vec<InvitationRow>,
    /// What came of looking for a user of an operator; `None` when none was looked for.
    pub operated: Option<Option<OperatedUserRow>>,
    /// Newest first.
    pub events: Vec<AdminEventRow>,
}

/// Somebody who signs in.
#[derive(Clone, Debug, PartialEq)]
pub struct PersonRow {
    pub id: i64,
    pub email: String,
    pub is_admin: bool,
    pub is_disabled: bool,
    /// The admin who looks at the page.
    pub is_oneself: bool,
    pub created: OffsetDateTime,
    pub last_sign_in: Option<OffsetDateTime>,
    /// What they store, in words; `None`: not counted yet.
    pub stored: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct OperatedUserRow {
    pub id: i64,
    pub operator: String,
    pub external_id: String,
    pub is_disabled: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InvitationState {
    Open,
    Used,
    Expired,
    Revoked,
}

#[derive(Clone, Debug, PartialEq)]
pub struct InvitationRow {
    pub id: i64,
    /// `None`: for whoever has the link.
    pub email: Option<String>,
    pub is_admin: bool,
    /// The account whose password it sets; `None`: it makes an account.
    pub resets: Option<String>,
    pub state: InvitationState,
    pub invited_by: Option<String>,
    pub used_by: Option<String>,
    pub created: OffsetDateTime,
    pub expires: OffsetDateTime,
}

/// One change to an account.
#[derive(Clone, Debug, PartialEq)]
pub struct AdminEventRow {
    pub at: OffsetDateTime,
    /// An address, "the command line", or "somebody whose account is gone".
    pub who: String,
    /// "disabled", "invited a member", …
    pub what: String,
    pub whom: Option<String>,
}

/// An invitation that can be used.
#[derive(Clone, Debug, PartialEq)]
pub struct InvitationPage {
    /// Whom it is bound to; `None`: they choose an address.
    pub email: Option<String>,
    pub is_admin: bool,
    pub expires: OffsetDateTime,
}

/// A link that sets a new password, and can be used.
#[derive(Clone, Debug, PartialEq)]
pub struct ResetPage {
    pub email: String,
    pub expires: OffsetDateTime,
}
