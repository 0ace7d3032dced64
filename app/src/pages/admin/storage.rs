//! Admin: what each user may store, how much disk is free, and who stores most.

use std::collections::BTreeMap;

use axum::response::Response;
use leptos::prelude::*;
use serde::Deserialize;

use super::{PATH, show};
use crate::components::{Field, FormError, StateBadge};
use crate::forms::{self, Admin, FormName, FormState, Posted, done};
use crate::quota::{self, DiskState, StorageOverview, in_words};

#[derive(Deserialize)]
pub struct StorageForm {
    mib: forms::Field,
}

pub async fn change(_: Admin, Posted(posted, form): Posted<StorageForm>) -> Response {
    let attempt = async {
        let bytes = quota::parse_limit(&form?.mib)?;
        posted.state.embeddings.quota().set_limit(bytes).await?;
        Ok(done(FormName::Storage, "The limit of each user's storage is saved."))
    };
    posted.respond(show, PATH, FormName::Storage, attempt.await).await
}

#[component]
pub fn Storage(
    /// Of each user, in bytes.
    limit: i64,
    disk: Option<DiskState>,
    form: FormState,
) -> impl IntoView {
    let form = form.or_saved(vec![("mib", (limit >> 20).to_string())]);
    let is_disk_full = disk.is_some_and(|disk| disk.is_full);
    let disk = match disk {
        Some(disk) => free_space(&disk),
        None => "How much disk is free is not known.".to_owned(),
    };
    view! {
        <section class="part" aria-labelledby="storage">
            <div class="title-row">
                <h2 id="storage">"Storage"</h2>
                {is_disk_full.then(|| view! { <StateBadge state="failed" /> })}
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

fn free_space(disk: &DiskState) -> String {
    let [free, total, floor] = [disk.space.free, disk.space.total, disk.floor].map(in_words);
    let below = match disk.is_full {
        true => "nothing is added until there is more than",
        false => "nothing is added below",
    };
    format!("{free} of the disk's {total} are free; {below} {floor}.")
}

/// "1.2 GiB"
pub fn stored(bytes: i64) -> String {
    in_words(bytes.max(0).unsigned_abs())
}

#[component]
pub fn Largest(
    storage: StorageOverview,
    /// An address or `operator: id`, by user.
    names: BTreeMap<i64, String>,
) -> impl IntoView {
    let rows = storage
        .largest
        .into_iter()
        .filter_map(|(user, bytes)| Some((names.get(&user.0)?.clone(), stored(bytes))))
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
                {format!("All users together store {}; each may store {}. ", stored(storage.total), stored(storage.limit))}
                <a href="/admin#storage">"Change the limit"</a>
            </p>
            <dl class="facts">{rows}</dl>
        </section>
    }
    .into_any()
}
