//! The texts of a JSON value, each with its path, such as `tags[0]`.

use serde_json::Value;

use super::ScreenedField;

/// Every string of a value, but for those of the named fields of an object at the top.
pub fn fields_of<'a>(value: &'a mut Value, but: &[&str]) -> Vec<ScreenedField<'a>> {
    let mut fields = Vec::new();
    match value {
        Value::Object(object) => {
            let kept = object.iter_mut().filter(|(name, _)| !but.contains(&name.as_str()));
            for (name, value) in kept {
                collect(name.clone(), value, &mut fields);
            }
        }
        value => collect(String::new(), value, &mut fields),
    }
    fields
}

/// serde_json limits how deep a value is.
fn collect<'a>(path: String, value: &'a mut Value, fields: &mut Vec<ScreenedField<'a>>) {
    match value {
        Value::String(text) => fields.push(ScreenedField::new(path, text)),
        Value::Array(values) => {
            for (n, value) in values.iter_mut().enumerate() {
                collect(format!("{path}[{n}]"), value, fields);
            }
        }
        Value::Object(object) => {
            for (name, value) in object.iter_mut() {
                collect(format!("{path}.{name}"), value, fields);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_text_is_named_by_its_path() {
        let mut value =
            json!({"content": "a", "tags": ["b"], "n": 1, "in": {"x": "c"}, "old": "d"});
        let fields = fields_of(&mut value, &["old"]);
        let named: Vec<_> = fields.iter().map(|f| (f.name.as_str(), f.text.as_str())).collect();
        assert_eq!(named, [("content", "a"), ("in.x", "c"), ("tags[0]", "b")]);
    }
}
