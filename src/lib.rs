//! Keepsake, a long-term memory server for AI agents: the module map and the
//! invariants. `src/tests/tidy.rs` tests those that can be checked against the
//! code and the database catalogue.
//!
//! # The map
//!
//! From top to bottom: a module uses only modules below its own row. The first two rows are this crate; then come `app`, the
//! pages, and `keepsake-edge` in `src/edge`; all others are the domain, `keepsake-core` in `src/core`, which this crate shows under
//! its own names.
//!
//! | module | what it is |
//! |---|---|
//! | `main.rs`, `background.rs`, `eval.rs`, `migrate.rs`, `rebuild.rs`, `secret.rs`, `snapshot.rs`, `transfer.rs`, `telemetry.rs`, `terminal.rs`, [`bridge`], [`serve`], [`wiring`] | the command line, logs and traces, MCP over stdio · the server's lifecycle · builds every part once |
//! | [`web`] | connections (`server.rs`, `connection.rs`), routes, calls from pages of other origins (`cors.rs`), downloads; `api/` is REST and its OpenAPI document, `mcp/` is MCP, `oauth/` the endpoints of OAuth |
//! | `app` | the pages: `pages/` has one file a page, which loads, shows and takes the forms of it, or a folder of its parts where it is long; `routes.rs` lists them, `asked.rs` is a request for one, `page.rs` its document, `form.rs` how a form ended, `forms.rs` what is posted, `components/` what they share; `islands/` alone reaches the browser |
//! | `edge` | what both share: authentication (`auth.rs`), web sessions, concurrent calls per user (`calls.rs`), throttles, errors into responses, headers, what a page tells once after a form (`flash.rs`), the path of the public address (`subpath.rs`), the server's state |
//! | [`jobs`] | all background work: one list, one file per job, each calling one domain operation; `runner.rs` claims, runs and records |
//! | [`tools`] | what agents can call: one file per tool, one registry for REST and MCP; `guidance.rs` is the text for an agent's prompt |
//! | [`services`] | one struct of the handles with which tools, jobs, pages and commands work; made once a process |
//! | [`backup`] | backups of the whole database, nightly and by command: makes, verifies and restores them; `folder.rs` says which are kept (docs/backup.md) |
//! | [`evaluation`] | measures how well search finds: `trial.rs` runs a data set in scratch accounts, `own.rs` measures a user's own memory, before and after a rebuild |
//! | [`recall`] | adds memories to a prompt automatically: `trivial.rs` decides which messages need no search, `search/relevance.rs` how relevant each candidate is, `section.rs` writes the block (docs/recall.md) |
//! | [`export`] | exports and imports a person's data, in small steps; `kinds.rs` lists the kinds of records, for both; `read.rs` parses a line |
//! | [`erasure`] | permanently deletes one memory, one session, one document, or an account and everything in it, with a receipt; `about/` finds where something stands, and `chosen.rs` deletes what its person chose of it |
//! | [`containment`] | undoes all that an agent has changed since a moment, in one act that can be taken back |
//! | [`consolidation`] | turns completed sessions into memories: `transcript.rs` renders, `prompt.rs` asks, `comparison.rs` asks how two statements relate, `facts.rs` parses the answer, `proof/` decides whether a text is their own word, `same.rs` detects equal statements by their words, `guesses.rs` says what is kept without a model, and goes when one reads (its phrases: `fallback.rs`); `keep.rs` decides what is new; `compare.rs` compares what agents added, `exclusive.rs` tells by words alone what ends what; `named.rs` reads entities and relations, `enrichment/` does so at night; `note.rs` writes the daily note of flushed messages; `episodes/` says what a session was about; `summary/` summarises the memory, `reflection/` a week; `dreaming/` writes what lasts across several sessions, and proposes memories to merge; `lineage/`: what a memory was derived from, and what was derived from it (docs/consolidation.md) |
//! | [`sessions`] | conversations that agents send, each message once and in order; `ledger/` tracks what must be read for memories, and the results; `turns/` makes messages searchable; `given/` keeps the ids of memory that a conversation brings back |
//! | [`documents`] | text files that agents write, each change a revision: `path.rs`, `parts.rs` (what search finds of them), `taken.rs` (imports); docs/documents.md |
//! | [`entities`] | people, projects, places: profiles, `relations/` with validity periods, `decide/`: a person's merges, splits and undo, `upkeep/`: new names in old texts, names of earlier rules, possible duplicates; `graph/` and `layout.rs` (docs/entities.md) |
//! | [`search`] | THE search: `query.rs` parses, `asks.rs` finds what a long text asks, `restrict.rs` reads what the filters need; `reader/` holds each user's index in memory, up to date with the rows and within a memory limit; `arms/` are pure functions over an index (words, meaning, date, neighbours, speakers); `closer.rs` compares the candidates token by token (late interaction), `fuse.rs` fuses the signals, `lent.rs` adds what other users share, `rank.rs` reads the hits, with `store.rs`, `snippet.rs` cuts them; `related.rs`: the memories most like one |
//! | [`webhooks`] | addresses that a person wants told what happens: `message.rs` is the message, `signature.rs` signs it, `delivery.rs` sends it, in the order of the stream (docs/webhooks.md) |
//! | [`memories`] | items and themes: `write/`, the one writer of memories and turns, with their `passages/`, which search indexes; `add/`: duplicates and conflicts of a new item, and many adds in one transaction (`together.rs`); `change.rs` (archive, restore, correct, confirm, forget, expire), `settle.rs` (one item supersedes another, and undo), `manage/`: a person's changes in the browser, and their undo; `learned/`: what nobody has reviewed yet, and what is not worth keeping; `fading/`: an item's strength, and archiving of unused items; `feed/`: what happened, in one stream, for programs that poll and for webhooks; `provenance.rs`; `trust.rs`: the source of an item, and which of two prevails; `quoted.rs` separates a person's own words from pasted text; `period.rs`: when it is valid; `projects/`: what it was learned of (docs/projects.md); `derived/`: what a text stands on, and which of its sentences still hold; `history.rs`; `day/`: what was known, and true, on any day (docs/time.md); `themes/`; `timeline/`: what happened, by day; `quota.rs`: how much a user may store; `words.rs` splits text into search terms; `chatter.rs`: which texts state nothing; `mentions/`: the entities that a text names, by rules |
//! | [`languages`] | what is known of each language, one file each (`en.toml`): its script and stemmer, stop words, small talk, phrases that state nothing, words that turn a statement, words that say when, and examples that tests check; which languages a text may be in, stems, folding |
//! | [`activity`] | who called which tool, and about which items: append-only; `writer.rs` writes reads in batches, and counts uses |
//! | [`embedding`] | THE embedding lifecycle: spaces follow the settings (`spaces.rs`), `reseal/` re-encrypts the provider keys, pending → ready or error (`drain/`, which also ends a rebuild), a query's vector (`query.rs`) |
//! | [`quota`] | how much may be kept: bytes per user over all tables, reserved by processes and counted by a job, and free disk (`disk.rs`) |
//! | [`providers`] | embedding providers and chat models: `settings/` of the endpoints of both, the endpoint policy, one client per wire format, the builtin model, whose forward pass is the package `src/encoder`; `chat/`: chat models, and their daily limits |
//! | [`redaction`] | secrets in texts that come in: found by a rule set (`rules/`), stored with a warning, replaced or refused, before anything of a text is stored; `<private>` sections are removed (docs/secrets.md) |
//! | [`accounts`] | users, passwords, agents; `tokens/`: agents' and service tokens, and what they allow; `oauth/`: clients that a person connects in the browser, and the tokens they get (docs/secure.md); `operators/`: products and the users they act for; `admin_events/`: the log of what admins did; `people/`: what an admin sees and changes; `invitations/`; `teams/`: who may read an agent's private memory |
//! | [`replay`] | notes of what was erased, revoked or switched off, which a restore of an older backup repeats |
//! | [`queue`] | what is due, one row per user and job: pushed in the caller's transaction, claimed with a lease, least work first; `runs/`: past runs |
//! | [`db`], [`postgres`] | roles, migrations and the SQL functions (`functions.rs`), transactions bound to a user, the acting caller (`actor.rs`), the connection pool; `labels.rs` declares enums that are text columns; `citus/` distributes the database by user (docs/scaling.md) · the embedded PostgreSQL |
//! | [`config`], [`clock`], [`input`], [`json`], [`texts`], [`metrics`], [`panics`], [`seal`] | the only reader of environment variables · time as a parameter, and schedules in a time zone · errors for invalid input · how values are written in JSON · the form in which texts are compared, and edits of a part · metrics · what a panic may log · encrypted secrets |
//!
//! # Walkthrough: one add
//!
//! `POST /api/v1/tools/memory_add` reaches `web/api/tools.rs`, which reads a
//! bounded body and has `edge/auth.rs` verify the token ([`accounts::Accounts::open`],
//! as the *system* role). [`tools::Registry::call`] checks that memory is switched on and the
//! scope allows the call, and reads the input by the tool's schema (`tools/input.rs`). `tools/memory_add.rs` makes a [`memories::NewItem`] of it, which
//! enforces every limit. [`memories::Adding`] opens a transaction bound to the user and raises
//! the user's revision ([`db::Db::as_writer`], which serialises one user's writes).
//!
//! One statement ([`memories::write`]) writes the item with its words, its passages and its first event, a pending
//! embedding of each passage for each space in use, and that it changed at this revision. Two more look up the entities
//! that the text names and write them ([`memories::mentions`]). Further statements handle the other cases: a new theme
//! is created; if the key or the text exists already, the item is a duplicate, or the older item is archived and
//! linked. The same transaction creates the user's first space, if a provider is configured and there is none, pushes
//! the job, and records the call. Then it commits and the caller gets the answer. Adds of the
//! same user that arrive meanwhile share the next transaction. The job `embed` claims its row, and
//! [`embedding::Embeddings::drain`] sends pending texts to the provider, in batches and without holding a connection.
//! It writes each answer only if its space and its passage's hash still match.
//!
//! Over MCP the same call is a POST to `/mcp`: `web/mcp/` uses the same code to verify
//! the token and read the body, checks the message's shape, and passes the tool's
//! arguments on unchanged. rmcp implements the protocol, in the
//! version that the client requests, and calls the registry. An error
//! in the tool becomes the tool's result, with the same text as in REST.
//!
//! # Walkthrough: one search
//!
//! A tool call reaches `tools/memory_search.rs` in the same way; the Memory page is
//! `app/src/pages/memory.rs`. Both make a [`search::SearchQuery`] and call [`search::Search::find`]. One small statement reads the
//! revision of the user's memory and which space serves it ([`search::Reader::current`]). An index in memory of that
//! revision is used as it is; an older one reads only what has changed; without one, everything is read.
//! Then come the query's vector ([`embedding::Embeddings::query_vector`]: cached, or requested with a deadline and
//! without holding a connection, or a reason why there is none) and the query's words ([`memories::words`]).
//!
//! The index yields, without the database: the nearest by cosine and the best by words weighted by rarity, among
//! memories and among turns separately, and both signals of each. A second small statement reads the token signs of
//! these candidates, with which `closer.rs` compares them token by token; `fuse.rs` normalises all signals and
//! weights them (docs/search.md). A third reads the top hits under the user's own row security, so that a deleted
//! item is never shown, even if the index still has it. The
//! text is cut around the first match. The record of the call is buffered in memory
//! and written with the next batch, so that a search needs no commit.
//!
//! # Invariants
//!
//! 1. SQL is only in files named `store.rs`; each function takes
//!    `&mut PgConnection` first. There are no repository traits.
//! 2. One search path, one embedding lifecycle and one tool registry: pages, REST and MCP
//!    call the same functions.
//! 3. Every tenant table has `user_id`, first in its primary key, its unique
//!    constraints and its foreign keys.
//! 4. Three database roles. *Owner* runs migrations. *App* owns nothing, cannot
//!    bypass row security, and runs every request, in a transaction that has set
//!    the user. *System* looks up what has no user yet, and cannot read memories.
//!    A transaction that does not set the user finds no rows and raises no error.
//! 5. No database connection is held while something slow runs outside it, such
//!    as hashing a password or calling a provider.
//! 6. Memory content never enters a log line, an error, a metric, a job or the guidance
//!    for a prompt, which names themes by their slugs only.
//! 7. Everything has a named limit, with its unit, beside the type it limits.
//! 8. Environment variables are read in [`config`] only; time comes from [`clock`].
//! 9. The domain does not use axum or leptos; nothing of the server is compiled into the islands.
//! 10. Content reaches a page as text, never as HTML.
//! 11. Rows are the truth, jobs are hints: losing every job loses no work, jobs are
//!     idempotent, and their arguments are ids.
//! 12. A late answer of an old model writes nothing: writes are guarded by space
//!     and content hash. Vectors of two spaces are never compared.
//! 13. The effective provider follows the configuration, never its
//!     health: an outage causes no rebuild.
//! 14. A forwarded address is trusted only from a proxy that the admin has named.
//! 15. A user either signs in or belongs to an operator. A service token finds its users
//!     by operator and external id only, so that it cannot reach a user who signs in.
//! 16. Every change of a user's memory first raises the user's revision, which locks it, and records in
//!     `memory_changes` what changed; rows of memories, passages and embeddings have one writer
//!     (`src/tests/tidy.rs` has the list).
//! 17. Permissions are checked again in the transaction that acts ([`db::actor`]): what a caller was
//!     allowed before its body was read does not count.
//! 18. To an agent, what it may not see does not exist: its transactions name the acting agent, and row security
//!     hides what belongs to another (docs/scopes.md). Quotas and the search index read
//!     the whole memory (`whole_memory`), and the index filters by itself.
//! 19. There is one way to read another user's memory: a read-only transaction that checks, as it begins, whether the
//!     memory is shared with the acting agent ([`db::Db::lent_to`], docs/teams.md).
//!
//! 20. No text of a user's memory is stored, embedded or recorded before [`redaction`] has screened it: tools in
//!     [`tools::Registry::call`], sessions and documents at their REST endpoints, imports as they are read, answers
//!     of the chat model in [`providers::chat::Chat::complete`], and queries in `embedding/query.rs`.
//!
//! Differences from the first design:
//!
//! - A user's own chat model takes precedence over the system's, since changing it recomputes nothing.
//! - Keepsake splits text into words itself: PostgreSQL's parser keeps `src/db.rs` as one word and finds no words in
//!   Chinese.
//! - Search reads one index per user under a lock, with appended rows and deletion marks, instead of segments (an
//!   append takes microseconds).
//! - A cancelled rebuild is remembered by its target settings, so that the sweep does not restart it.
//! - The pages have no server functions: plain forms and links are enough.
//! - The first account through the pages is the first *admin*, so that accounts created on the command line do not
//!   take the first person's place.

pub mod bridge;
pub mod serve;
pub mod web;
pub mod wiring;

pub use keepsake_core::{
    accounts, activity, backup, clock, config, consolidation, containment, db, documents,
    embedding, entities, erasure, evaluation, export, input, jobs, json, languages, memories,
    metrics, panics, postgres, providers, queue, quota, recall, redaction, replay, seal, search,
    services, sessions, texts, tools, webhooks,
};
