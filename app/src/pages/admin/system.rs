//! The system's llama.cpp: what is in force, what the environment offers, and
//! the form that changes it for every user at once, once that is confirmed.

use leptos::prelude::*;

use super::{EMBEDDINGS_PATH, PATH};
use crate::components::{
    Confirm, EndpointForm, Facts, PROVIDER_FIELDS, ProviderFields, StateBadge, space_facts,
};
use crate::view::{AdminPage, FormState};

#[component]
pub fn System(page: AdminPage, form: FormState) -> impl IntoView {
    let system = page.system;
    let has_key = system.has_key;
    let state = match (&page.in_force, &page.offered) {
        (_, Some(_)) => "offered",
        (Some(_), None) => "in use",
        (None, None) => "off",
    };
    let form = form.or_saved(system.values());
    let confirm = form.confirm.clone().map(
        |confirm| view! { <Confirm form=form.clone() confirm path=EMBEDDINGS_PATH back=PATH /> },
    );
    let offered = page.offered.map(|url| {
        view! {
            <p class="aside offered">
                <code>"KEEPSAKE_LLAMACPP_URL"</code> " names " <code>{url}</code>
                ". Nothing is rebuilt until you confirm: save it below to see how much that is."
            </p>
        }
    });
    view! {
        <section class="part" aria-labelledby="system">
            <div class="title-row">
                <h2 id="system">"System llama.cpp"</h2>
                <StateBadge state />
            </div>
            <p class="lead">
                "When set, it creates the embeddings of all users. It takes precedence over their own endpoints and the builtin model."
            </p>
            {offered}
            {page
                .is_from_chat
                .then(|| {
                    view! {
                        <p class="aside">
                            "Filled in from the chat model below, whose server may support embeddings too. Test it, then save. Nothing changes before that."
                        </p>
                    }
                })}
            {page
                .in_force
                .map(|space| view! { <Facts facts=space_facts("Endpoint", space) inline=true /> })}
            {confirm}
            <EndpointForm form=form.clone() path=EMBEDDINGS_PATH fields=PROVIDER_FIELDS>
                <ProviderFields
                    form
                    has_key
                    url_example="http://llama:8080"
                    url_hint="Leave blank for none."
                    optional=true
                />
            </EndpointForm>
        </section>
    }
    .into_any()
}
