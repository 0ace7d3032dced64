//! Entities: what sources name, how that is connected, what a person decides about it.

mod found;
