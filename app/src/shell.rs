//! The document around every page, and the table of routes. All routes render
//! in one piece (`SsrMode::Async`), so that nothing on a page waits for a script.

use leptos::config::LeptosOptions;
use leptos::hydration::HydrationScripts;
use leptos::prelude::*;
use leptos_meta::{MetaTags, provide_meta_context};
use leptos_router::components::{FlatRoutes, Route, Router};
use leptos_router::{SsrMode, path};

use crate::backend::IslandsBuilt;
use crate::pages::{
    About, Account, Activity, Admin, Agents, Backups, Chat, Consent, Data, Docs, Document,
    Documents, Dreams, Embeddings, Entities, Entity, Erased, Fading, Graph, Invitation, Item, Jobs,
    Join, Learned, Login, Memory, NotFound, Reset, Secrets, Session, Sessions, Summary, Timeline,
    Used, Users, Webhooks, Work,
};

pub fn shell(options: LeptosOptions) -> impl IntoView {
    let islands_built = use_context::<IslandsBuilt>().is_some_and(|built| built.0);
    view! {
        <!DOCTYPE html>
        <html lang="en">
            <head>
                <meta charset="utf-8" />
                <meta name="viewport" content="width=device-width, initial-scale=1" />
                <meta name="color-scheme" content="light dark" />
                <meta name="theme-color" media="(prefers-color-scheme: light)" content="#faf8f4" />
                <meta name="theme-color" media="(prefers-color-scheme: dark)" content="#171614" />
                <meta name="referrer" content="same-origin" />
                <link rel="preload" href="/fonts/inter-4.1.woff2" r#as="font" type="font/woff2" crossorigin="" />
                <link rel="stylesheet" href="/pkg/keepsake.css" />
                <link rel="icon" type="image/svg+xml" href="/favicon.svg" />
                {islands_built.then(|| view! { <HydrationScripts options islands=true /> })}
                <MetaTags />
            </head>
            <body>
                <App />
            </body>
        </html>
    }
}

#[component]
pub fn App() -> impl IntoView {
    provide_meta_context();
    view! {
        <Router>
            <FlatRoutes fallback=NotFound>
                <Route path=path!("/login") view=Login ssr=SsrMode::Async />
                <Route path=path!("/memory") view=Memory ssr=SsrMode::Async />
                <Route path=path!("/memory/:id") view=Item ssr=SsrMode::Async />
                <Route path=path!("/learned") view=Learned ssr=SsrMode::Async />
                <Route path=path!("/dreams") view=Dreams ssr=SsrMode::Async />
                <Route path=path!("/timeline") view=Timeline ssr=SsrMode::Async />
                <Route path=path!("/summary") view=Summary ssr=SsrMode::Async />
                <Route path=path!("/entities") view=Entities ssr=SsrMode::Async />
                <Route path=path!("/entities/:id") view=Entity ssr=SsrMode::Async />
                <Route path=path!("/documents") view=Documents ssr=SsrMode::Async />
                <Route path=path!("/documents/:id") view=Document ssr=SsrMode::Async />
                <Route path=path!("/graph") view=Graph ssr=SsrMode::Async />
                <Route path=path!("/sessions") view=Sessions ssr=SsrMode::Async />
                <Route path=path!("/sessions/:id") view=Session ssr=SsrMode::Async />
                <Route path=path!("/agents") view=Agents ssr=SsrMode::Async />
                <Route path=path!("/activity") view=Activity ssr=SsrMode::Async />
                <Route path=path!("/used") view=Used ssr=SsrMode::Async />
                <Route path=path!("/settings/embeddings") view=Embeddings ssr=SsrMode::Async />
                <Route path=path!("/settings/chat") view=Chat ssr=SsrMode::Async />
                <Route path=path!("/settings/fading") view=Fading ssr=SsrMode::Async />
                <Route path=path!("/settings/webhooks") view=Webhooks ssr=SsrMode::Async />
                <Route path=path!("/settings/secrets") view=Secrets ssr=SsrMode::Async />
                <Route path=path!("/settings/work") view=Work ssr=SsrMode::Async />
                <Route path=path!("/admin") view=Admin ssr=SsrMode::Async />
                <Route path=path!("/admin/backups") view=Backups ssr=SsrMode::Async />
                <Route path=path!("/admin/jobs") view=Jobs ssr=SsrMode::Async />
                <Route path=path!("/admin/users") view=Users ssr=SsrMode::Async />
                <Route path=path!("/invitation/:token") view=Invitation ssr=SsrMode::Async />
                <Route path=path!("/team/:token") view=Join ssr=SsrMode::Async />
                <Route path=path!("/oauth/authorize") view=Consent ssr=SsrMode::Async />
                <Route path=path!("/reset/:token") view=Reset ssr=SsrMode::Async />
                <Route path=path!("/docs") view=Docs ssr=SsrMode::Async />
                <Route path=path!("/account") view=Account ssr=SsrMode::Async />
                <Route path=path!("/data") view=Data ssr=SsrMode::Async />
                <Route path=path!("/data/about") view=About ssr=SsrMode::Async />
                <Route path=path!("/erased/:receipt") view=Erased ssr=SsrMode::Async />
            </FlatRoutes>
        </Router>
    }
}
