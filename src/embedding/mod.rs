//! The life of a vector: spaces, and an item's way from pending to ready or error.

pub mod vector;

pub use vector::Vector;

/// One provider, model and width of one user. Vectors of two spaces are never compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SpaceId(pub i64);

/// A query's vector, with the space in which it may be compared.
#[derive(Clone, Debug)]
pub struct QueryVector {
    pub space_id: SpaceId,
    pub vector: Vector,
}
