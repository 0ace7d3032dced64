//! Secrets: sealed, sealed anew while servers run, and found nowhere else.

mod canary;
mod incoming;
mod rotate;
