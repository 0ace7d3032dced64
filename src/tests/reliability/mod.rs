//! What is promised when many act at once, and when a schema grows under rows that are
//! there: the parts of docs/reliability.md that need no process to be killed.

mod at_once;
mod busy_model;
mod connections;
mod hostile;
mod migrations;
mod plans;
mod released;
mod sweep;
mod together;
mod upgrade;
