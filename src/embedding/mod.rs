//! The life of a vector: spaces, and an item's way from pending to ready or error.

pub mod vector;

pub use vector::Vector;
