//! The doors for programs.

pub mod openapi;
pub mod tools;
