//! The life of a vector (DESIGN §5): each line of its table, and its bad days.

mod crash;
mod failures;
mod honest;
mod known;
mod life;
mod liveness;
mod queue;
mod rebuild;
mod restart;
mod system;
pub mod workers;
