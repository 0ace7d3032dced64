//! The form of the person's own chat endpoint: Test asks it one question, Save keeps
//! it and puts it in force, Remove forgets it.

use leptos::prelude::*;

use super::PATH;
use crate::components::{CHAT_FIELDS, ChatFields, FieldError, FormError, TestReport};
use crate::view::{ChatPage, FormState};

#[component]
pub fn Endpoint(page: ChatPage, form: FormState) -> impl IntoView {
    let has_key = page.own.has_key;
    let is_set = !page.own.url.is_empty();
    let is_enabled = if page.own_enabled { "1" } else { "" };
    let mut saved = page.own.values();
    saved.push(("own_enabled", is_enabled.to_owned()));
    let form = form.or_saved(saved);
    let test = form.test.clone().map(|test| view! { <TestReport test /> });
    let url_hint = if page.is_admin {
        "Of the server's own network too, as you are an admin."
    } else {
        "A public address, or one that an admin has allowed."
    };
    let enabled_error = form.error_of("own_enabled");
    let remove = is_set.then(|| {
        view! {
            <details class="confirm calm">
                <summary>"Remove this endpoint"</summary>
                <div>
                    <p>"Its address, its model and its key are forgotten."</p>
                    <form method="post" action=PATH>
                        <button type="submit" name="action" value="remove">
                            "Remove"
                        </button>
                    </form>
                </div>
            </details>
        }
    });
    view! {
        <section class="part" id="endpoint" aria-labelledby="endpoint-title">
            <h2 id="endpoint-title">"Your own endpoint"</h2>
            <p class="lead">
                "Your conversations are sent there and nowhere else: it comes before the model that is set for everybody."
            </p>
            {test}
            <form class="stack wide-stack" method="post" action=PATH>
                <FormError form=form.clone() fields=CHAT_FIELDS />
                <div>
                    <label class="check">
                        <input
                            type="checkbox"
                            name="own_enabled"
                            value="1"
                            checked=form.value("own_enabled") == "1"
                        />
                        <span>"Use this endpoint"</span>
                    </label>
                    <FieldError id="own_enabled-error".to_owned() error=enabled_error />
                </div>
                <ChatFields form has_key url_example="http://localhost:11434" url_hint />
                <div class="actions">
                    <button class="primary" type="submit" name="action" value="save">
                        "Save"
                    </button>
                    <button type="submit" name="action" value="test">
                        "Test"
                    </button>
                    <span class="hint">"Test asks for the capital of France."</span>
                </div>
            </form>
            {remove}
        </section>
    }
    .into_any()
}
