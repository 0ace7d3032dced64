//! A point in time: relative for the eye, exact on hover, RFC 3339 for machines.

use leptos::prelude::*;
use time::OffsetDateTime;

use crate::page::asked;

#[component]
pub fn When(at: OffsetDateTime) -> impl IntoView {
    let moment = asked().moment(at);
    view! {
        <time datetime=moment.iso title=moment.exact>
            {moment.relative}
        </time>
    }
}
