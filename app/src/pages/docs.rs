//! The page `/docs`: the operations that a program can call, with what, and what comes back. Open to everybody; it shows nothing
//! of anybody.

use std::sync::Arc;

use axum::extract::Extension;
use axum::response::Response;
use leptos::prelude::*;

use crate::components::{Fact, Facts, Paste, Section};
use crate::page::Asked;

#[derive(Clone, Debug)]
pub struct DocsPage {
    pub public_url: String,
    pub version: String,
    pub groups: Vec<DocsGroup>,
    pub errors: Vec<DocsError>,
}

#[derive(Clone, Debug)]
pub struct DocsGroup {
    pub title: String,
    pub about: String,
    pub operations: Vec<DocsOperation>,
}

#[derive(Clone, Debug)]
pub struct DocsOperation {
    /// Also its place on the page.
    pub id: String,
    pub method: String,
    pub path: String,
    pub description: String,
    /// "A token with memory:read"
    pub access: String,
    pub inputs: Vec<DocsField>,
    /// To be pasted into a shell.
    pub curl: String,
    /// "200, application/json"
    pub answer_kind: String,
    pub answer: String,
    pub outputs: Vec<DocsField>,
    pub errors: Vec<u16>,
}

/// One field of a body or one parameter; in an answer with the way to it, such as `results[].id`.
#[derive(Clone, Debug)]
pub struct DocsField {
    pub name: String,
    pub kind: String,
    /// "required · 1 to 50"
    pub limits: String,
    pub meaning: String,
}

#[derive(Clone, Debug)]
pub struct DocsError {
    pub status: u16,
    pub title: String,
    pub when: String,
    /// A code and its sentence each.
    pub examples: Vec<(String, String)>,
}

/// For everybody, and without the database.
pub async fn show(page: Asked, Extension(docs): Extension<Arc<DocsPage>>) -> Response {
    page.render(Section::Docs, "API documentation", "/docs", Ok(docs), |docs| {
        view! { <ApiDocs page=docs.as_ref().clone() /> }.into_any()
    })
    .await
}

#[component]
fn ApiDocs(page: DocsPage) -> impl IntoView {
    view! {
            <div class="docs">
                <Contents groups=page.groups.clone() />
                <div class="docs-text">
                    <Opening page=page.clone() />
                    {page.groups.into_iter().map(|group| view! { <Group group /> }).collect_view()}
                    <Errors errors=page.errors />
                </div>
            </div>
    }
    .into_any()
}

#[component]
fn Contents(groups: Vec<DocsGroup>) -> impl IntoView {
    let groups = groups
        .into_iter()
        .map(|group| {
            let operations = group.operations.into_iter().map(|operation| {
                let href = format!("#{}", operation.id);
                view! {
                    <li>
                        <a href=href>{operation.id}</a>
                    </li>
                }
            });
            view! {
                <li>
                    <span class="hint">{group.title}</span>
                    <ul>{operations.collect_view()}</ul>
                </li>
            }
        })
        .collect_view();
    view! {
        <details class="contents">
            <summary>"On this page"</summary>
            <nav aria-label="On this page">
            <ul>
                <li>
                    <span class="hint">"Start"</span>
                    <ul>
                        <li>
                            <a href="#authenticate">"Authenticate"</a>
                        </li>
                        <li>
                            <a href="#functions">"Functions for a model"</a>
                        </li>
                    </ul>
                </li>
                {groups}
                <li>
                    <span class="hint">"When it fails"</span>
                    <ul>
                        <li>
                            <a href="#errors">"Errors"</a>
                        </li>
                    </ul>
                </li>
            </ul>
        </nav>
        </details>
    }
    .into_any()
}

#[component]
fn Opening(page: DocsPage) -> impl IntoView {
    let url = page.public_url;
    let functions = |format: &str| {
        format!(
            "curl -s \"{url}/api/v1/tools?format={format}\" \\\n  -H \"Authorization: Bearer $KEEPSAKE_TOKEN\""
        )
    };
    view! {
        <header class="column">
            <h1>"API documentation"</h1>
            <p class="lead">
                "The HTTP API of this server, version " {page.version.clone()} ". Its OpenAPI document is "
                <a href="/api/v1/openapi.json">"openapi.json"</a> " (OpenAPI 3.1)."
            </p>
        </header>
        <section class="part" id="authenticate" aria-labelledby="authenticate-title">
            <h2 id="authenticate-title">"Authenticate"</h2>
            <p>
                "Every request carries an agent's token. Create one on the page "
                <a href="/agents">"Agents & tokens"</a>
                ", store it in an environment variable, and send it as a header. Never put it in a URL: URLs are logged in many places."
            </p>
            <Paste caption="In your shell" text="export KEEPSAKE_TOKEN=ks_…".to_owned() />
            <Paste
                caption="Try it"
                text=format!(
                    "curl -s -X POST {url}/api/v1/tools/memory_list_themes \\\n  -H \"Authorization: Bearer $KEEPSAKE_TOKEN\"",
                )
            />
            <p>
                "A token has scopes: " <code>"memory:read"</code> " to look up, " <code>"memory:write"</code>
                " to add and archive, " <code>"sessions:write"</code>
                " to hand over sessions. An operator's service token also names the user it acts for, in the header "
                <code>"Keepsake-User"</code> "."
            </p>
        </section>
        <section class="part" id="functions" aria-labelledby="functions-title">
            <h2 id="functions-title">"Functions for a model"</h2>
            <p>
                "If you call a model's API directly, pass this list as " <code>"tools"</code>
                ", and send the arguments of each tool call to the path of that tool, unchanged."
            </p>
            <Paste caption="For OpenAI's chat completions" text=functions("openai") />
            <Paste caption="For Anthropic's messages" text=functions("anthropic") />
        </section>
    }
    .into_any()
}

#[component]
fn Group(group: DocsGroup) -> impl IntoView {
    let operations = group.operations.into_iter();
    view! {
        <section class="parts docs-group">
            <div>
                <h2 class="docs-title">{group.title}</h2>
                <p class="hint">{group.about}</p>
            </div>
            {operations.map(|operation| view! { <Operation operation /> }).collect_view()}
        </section>
    }
    .into_any()
}

#[component]
fn Operation(operation: DocsOperation) -> impl IntoView {
    let id = operation.id;
    let title_id = format!("{id}-title");
    let labelled_by = title_id.clone();
    let statuses: Vec<String> = operation.errors.iter().map(u16::to_string).collect();
    let errors: Fact = ("Errors", view! { <a href="#errors">{statuses.join(", ")}</a> }.into_any());
    let facts: Vec<Fact> = vec![("Required scope", operation.access.into_any()), errors];
    let inputs = (!operation.inputs.is_empty())
        .then(|| view! { <Fields caption="Parameters" fields=operation.inputs /> });
    let outputs = (!operation.outputs.is_empty()).then(|| {
        view! {
            <details class="fold">
                <summary>
                    "Fields of the answer" <span class="visually-hidden">" of " {id.clone()}</span>
                </summary>
                <Fields caption="Response" fields=operation.outputs />
            </details>
        }
    });
    view! {
        <section class="part" id=id.clone() aria-labelledby=labelled_by>
            <h3 class="docs-path" id=title_id>
                <span class="method">{operation.method}</span>
                " "
                <code>{operation.path}</code>
            </h3>
            <p>{operation.description}</p>
            <Facts facts inline=true />
            {inputs}
            <Paste caption="Example" text=operation.curl />
            <Paste caption=format!("Answer: {}", operation.answer_kind) text=operation.answer />
            {outputs}
        </section>
    }
    .into_any()
}

#[component]
fn Fields(caption: &'static str, fields: Vec<DocsField>) -> impl IntoView {
    let rows = fields
        .into_iter()
        .map(|field| {
            view! {
                <tr>
                    <th scope="row">
                        <code>{field.name}</code>
                    </th>
                    <td>{field.kind}</td>
                    <td>{field.limits}</td>
                    <td>{field.meaning}</td>
                </tr>
            }
        })
        .collect_view();
    view! {
        <table class="fields">
            <caption>{caption}</caption>
            <thead>
                <tr>
                    <th scope="col">"Name"</th>
                    <th scope="col">"Type"</th>
                    <th scope="col">"Limits"</th>
                    <th scope="col">"Meaning"</th>
                </tr>
            </thead>
            <tbody>{rows}</tbody>
        </table>
    }
    .into_any()
}

#[component]
fn Errors(errors: Vec<DocsError>) -> impl IntoView {
    let entries = errors
        .into_iter()
        .map(|error| {
            let examples = error.examples.into_iter().map(|(code, sentence)| {
                view! {
                    <p>
                        <code>{code}</code>
                        " "
                        <span class="hint">{sentence}</span>
                    </p>
                }
            });
            view! {
                <div>
                    <dt>
                        <span class="number">{error.status}</span>
                        " "
                        {error.title}
                    </dt>
                    <dd>
                        <p>{error.when}</p>
                        {examples.collect_view()}
                    </dd>
                </div>
            }
        })
        .collect_view();
    view! {
        <section class="part" id="errors" aria-labelledby="errors-title">
            <h2 id="errors-title">"Errors"</h2>
            <p>
                "An error is a document of type " <code>"application/problem+json"</code>
                " with " <code>"status"</code> ", a stable " <code>"code"</code>
                " for programs, a sentence in " <code>"detail"</code> " for people and models, and, where there is one, the "
                <code>"field"</code> " it is about."
            </p>
            <dl class="facts docs-errors">{entries}</dl>
        </section>
    }
    .into_any()
}
