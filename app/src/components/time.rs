//! A point in time: relative for the eye, exact on hover, RFC 3339 for machines.

use leptos::prelude::*;

use crate::view::Moment;

#[component]
pub fn When(moment: Moment) -> impl IntoView {
    view! {
        <time datetime=moment.iso title=moment.exact>
            {moment.relative}
        </time>
    }
}
