//! The doors for programs.

pub mod prompt;
pub mod tools;
