//! One operation as plain data, put together from the types with which its handler parses and answers.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform};
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};

use crate::accounts::Scope;
use crate::tools::schema_of;

/// One realistic request and answer of each schema, by its name. Tests make these calls, and compare the answers.
static EXAMPLES: LazyLock<Value> = LazyLock::new(|| {
    serde_json::from_str(include_str!("examples.json")).expect("a constant that parses")
});

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Open,
    /// Any valid token.
    Token,
    Scope(Scope),
}

pub struct Parameter {
    pub name: String,
    pub place: &'static str,
    pub description: String,
    pub schema: Value,
    pub example: Value,
}

impl Parameter {
    /// The schema has its description and an example.
    pub fn new(name: &str, place: &'static str, mut schema: Value) -> Self {
        let mut take = |name| {
            let fields = schema.as_object_mut();
            fields.and_then(|f| f.remove(name)).unwrap_or_default()
        };
        Self {
            name: name.to_owned(),
            place,
            description: take("description").as_str().unwrap_or_default().to_owned(),
            example: take("examples")[0].take(),
            schema,
        }
    }

    pub(super) fn object(&self) -> Value {
        json!({
            "name": self.name,
            "in": self.place,
            "required": self.place == "path",
            "description": self.description,
            "schema": self.schema,
            "example": self.example,
        })
    }
}

pub struct RequestBody {
    /// The component's name of its schema.
    pub name: String,
    pub schema: Value,
    pub example: Value,
}

pub struct SuccessAnswer {
    pub status: u16,
    pub description: &'static str,
    pub media_type: &'static str,
    /// The component's name of its schema; `None` if it is no component.
    pub name: Option<String>,
    pub schema: Value,
    pub example: Value,
}

pub struct Operation {
    pub id: &'static str,
    pub method: &'static str,
    pub path: String,
    /// Its name in `GROUPS`.
    pub group: &'static str,
    pub summary: String,
    pub description: String,
    pub access: Access,
    pub parameters: Vec<Parameter>,
    pub body: Option<RequestBody>,
    pub answers: Vec<SuccessAnswer>,
    /// Statuses.
    pub errors: BTreeSet<u16>,
    pub(super) links: Map<String, Value>,
}

impl Operation {
    pub fn new(
        id: &'static str,
        method: &'static str,
        path: impl Into<String>,
        group: &'static str,
        access: Access,
    ) -> Self {
        let errors: &[u16] = match access {
            Access::Open => &[405],
            Access::Token => &[400, 401, 405, 422, 429],
            Access::Scope(_) => &[400, 401, 403, 405, 422, 429, 503],
        };
        Self {
            id,
            method,
            path: path.into(),
            group,
            summary: String::new(),
            description: String::new(),
            access,
            parameters: Vec::new(),
            body: None,
            answers: Vec::new(),
            errors: errors.iter().copied().collect(),
            links: Map::new(),
        }
    }

    pub fn about(self, summary: &str, description: &str) -> Self {
        Self { summary: summary.to_owned(), description: description.to_owned(), ..self }
    }

    pub fn in_path<T: JsonSchema>(mut self, name: &str) -> Self {
        self.parameters.push(Parameter::new(name, "path", schema_in::<T>()));
        self
    }

    /// Each field of `T` is a parameter.
    pub fn in_query<T: JsonSchema>(mut self) -> Self {
        if let Value::Object(fields) = schema_in::<T>()["properties"].take() {
            let parameters = fields.into_iter();
            self.parameters
                .extend(parameters.map(|(name, schema)| Parameter::new(&name, "query", schema)));
        }
        self
    }

    pub fn takes<T: JsonSchema>(self) -> Self {
        self.takes_schema(T::schema_name().into_owned(), schema_in::<T>())
    }

    pub fn takes_schema(mut self, name: String, schema: Value) -> Self {
        self.body = Some(RequestBody {
            example: EXAMPLES[&name].clone(),
            name,
            schema: with_choices_apart(schema),
        });
        self.fails(&[413, 415])
    }

    pub fn answers<T: JsonSchema>(self, status: u16, description: &'static str) -> Self {
        let schema = schema_of::<T>(SchemaSettings::draft2020_12().for_serialize());
        self.answers_schema(status, description, T::schema_name().into_owned(), schema)
    }

    pub fn answers_schema(
        mut self,
        status: u16,
        description: &'static str,
        name: String,
        schema: Value,
    ) -> Self {
        let example = EXAMPLES.get(format!("{name} {status}"));
        self.answers.push(SuccessAnswer {
            status,
            description,
            media_type: "application/json",
            example: example.unwrap_or(&EXAMPLES[&name]).clone(),
            name: Some(name),
            schema: with_choices_apart(schema),
        });
        self
    }

    /// An answer whose schema is no component.
    pub fn answers_with(
        mut self,
        media_type: &'static str,
        description: &'static str,
        schema: Value,
        example: Value,
    ) -> Self {
        self.answers.push(SuccessAnswer {
            status: 200,
            description,
            media_type,
            name: None,
            schema,
            example,
        });
        self
    }

    pub fn fails(mut self, statuses: &[u16]) -> Self {
        self.errors.extend(statuses);
        self
    }

    /// The schemas that this operation adds, by name.
    pub(super) fn schemas(&self) -> impl Iterator<Item = (String, Value)> {
        let answers = self.answers.iter();
        let answers = answers.filter_map(|a| Some((a.name.clone()?, a.schema.clone())));
        answers.chain(self.body.iter().map(|b| (b.name.clone(), b.schema.clone())))
    }
}

fn schema_in<T: JsonSchema>() -> Value {
    schema_of::<T>(SchemaSettings::draft2020_12())
}

/// Turns a nullable enum into a choice of enum or null: client generators make one type of it, but several of
/// an enum that contains `null`.
fn with_choices_apart(mut schema: Value) -> Value {
    let mut set_apart = RecursiveTransform(|schema: &mut Schema| {
        let choices = schema.get_mut("enum").and_then(Value::as_array_mut);
        if let Some(choices) = choices.filter(|choices| choices.contains(&Value::Null)) {
            choices.retain(|choice| !choice.is_null());
            let choice = json!({ "type": "string", "enum": choices });
            schema.remove("enum");
            schema.remove("type");
            schema.insert("anyOf".to_owned(), json!([choice, { "type": "null" }]));
        }
    });
    if let Ok(schema) = <&mut Schema>::try_from(&mut schema) {
        set_apart.transform(schema);
    }
    schema
}
