//! The form that says which endpoint to ask: the same for vectors and for answers, for
//! a person's own and for everybody's. A key is typed here and never shown again.

use leptos::prelude::*;

use super::{
    Confirm, EmbeddingFields, Fact, Facts, Field, FieldError, FormError, NumberField, SelectField,
    StateBadge, TestReport,
};
use crate::accounts::Role;
use crate::endpoint::{EndpointView, host_port, model_name};
use crate::forms::FormState;
use crate::page::asked;
use crate::providers::settings::EndpointSettings;

/// What differs between the forms.
pub struct EndpointKind {
    /// Where the form is posted.
    pub path: &'static str,
    /// The page that it is on.
    pub page: &'static str,
    /// The API formats to choose from, slug and name; empty: there is one.
    pub formats: &'static [(&'static str, &'static str)],
    /// Whether the model can be asked not to think.
    pub has_thinking: bool,
    pub url_example: &'static str,
    pub model_example: &'static str,
    /// What Test sends.
    pub test_hint: &'static str,
}

/// All that is asked for, for the error that is of none of them.
const FIELDS: &[&str] = &[
    "vendor",
    "own_enabled",
    "provider_type",
    "url",
    "model",
    "dimensions",
    "key",
    "key_header",
    "preset",
    "query_prefix",
    "document_prefix",
    "batch_size",
    "concurrency",
    "pause_ms",
    "daily_token_cap",
];

/// The part of a page with the person's own endpoint, which may be kept and not used.
#[component]
pub fn OwnEndpoint(
    kind: &'static EndpointKind,
    endpoint: EndpointView,
    form: FormState,
    lead: &'static str,
    before: Option<AnyView>,
    after: Option<AnyView>,
) -> impl IntoView {
    let is_admin = asked().account().is_some_and(|account| account.role == Role::Admin);
    let url_hint = match is_admin {
        true => "As an admin you can also use addresses in the server's network.",
        false => "A public address, or one that an admin allowed.",
    };
    view! {
        <section class="part" id="endpoint" aria-labelledby="endpoint-title">
            <h2 id="endpoint-title">"Your own endpoint"</h2>
            <p class="lead">{lead}</p>
            {before}
            <EndpointForm kind endpoint form url_hint is_own=true />
            {after}
        </section>
    }
    .into_any()
}

/// The part of the admin page with an endpoint for everybody; `facts` are of what is in force.
#[component]
pub fn SystemEndpoint(
    kind: &'static EndpointKind,
    endpoint: EndpointView,
    form: FormState,
    id: &'static str,
    title: &'static str,
    state: &'static str,
    lead: &'static str,
    before: Vec<AnyView>,
    facts: Option<Vec<Fact>>,
) -> impl IntoView {
    view! {
        <section class="part" aria-labelledby=id>
            <div class="title-row">
                <h2 id=id>{title}</h2>
                <StateBadge state />
            </div>
            <p class="lead">{lead}</p>
            {before}
            {facts.map(|facts| view! { <Facts facts inline=true /> })}
            <EndpointForm kind endpoint form url_hint="Leave blank for none." is_own=false />
        </section>
    }
    .into_any()
}

/// What a save would set in motion, what *Test* found, and the form.
#[component]
fn EndpointForm(
    kind: &'static EndpointKind,
    endpoint: EndpointView,
    form: FormState,
    url_hint: &'static str,
    is_own: bool,
) -> impl IntoView {
    let (has_cap, is_embedding) = (endpoint.has("daily_token_cap"), endpoint.has("preset"));
    let EndpointView { values, has_key, vendors, .. } = endpoint;
    let mut form = form;
    if !form.value("vendor").is_empty() {
        // A provider was filled in: the rest is as it is saved.
        for (name, value) in &values {
            form.values.entry((*name).to_owned()).or_insert_with(|| value.clone());
        }
    }
    let form = form.or_saved(values);
    let start = view! { <StartFrom form=form.clone() vendors path=kind.path /> };
    let confirm = form.confirm.clone().map(
        |confirm| view! { <Confirm form=form.clone() confirm path=kind.path back=kind.page /> },
    );
    let test = form.test.clone().map(|test| view! { <TestReport test /> });
    let own = is_own.then(|| view! { <InUse form=form.clone() /> });
    let format = (!kind.formats.is_empty()).then(|| {
        let choices = kind.formats.to_vec();
        view! { <SelectField form=form.clone() name="provider_type" label="API format" choices /> }
    });
    let dimensions = is_embedding.then(|| {
        view! {
            <NumberField
                form=form.clone()
                name="dimensions"
                label="Dimensions"
                hint="Leave blank for the model's own. At most 1,024."
                maxlength="5"
            />
        }
    });
    let thinking = kind.has_thinking.then(|| {
        let hint =
            "A model that reasons then answers sooner, for fewer tokens. The endpoint may ignore it.";
        view! {
            <Check form=form.clone() name="thinking_off" label="Switch thinking off" hint />
        }
    });
    let embedding = is_embedding.then(|| view! { <EmbeddingFields form=form.clone() /> });
    let cap = has_cap.then(|| {
        view! {
            <NumberField
                form=form.clone()
                name="daily_token_cap"
                label="Tokens per user and day"
                hint="10,000 to 1,000,000,000. Resets at midnight UTC."
                maxlength="14"
            />
        }
    });
    let hint =
        (!kind.test_hint.is_empty()).then(|| view! { <span class="hint">{kind.test_hint}</span> });
    view! {
        {confirm}
        {test}
        {start}
        <form class="stack wide-stack" method="post" action=kind.path>
            <FormError form=form.clone() fields=FIELDS />
            {own}
            {format}
            <Field
                form=form.clone()
                name="url"
                label="URL"
                kind="url"
                hint=url_hint
                placeholder=kind.url_example
                autocomplete="off"
                maxlength="2000"
                optional=true
            />
            <div class="field-row">
                <Field
                    form=form.clone()
                    name="model"
                    label="Model"
                    hint="The model's name at the endpoint."
                    placeholder=kind.model_example
                    autocomplete="off"
                    maxlength="200"
                    optional=true
                />
                {dimensions}
            </div>
            <KeyField form has_key />
            {thinking}
            {embedding}
            {cap}
            <div class="actions">
                <button class="primary" type="submit" name="action" value="save">
                    "Save"
                </button>
                <button type="submit" name="action" value="test">
                    "Test"
                </button>
                {hint}
            </div>
        </form>
    }
    .into_any()
}

/// Fills the form in by the name of a provider.
#[component]
fn StartFrom(
    form: FormState,
    vendors: Vec<(&'static str, &'static str)>,
    path: &'static str,
) -> impl IntoView {
    let (chosen, error) = (form.value("vendor"), form.error_of("vendor"));
    let id = form.id_of("vendor");
    let error_id = format!("{id}-error");
    let described_by = error.is_some().then(|| error_id.clone());
    let options = vendors.into_iter().map(|(slug, name)| {
        view! {
            <option value=slug selected=chosen == slug>
                {name}
            </option>
        }
    });
    view! {
        <form class="stack wide-stack" method="post" action=path>
            <div class="field">
                <label for=id.clone()>"Provider"</label>
                <div class="actions">
                    <select id=id name="vendor" aria-describedby=described_by>
                        {options.collect_view()}
                    </select>
                    <button type="submit" name="action" value="fill">
                        "Fill in"
                    </button>
                </div>
                <FieldError id=error_id error />
            </div>
        </form>
    }
    .into_any()
}

#[component]
fn Check(
    form: FormState,
    name: &'static str,
    label: &'static str,
    hint: &'static str,
) -> impl IntoView {
    view! {
        <div class="field">
            <label class="check">
                <input type="checkbox" name=name value="1" checked=form.value(name) == "1" />
                <span>{label}</span>
            </label>
            <span class="hint">{hint}</span>
        </div>
    }
    .into_any()
}

#[component]
fn InUse(form: FormState) -> impl IntoView {
    let error = form.error_of("own_enabled");
    view! {
        <div>
            <label class="check">
                <input
                    type="checkbox"
                    name="own_enabled"
                    value="1"
                    checked=form.value("own_enabled") == "1"
                />
                <span>"Use this endpoint"</span>
            </label>
            <FieldError id="own_enabled-error".to_owned() error />
        </div>
    }
    .into_any()
}

#[component]
fn KeyField(form: FormState, has_key: bool) -> impl IntoView {
    let hint = match has_key {
        true => "Leave blank to keep the saved key. Enter it again when you change the URL's host.",
        false => "Only if the endpoint requires one. It is stored encrypted and never shown again.",
    };
    let clear = has_key.then(|| {
        view! {
            <label class="check">
                <input
                    type="checkbox"
                    name="clear_key"
                    value="1"
                    checked=form.value("clear_key") == "1"
                />
                <span>"Delete the saved key"</span>
            </label>
        }
    });
    view! {
        <div class="field">
            <div class="field-row">
                <Field
                    form=form.clone()
                    name="key"
                    label="API key"
                    kind="password"
                    hint
                    placeholder=if has_key { "A key is saved" } else { "" }
                    autocomplete="off"
                    maxlength="4000"
                    optional=true
                />
                <Field
                    form
                    name="key_header"
                    label="Key header"
                    hint="Leave blank for Authorization: Bearer."
                    placeholder="api-key"
                    autocomplete="off"
                    maxlength="64"
                    optional=true
                />
            </div>
            {clear}
        </div>
    }
    .into_any()
}

/// Which model serves, and why. `endpoint` is `None` where none serves.
#[component]
pub fn EffectiveModel(
    state: &'static str,
    name: &'static str,
    reason: String,
    endpoint: Option<EndpointSettings>,
    /// Of an embedding model, once it has answered.
    #[prop(optional_no_strip)]
    dimensions: Option<i32>,
    /// What the endpoint refused and is no longer sent.
    learned: String,
) -> impl IntoView {
    let host = endpoint.as_ref().map(|endpoint| host_port(&endpoint.url));
    let facts = [
        ("Model", endpoint.as_ref().map(model_name)),
        ("Endpoint", host.filter(|host| !host.is_empty())),
        ("Dimensions", dimensions.map(|n| n.to_string())),
        ("Adjustments", Some(learned).filter(|words| !words.is_empty())),
    ];
    let facts = facts
        .into_iter()
        .filter_map(|(term, fact)| Some((term, view! { <bdi>{fact?}</bdi> }.into_any())))
        .collect();
    view! {
        <p class="badges">
            <StateBadge state />
        </p>
        <h2 id="effective" class="provider">
            {name}
        </h2>
        <p class="lead">{reason}</p>
        <Facts facts inline=true />
    }
    .into_any()
}

/// A step that is folded away until it is asked for, and says what it will do.
#[component]
pub fn FoldedStep(
    #[prop(into)] summary: String,
    #[prop(into)] words: String,
    path: &'static str,
    action: &'static str,
    button: &'static str,
) -> impl IntoView {
    view! {
        <details class="confirm calm">
            <summary>{summary}</summary>
            <div>
                <p>{words}</p>
                <form method="post" action=path>
                    <button type="submit" name="action" value=action>
                        {button}
                    </button>
                </form>
            </div>
        </details>
    }
    .into_any()
}

/// A switch that is off, with the button that turns it on.
#[component]
pub fn SwitchedOff(words: &'static str, path: &'static str, button: &'static str) -> impl IntoView {
    view! {
        <section class="part" aria-labelledby="switches">
            <h2 id="switches">"Switched off"</h2>
            <p>{words}</p>
            <form method="post" action=path>
                <button class="primary" type="submit" name="action" value="enable">
                    {button}
                </button>
            </form>
        </section>
    }
    .into_any()
}
