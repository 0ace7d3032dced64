//! Settings › Webhooks: addresses that are told what happens in the memory, how each does, and the form that adds one. A
//! secret is shown in the answer to the form that made it, and never again.

use axum::response::Response;
use keepsake_edge::error::Problem;
use leptos::prelude::*;
use serde::Deserialize;

use crate::components::{Done, Field, FieldError, FormError, Paste, Section, StateBadge, When};
use crate::forms::{
    self, Attempt, FormName, FormState, NewToken, Outcome, Posted, Submission, done,
};
use crate::input::sentence;
use crate::memories::feed::FeedEventType;
use crate::page::{Page, asked, database};
use crate::webhooks::{
    DELIVERIES_KEPT, Delivery, NewWebhook, WEBHOOKS_MAX, Webhook, WebhookSecret, WebhookState,
};

const PATH: &str = "/settings/webhooks";
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
    let found = page.state.webhooks.list(page.viewer.user_id).await.map_err(database);
    let form = page.form.clone();
    page.render(Section::Webhooks, "Webhooks", PATH, found, move |webhooks| {
        view! { <WebhooksPage webhooks form=form.clone() /> }.into_any()
    })
    .await
}

#[derive(Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum WebhookForm {
    Add { url: forms::Field, event: forms::Field, include_text: forms::Field },
    Test { webhook: forms::Field<i64> },
    Pause { webhook: forms::Field<i64> },
    Resume { webhook: forms::Field<i64> },
    Rotate { webhook: forms::Field<i64> },
    Delete { webhook: forms::Field<i64> },
}

pub async fn change(Posted(posted, form): Posted<WebhookForm>) -> Response {
    let name = match form {
        Ok(WebhookForm::Add { .. }) => NEW_FORM,
        _ => FORM,
    };
    let outcome = apply(&posted, form).await;
    posted.respond(show, PATH, name, outcome).await
}

async fn apply(posted: &Submission, form: Result<WebhookForm, Problem>) -> Attempt {
    let (webhooks, user) = (&posted.state.webhooks, posted.user());
    match form? {
        WebhookForm::Add { url, event, include_text } => {
            let new = NewWebhook::parse(&url, &event, include_text.is_checked())?;
            let secret = webhooks.create(user, &new).await?;
            Ok(new_secret(new.url.to_string(), &secret))
        }
        WebhookForm::Test { webhook } => {
            posted.state.throttles.check_test(user)?;
            Ok(match webhooks.test(user, *webhook).await? {
                Ok(status) => done(FORM, format!("The test was accepted with status {status}.")),
                Err(why) => Outcome::from(FormState {
                    error: Some(format!("The test failed: {}", sentence(&why.to_string()))),
                    ..forms::page(FORM)
                }),
            })
        }
        WebhookForm::Pause { webhook } => {
            webhooks.pause(user, *webhook).await?;
            Ok(Outcome::Redirect)
        }
        WebhookForm::Resume { webhook } => {
            webhooks.resume(user, *webhook).await?;
            Ok(Outcome::Redirect)
        }
        WebhookForm::Rotate { webhook } => {
            let (url, secret) = webhooks.rotate(user, *webhook).await?;
            Ok(new_secret(url, &secret))
        }
        WebhookForm::Delete { webhook } => {
            webhooks.delete(user, *webhook).await?;
            Ok(done(FORM, "The webhook is deleted."))
        }
    }
}

/// The page shows the secret this once.
fn new_secret(url: String, secret: &WebhookSecret) -> Outcome {
    Outcome::from(FormState {
        new_token: Some(NewToken { agent_name: url, token: secret.reveal().to_owned() }),
        ..forms::page(NEW_FORM)
    })
}

#[component]
fn WebhooksPage(webhooks: Vec<(Webhook, Vec<Delivery>)>, form: FormState) -> impl IntoView {
    let is_first = webhooks.is_empty();
    let is_full = webhooks.len() >= WEBHOOKS_MAX;
    let fresh = form.new_token.clone().map(|new| view! { <Fresh new /> });
    let rows = webhooks
        .into_iter()
        .map(|(webhook, deliveries)| view! { <WebhookEntry webhook deliveries /> });
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
                {format!("You have {} webhooks, which is the most. Delete one to add another.", WEBHOOKS_MAX)}
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
fn WebhookEntry(webhook: Webhook, deliveries: Vec<Delivery>) -> impl IntoView {
    let id = webhook.id;
    let is_on = webhook.state == WebhookState::On;
    let state = match webhook.failing_since {
        Some(_) if is_on => "failed",
        _ => webhook.state.as_str(),
    };
    let events = match webhook.events.len() {
        n if n == EVENTS.len() => "all events".to_owned(),
        _ => webhook.events.into_iter().map(FeedEventType::as_str).collect::<Vec<_>>().join(", "),
    };
    let delivered = match webhook.delivered_at {
        Some(at) => view! { "last delivery " <When at /> }.into_any(),
        None => "nothing delivered yet".into_any(),
    };
    let failing = webhook.failing_since.map(|since| {
        let next = webhook.next_try_at.map(|at| view! { " Next try " <When at /> "." });
        let off = (webhook.state == WebhookState::Off).then_some(
            " It is switched off after 3 days of failures, or when the address asks for that. Resume it to try again.",
        );
        view! { <p class="problem">"Failing since " <When at=since /> "." {next} {off}</p> }
    });
    let now = asked().state.clock.now();
    let old = webhook.old_secret_until.filter(|until| *until > now).map(|until| {
        view! { <p class="hint">"The old secret signs too; it ends " <When at=until /> "."</p> }
    });
    let switch = match is_on {
        true => view! { <Act id action="pause" label="Pause" url=webhook.url.clone() /> },
        false => view! { <Act id action="resume" label="Resume" url=webhook.url.clone() /> },
    };
    view! {
        <li class="agent webhook" id=format!("webhook-{id}")>
            <h2>
                <bdi class="break">{webhook.url.clone()}</bdi>
            </h2>
            <p class="badges">
                <StateBadge state />
            </p>
            <p class="token-facts">
                <span>{events}</span>
                <span>{if webhook.includes_text { "with text" } else { "without text" }}</span>
                <span>{delivered}</span>
                <span>"created " <When at=webhook.created_at /></span>
            </p>
            {failing}
            {old}
            <div class="actions">
                <Act id action="test" label="Send a test" url=webhook.url.clone() />
                {switch}
            </div>
            <Deliveries rows=deliveries />
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
fn Deliveries(rows: Vec<Delivery>) -> impl IntoView {
    if rows.is_empty() {
        return ().into_any();
    }
    let lines = rows.into_iter().map(|row| {
        let (state, why) = match row.problem {
            None => ("done", None),
            Some(why) => ("failed", Some(why)),
        };
        let answer = match row.status {
            None => format!("{} ms", row.took_ms),
            Some(status) => format!("{status} in {} ms", row.took_ms),
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
            <p class="hint">{format!("The last {DELIVERIES_KEPT} are kept.")}</p>
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
