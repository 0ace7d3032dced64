//! An endpoint with a key, as pages show and take it.

pub mod load;
pub mod post;
