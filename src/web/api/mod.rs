//! The doors for programs.

pub mod tools;
