//! One entry of a foreign file: its fields as slices of the text, so that an entry of any size costs no memory, and a field of
//! the wrong kind costs only itself.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_json::value::RawValue;

/// EntryFields that some form has, as [`folded`] writes them. Others are skipped as they are read.
#[rustfmt::skip]
const KNOWN: &[&str] = &[
    "memory", "content", "text", "data", "fact", "observation", "note", "pagecontent", "document", "documents",
    "title", "payload", "properties", "metadata", "metadatas", "node", "id", "ids", "uuid", "key", "hash",
    "createdat", "created", "timestamp", "date", "createtime", "updatedat", "updated", "modified", "lastmodified",
    "expirationdate", "expiresat", "deletedat", "archivedat", "categories", "category", "categoryids", "tags",
    "agentid", "app", "apps", "appname", "appid", "userid", "state", "name", "memories", "results", "result", "items",
    "points", "objects", "entries", "records", "rows", "matches", "vectors", "facts", "entities", "relations",
    "value", "values", "next", "response", "nodes", "edges", "mapping", "message", "recipient", "parts",
    "chatmessages", "conversationsmemory", "projectmemories", "memoryfiles", "prompttemplate", "docs", "path", "type",
    "entitytype", "observations", "from", "to", "relationtype", "source", "target", "relationship", "destination",
];

/// Without case, `_`, `-` and blanks: `createdAt` and `Created_At` are one field.
pub fn folded(name: &str) -> String {
    let kept = name.chars().filter(|c| !matches!(c, '_' | '-' | ' ' | '\u{feff}'));
    kept.flat_map(char::to_lowercase).collect()
}

/// The known fields of an object; of each the first.
pub struct EntryFields<'t>(Vec<(&'static str, &'t str)>);

impl<'t> EntryFields<'t> {
    /// `None` if it is no object.
    pub fn of(json: &'t str) -> Option<Self> {
        let mut parser = serde_json::Deserializer::from_str(json);
        let found = json.starts_with('{').then(|| parser.deserialize_map(EntryFieldsVisitor))?;
        found.ok()
    }

    /// The field as JSON, unless it is null.
    pub fn get(&self, name: &str) -> Option<&'t str> {
        self.0.iter().find(|(known, _)| *known == name).map(|(_, json)| *json)
    }

    pub fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// The first of these fields that is there.
    pub fn first(&self, names: &[&'static str]) -> Option<(&'static str, &'t str)> {
        names.iter().find_map(|name| Some((*name, self.get(name)?)))
    }

    pub fn text(&self, name: &str) -> Option<String> {
        self.get(name).and_then(text).map(Cow::into_owned)
    }
}

struct EntryFieldsVisitor;

impl<'t> Visitor<'t> for EntryFieldsVisitor {
    type Value = EntryFields<'t>;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("an object")
    }

    fn visit_map<A: MapAccess<'t>>(self, mut object: A) -> Result<EntryFields<'t>, A::Error> {
        let mut fields = EntryFields(Vec::new());
        while let Some(name) = object.next_key_seed(LossyText)? {
            let name = folded(&name);
            match KNOWN.iter().find(|known| **known == name) {
                Some(known) if !fields.has(known) => {
                    let json: &'t RawValue = object.next_value()?;
                    if json.get() != "null" {
                        fields.0.push((known, json.get()));
                    }
                }
                _ => {
                    object.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(fields)
    }
}

/// A string; what is no character in it (half of a surrogate pair) becomes U+FFFD.
struct LossyText;

impl<'t> DeserializeSeed<'t> for LossyText {
    type Value = String;

    fn deserialize<D: Deserializer<'t>>(self, json: D) -> Result<String, D::Error> {
        json.deserialize_bytes(self)
    }
}

impl Visitor<'_> for LossyText {
    type Value = String;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("a string")
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<String, E> {
        Ok(String::from_utf8_lossy(bytes).into_owned())
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<String, E> {
        Ok(text.to_owned())
    }
}

/// The string that this JSON is.
pub fn text(json: &str) -> Option<Cow<'_, str>> {
    if !json.starts_with('"') {
        return None;
    }
    let mut parser = serde_json::Deserializer::from_str(json);
    LossyText.deserialize(&mut parser).ok().map(Cow::Owned)
}

/// A string, or a number as it is written.
pub fn scalar(json: &str) -> Option<Cow<'_, str>> {
    let is_number = json.starts_with(|c: char| c == '-' || c.is_ascii_digit());
    if is_number { Some(Cow::Borrowed(json)) } else { text(json) }
}

/// Passes on the members of a list, or the values of an object, as JSON, one at a time.
///
/// # Errors
/// It is not JSON.
pub fn each_of<'t>(json: &'t str, each: impl FnMut(&'t str)) -> Result<(), serde_json::Error> {
    let mut each = each;
    each_parsed(json, |member: &'t RawValue| each(member.get()))
}

fn each_parsed<'t, T: Deserialize<'t>>(
    json: &'t str,
    each: impl FnMut(T),
) -> Result<(), serde_json::Error> {
    let mut parser = serde_json::Deserializer::from_str(json);
    parser.deserialize_any(Members(each, PhantomData))?;
    parser.end()
}

/// The same with the names of an object's values.
///
/// # Errors
/// It is not JSON.
pub fn each_named<'t>(
    json: &'t str,
    mut each: impl FnMut(String, &'t str),
) -> Result<(), serde_json::Error> {
    struct Named<F>(F);
    impl<'t, F: FnMut(String, &'t str)> Visitor<'t> for Named<F> {
        type Value = ();

        fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
            to.write_str("an object")
        }

        fn visit_map<A: MapAccess<'t>>(mut self, mut object: A) -> Result<(), A::Error> {
            while let Some(name) = object.next_key_seed(LossyText)? {
                let json: &'t RawValue = object.next_value()?;
                (self.0)(name, json.get());
            }
            Ok(())
        }
    }
    serde_json::Deserializer::from_str(json).deserialize_map(Named(&mut each))
}

struct Members<T, F>(F, PhantomData<T>);

impl<'t, T: Deserialize<'t>, F: FnMut(T)> Visitor<'t> for Members<T, F> {
    type Value = ();

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("a list or an object")
    }

    fn visit_seq<A: SeqAccess<'t>>(mut self, mut list: A) -> Result<(), A::Error> {
        while let Some(member) = list.next_element()? {
            (self.0)(member);
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'t>>(mut self, mut object: A) -> Result<(), A::Error> {
        while let Some((IgnoredAny, value)) = object.next_entry()? {
            (self.0)(value);
        }
        Ok(())
    }
}

/// The texts of an object by name.
pub fn named_texts(json: &str, mut each: impl FnMut(String, Option<String>)) {
    each_named(json, |name, value| each(name, text(value).map(Into::into))).ok();
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    thread_local! {
        static HELD: Cell<usize> = const { Cell::new(0) };
    }

    struct Counted;

    impl<'de> Deserialize<'de> for Counted {
        fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
            HELD.set(HELD.get() + 1);
            IgnoredAny::deserialize(from).map(|_| Self)
        }
    }

    impl Drop for Counted {
        fn drop(&mut self) {
            HELD.set(HELD.get() - 1);
        }
    }

    #[test]
    fn of_many_members_one_is_held_at_a_time() {
        for many in [
            format!("[{}0]", "{},".repeat(1_000)),
            format!("{{{}\"\":0}}", r#""":{},"#.repeat(1_000)),
        ] {
            let mut held = Vec::new();
            each_parsed(&many, |_: Counted| held.push(HELD.get())).expect("valid");
            assert_eq!(held, [1; 1_001]);
        }
    }

    #[test]
    fn fields_are_slices_whatever_kind_they_are_and_however_they_are_written() {
        let fields = EntryFields::of(
            r#"{"createdAt":[1],"Memory":"a\ud83d","x":{"memory":"b"},"app":null,"memory":"c"}"#,
        );
        let fields = fields.expect("an object");
        assert_eq!(fields.get("createdat"), Some("[1]"));
        assert_eq!(fields.text("memory").as_deref(), Some("a\u{fffd}\u{fffd}\u{fffd}"));
        assert!(!fields.has("app") && fields.text("createdat").is_none());
        for none in ["[]", "1", "\"memory\"", "{\"a\":", ""] {
            assert!(EntryFields::of(none).is_none(), "{none}");
        }
    }
}
