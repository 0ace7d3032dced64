//! Past runs, kept for 30 days: job, user, times, counts, and why it failed. No content.

pub mod store;
