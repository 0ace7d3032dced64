//! Keepsake, a long-term memory server for AI agents: the map, and the
//! invariants in prose. `src/tests/tidy.rs` holds as tests what can be read off
//! the code and the catalogue.
//!
//! # The map
//!
//! From the roof down; no arrow points back up.
//!
//! | module | what it is |
//! |---|---|
//! | `main.rs`, [`serve`], [`wiring`] | the command line · the server's life · builds every part once |
//! | [`web`] | routes, who is asking, errors into responses; `ui.rs` implements the port of `app`, the pages |
//! | [`tools`] | what agents can call: one file a tool, one registry for every door |
//! | [`search`] | THE search: `query.rs` parses, `store.rs` is the statement, `rank.rs` scores |
//! | [`memories`] | items and themes: add, get, archive; `words.rs` cuts text into what full text finds |
//! | [`providers`] | what turns text into vectors: a client a wire format, the built-in model, the policy of what may be called |
//! | [`accounts`] | users, passwords, agents, tokens |
//! | [`db`], [`postgres`] | roles, migrations, a transaction that knows its user · the embedded PostgreSQL |
//! | [`config`], [`clock`], [`input`] | the only reader of the environment · time as a parameter · the words for bad input |
//!
//! # Walkthrough: one add
//!
//! `POST /api/v1/tools/memory_add` reaches `web/api/tools.rs`, which reads a
//! bounded body and lets `web/auth.rs` open the token ([`accounts::Accounts::open`],
//! as the *system* role). [`tools::Registry::call`] checks the scope and parses
//! the input; `tools/memory_add.rs` makes a [`memories::NewItem`] of it, which is
//! where every limit stands. [`memories::add`] opens a transaction that knows its
//! user, finds or makes the theme, and inserts the item with its words and its
//! first event in one statement. Commit; answer.
//!
//! # Walkthrough: one search
//!
//! The same door leads to `tools/memory_search.rs`; the Memory page comes in by
//! `web/ui.rs`. Both make a [`search::SearchQuery`] and call [`search::search`],
//! which cuts the query into words ([`memories::words`]) and runs one statement:
//! each word is looked up in the index of (user, words), weighed by its rarity
//! among the user's items, summed over the log of the item's length. The scores
//! are brought between 0 and 1, the text is cut around the first match.
//!
//! # Invariants
//!
//! 1. SQL stands only in files named `store.rs`; each function takes
//!    `&mut PgConnection` first. There are no repository traits.
//! 2. One search path and one tool registry: pages, REST and whatever comes later
//!    call the same functions.
//! 3. Every tenant table carries `user_id`, first in its primary key, its unique
//!    constraints and its foreign keys.
//! 4. Three database roles. *Owner* runs migrations. *App* owns nothing, cannot
//!    bypass row security, and runs every request, in a transaction that has set
//!    the user. *System* looks up what has no user yet, and sees no memory.
//!    Forgetting to set the user finds nothing and raises nothing.
//! 5. No database connection is held while something slow runs outside it, such
//!    as hashing a password.
//! 6. Memory content never enters a log line, an error or a metric.
//! 7. Everything has a named limit, with its unit, beside the type it limits.
//! 8. The environment is read in [`config`] alone; time comes from [`clock`].
//! 9. The domain names no axum and no leptos; `app` names no axum, tokio or sqlx.
//! 10. Content reaches a page as text, never as HTML.
//!
//! Where this differs from the first design: words are cut here and not by
//! PostgreSQL's parser (see [`memories::words`] for why); the pages have no
//! server functions, since plain forms and links do all they need; and the first
//! account is the first *admin*, so that accounts made at the command line do
//! not take the first person's place.

pub mod accounts;
pub mod clock;
pub mod config;
pub mod db;
pub mod embedding;
pub mod input;
pub mod jobs;
pub mod memories;
pub mod postgres;
pub mod providers;
pub mod queue;
pub mod seal;
pub mod search;
pub mod serve;
pub mod tools;
pub mod web;
pub mod wiring;
