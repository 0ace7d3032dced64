//! One test binary, through the doors that users go through, on a real
//! PostgreSQL with a database a test. Folders mirror the routes.
//! `make test` runs it; alone: `tools/with_postgres.py cargo test`.

#![allow(clippy::unwrap_used)]

mod api;
mod backup;
mod behaviour;
mod chat;
mod circles;
mod consolidation;
mod data;
mod distributed;
mod documents;
mod embedding;
mod entities;
mod evaluation;
mod fuzz;
mod given;
mod isolation;
mod late_interaction;
mod lenient;
mod manage;
mod mcp;
mod oauth;
mod operations;
mod pages;
mod postgres;
mod projects;
mod providers;
mod recall;
mod reliability;
mod scaling;
mod scopes;
mod search;
mod search_by_meaning;
mod search_conversations;
mod search_hybrid;
mod search_when;
mod secrets;
mod server;
mod sources;
mod storage;
mod support;
mod teams;
mod texts;
mod tidy;
mod turns;
mod webhooks;
mod year;
