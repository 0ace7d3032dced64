//! Admin › Users: the links that create an account or set a new password.

use axum::extract::{Path, State};
use axum::response::Response;
use keepsake_edge::AppState;
use leptos::prelude::*;
use serde::Deserialize;

use super::{PATH, show};
use crate::accounts::invitations::{Invitation, InvitationId};
use crate::accounts::{Email, Role};
use crate::components::{self, FormError, Paste, SelectField, StateBadge, When};
use crate::forms::{
    Admin, Field, Form, FormName, FormState, Outcome, Posted, page, parse_id, respond,
};
use crate::input::Invalid;
use crate::page::asked;

#[derive(Deserialize)]
pub struct InviteForm {
    email: Field,
    role: Field,
}

/// The only response that ever contains the link, so it cannot be a redirect.
pub async fn invite(_: Admin, Posted(posted, form): Posted<InviteForm>) -> Response {
    let state = &posted.state;
    let attempt = async {
        let form = form?;
        let email = match form.email.trim() {
            "" => None,
            text => Some(Email::parse(text)?),
        };
        let role = parse_role(&form.role)?;
        let admin = posted.user();
        let token = state.accounts.invite(admin, email.as_ref(), role).await?;
        let (server, token) = (state.public_url.as_str(), token.reveal());
        Ok(Outcome::from(FormState {
            new_link: Some(format!("{server}/invitation/{token}")),
            ..page(FormName::Invitation)
        }))
    };
    posted.respond(show, PATH, FormName::Invitation, attempt.await).await
}

fn parse_role(text: &str) -> Result<Role, Invalid> {
    match text {
        "member" => Ok(Role::Member),
        "admin" => Ok(Role::Admin),
        _ => {
            Err(Invalid::new("role", "invalid_role", "`role` is not known; give member or admin."))
        }
    }
}

pub async fn revoke(
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
    respond(show, &state, signed_in, PATH, FormName::People, &fields, outcome).await
}

#[component]
pub fn Invitations(invitations: Vec<Invitation>, form: FormState) -> impl IntoView {
    let fresh = form.new_link.clone().map(|link| {
        view! {
            <section class="fresh" aria-labelledby="fresh-title" tabindex="-1" autofocus>
                <h3 id="fresh-title">"Invitation"</h3>
                <p>
                    <strong>"Copy it now, and send it yourself."</strong>
                    " It is shown only once; only a hash of it is stored. It creates one account, within 7 days."
                </p>
                <Paste caption="Link" text=link />
            </section>
        }
    });
    let rows = invitations
        .into_iter()
        .map(|invitation| view! { <InvitationEntry invitation /> })
        .collect_view();
    view! {
        <section class="part" aria-labelledby="invitations">
            <h2 id="invitations">"Invitations and reset links"</h2>
            <p>"An invitation is a link that creates one account, even while sign-up is closed."</p>
            {fresh}
            <form class="stack" method="post" action="/admin/invitations">
                <FormError form=form.clone() fields=&["email", "role"] />
                <components::Field
                    form=form.clone()
                    name="email"
                    label="E-mail address (optional)"
                    hint="Leave blank to let the invited person choose."
                    kind="email"
                    autocomplete="off"
                    maxlength="254"
                    optional=true
                />
                <SelectField
                    form
                    id="invitation-role".to_owned()
                    name="role"
                    label="Role"
                    choices=vec![("member", "a member's"), ("admin", "an admin's")]
                />
                <div>
                    <button type="submit">"Create invitation"</button>
                </div>
            </form>
            <ul class="tokens">{rows}</ul>
        </section>
    }
    .into_any()
}

#[component]
fn InvitationEntry(invitation: Invitation) -> impl IntoView {
    let state = match (&invitation.used_by, invitation.revoked_at) {
        (Some(_), _) => "used",
        (None, Some(_)) => "revoked",
        (None, None) if invitation.expires_at <= asked().state.clock.now() => "expired",
        (None, None) => "open",
    };
    let is_open = state == "open";
    // Where it was bound, the address stands there already.
    let used_by =
        invitation.used_by.filter(|_| invitation.email.is_none() && invitation.resets.is_none());
    let is_reset = invitation.resets.is_some();
    let name = match (invitation.resets, invitation.email) {
        (Some(email), _) => view! { "A new password for " <bdi>{email}</bdi> }.into_any(),
        (None, Some(email)) => view! { <bdi>{email}</bdi> }.into_any(),
        (None, None) => "Anyone with the link".into_any(),
    };
    let by = invitation.invited_by.map(|admin| view! { <span>"by " <bdi>{admin}</bdi></span> });
    let used_by = used_by.map(|user| view! { <span>"created " <bdi>{user}</bdi></span> });
    let ends = is_open.then(|| view! { <span>"expires " <When at=invitation.expires_at /></span> });
    let button = if is_reset { "Revoke this link" } else { "Revoke this invitation" };
    let revoke = is_open.then(|| {
        view! {
            <details class="confirm">
                <summary>"Revoke"</summary>
                <div>
                    <p>"The link stops working. You can create another at any time."</p>
                    <form
                        method="post"
                        action=format!("/admin/invitations/{}/revoke", invitation.id.0)
                    >
                        <button class="danger" type="submit">
                            {button}
                        </button>
                    </form>
                </div>
            </details>
        }
    });
    view! {
        <li class="token" data-over=(!is_open).then_some("")>
            <div class="token-name">
                {name} <StateBadge state />
                {(invitation.role == Role::Admin).then(|| view! { <StateBadge state="admin" /> })}
            </div>
            <p class="token-facts">
                <span>"created " <When at=invitation.created_at /></span>
                {by}
                {used_by}
                {ends}
            </p>
            {revoke}
        </li>
    }
    .into_any()
}
