//! What each user may store, and how much disk is free; and who stores most.

pub mod post;

use leptos::prelude::*;

use crate::components::{Field, FormError, StateBadge};
use crate::forms::FormState;
use crate::view::{ServerStorage, StorageList};

#[component]
pub fn Storage(storage: ServerStorage, form: FormState) -> impl IntoView {
    let form = form.or_saved(vec![("mib", storage.limit_mib.to_string())]);
    let disk = storage.disk.unwrap_or_else(|| "How much disk is free is not known.".to_owned());
    view! {
        <section class="part" aria-labelledby="storage">
            <div class="title-row">
                <h2 id="storage">"Storage"</h2>
                {storage.is_disk_full.then(|| view! { <StateBadge state="failed" /> })}
            </div>
            <p>{disk}</p>
            <p>
                "Past their limit users add nothing more; they still read, export and delete. "
                <a href="/admin/users">"Who stores most"</a>
            </p>
            <form class="stack" method="post" action="/admin/storage">
                <FormError form=form.clone() fields=&["mib"] />
                <Field
                    form
                    name="mib"
                    label="Limit of each user, in MiB"
                    inputmode="numeric"
                    autocomplete="off"
                    maxlength="9"
                />
                <div>
                    <button type="submit">"Save"</button>
                </div>
            </form>
        </section>
    }
    .into_any()
}

#[component]
pub fn Largest(storage: StorageList) -> impl IntoView {
    let rows = storage
        .largest
        .into_iter()
        .map(|(name, size)| {
            view! {
                <div>
                    <dt>
                        <bdi>{name}</bdi>
                    </dt>
                    <dd class="number">{size}</dd>
                </div>
            }
        })
        .collect_view();
    view! {
        <section class="part" aria-labelledby="storage">
            <h2 id="storage">"Storage"</h2>
            <p>
                {format!("All users together store {}; each may store {}. ", storage.total, storage.limit)}
                <a href="/admin#storage">"Change the limit"</a>
            </p>
            <dl class="facts">{rows}</dl>
        </section>
    }
    .into_any()
}
