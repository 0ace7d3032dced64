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
//! | `main.rs`, `background.rs`, `eval.rs`, `rebuild.rs`, `secret.rs`, `transfer.rs`, `telemetry.rs`, [`bridge`], [`serve`], [`wiring`] | the command line, lines and traces, MCP over stdio · the server's life · builds every part once |
//! | [`web`] | connections (`server.rs`, `connection.rs`), routes, who is asking and how many calls each may have at once (`calls.rs`), errors into responses; `api/` is REST and its OpenAPI document, `mcp/` is MCP, `ui/` implements the port of `app`, the pages |
//! | [`jobs`] | all background work: one list, one file a job, each calling one operation of the domain; `runner.rs` claims, runs and records |
//! | [`tools`] | what agents can call: one file a tool, one registry for every door; `guidance.rs` is what goes into a prompt |
//! | [`evaluation`] | how well search finds, in figures: `trial.rs` puts a data set through scratch accounts, `own.rs` measures a user's own memory, `asked/` what a rebuild did to it |
//! | [`recall`] | what comes into a prompt by itself: `trivial.rs` says for which messages nothing is searched, `search/relevance.rs` how relevant each candidate is, `section.rs` writes the block (docs/recall.md) |
//! | [`export`] | a person's data out, in small steps, and in again; `read.rs` parses a line |
//! | [`erasure`] | one memory, one session, or an account and all in it, gone for good, with a receipt |
//! | [`consolidation`] | completed sessions become memories: `transcript.rs` renders, `prompt.rs` asks, `comparison.rs` asks how two statements stand to each other, `facts.rs` reads the answer, `quoted.rs` tells a person's own words from what they pasted, `same.rs` tells by words what says the same, `keep.rs` decides what is new; `named.rs` reads what is named and connected, `enrichment/` at night; `note.rs` writes the day's note of what was flushed; `episodes/` says what a session was about; `summary/` tells what is remembered, `reflection/` what a week was about; `dreaming/` writes what lasts of several sessions, and proposes which memories belong together; `lineage/`: where a memory comes from, and what came of it (docs/consolidation.md) |
//! | [`sessions`] | what agents hand over of their conversations, each message once and in order; `ledger/` says what is to be read for memories, and what came of it; `turns/` makes what was said searchable |
//! | [`documents`] | text files that agents write, each change a revision: `path.rs`, `parts.rs` (what search finds of them), `taken.rs` (imports); docs/documents.md |
//! | [`entities`] | people, projects, places: profiles, `relations/` with a time, `decide/`: what a person merges, splits and undoes, `upkeep/`: new names in old texts, what may be one; `graph/` and `layout.rs` (docs/entities.md) |
//! | [`search`] | THE search: `query.rs` parses; `reader/` holds each user's index in memory, current with its rows and within its room; `arms/` are pure functions over an index (words, meaning, date, neighbours, who speaks); `closer.rs` looks at the candidates token by token (late interaction), `fuse.rs` fuses the signals, `lent.rs` brings in what others lend, `rank.rs` reads the hits, by `store.rs`, `snippet.rs` cuts them |
//! | [`memories`] | items and themes: `write/`, the one writer of memories and turns, with their `passages/`, which search indexes; `add/`: what a new one meets, and many in one transaction (`together.rs`); `change.rs` (archive, restore, correct, confirm, forget, what expires), `settle.rs` (one gives way to another, and back), `manage/`: what a person decides in the browser, and undoes; `learned/`: what nobody has looked at yet, and what is not worth keeping; `fading/`: how strong an item is, and what is archived because nobody uses it; `provenance.rs`; `trust.rs`: whose word an item is, and which of two holds; `period.rs`: when it is true; `history.rs`; `day/`: what was known, and true, on any day (docs/time.md); `themes/`; `timeline/`: what happened, by day, and the difference of two; `quota.rs`: how much a user may keep; `words.rs` cuts text into what it is found by; `mentions/`: what a text names, by rules |
//! | [`activity`] | who called which tool, and about which items: append-only; `writer.rs` writes reads in batches, and counts uses |
//! | [`embedding`] | THE life of a vector: spaces follow the settings (`spaces.rs`), `reseal/` seals their keys anew, pending → ready or error (`drain.rs`), a query's vector (`query.rs`) |
//! | [`providers`] | who turns text into vectors: settings, the endpoint policy, one client a wire format, the builtin model, whose forward pass is the package `src/minilm`; `chat/`: who answers in words, and what that may cost a day |
//! | [`accounts`] | users, passwords, agents, tokens; `access.rs`: what a token opens; `operators/`: service tokens and the users they act for; `people/`: what an admin sees and changes; `invitations/`; `teams/`: who reads what an agent keeps for itself |
//! | [`queue`] | what is due, one row a user and job: pushed in the caller's transaction, claimed with a lease, least work first; `runs/`: what ran |
//! | [`db`], [`postgres`] | roles, migrations, a transaction that knows its user, who acts (`actor.rs`), connections lent · the embedded PostgreSQL |
//! | [`config`], [`clock`], [`input`], [`metrics`], [`panics`], [`seal`] | the only reader of the environment · time as a parameter, and when a schedule comes round in a time zone · the words for bad input · what is counted · what a panic may say · sealed secrets |
//!
//! # Walkthrough: one add
//!
//! `POST /api/v1/tools/memory_add` reaches `web/api/tools.rs`, which reads a
//! bounded body and lets `web/auth.rs` open the token ([`accounts::Accounts::open`],
//! as the *system* role). [`tools::Registry::call`] checks the switch of memory and the
//! scope, and parses the input; `tools/memory_add.rs` makes a [`memories::NewItem`] of it, which is
//! where every limit stands. [`memories::Adding`] opens a transaction that knows its user and raises
//! their revision ([`db::Db::as_writer`]: of one user one writes at a time), and
//! writes in one statement ([`memories::write`]) the item with its words, its passages and its first event, a pending
//! vector of each passage for each space in use, and that it changed at this revision; two more look up what the text
//! names and write it ([`memories::mentions`]). What the first leaves out
//! is added step by step: a new theme is made, and where a key or a text is there already the item is the
//! duplicate, or the older one is archived and linked. Then the user's first space, where a provider is
//! configured and there is none; the row of its job; the record of the call. Commit; answer. Adds of the
//! user that come meanwhile are the next transaction, together. The job `embed` claims its row, and
//! [`embedding::Embeddings::drain`] sends what is pending to the provider, in batches and with no connection held,
//! and writes each answer under the guard of its space and its passage's hash.
//!
//! Over MCP the same call is a POST to `/mcp`: `web/mcp/` lets the same code open
//! the token and read the body, checks the message's shape, and takes the tool's
//! arguments out as they were written. rmcp speaks the protocol, in whichever
//! version the client asks for, and hands them to the registry. What goes wrong
//! in the tool is its answer, in the words that REST would have used.
//!
//! # Walkthrough: one search
//!
//! The same door leads to `tools/memory_search.rs`; the Memory page comes in by
//! `web/ui/`. Both make a [`search::SearchQuery`] and call [`search::Search::find`]. One small statement says
//! at which revision the user's memory is and what serves it ([`search::Reader::current`]): where the index in memory is
//! of that revision it is used, where something has changed since, just that is read, and where there is none, all of
//! it. Then comes the query's vector ([`embedding::Embeddings::query_vector`]: kept, or asked for with a deadline and
//! no connection held, or a reason why there is none), and the query's words ([`memories::words`]). Over the index, with no
//! database: the nearest by cosine, the best by words weighed by their rarity, among memories and among turns apart,
//! and both signals of each. A second small statement reads the signs of these candidates' tokens, with which
//! `closer.rs` compares them token by token; `fuse.rs` brings all to one scale and weighs it (docs/search.md). A third reads
//! the first few under the user's own rights, so that what is gone is not shown whatever the index says; the
//! text is cut around the first match. The record of the call waits in memory
//! for the next batch, so that a search pays no commit.
//!
//! # Invariants
//!
//! 1. SQL stands only in files named `store.rs`; each function takes
//!    `&mut PgConnection` first. There are no repository traits.
//! 2. One search path, one life of vectors and one tool registry: pages, REST and MCP
//!    call the same functions.
//! 3. Every tenant table carries `user_id`, first in its primary key, its unique
//!    constraints and its foreign keys.
//! 4. Three database roles. *Owner* runs migrations. *App* owns nothing, cannot
//!    bypass row security, and runs every request, in a transaction that has set
//!    the user. *System* looks up what has no user yet, and sees no memory.
//!    Forgetting to set the user finds nothing and raises nothing.
//! 5. No database connection is held while something slow runs outside it, such
//!    as hashing a password or calling a provider.
//! 6. Memory content never enters a log line, an error, a metric, a job or the guidance
//!    for a prompt, which names themes by their slugs alone.
//! 7. Everything has a named limit, with its unit, beside the type it limits.
//! 8. The environment is read in [`config`] alone; time comes from [`clock`].
//! 9. The domain names no axum and no leptos; `app` names no axum, tokio or sqlx.
//! 10. Content reaches a page as text, never as HTML.
//! 11. Rows are the truth, jobs are hints: losing every job loses no work, running
//!     one twice changes nothing, and its arguments are ids.
//! 12. A late answer of an old model writes nothing: writes are guarded by space
//!     and content hash. Vectors of two spaces are never compared.
//! 13. Which provider is in force follows what is configured, never what is
//!     healthy: an outage rebuilds nothing.
//! 14. A forwarded address is heeded only from a proxy that the admin has named.
//! 15. A user either signs in or belongs to an operator. A service token finds its users
//!     by operator and external id alone, so that it reaches nobody who signs in.
//! 16. Whatever changes a user's memory raises their revision first, which locks it, and says in
//!     `memory_changes` what changed; rows of memories, passages and vectors are made by one writer
//!     (`src/tests/tidy.rs` has the list).
//! 17. Rights are read again in the transaction that acts ([`db::actor`]): what a caller was
//!     allowed before its body came does not count.
//! 18. What an agent does not see is not there for it: its transactions say which agent acts, and row security leaves
//!     out what belongs to another (docs/scopes.md). What is counted against a limit, and the index of searches, reads
//!     the whole (`whole_memory`), and the index leaves out by itself.
//! 19. One way leads from one user to another's memory: a read-only transaction that asks as it begins whether it is lent
//!     to the agent that acts ([`db::Db::lent_to`], docs/teams.md).
//!
//! Where this differs from the first design: of chat models one's own comes before the
//! system's, since nothing is computed anew when it changes; words are cut here and not by
//! PostgreSQL's parser, which keeps `src/db.rs` whole and finds no word in Chinese; what a search reads is one index a
//! user under a lock, with rows added and marked as gone, in place of segments (an append takes microseconds); a
//! rebuild that a user cancels is remembered by the settings it was towards, so
//! that the sweep does not begin it again; the pages have no server functions,
//! since plain forms and links do all they need; and the first account is the
//! first *admin*, so that accounts made at the command line do not take the first
//! person's place.

pub mod accounts;
pub mod activity;
pub mod bridge;
pub mod clock;
pub mod config;
pub mod consolidation;
pub mod db;
pub mod documents;
pub mod embedding;
pub mod entities;
pub mod erasure;
pub mod evaluation;
pub mod export;
pub mod input;
pub mod jobs;
pub mod memories;
pub mod metrics;
pub mod panics;
pub mod postgres;
pub mod providers;
pub mod queue;
pub mod recall;
pub mod seal;
pub mod search;
pub mod serve;
pub mod sessions;
pub mod tools;
pub mod web;
pub mod wiring;
