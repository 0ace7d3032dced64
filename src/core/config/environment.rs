//! Reads the process's environment.

use std::cell::Cell;
use std::env::{self, VarError};

use super::ConfigError;

/// Parses a configuration from variables; an empty one counts as missing.
///
/// # Errors
/// If one of those that it reads is not UTF-8, or what `parse` refuses.
pub(super) fn parse<T>(
    parse: impl FnOnce(&dyn Fn(&'static str) -> Option<String>) -> Result<T, ConfigError>,
) -> Result<T, ConfigError> {
    let unreadable = Cell::new(None);
    let parsed = parse(&|name| match env::var(name) {
        Err(VarError::NotUnicode(_)) => {
            unreadable.set(Some(name));
            None
        }
        value => value.ok().filter(|value| !value.is_empty()),
    });
    match unreadable.get() {
        Some(name) => Err(ConfigError {
            name,
            problem: "not UTF-8".into(),
            accepted: "give it in UTF-8, or leave it out",
        }),
        None => parsed,
    }
}
