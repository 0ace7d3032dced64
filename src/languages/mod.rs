//! Word lists by language: one file `CODE.toml` a language, which is all that a new language needs. A rule that rests on
//! a list does not act in a language whose list is empty.

mod times;
mod words;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use include_dir::{Dir, include_dir};
use serde::Deserialize;

pub use self::times::TimeWords;
pub use self::words::CommonWords;

static FILES: Dir = include_dir!("$CARGO_MANIFEST_DIR/src/languages");

/// What a file says. Words are in lower case, as they are written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Language {
    /// In English.
    pub name: String,
    #[serde(default)]
    pub words: CommonWords,
    #[serde(default)]
    pub times: TimeWords,
}

static ALL: LazyLock<BTreeMap<String, Language>> = LazyLock::new(|| {
    let files = FILES.files().filter_map(|file| {
        let code = file.path().to_str()?.strip_suffix(".toml")?;
        Some((code, file.contents_utf8()?))
    });
    #[allow(clippy::expect_used)] // A test reads each of them.
    let read = |text| toml::from_str(text).expect("a list of ours");
    files.map(|(code, text)| (code.to_owned(), read(text))).collect()
});

/// By code (ISO 639-1).
pub fn all() -> impl Iterator<Item = (&'static str, &'static Language)> {
    ALL.iter().map(|(code, language)| (code.as_str(), language))
}
