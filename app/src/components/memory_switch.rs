//! Whether agents may use memory, and the button that changes it. It works
//! without JavaScript, and changes nothing of what is remembered.

use leptos::prelude::*;

use super::StateBadge;

#[component]
pub fn MemorySwitch(
    /// Where the form is posted.
    path: String,
    is_on: bool,
    /// Whose memory, for those who do not see where the button stands.
    of: String,
) -> impl IntoView {
    let (state, action, label) = match is_on {
        true => ("memory on", "off", "Switch memory off"),
        false => ("memory off", "on", "Switch memory on"),
    };
    view! {
        <form class="switch" method="post" action=path>
            <StateBadge state />
            <button type="submit" name="action" value=action>
                {label}
                <span class="visually-hidden">" for " {of}</span>
            </button>
        </form>
    }
    .into_any()
}
