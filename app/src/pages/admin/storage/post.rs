//! The admin page's form for what each user may store. Members get a 404.

use axum::response::Response;
use serde::Deserialize;

use crate::forms::{Admin, FormName};
use crate::forms::{Field, Posted, done};
use crate::pages::admin::show;
use crate::quota;

const FORM: FormName = FormName::Storage;

#[derive(Deserialize)]
pub struct StorageForm {
    mib: Field,
}

pub async fn change(_: Admin, Posted(posted, form): Posted<StorageForm>) -> Response {
    let attempt = async {
        let bytes = quota::parse_limit(&form?.mib)?;
        posted.state.embeddings.quota().set_limit(bytes).await?;
        Ok(done(FORM, "The limit of each user's storage is saved."))
    };
    posted.respond(show, "/admin", FORM, attempt.await).await
}
