//! Erasure: to come.
