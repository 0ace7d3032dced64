//! What surrounds every page: wordmark, navigation, who is signed in, and the
//! way out. It shows links only to pages that exist.

use leptos::prelude::*;
use leptos_meta::Title;

use super::Shortcuts;
use crate::backend::backend;
use crate::view::Account;

/// Where in the navigation a page stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    Memory,
    Agents,
    Account,
    Elsewhere,
}

const LINKS: [(Section, &str, &str); 3] = [
    (Section::Memory, "/memory", "Memory"),
    (Section::Agents, "/agents", "Agents & tokens"),
    (Section::Account, "/account", "Account"),
];

#[component]
pub fn Frame(section: Section, title: String, children: Children) -> impl IntoView {
    let viewer = backend().viewer();
    let signed_in = viewer.is_some();
    view! {
        <Title text=format!("{title} · Keepsake") />
        <a class="skip" href="#main">
            "Skip to the content"
        </a>
        <header class="top">
            <a class="wordmark" href="/memory">
                <svg viewBox="4 2 16 20" width="18" height="22" aria-hidden="true">
                    <path class="mark-page" d="M5 3h14v18l-7-4.6L5 21z" />
                    <path class="mark-line" d="M8.5 7.5h7M8.5 11h4.5" />
                </svg>
                "Keepsake"
            </a>
            {viewer.map(|viewer| navigation(section, viewer))}
        </header>
        <main id="main" tabindex="-1">
            {children()}
        </main>
        {signed_in.then(|| view! { <Shortcuts /> })}
    }
    .into_any()
}

fn navigation(section: Section, viewer: Account) -> impl IntoView {
    let links = LINKS.map(|(target, href, name)| {
        view! {
            <li>
                <a href=href aria-current=(target == section).then_some("page")>
                    {name}
                </a>
            </li>
        }
    });
    view! {
        <nav class="sections" aria-label="Sections">
            <ul>{links.into_iter().collect_view()}</ul>
        </nav>
        <form class="leave" method="post" action="/logout">
            <bdi class="whoami">{viewer.email}</bdi>
            <button class="quiet" type="submit">
                "Sign out"
            </button>
        </form>
    }
    .into_any()
}
