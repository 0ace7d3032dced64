//! The account of the person who is signed in: who they are here, and a new
//! password. Changing it ends every other session, and the page says so.

use leptos::prelude::*;

use crate::backend::backend;
use crate::components::{Done, FormError, Frame, Password, Section};

#[component]
pub fn Account() -> impl IntoView {
    let form = backend().form().of("password");
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
