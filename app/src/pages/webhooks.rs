//! Settings › Webhooks: addresses that are told what happens in the memory, how each does, and the form that adds one. A
//! secret is shown in the answer to the form that made it, and never again.

pub mod load;
pub mod post;

use axum::response::Response;
use leptos::prelude::*;

use crate::components::{Done, Field, FieldError, FormError, Paste, Section, StateBadge, When};
use crate::forms::{FormName, FormState, NewToken};
use crate::page::Page;
use crate::view::{DeliveryRow, WebhookRow, WebhooksPage};

pub const PATH: &str = "/settings/webhooks";
/// Everything about a webhook that exists.
const FORM: FormName = FormName::Webhooks;
const NEW_FORM: FormName = FormName::Webhook;

/// Each type of event: when it happens, and whether a new webhook is told it.
const EVENTS: [(&str, &str, bool); 9] = [
    ("memory.stored", "A memory is stored", true),
    ("memory.changed", "Its dates, tags, trust or visibility change", true),
    ("memory.superseded", "Another memory takes its place", true),
    ("memory.faded", "It is archived because it was not used", true),
    ("memory.archived", "It is archived or expires", true),
    ("memory.restored", "It is active again", true),
    ("memory.erased", "It is deleted permanently", true),
    ("dream.proposed", "A dream proposes changes to memories", true),
    ("job.failed", "A background job begins to fail", true),
];

/// Checks a message with nothing but Python's own library.
const VERIFY: &str = "import base64, hashlib, hmac
def is_genuine(secret, headers, body):  # the body as bytes, as it came
    signed = f\"{headers['webhook-id']}.{headers['webhook-timestamp']}.\".encode() + body
    tag = hmac.digest(base64.b64decode(secret.removeprefix('whsec_')), signed, hashlib.sha256)
    return any(hmac.compare_digest(one, 'v1,' + base64.b64encode(tag).decode()) for one in headers['webhook-signature'].split())";

pub async fn show(page: Page) -> Response {
    let form = page.form.clone();
    let found = page.webhooks_view(&page.viewer).await;
    page.render(Section::Webhooks, "Webhooks", PATH, found, move |page| {
        view! { <Whole page form=form.clone() /> }.into_any()
    })
    .await
}

#[component]
fn Whole(page: WebhooksPage, form: FormState) -> impl IntoView {
    let is_first = page.webhooks.is_empty();
    let is_full = page.webhooks.len() >= page.webhooks_max;
    let fresh = form.new_token.clone().map(|new| view! { <Fresh new /> });
    let kept = page.deliveries_kept;
    let rows = page.webhooks.into_iter().map(|webhook| view! { <One webhook kept /> });
    let rows = rows.collect_view();
    let begin = is_first.then(|| {
        view! {
            <p class="hint">
                "No webhooks yet. A program of yours can react within seconds when something is remembered, replaced or deleted: keep a copy up to date, or post to a chat. Programs that cannot be reached from here can poll "
                <code>"GET /api/v1/changes"</code> " instead."
            </p>
        }
    });
    let new = match is_full {
        true => view! {
            <p class="hint">
                {format!("You have {} webhooks, which is the most. Delete one to add another.", page.webhooks_max)}
            </p>
        }
        .into_any(),
        false => view! { <New form=form.of(NEW_FORM) is_first /> }.into_any(),
    };
    view! {
        <div class="column page">
            <h1>"Webhooks"</h1>
            <p class="lead">
                "The server sends a signed message to an address of yours when something happens in your memory."
            </p>
            <Done form=form.of(FORM) />
            <FormError form=form.of(FORM) fields=&[] />
            {fresh}
            {begin}
            {(!is_first).then(|| view! { <ul class="agents">{rows}</ul> })}
            {new}
            <Verification />
        </div>
    }
    .into_any()
}

/// The secret in clear, this once.
#[component]
fn Fresh(new: NewToken) -> impl IntoView {
    view! {
        <section class="fresh" aria-labelledby="fresh-title" tabindex="-1" autofocus>
            <h2 id="fresh-title">"The secret of " <bdi class="break">{new.agent_name}</bdi></h2>
            <p>
                <strong>"Copy it now."</strong>
                " It is shown only once. With it your program checks that messages are from this server."
            </p>
            <Paste caption="Secret" text=new.token />
        </section>
    }
    .into_any()
}

#[component]
fn One(webhook: WebhookRow, kept: i64) -> impl IntoView {
    let id = webhook.id;
    let is_running = matches!(webhook.state, "on" | "failed");
    let told = match webhook.events.len() {
        n if n == EVENTS.len() => "all events".to_owned(),
        _ => webhook.events.join(", "),
    };
    let delivered = match webhook.delivered {
        Some(moment) => view! { "last delivery " <When at=moment /> }.into_any(),
        None => "nothing delivered yet".into_any(),
    };
    let failing = webhook.failing_since.map(|since| {
        let next = webhook
            .next_try
            .map(|moment| view! { " Next try " <When at=moment /> "." });
        let off = (webhook.state == "off").then_some(
            " It is switched off after 3 days of failures, or when the address asks for that. Resume it to try again.",
        );
        view! { <p class="problem">"Failing since " <When at=since /> "." {next} {off}</p> }
    });
    let old = webhook.old_secret_until.map(|until| {
        view! { <p class="hint">"The old secret signs too; it ends " <When at=until /> "."</p> }
    });
    let switch = match is_running {
        true => view! { <Act id action="pause" label="Pause" url=webhook.url.clone() /> },
        false => view! { <Act id action="resume" label="Resume" url=webhook.url.clone() /> },
    };
    view! {
        <li class="agent webhook" id=format!("webhook-{id}")>
            <h2>
                <bdi class="break">{webhook.url.clone()}</bdi>
            </h2>
            <p class="badges">
                <StateBadge state=webhook.state />
            </p>
            <p class="token-facts">
                <span>{told}</span>
                <span>{if webhook.includes_text { "with text" } else { "without text" }}</span>
                <span>{delivered}</span>
                <span>"created " <When at=webhook.created /></span>
            </p>
            {failing}
            {old}
            <div class="actions">
                <Act id action="test" label="Send a test" url=webhook.url.clone() />
                {switch}
            </div>
            <Deliveries rows=webhook.deliveries kept />
            <Step
                id
                action="rotate"
                summary="New secret"
                button="Make a new secret"
                class="primary"
                says="The new secret is shown once. For 24 hours messages are signed with both, so that your program can change over."
                url=webhook.url.clone()
            />
            <Step
                id
                action="delete"
                summary="Delete"
                button="Delete this webhook"
                class="danger"
                says="The address is told nothing more, and its secret and deliveries are deleted. This cannot be undone."
                url=webhook.url
            />
        </li>
    }
    .into_any()
}

#[component]
fn Act(id: i64, action: &'static str, label: &'static str, url: String) -> impl IntoView {
    view! {
        <form method="post" action=PATH>
            <input type="hidden" name="webhook" value=id />
            <button type="submit" name="action" value=action>
                {label} <span class="visually-hidden">": " {url}</span>
            </button>
        </form>
    }
    .into_any()
}

/// Without JavaScript too, a step that says what it will do stands before it.
#[component]
fn Step(
    id: i64,
    action: &'static str,
    summary: &'static str,
    button: &'static str,
    class: &'static str,
    says: &'static str,
    url: String,
) -> impl IntoView {
    view! {
        <details class="confirm">
            <summary>
                {summary} <span class="visually-hidden">": " {url}</span>
            </summary>
            <div>
                <p>{says}</p>
                <form method="post" action=PATH>
                    <input type="hidden" name="webhook" value=id />
                    <button class=class type="submit" name="action" value=action>
                        {button}
                    </button>
                </form>
            </div>
        </details>
    }
    .into_any()
}

#[component]
fn Deliveries(rows: Vec<DeliveryRow>, kept: i64) -> impl IntoView {
    if rows.is_empty() {
        return ().into_any();
    }
    let lines = rows.into_iter().map(|row| {
        let (state, why) = match row.problem {
            None => ("done", None),
            Some(why) => ("failed", Some(why)),
        };
        let answer = match row.status.as_str() {
            "" => format!("{} ms", row.took_ms),
            status => format!("{status} in {} ms", row.took_ms),
        };
        view! {
            <tr>
                <td><When at=row.at /></td>
                <th scope="row"><code>{row.event}</code></th>
                <td>
                    <StateBadge state /> " " <span class="hint">{answer}</span>
                    {why.map(|why| view! { <p class="hint">{why}</p> })}
                </td>
            </tr>
        }
    });
    view! {
        <details class="fold">
            <summary>"Last deliveries"</summary>
            <p class="hint">{format!("The last {kept} are kept.")}</p>
            <div class="table" tabindex="0" role="group" aria-label="Last deliveries">
                <table>
                    <thead>
                        <tr>
                            <th scope="col">"Time"</th>
                            <th scope="col">"Event"</th>
                            <th scope="col">"Result"</th>
                        </tr>
                    </thead>
                    <tbody>{lines.collect_view()}</tbody>
                </table>
            </div>
        </details>
    }
    .into_any()
}

#[component]
fn New(form: FormState, is_first: bool) -> impl IntoView {
    let title = if is_first { "Add your first webhook" } else { "New webhook" };
    let is_untouched = form.values.is_empty();
    let chosen = form.value("event").to_owned();
    let is_chosen = |name: &str, is_usual: bool| match is_untouched {
        true => is_usual,
        false => chosen.split(' ').any(|one| one == name),
    };
    let events = EVENTS.map(|(name, when, is_usual)| {
        view! {
            <label class="check">
                <input type="checkbox" name="event" value=name checked=is_chosen(name, is_usual) />
                <span>{when} " " <code>{name}</code></span>
            </label>
        }
    });
    let events = events.into_iter().collect_view();
    let error = form.error_of("event");
    let described_by = error.is_some().then_some("webhook-event-error");
    let has_text = form.value("include_text") == "1";
    view! {
        <section class="part" aria-labelledby="new-webhook">
            <h2 id="new-webhook">{title}</h2>
            <form class="stack" method="post" action=PATH>
                <FormError form=form.clone() fields=&["url", "event"] />
                <Field
                    form=form.clone()
                    name="url"
                    label="Address"
                    hint="Where messages are posted, such as https://example.com/keepsake. Private networks only if an admin allows the host and port."
                    inputmode="url"
                    autocomplete="off"
                    maxlength="2000"
                />
                <fieldset class="field" aria-describedby=described_by>
                    <legend>"Events"</legend>
                    {events}
                    <FieldError id="webhook-event-error".to_owned() error />
                </fieldset>
                <fieldset class="field">
                    <legend>"Content"</legend>
                    <label class="check">
                        <input type="checkbox" name="include_text" value="1" checked=has_text />
                        <span>
                            "Include the text of memories. "
                            <span class="hint">
                                "Without it, messages hold ids, types and dates, and your program reads the text with a token."
                            </span>
                        </span>
                    </label>
                </fieldset>
                <div>
                    <button class="primary" type="submit" name="action" value="add">
                        "Add webhook"
                    </button>
                </div>
            </form>
        </section>
    }
    .into_any()
}

#[component]
fn Verification() -> impl IntoView {
    view! {
        <section class="part" aria-labelledby="verify">
            <h2 id="verify">"Check a message"</h2>
            <p class="hint">
                "Messages are signed as the specification Standard Webhooks says, for which there are libraries in most languages. Answer with a status from 200 to 299 within 10 seconds; otherwise the message is sent again, in order. A message can come twice, with the same "
                <code>"webhook-id"</code> "."
            </p>
            <Paste caption="Python" text=VERIFY.to_owned() />
        </section>
    }
    .into_any()
}
