//! The account of the person who is signed in: who they are here, their time zone, whether their
//! agents may use memory, and a new password. Changing that ends every other session, and the page says so.

pub mod post;

use axum::response::Response;
use leptos::prelude::*;

use crate::clock::Zone;
use crate::components::{Done, Field, FormError, MemorySwitch, Password, Section};
use crate::forms::{FormName, FormState};
use crate::islands::ZoneSuggestion;
use crate::page::Page;
use crate::view::Account;

const PATH: &str = "/account";

pub async fn show(page: Page) -> Response {
    let (form, account) = (page.form.clone(), page.account());
    page.render(Section::Account, "Account", PATH, Ok(account), move |account| {
        view! { <Whole account posted=form.clone() /> }.into_any()
    })
    .await
}

#[component]
fn Whole(account: Option<Account>, posted: FormState) -> impl IntoView {
    let (form, switch_form) = (posted.of(FormName::Password), posted.of(FormName::Memory));
    let zone_form = posted.of(FormName::TimeZone);
    let zone = account.as_ref().map(|v| v.time_zone.clone()).unwrap_or_default();
    let is_on = account.as_ref().is_some_and(|v| v.memory_enabled);
    view! {
            <div class="column page">
                <h1>"Account"</h1>
                {account.map(|viewer| {
                        view! {
                            <dl class="facts">
                                <div>
                                    <dt>"Signed in as"</dt>
                                    <dd>
                                        <bdi>{viewer.email}</bdi>
                                    </dd>
                                </div>
                                <div>
                                    <dt>"Role"</dt>
                                    <dd>{if viewer.is_admin { "admin" } else { "member" }}</dd>
                                </div>
                            </dl>
                        }
                    })}
                <section class="part" aria-labelledby="memory-title">
                    <h2 id="memory-title">"Memory"</h2>
                    <p class="lead">
                        "While memory is off, your agents can neither read nor add memories. Existing memories stay, and you still see them here."
                    </p>
                    <FormError form=switch_form fields=&[] />
                    <MemorySwitch
                        path="/account/memory".to_owned()
                        is_on
                        of="all of your agents".to_owned()
                    />
                </section>
                <TimeZone form=zone_form zone />
                <section class="part" aria-labelledby="password-title">
                    <h2 id="password-title">"Change your password"</h2>
                    <p class="lead">
                        "This signs out every other browser. Your agents' tokens keep working."
                    </p>
                    <Done form=form.clone() />
                    <OpenDoors form=form.clone() />
                    <form class="stack" method="post" action="/account/password">
                        <FormError form=form.clone() fields=&["current_password", "new_password"] />
                        <Password form=form.clone() name="current_password" label="Current password" />
                        <Password form name="new_password" label="New password" new=true />
                        <div>
                            <button class="primary" type="submit">
                                "Change password"
                            </button>
                        </div>
                    </form>
                </section>
            </div>
    }
    .into_any()
}

/// After a new password: what can still read the memory, and how to end it.
#[component]
fn OpenDoors(form: FormState) -> impl IntoView {
    let open = form.value("open");
    (form.done.is_some() && !open.is_empty()).then(|| {
        view! {
            <p>
                "These agents still have access: " <bdi>{open}</bdi>
                ". End it if somebody else may know your tokens, or one by one on " <a href="/agents">"Agents & tokens"</a> "."
            </p>
            <form class="actions" method="post" action="/account/tokens">
                <button class="danger" type="submit" name="action" value="end_all">
                    "End all"
                </button>
            </form>
        }
    })
}

#[component]
fn TimeZone(form: FormState, zone: String) -> impl IntoView {
    let names = Zone::names().into_iter();
    let options = names.map(|name| view! { <option value=name></option> });
    let done = form.clone();
    view! {
        <section class="part" aria-labelledby="time-zone-title">
            <h2 id="time-zone-title">"Time zone"</h2>
            <p class="lead">
                "Scheduled work, such as completing your sessions at night, follows this time zone. Times on these pages are in UTC."
            </p>
            <Done form=done />
            <form class="stack" method="post" action="/account/time-zone">
                <FormError form=form.clone() fields=&["time_zone"] />
                <Field
                    form=form.or_saved(vec![("time_zone", zone)])
                    name="time_zone"
                    label="Time zone"
                    hint="A name such as Europe/Vienna, or UTC."
                    autocomplete="off"
                    maxlength="64"
                    list="time-zones"
                />
                <datalist id="time-zones">{options.collect_view()}</datalist>
                <div>
                    <button class="primary" type="submit">
                        "Save time zone"
                    </button>
                </div>
            </form>
            <ZoneSuggestion />
        </section>
    }
    .into_any()
}
