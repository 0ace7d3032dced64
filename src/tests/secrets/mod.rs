//! Secrets: sealed, sealed anew while servers run, and found nowhere else.

mod canary;
mod cost;
mod incoming;
mod operators;
mod queries;
mod rotate;
