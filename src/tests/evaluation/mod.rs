//! Evaluation through a real database: a data set leaves nothing behind, and a rebuild's effect
//! on a user's own memory is measured once, for them alone.

mod own;
mod trial;
