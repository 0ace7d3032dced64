//! The forms of Admin › Users: invite somebody, revoke an invitation, make a password reset link, and decide
//! who may sign in and who is an admin. Members get a 404.

use app::view::FormState;
use axum::extract::{Path, State};
use axum::response::Response;
use serde::Deserialize;

use super::{Field, Form, Outcome, Posted, done, parse_id, respond};
use crate::accounts::invitations::InvitationId;
use crate::accounts::people::{Act, By};
use crate::accounts::{Email, Role, UserId};
use crate::input::Invalid;
use crate::web::AppState;
use crate::web::auth::Admin;

const PATH: &str = "/admin/users";

const INVITATION_FORM: &str = "invitation";
const RESET_FORM: &str = "reset_link";
const PEOPLE_FORM: &str = "people";

#[derive(Deserialize)]
pub struct InviteForm {
    email: Field,
    role: Field,
}

/// The only response that ever contains the link, so it cannot be a redirect.
pub async fn invite(
    State(state): State<AppState>,
    Admin(signed_in): Admin,
    Posted(fields, form): Posted<InviteForm>,
) -> Response {
    let attempt = async {
        let form = form?;
        let email = match form.email.trim() {
            "" => None,
            text => Some(Email::parse(text)?),
        };
        let role = parse_role(&form.role)?;
        let admin = signed_in.0.id;
        let token = state.accounts.invite(admin, email.as_ref(), role).await?;
        let (origin, token) = (state.public_url.origin(), token.reveal());
        let page = FormState {
            form: INVITATION_FORM.to_owned(),
            new_link: Some(format!("{origin}/invitation/{token}")),
            ..FormState::default()
        };
        Ok(Outcome::from(page))
    };
    let outcome = attempt.await;
    respond(&state, signed_in, PATH, INVITATION_FORM, &fields, outcome).await
}

/// Like an invitation: the only response that ever contains the link.
pub async fn make_reset_link(
    State(state): State<AppState>,
    Admin(signed_in): Admin,
    Path(user): Path<String>,
) -> Response {
    let attempt = async {
        let user = UserId(parse_id(&user)?);
        let admin = signed_in.0.id;
        let (name, token) = state.accounts.make_reset_link(admin, user).await?;
        let (origin, token) = (state.public_url.origin(), token.reveal());
        let page = FormState {
            form: RESET_FORM.to_owned(),
            new_link: Some(format!("{origin}/reset/{token}")),
            values: [("email".to_owned(), name)].into(),
            ..FormState::default()
        };
        Ok(Outcome::from(page))
    };
    let (outcome, fields) = (attempt.await, Form::default());
    respond(&state, signed_in, PATH, PEOPLE_FORM, &fields, outcome).await
}

fn parse_role(text: &str) -> Result<Role, Invalid> {
    match text {
        "member" => Ok(Role::Member),
        "admin" => Ok(Role::Admin),
        _ => Err(Invalid::new(
            "role",
            "invalid_role",
            "`role` is not known; give member or admin.",
        )),
    }
}

pub async fn revoke_invitation(
    State(state): State<AppState>,
    Admin(signed_in): Admin,
    Path(invitation): Path<String>,
) -> Response {
    let attempt = async {
        let id = InvitationId(parse_id(&invitation)?);
        let admin = signed_in.0.id;
        state.accounts.revoke_invitation(admin, id).await?;
        Ok(Outcome::Redirect)
    };
    let (outcome, fields) = (attempt.await, Form::default());
    respond(&state, signed_in, PATH, PEOPLE_FORM, &fields, outcome).await
}

#[derive(Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum PersonForm {
    Disable,
    Enable,
    Promote,
    Demote,
}

pub async fn change(
    State(state): State<AppState>,
    Admin(signed_in): Admin,
    Path(user): Path<String>,
    Posted(fields, form): Posted<PersonForm>,
) -> Response {
    let attempt = async {
        let user = UserId(parse_id(&user)?);
        let (act, became) = match form? {
            PersonForm::Disable => (
                Act::Disable,
                "was disabled: every browser is signed out, and their tokens no longer work.",
            ),
            PersonForm::Enable => (
                Act::Enable,
                "was enabled: they can sign in, and their agents' tokens work again.",
            ),
            PersonForm::Promote => (Act::Promote, "is now an admin."),
            PersonForm::Demote => (Act::Demote, "is no longer an admin."),
        };
        let by = By::Admin(signed_in.0.id);
        let name = state.accounts.change_person(by, user, act).await?;
        state.search.reader().forget(user);
        Ok(done(PEOPLE_FORM, format!("{name} {became}")))
    };
    let outcome = attempt.await;
    respond(&state, signed_in, PATH, PEOPLE_FORM, &fields, outcome).await
}
