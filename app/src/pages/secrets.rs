//! Settings › Secrets: what happens to keys, tokens and card numbers in texts that come in, how many there were, and what is
//! allowed although it looks like one. A secret itself is never shown.

use axum::response::Response;
use keepsake_edge::error::Problem;
use leptos::prelude::*;
use serde::Deserialize;

use crate::components::{Done, FormError, Section, When, count};
use crate::forms::{Attempt, Field, FormName, FormState, Posted, Submission, done};
use crate::input::Invalid;
use crate::page::{Page, database};
use crate::redaction::{SecretFinding, SecretOverview, SecretPolicy, rule_count};

const PATH: &str = "/settings/secrets";
/// Kinds of numbers that are looked for beside the rules.
const CARDS_AND_ACCOUNTS: i64 = 2;

pub async fn show(page: Page) -> Response {
    let redactor = page.state.embeddings.redactor();
    let found = redactor.overview(page.viewer.user_id).await.map_err(database);
    let form = page.form.clone();
    page.render(Section::Secrets, "Secrets", PATH, found, move |overview| {
        view! { <SecretsPage overview form=form.clone() /> }.into_any()
    })
    .await
}

#[derive(Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum SecretForm {
    Save { policy: Field },
    Allow { id: Field },
    Disallow { id: Field },
}

pub async fn change(Posted(posted, form): Posted<SecretForm>) -> Response {
    let name = match form {
        Ok(SecretForm::Save { .. }) => FormName::SecretSettings,
        _ => FormName::Secrets,
    };
    let outcome = apply(&posted, name, form).await;
    posted.respond(show, PATH, name, outcome).await
}

async fn apply(posted: &Submission, name: FormName, form: Result<SecretForm, Problem>) -> Attempt {
    let (redactor, user) = (posted.state.embeddings.redactor(), posted.user());
    let (id, is_allowed) = match form? {
        SecretForm::Save { policy } => {
            redactor.save(user, SecretPolicy::parse(&policy)?).await?;
            return Ok(done(name, "Saved. It applies to what comes in from now on."));
        }
        SecretForm::Allow { id } => (id, true),
        SecretForm::Disallow { id } => (id, false),
    };
    if !redactor.allow(user, &id, is_allowed).await?? {
        let sentence =
            "This finding is not in the list any more; it is listed again when it comes in again.";
        return Err(Invalid::new("id", "unknown_finding", sentence).into());
    }
    let sentence = match is_allowed {
        true => "Allowed: it is stored from now on, without a warning.",
        false => "Not allowed any more: it is treated as a secret from now on.",
    };
    Ok(done(name, sentence))
}

#[component]
fn SecretsPage(overview: SecretOverview, form: FormState) -> impl IntoView {
    view! {
        <div class="column page">
            <h1>"Secrets"</h1>
            <p class="lead">
                {format!(
                    "Everything that comes in is checked for {} kinds of secrets: API keys and tokens, private keys, passwords in addresses, card and bank account numbers. This happens before it is stored or sent to an embedding provider.",
                    count(rule_count() as i64 + CARDS_AND_ACCOUNTS),
                )}
            </p>
            <p>
                "Text between " <code>"<private>"</code> " and " <code>"</private>"</code>
                " is never stored, whatever is set here."
            </p>
            <Settings policy=overview.policy form=form.of(FormName::SecretSettings) />
            <Counts counts=overview.counts />
            <Findings findings=overview.findings form=form.of(FormName::Secrets) />
        </div>
    }
    .into_any()
}

#[component]
fn Settings(policy: SecretPolicy, form: FormState) -> impl IntoView {
    let done = form.clone();
    let form = form.or_saved(vec![("policy", policy.as_str().to_owned())]);
    let chosen = form.value("policy");
    let choice = |value: &'static str, label: &'static str, hint: &'static str| {
        view! {
            <label class="check">
                <input type="radio" name="policy" value=value checked=chosen == value />
                <span>{label} " " <span class="hint">{hint}</span></span>
            </label>
        }
    };
    view! {
        <section class="part" aria-labelledby="policy-title">
            <h2 id="policy-title">"When a secret comes in"</h2>
            <Done form=done />
            <form class="stack" method="post" action=PATH>
                <FormError form=form.clone() fields=&[] />
                <fieldset class="field">
                    <legend>"What happens"</legend>
                    {choice("warn", "Warn", "It is stored, and the agent is told.")}
                    {choice(
                        "mask",
                        "Mask",
                        "The name of its kind is stored in its place. The secret is stored nowhere.",
                    )}
                    {choice("refuse", "Refuse", "The call fails, and nothing of it is stored.")}
                </fieldset>
                <p class="hint">
                    "In sessions and imports, which their sender cannot change, Refuse masks. It applies to new texts: what is stored stays as it is."
                </p>
                <div>
                    <button type="submit" name="action" value="save">
                        "Save"
                    </button>
                </div>
            </form>
        </section>
    }
    .into_any()
}

#[component]
fn Counts(counts: Vec<(String, i64)>) -> impl IntoView {
    if counts.is_empty() {
        return ().into_any();
    }
    let total = counts.iter().map(|(_, n)| n).sum();
    let rows = counts.into_iter().map(|(rule, n)| {
        view! {
            <tr>
                <th scope="row">
                    <code>{rule}</code>
                </th>
                <td class="number">{count(n)}</td>
            </tr>
        }
    });
    view! {
        <section class="part" aria-labelledby="counts-title">
            <h2 id="counts-title">"Last 30 days"</h2>
            <p>{format!("{} found.", secrets(total))}</p>
            <table class="secret-counts">
                <thead>
                    <tr>
                        <th scope="col">"Kind"</th>
                        <th scope="col" class="number">
                            "Found"
                        </th>
                    </tr>
                </thead>
                <tbody>{rows.collect_view()}</tbody>
            </table>
        </section>
    }
    .into_any()
}

fn secrets(n: i64) -> String {
    match n {
        1 => "1 secret".to_owned(),
        n => format!("{} secrets", count(n)),
    }
}

#[component]
fn Findings(findings: Vec<SecretFinding>, form: FormState) -> impl IntoView {
    let body = match findings.is_empty() {
        true => view! {
            <p class="hint">
                "Nothing was found. What looks like a secret is listed here, without the secret. If it is none, you can allow it."
            </p>
        }
        .into_any(),
        false => {
            let rows = findings.into_iter().map(|row| view! { <Finding row /> });
            view! {
                <p class="hint">
                    "The secret itself is not kept here: compare the fingerprint with the one in the agent's warning."
                </p>
                <ul class="fading">{rows.collect_view()}</ul>
            }
            .into_any()
        }
    };
    view! {
        <section class="part" aria-labelledby="findings-title">
            <h2 id="findings-title">"Found"</h2>
            <Done form=form.clone() />
            <FormError form fields=&[] />
            {body}
        </section>
    }
    .into_any()
}

#[component]
fn Finding(row: SecretFinding) -> impl IntoView {
    let (action, label) = match row.is_allowed {
        true => ("disallow", "Do not allow"),
        false => ("allow", "Allow"),
    };
    let described = format!("{label} {} {}", row.rule, row.fingerprint);
    let times = match row.count {
        1 => "once".to_owned(),
        n => format!("{} times", count(n)),
    };
    let by = match row.agent {
        Some(agent) => view! { "from " <bdi>{agent}</bdi> ", " }.into_any(),
        None => ().into_any(),
    };
    view! {
        <li>
            <div>
                <p>
                    <code>{row.rule}</code>
                    " in "
                    <code>{row.field}</code>
                    {row.is_allowed.then(|| view! { " " <strong>"allowed"</strong> })}
                </p>
                <p class="hint">
                    {by} {times} ", last " <When at=row.last_at /> ", fingerprint "
                    <code>{row.fingerprint}</code>
                </p>
            </div>
            <form method="post" action=PATH>
                <input type="hidden" name="id" value=row.id />
                <button type="submit" name="action" value=action aria-label=described>
                    {label}
                </button>
            </form>
        </li>
    }
    .into_any()
}
