//! How values of the domain are written in the JSON of tools, endpoints and webhooks, with their schemas.

use schemars::JsonSchema;
use serde::Serialize;
use time::OffsetDateTime;

// A point in time, as RFC 3339 writes it; its schema has no description, so that the field's stands.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct JsonTime(
    #[serde(with = "time::serde::rfc3339")]
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub OffsetDateTime,
);

/// Reads an enum of [`labels`](crate::db::labels) by the labels of the list alone, in the schema's order. The schema has no
/// description, unless one is given, because it would cost tokens in every call of a model.
macro_rules! json_labels {
    ($labelled:ident: $all:expr $(, $description:literal)?) => {
        impl<'de> serde::Deserialize<'de> for $labelled {
            fn deserialize<D: serde::Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
                let text = String::deserialize(json)?;
                let found = $all.into_iter().find(|one| one.as_str() == text);
                found.ok_or_else(|| serde::de::Error::custom("an unknown label"))
            }
        }

        impl schemars::JsonSchema for $labelled {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($labelled).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({
                    $("description": $description,)? "type": "string", "enum": $all.map(Self::as_str)
                })
            }
        }
    };
}

pub(crate) use json_labels;
