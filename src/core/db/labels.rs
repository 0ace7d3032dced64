//! Enums whose variants have labels. Each label stands once: in its text column, in JSON and in addresses it is the same.

/// Declares such an enum: `Variant = "label",`. A column's unknown label is an error that names it and the enum; `as "x: Enum"`
/// in a query decodes a column.
macro_rules! labels {
    ($(#[$attribute:meta])* $visibility:vis enum $name:ident {
        $($(#[$of_variant:meta])* $variant:ident = $label:literal,)+
    }) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
        $visibility enum $name {
            $($(#[$of_variant])* #[serde(rename = $label)] $variant,)+
        }

        #[allow(dead_code)]
        impl $name {
            pub const ALL: [Self; [$($label),+].len()] = [$(Self::$variant),+];

            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $label,)+
                }
            }

            pub fn from_label(label: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|one| one.as_str() == label)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl sqlx::Type<sqlx::Postgres> for $name {
            fn type_info() -> sqlx::postgres::PgTypeInfo {
                <str as sqlx::Type<sqlx::Postgres>>::type_info()
            }
        }

        impl sqlx::Decode<'_, sqlx::Postgres> for $name {
            fn decode(value: sqlx::postgres::PgValueRef<'_>) -> Result<Self, sqlx::error::BoxDynError> {
                let label = value.as_str()?;
                let unknown = || format!("`{label}` is no {}", stringify!($name)).into();
                Self::from_label(label).ok_or_else(unknown)
            }
        }
    };
}

pub(crate) use labels;
