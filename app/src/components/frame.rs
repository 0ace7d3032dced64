//! What surrounds every page: wordmark, navigation, who is signed in, and the
//! way out. It shows links only to pages that exist.

use leptos::prelude::*;
use leptos_meta::Title;

use super::{Shape, Shortcuts, shape_of, without_unseen};
use crate::accounts::{Role, User};
use crate::islands::Keyboard;

/// Where in the navigation a page stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    Memory,
    Summary,
    Entities,
    Graph,
    Documents,
    Sessions,
    Agents,
    Activity,
    Embeddings,
    Chat,
    Account,
    Data,
    Fading,
    Webhooks,
    Secrets,
    Work,
    Admin,
    Backups,
    Jobs,
    Users,
    Docs,
    Elsewhere,
}

type Link = (Section, &'static str, &'static str);

const LINKS: [Link; 8] = [
    (Section::Memory, "/memory", "Memory"),
    (Section::Summary, "/summary", "Summary"),
    (Section::Entities, "/entities", "Entities"),
    (Section::Documents, "/documents", "Documents"),
    (Section::Sessions, "/sessions", "Sessions"),
    (Section::Agents, "/agents", "Agents"),
    (Section::Activity, "/activity", "Activity"),
    (Section::Embeddings, "/settings/embeddings", "Settings"),
];

const ADMIN: Link = (Section::Admin, "/admin", "Admin");

/// The pages under Entities, likewise.
const ENTITY_PAGES: &[Link] =
    &[(Section::Entities, "/entities", "List"), (Section::Graph, "/graph", "Graph")];

/// The pages under Settings; the first is where its link leads.
const SETTINGS: &[Link] = &[
    (Section::Embeddings, "/settings/embeddings", "Embeddings"),
    (Section::Chat, "/settings/chat", "Chat model"),
    (Section::Fading, "/settings/fading", "Fading"),
    (Section::Webhooks, "/settings/webhooks", "Webhooks"),
    (Section::Secrets, "/settings/secrets", "Secrets"),
    (Section::Work, "/settings/work", "Background work"),
];

/// The pages of the account menu.
const ACCOUNT_PAGES: &[Link] =
    &[(Section::Account, "/account", "Account"), (Section::Data, "/data", "Your data")];

/// The pages under Admin, likewise.
const ADMIN_PAGES: &[Link] = &[
    (Section::Admin, "/admin", "Server"),
    (Section::Jobs, "/admin/jobs", "Jobs"),
    (Section::Backups, "/admin/backups", "Backups"),
    (Section::Users, "/admin/users", "Users"),
];

#[component]
pub fn Frame(
    section: Section,
    title: String,
    account: Option<User>,
    children: Children,
) -> impl IntoView {
    let viewer = account;
    let signed_in = viewer.is_some();
    // For a member it is as if the admins' pages were not there.
    let is_admin = viewer.as_ref().is_some_and(|viewer| viewer.role == Role::Admin);
    let (section, title) = match section {
        Section::Admin | Section::Jobs | Section::Backups | Section::Users if !is_admin => {
            (Section::Elsewhere, "Not found".to_owned())
        }
        section => (section, escaped(&without_unseen(&title))),
    };
    view! {
        <Title text=format!("{title} · Keepsake") />
        <a class="skip" href="#main">
            "Skip to content"
        </a>
        <header class="top">
            <a class="wordmark" href="/memory">
                <svg viewBox="4 2 16 20" width="18" height="22" aria-hidden="true">
                    <path class="mark-page" d="M5 3h14v18l-7-4.6L5 21z" />
                    <path class="mark-line" d="M8.5 7.5h7M8.5 11h4.5" />
                </svg>
                <span>"Keepsake"</span>
            </a>
            {viewer.map(|viewer| navigation(section, viewer))}
        </header>
        <main id="main" tabindex="-1">
            {pages_within(section).map(|(label, links)| within(label, links, section))}
            {children()}
        </main>
        <footer class="foot">
            <a href="/docs" aria-current=(section == Section::Docs).then_some("page")>
                "API documentation"
            </a>
            {signed_in.then(|| view! { <Keyboard /> })}
        </footer>
        {signed_in.then(|| view! { <Shortcuts /> })}
    }
    .into_any()
}

/// leptos_meta writes a title as it is given, and a search's words are part of one.
fn escaped(title: &str) -> String {
    title.replace('&', "&amp;").replace('<', "&lt;")
}

/// The pages that stand beside this one, and what they are called together.
fn pages_within(section: Section) -> Option<(&'static str, &'static [Link])> {
    [
        ("Entities", ENTITY_PAGES),
        ("Settings", SETTINGS),
        ("Account", ACCOUNT_PAGES),
        ("Admin", ADMIN_PAGES),
    ]
    .into_iter()
    .find(|(_, links)| links.iter().any(|(target, ..)| *target == section))
}

fn navigation(section: Section, viewer: User) -> impl IntoView {
    let within = pages_within(section).map_or(section, |(_, links)| links[0].0);
    let current = |target: Section| match target {
        target if target == section => Some("page"),
        target if target == within => Some("true"),
        _ => None,
    };
    let admin = (viewer.role == Role::Admin).then_some(ADMIN);
    let links = LINKS.into_iter().chain(admin);
    let links = links.map(|(target, href, name)| entry(href, name, current(target)));
    view! {
        <nav class="sections" aria-label="Sections">
            <ul>{links.collect_view()}</ul>
        </nav>
        <AccountMenu email=viewer.email section />
    }
    .into_any()
}

/// It opens and closes without JavaScript.
#[component]
fn AccountMenu(email: String, section: Section) -> impl IntoView {
    let current = |target: Section| (target == section).then_some("page");
    let pages = ACCOUNT_PAGES.iter();
    let pages = pages.map(|(target, href, name)| entry(href, name, current(*target)));
    view! {
        <details class="account-menu">
            <summary>
                <span class="visually-hidden">"Account: "</span>
                <Shape shape=shape_of("person") />
                <bdi class="whoami">{email}</bdi>
            </summary>
            <div class="menu">
                <ul>
                    {pages.collect_view()}
                    {entry("/docs", "API documentation", current(Section::Docs))}
                </ul>
                <form method="post" action="/logout">
                    <button class="quiet" type="submit">
                        "Sign out"
                    </button>
                </form>
            </div>
        </details>
    }
    .into_any()
}

fn within(label: &'static str, links: &'static [Link], section: Section) -> impl IntoView {
    let links = links
        .iter()
        .map(|(target, href, name)| entry(href, name, (*target == section).then_some("page")));
    view! {
        <nav class="within" aria-label=label>
            <ul>{links.collect_view()}</ul>
        </nav>
    }
    .into_any()
}

fn entry(href: &'static str, name: &'static str, current: Option<&'static str>) -> AnyView {
    view! {
        <li>
            <a href=href aria-current=current>
                {name}
            </a>
        </li>
    }
    .into_any()
}
