//! The account of the person who is signed in: who they are here, whether their
//! agents may use memory, and a new password. Changing it ends every other session, and the page says so.

use leptos::prelude::*;

use crate::backend::backend;
use crate::components::{Done, FormError, Frame, MemorySwitch, Password, Section};

#[component]
pub fn Account() -> impl IntoView {
    let posted = backend().form();
    let (form, switch_form) = (posted.of("password"), posted.of("memory"));
    let is_on = backend().viewer().is_some_and(|v| v.memory_enabled);
    view! {
        <Frame section=Section::Account title="Account".to_owned()>
            <div class="column page">
                <h1>"Account"</h1>
                {backend()
                    .viewer()
                    .map(|viewer| {
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
                        "Switched off, your agents can neither read nor add, from their next call on. What is remembered stays, and you still see it here."
                    </p>
                    <FormError form=switch_form fields=&[] />
                    <MemorySwitch
                        path="/account/memory".to_owned()
                        is_on
                        of="all of your agents".to_owned()
                    />
                </section>
                <section class="part" aria-labelledby="password-title">
                    <h2 id="password-title">"Change your password"</h2>
                    <p class="lead">
                        "Changing it signs out every other browser. The tokens of your agents go on working."
                    </p>
                    <Done form=form.clone() />
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
        </Frame>
    }
}
