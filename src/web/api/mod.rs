//! The doors for programs.

pub mod openapi;
pub mod prompt;
pub mod sessions;
pub mod summary;
pub mod tools;
