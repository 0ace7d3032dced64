//! Errors for invalid input. Outside input is parsed into a domain type or becomes one [`Invalid`]: a stable
//! code, the field, and one sentence that says what is accepted. It never contains the input text.

use std::borrow::Cow;
use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use crate::texts::is_blank;

/// One input that was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{sentence}")]
pub struct Invalid {
    pub field: Cow<'static, str>,
    /// Stable; clients may rely on it.
    pub code: &'static str,
    pub sentence: String,
}

impl Invalid {
    pub fn new(
        field: impl Into<Cow<'static, str>>,
        code: &'static str,
        sentence: impl Into<String>,
    ) -> Self {
        Self { field: field.into(), code, sentence: sentence.into() }
    }
}

/// Refuses NUL, which PostgreSQL cannot store, and text longer than `limit_chars` characters.
pub fn check_text(field: &'static str, text: &str, limit_chars: usize) -> Result<(), Invalid> {
    if text.contains('\0') {
        return Err(Invalid::new(
            field,
            "invalid_text",
            format!("`{field}` contains a NUL character (U+0000); send text without it."),
        ));
    }
    let length_chars = text.chars().count();
    if length_chars > limit_chars {
        return Err(Invalid::new(
            field,
            "too_long",
            format!("`{field}` has {length_chars} characters; at most {limit_chars} are accepted."),
        ));
    }
    Ok(())
}

/// Like [`check_text`], and refuses text of which nothing can be seen. Returns the text trimmed.
pub fn required_text<'a>(
    field: &'static str,
    text: &'a str,
    limit_chars: usize,
) -> Result<&'a str, Invalid> {
    check_text(field, text, limit_chars)?;
    if is_blank(text) {
        let sentence = format!("`{field}` is empty; give 1 to {limit_chars} characters.");
        return Err(Invalid::new(field, "required", sentence));
    }
    Ok(text.trim())
}

/// A number of a form. `accepted` says what to give instead, such as "give 1 to 8".
pub fn number<N: FromStr + PartialOrd>(
    field: &'static str,
    text: &str,
    range: RangeInclusive<N>,
    accepted: impl fmt::Display,
) -> Result<N, Invalid> {
    let number = text.trim().parse().ok().filter(|number| range.contains(number));
    number.ok_or_else(|| {
        Invalid::new(field, "out_of_range", format!("`{field}` is out of range; {accepted}."))
    })
}

/// Turns an error's clause into a sentence for people.
pub fn sentence(clause: &str) -> String {
    let mut chars = clause.chars();
    let first = chars.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", chars.as_str().trim_end_matches('.'))
}
