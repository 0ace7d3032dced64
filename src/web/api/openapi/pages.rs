//! The operations, as the page `/docs` shows them: schemas as rows, and a call to paste.

use app::docs::{DocsError, DocsField, DocsGroup, DocsOperation, DocsPage};
use serde_json::Value;

use super::{Access, GROUPS, Operation, Published};

pub fn page(published: &Published, public_url: &str) -> DocsPage {
    let group = |(name, about): (&str, &str)| {
        let operations = published.operations.iter().filter(|o| o.group == name);
        DocsGroup {
            title: name.to_owned(),
            about: about.to_owned(),
            operations: operations.map(|o| operation(o, public_url)).collect(),
        }
    };
    let errors = published.errors.iter().map(|error| DocsError {
        status: error.status,
        title: error.title().to_owned(),
        when: error.when.to_owned(),
        examples: error
            .examples
            .iter()
            .map(|problem| (problem.code.to_owned(), problem.detail.clone()))
            .collect(),
    });
    DocsPage {
        public_url: public_url.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        groups: GROUPS.map(group).into(),
        errors: errors.collect(),
    }
}

fn operation(operation: &Operation, public_url: &str) -> DocsOperation {
    let answer = operation.answers.first();
    let mut inputs = Vec::new();
    for parameter in &operation.parameters {
        inputs.push(DocsField {
            name: match parameter.place {
                "path" => parameter.name.clone(),
                _ => format!("?{}", parameter.name),
            },
            kind: kind_of(&parameter.schema),
            limits: limits_of(&parameter.schema, false),
            meaning: parameter.description.clone(),
        });
    }
    if let Some(body) = &operation.body {
        fields_of(&body.schema, "", true, &mut inputs);
    }
    let mut outputs = Vec::new();
    if let Some(answer) = answer.filter(|answer| answer.name.is_some()) {
        fields_of(&answer.schema, "", false, &mut outputs);
    }
    DocsOperation {
        id: operation.id.to_owned(),
        method: operation.method.to_owned(),
        path: operation.path.clone(),
        // The full example is shown below.
        description: operation.description.split(" Example: ").take(1).collect(),
        access: match operation.access {
            Access::Open => "nothing: it is open to all".to_owned(),
            Access::Token => "a token".to_owned(),
            Access::Scope(scope) => format!("a token with {}", scope.as_str()),
        },
        inputs,
        curl: curl(operation, public_url),
        answer_kind: answer.map_or(String::new(), |a| format!("{}, {}", a.status, a.media_type)),
        answer: answer.map_or(String::new(), |a| shown(&a.example)),
        outputs,
        errors: operation.errors.iter().copied().collect(),
    }
}

/// Text unchanged; JSON with one field per line.
fn shown(example: &Value) -> String {
    match example {
        Value::String(text) => text.trim_end().to_owned(),
        json => format!("{json:#}"),
    }
}

fn curl(operation: &Operation, public_url: &str) -> String {
    let query = operation
        .parameters
        .iter()
        .filter(|parameter| parameter.place == "query")
        .map(|parameter| format!("{}={}", parameter.name, shown(&parameter.example)))
        .collect::<Vec<_>>()
        .join("&");
    let in_path = operation.parameters.iter().filter(|p| p.place == "path");
    let path = in_path.fold(operation.path.clone(), |path, parameter| {
        path.replace(&format!("{{{}}}", parameter.name), &shown(&parameter.example))
    });
    let url = match query.as_str() {
        "" => format!("{public_url}{path}"),
        query => format!("\"{public_url}{path}?{query}\""),
    };
    let mut lines = vec![match operation.method {
        "GET" => format!("curl -s {url}"),
        method => format!("curl -s -X {method} {url}"),
    }];
    if operation.access != Access::Open {
        lines.push("-H \"Authorization: Bearer $KEEPSAKE_TOKEN\"".to_owned());
    }
    if let Some(body) = &operation.body {
        lines.push("-H \"Content-Type: application/json\"".to_owned());
        lines.push(format!("-d '{}'", body.example));
    }
    lines.join(" \\\n  ")
}

/// One row per property, followed by those of its content.
fn fields_of(schema: &Value, way: &str, is_input: bool, rows: &mut Vec<DocsField>) {
    let required: Vec<&str> = texts(&schema["required"]).collect();
    let mut properties: Vec<_> = schema["properties"].as_object().into_iter().flatten().collect();
    let is_required = |name: &str| is_input && required.contains(&name);
    properties.sort_by_key(|(name, _)| !is_required(name));
    for (name, property) in properties {
        rows.push(DocsField {
            name: format!("{way}{name}"),
            kind: kind_of(property),
            limits: limits_of(property, is_required(name)),
            meaning: property["description"].as_str().unwrap_or_default().to_owned(),
        });
        fields_of(property, &format!("{way}{name}."), is_input, rows);
        if property["items"].get("properties").is_some() {
            fields_of(&property["items"], &format!("{way}{name}[]."), is_input, rows);
        }
    }
}

fn texts(value: &Value) -> impl Iterator<Item = &str> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str)
}

/// "string", "integer or null", "array of string"
fn kind_of(schema: &Value) -> String {
    if let Some(either) = schema["anyOf"].as_array() {
        return either.iter().map(kind_of).collect::<Vec<_>>().join(" or ");
    }
    let kinds: Vec<&str> = match &schema["type"] {
        Value::String(one) => vec![one],
        many => texts(many).collect(),
    };
    let named = kinds.into_iter().map(|kind| match kind {
        "array" => format!("array of {}", kind_of(&schema["items"])),
        "string" if schema["format"] == "date-time" => "date and time".to_owned(),
        kind => kind.to_owned(),
    });
    named.collect::<Vec<_>>().join(" or ")
}

/// "required · 1 to 20000 characters"
fn limits_of(schema: &Value, is_required: bool) -> String {
    let mut limits: Vec<String> = Vec::new();
    if is_required {
        limits.push("required".to_owned());
    }
    limits.extend(choices(schema));
    limits.extend(range(schema, "minimum", "maximum", ""));
    limits.extend(range(schema, "minLength", "maxLength", " characters"));
    limits.extend(range(schema, "minItems", "maxItems", " entries"));
    let items = &schema["items"];
    limits.extend(choices(items));
    limits.extend(schema["anyOf"].as_array().into_iter().flatten().filter_map(choices));
    limits.extend(range(items, "minLength", "maxLength", " characters each"));
    if let Some(default) = schema.get("default") {
        limits.push(format!("by default {}", shown(default)));
    }
    limits.join(" · ")
}

fn choices(schema: &Value) -> Option<String> {
    let given: Vec<&str> = texts(&schema["enum"]).collect();
    match schema["const"].as_str() {
        Some(only) => Some(format!("always {only}")),
        None => (!given.is_empty()).then(|| given.join(", ")),
    }
}

fn range(schema: &Value, least: &str, most: &str, unit: &str) -> Option<String> {
    match (schema.get(least), schema.get(most)) {
        (Some(least), Some(most)) => Some(format!("{least} to {most}{unit}")),
        (Some(least), None) => Some(format!("at least {least}{unit}")),
        (None, Some(most)) => Some(format!("at most {most}{unit}")),
        (None, None) => None,
    }
}
