//! What whoever runs a server relies on: figures, lines, traces, readiness, a stop that
//! loses nothing, several servers on one database.

mod health;
mod metrics;
