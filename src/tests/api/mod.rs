//! The tools through `POST /api/v1/tools/{name}`.

mod activity;
mod any_day;
mod bad_input;
mod list_tools;
mod memory_add;
mod memory_archive;
mod memory_expiry;
mod memory_get;
mod memory_keys;
mod memory_list_themes;
mod memory_search;
mod memory_switch;
mod memory_times;
mod memory_trust;
mod openapi;
mod prompt;
mod quotas;
mod service_tokens;
mod sessions;
mod tokens;
mod unread;
