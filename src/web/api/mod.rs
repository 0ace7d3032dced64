//! The endpoints for programs.

pub mod documents;
pub mod flush;
pub mod openapi;
pub mod prompt;
pub mod sessions;
pub mod summary;
pub mod tools;
