//! map
pub mod accounts;
pub mod clock;
pub mod config;
pub mod db;
pub mod input;
pub mod memories;
pub mod postgres;
pub mod search;
pub mod serve;
pub mod tools;
pub mod web;
pub mod wiring;
