//! The command line. Each command builds what it needs with `wiring` and does one thing. Standard output
//! carries its result only.

mod background;
mod eval;
mod migrate;
mod rebuild;
mod secret;
mod snapshot;
mod telemetry;
mod terminal;
mod transfer;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::{Args, Parser, Subcommand};
use keepsake::accounts::admin_events::{AdminAction, AdminActor};
use keepsake::accounts::model::parse_expires_days;
use keepsake::accounts::{Accounts, AgentName, Email, Password, Role, Scope, TokenWish, UserId};
use keepsake::backup::FileTrust;
use keepsake::bridge;
use keepsake::config::{BridgeConfig, Config};
use keepsake::panics;
use keepsake::serve::{self, Workers};
use keepsake::wiring::{self, Database};
use migrate::MigrateArgs;
use terminal::{print_lines, read_password};
use transfer::ImportFile;

/// A self-hosted, long-term memory server for AI agents.
#[derive(Parser)]
#[command(version = VERSION, about, after_help = ENVIRONMENT)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// Such as "0.2.0 (aab77a3, 2026-11-27)"; without the commit where it was not built by `make`.
const VERSION: &str = match option_env!("KEEPSAKE_VERSION") {
    Some(version) => version,
    None => env!("CARGO_PKG_VERSION"),
};

const ENVIRONMENT: &str = "Environment:
  KEEPSAKE_LISTEN        address and port to serve on (127.0.0.1:3000)
  KEEPSAKE_DATA_DIR      folder for all data (./data)
  KEEPSAKE_DATABASE_URL  your own PostgreSQL, instead of the built-in one
  KEEPSAKE_BACKUP_DIR    folder for nightly backups, or off (backups in the data folder; with your own
                         PostgreSQL: off)
  KEEPSAKE_PUBLIC_URL    how browsers and agents reach this server
  KEEPSAKE_SECRET_KEY    32 bytes in base64 that encrypt provider keys (default: a file in the data folder)
  KEEPSAKE_SECRET_KEYS_OLD  previous keys, comma-separated, that still decrypt what they encrypted
  KEEPSAKE_LLAMACPP_URL  a llama.cpp server that creates embeddings for all users
  KEEPSAKE_DATABASE_DIR  a folder on the disk of your own PostgreSQL, whose free space is watched too
  KEEPSAKE_DISK_FREE_MB  how much of the disk has to stay free, in MB (5 % of it, 1024 at most)
  KEEPSAKE_READER_MB     memory for the search indexes of all users, in MB (512)
  KEEPSAKE_SIGNUP        who may create an account: first (then closed), open, closed
  KEEPSAKE_TRUSTED_PROXIES  proxies whose X-Forwarded-For is trusted, such as 127.0.0.1,10.0.0.0/8
                         (none: the connecting address is the client's)
  KEEPSAKE_SITE_DIR      folder with stylesheet and islands (found beside the program)
  KEEPSAKE_LOG           what to log, such as info or keepsake=debug
  KEEPSAKE_LOG_FORMAT    text, or json: one object per line
  KEEPSAKE_METRICS_TOKEN allows other machines to read /metrics
  KEEPSAKE_STOP_GRACE_SECONDS
                         how long new requests are accepted after SIGTERM (2)
  OTEL_EXPORTER_OTLP_ENDPOINT
                         an OpenTelemetry collector for traces (http://host:4318)
  KEEPSAKE_TOKEN         for `keepsake mcp`: the agent's token
  KEEPSAKE_URL           for `keepsake mcp`: the server (KEEPSAKE_PUBLIC_URL, or KEEPSAKE_LISTEN)";

const BRIDGE: &str = "Environment:
  KEEPSAKE_TOKEN  a token from the page Agents & tokens; not an argument, which other users could read
  KEEPSAKE_URL    address of the server, such as https://memory.example.com
                  (default: KEEPSAKE_PUBLIC_URL, or the address of KEEPSAKE_LISTEN)

Clients that support MCP over HTTP need no bridge: give them the server's address with /mcp at the end, and
the header `Authorization: Bearer ks_…`.";

const EVAL: &str = "Examples:
  keepsake eval answers.jsonl
  keepsake eval --email anna@example.com

A data set has one line per item, {\"id\": \"1\", \"content\": \"Anna drinks green tea.\"}, and one per question,
{\"question\": \"What does Anna drink?\", \"evidence\": [\"1\"]} (docs/evaluation.md). The items are stored in
temporary accounts, which are deleted at the end, and searched as agents search.

For an account, questions are made from its own memories (and by its chat model, if there is one, at its cost).
Measured are what search finds now and, for a day after a rebuild, what it found with the old embeddings. No result
is stored.";

const EXPORT: &str = "Example:
  keepsake export --email anna@example.com > memory.jsonl
  keepsake export --email anna@example.com --as-of 2026-03-03 > then.jsonl

One record per line: themes, agents, memories with their history, settings and calls (docs/export.md).
Passwords, tokens, keys and vectors are left out. The last line counts the records: a file without it is
incomplete.";

const IMPORT: &str = "Examples:
  keepsake import --email anna@example.com < memory.jsonl
  keepsake import --email anna@example.com --report report.jsonl < chatgpt-export.zip
  keepsake import --email anna@example.com --folder ~/Vault

Reads the file of `keepsake export`, and what other programs write: mem0, OpenMemory, ChatGPT and Claude (what
they saved as memories, not the conversations), payloads of a vector store, the memory.jsonl of the MCP memory
server, lists of texts, CSV, and Markdown notes, which become documents; also in a zip, as it was downloaded.
Memories keep their dates, status, tags and source; whose word they are, if this server has written the file for
this person (not through a pipe), or with --vouch. Existing records stay unchanged: importing a file twice changes
nothing. An entry that cannot be imported is reported and skipped; then the exit code is 1.";

const BACKUP: &str = "Example:
  keepsake backup keepsake.tar

Runs beside a running server; the file is of one moment. It holds accounts, memories, documents, sessions and
settings of all users: keep it as you keep the data folder. Keys of providers stay encrypted, and the secret
key is not in it. Nightly backups need no command: see KEEPSAKE_BACKUP_DIR and docs/backup.md.";

const RESTORE: &str = "Example:
  KEEPSAKE_DATA_DIR=./new keepsake restore keepsake.tar

Restores into a new data folder, or into an empty database at KEEPSAKE_DATABASE_URL; refuses one with accounts.
No server may run on it. Put the secret key of the lost server into place first: the file's signature is checked
with it before anything is loaded. What was erased and revoked after the backup is erased and revoked again, from
erasures.jsonl beside the file. Web sessions, invitations and links for new passwords end.

Backups of version 0.2.0 are not signed. --unsigned restores a file that nobody vouches for: whoever could write it
chooses the accounts, their rights and every memory, and which erasures and revocations are repeated. Only rows are
loaded, without a superuser's rights.";

#[derive(Subcommand)]
enum Command {
    /// Start the server, and its own PostgreSQL unless KEEPSAKE_DATABASE_URL is set
    Serve {
        /// Run no jobs here; `keepsake work` runs them
        #[arg(long)]
        no_worker: bool,
    },
    /// Run background jobs only, beside servers that run with --no-worker
    Work,
    /// Migrate the database to this version's schema, and exit
    #[command(after_help = migrate::EXAMPLES)]
    Migrate(MigrateArgs),
    /// Rebuild a user's embeddings with the current settings; waits, with a progress bar
    Rebuild(RebuildArgs),
    /// Measure search quality, with a data set of known answers or an account's own memory
    #[command(after_help = EVAL)]
    Eval(EvalArgs),
    /// Export an account to standard output, as JSON Lines
    #[command(after_help = EXPORT)]
    Export(ExportArgs),
    /// Import a file from standard input, or a folder: of Keepsake, or of another program
    #[command(after_help = IMPORT)]
    Import(ImportArgs),
    /// Back up the whole server to a file, while it runs; with a progress bar
    #[command(after_help = BACKUP)]
    Backup(BackupArgs),
    /// Restore a backup into an empty server; with a progress bar
    #[command(after_help = RESTORE)]
    Restore(RestoreArgs),
    /// Change the key that encrypts provider keys
    #[command(subcommand)]
    Secret(SecretCommand),
    /// Forward MCP from standard input and output to a server, for clients without HTTP
    #[command(after_help = BRIDGE)]
    Mcp,
    /// List background jobs, run one now, show past runs
    #[command(subcommand)]
    Jobs(JobsCommand),
    /// Create, list, disable and enable accounts, and set passwords
    #[command(subcommand)]
    User(UserCommand),
    /// Create tokens for agents and operators
    #[command(subcommand)]
    Token(TokenCommand),
}

const ROTATE: &str = "Servers keep running. If the key is in the data folder, no restart is needed: a new key is created there,
servers load it, and the old one is removed at the end. With KEEPSAKE_SECRET_KEY, first restart every server
with the new key there and the old one in KEEPSAKE_SECRET_KEYS_OLD (docs/secure.md). If it is interrupted,
run it again: it resumes. Backups from before still need the old key.";

#[derive(Subcommand)]
enum SecretCommand {
    /// Encrypt every provider key with a new key; waits, with a progress bar
    #[command(after_help = ROTATE)]
    Rotate,
}

#[derive(Args)]
struct EvalArgs {
    /// Data set in JSON Lines (docs/evaluation.md); - for standard input
    #[arg(value_name = "FILE", required_unless_present = "email")]
    file: Option<PathBuf>,
    /// E-mail address of the account to measure
    #[arg(long, conflicts_with = "file")]
    email: Option<String>,
    /// Rank without these signals, to see their effect: speakers, neighbours, time, spread, late, trust
    #[arg(long, value_name = "NAMES", value_delimiter = ',', conflicts_with = "email")]
    without: Vec<String>,
    /// Print the results as one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct ExportArgs {
    #[command(flatten)]
    account: AccountArgs,
    /// The memory as known at that time: 2026, 2026-03, 2026-03-03 or an RFC 3339 time
    #[arg(long, value_name = "DATE")]
    as_of: Option<String>,
}

#[derive(Args)]
struct BackupArgs {
    /// The file to write
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Replace an existing file
    #[arg(long)]
    force: bool,
}

#[derive(Args)]
struct RestoreArgs {
    /// A file that `keepsake backup` or the nightly job wrote
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Erasures and revocations to repeat [default: erasures.jsonl beside FILE, if there is one]
    #[arg(long, value_name = "FILE")]
    erasures: Option<PathBuf>,
    /// Restore although this server has not signed FILE, or not all of the erasures; says which
    #[arg(long)]
    unsigned: bool,
}

#[derive(Args)]
struct AccountArgs {
    /// E-mail address of the account
    #[arg(long)]
    email: String,
}

#[derive(Args)]
struct ImportArgs {
    #[command(flatten)]
    account: AccountArgs,
    /// Keep whose word the memories are, and what is confirmed, although this server has not written the file for this person
    #[arg(long)]
    vouch: bool,
    /// Import the files of this folder, such as a vault of notes, instead of standard input
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
    /// Write what was taken, changed and refused to this file, as JSON Lines
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
}

#[derive(Args)]
struct RebuildArgs {
    #[command(flatten)]
    account: AccountArgs,
    /// Measure the effect afterwards, with the same questions before and after
    #[arg(long)]
    measure: bool,
}

#[derive(Subcommand)]
enum JobsCommand {
    /// List the jobs: name, schedule, waiting, later, running, failed
    List,
    /// Run a job until nothing is due
    Run(JobsRun),
    /// Show the last 100 runs: end, job, user (0: the server), outcome, done, failed, milliseconds, reason
    Runs,
}

#[derive(Args)]
struct JobsRun {
    /// Name of the job, from `keepsake jobs list`
    name: String,
    /// E-mail address of the account [default: all with due work]
    #[arg(long)]
    email: Option<String>,
}

#[derive(Subcommand)]
enum UserCommand {
    /// Create an account; asks for the password, or reads it from standard input
    Create(UserCreate),
    /// List accounts: id, e-mail address (or operator: external id), role, state
    List,
    /// Disable an account: sign-ins, agents and background jobs stop at once
    Disable(UserChange),
    /// Enable an account again; its agents' tokens work as before
    Enable(UserChange),
    /// Set a new password; signs the account out of all browsers
    SetPassword(UserPassword),
}

#[derive(Args)]
struct UserPassword {
    /// E-mail address of the account
    #[arg(long)]
    email: String,
    /// Read the password from standard input (one line)
    #[arg(long)]
    password_stdin: bool,
}

#[derive(Args)]
struct UserChange {
    /// E-mail address of the account
    #[arg(long)]
    email: String,
}

#[derive(Args)]
struct UserCreate {
    /// E-mail address to sign in with
    #[arg(long)]
    email: String,
    /// Create an admin
    #[arg(long)]
    admin: bool,
    /// Read the password from standard input (one line)
    #[arg(long)]
    password_stdin: bool,
}

#[derive(Subcommand)]
enum TokenCommand {
    /// Create a token for an agent or an operator, creating them if missing; prints only the token
    Create(TokenCreate),
}

#[derive(Args)]
struct TokenCreate {
    /// E-mail address of the account
    #[arg(long, required_unless_present = "service")]
    email: Option<String>,
    /// Name of the agent
    #[arg(long, value_name = "NAME", required_unless_present = "service")]
    agent: Option<String>,
    /// Name of an operator: creates a service token, which acts for the user named in each
    /// call's header Keepsake-User
    #[arg(long, value_name = "NAME", conflicts_with_all = ["email", "agent"])]
    service: Option<String>,
    /// memory:read, memory:write, sessions:write or, for a service token, pool:write; can be repeated [default: all but the last]
    #[arg(long, value_name = "SCOPE")]
    scope: Vec<String>,
    /// Days until the token expires [default: never]
    #[arg(long, value_name = "N")]
    expires_days: Option<i64>,
    /// Tools for the agent, or for each user of the operator: core (search, add, get, archive, list themes),
    /// full (all tools), single (only `memory`) or connector (only `search` and `fetch`, for ChatGPT)
    /// [default: unchanged; core for a new agent]
    #[arg(long, value_name = "core|full|single|connector")]
    profile: Option<String>,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    match run(cli.command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("keepsake: {}", keepsake::db::in_words(format!("{error:#}")));
            ExitCode::FAILURE
        }
    }
}

#[tokio::main]
async fn run(command: Command) -> anyhow::Result<()> {
    let config = Config::from_env()?;
    panics::install_hook();
    let telemetry = telemetry::start(&config)?;
    let done = run_command(command, config).await;
    telemetry.end().await;
    done
}

async fn run_command(command: Command, config: Config) -> anyhow::Result<()> {
    match command {
        Command::Serve { no_worker } => {
            let workers = if no_worker { Workers::Elsewhere } else { Workers::Here };
            serve::serve(&config, workers).await
        }
        Command::Work => serve::work(&config).await,
        Command::Rebuild(given) => {
            rebuild::rebuild(&config, &given.account.email, given.measure).await
        }
        Command::Eval(EvalArgs { file, email, without, json }) => match (email, file) {
            (Some(email), _) => eval::own(&config, &email, json).await,
            (None, file) => {
                eval::data_set(&config, &file.unwrap_or_default(), &without, json).await
            }
        },
        Command::Export(ExportArgs { account, as_of }) => {
            transfer::export(&config, &account.email, as_of.as_deref()).await
        }
        Command::Import(ImportArgs { account, vouch, folder, report }) => {
            let file = ImportFile { is_vouched: vouch, folder, report };
            transfer::import(&config, &account.email, file).await
        }
        Command::Backup(BackupArgs { file, force }) => {
            snapshot::back_up(&config, &file, force).await
        }
        Command::Restore(RestoreArgs { file, erasures, unsigned }) => {
            let trust = if unsigned { FileTrust::Anything } else { FileTrust::Signed };
            snapshot::restore(&config, &file, erasures.as_deref(), trust).await
        }
        Command::Secret(SecretCommand::Rotate) => secret::rotate(&config).await,
        Command::Mcp => bridge::run(BridgeConfig::from_env()?).await,
        Command::Migrate(migrate) => migrate::run(&config, &migrate).await,
        Command::Jobs(JobsCommand::List) => background::list(&config).await,
        Command::Jobs(JobsCommand::Run(JobsRun { name, email })) => {
            background::run(&config, &name, email.as_deref()).await
        }
        Command::Jobs(JobsCommand::Runs) => background::runs(&config).await,
        Command::User(UserCommand::Create(create)) => create_user(&config, create).await,
        Command::User(UserCommand::List) => list_users(&config).await,
        Command::User(UserCommand::Disable(change)) => {
            change_user(&config, &change.email, AdminAction::Disable).await
        }
        Command::User(UserCommand::Enable(change)) => {
            change_user(&config, &change.email, AdminAction::Enable).await
        }
        Command::User(UserCommand::SetPassword(change)) => set_password(&config, change).await,
        Command::Token(TokenCommand::Create(create)) => create_token(&config, create).await,
    }
}

async fn create_user(config: &Config, create: UserCreate) -> anyhow::Result<()> {
    let email = Email::parse(&create.email)?;
    let password = Password::parse_new("password", &read_password(create.password_stdin)?)?;
    let role = if create.admin { Role::Admin } else { Role::Member };
    Database::run(config, async |database| {
        let accounts = wiring::accounts(config, &database.db);
        accounts.create_user(&email, password, role).await?;
        println!("{} ({})", email.as_str(), role.as_str());
        Ok(())
    })
    .await
}

async fn list_users(config: &Config) -> anyhow::Result<()> {
    let tell = |id: UserId, name: &str, role: Role, disabled| {
        let state = if disabled { "disabled" } else { "active" };
        format!("{}\t{name}\t{}\t{state}", id.0, role.as_str())
    };
    Database::run(config, async |database| {
        let accounts = wiring::accounts(config, &database.db);
        let users = accounts.list_users().await?;
        let operated = accounts.list_operated_users().await?;
        let users = users.iter().map(|user| tell(user.id, &user.email, user.role, user.disabled));
        let operated = operated.iter().map(|user| {
            let name = format!("{}: {}", user.operator, user.external_id);
            tell(user.id, &name, Role::Member, user.disabled)
        });
        print_lines(users.chain(operated))
    })
    .await
}

async fn change_user(config: &Config, email: &str, action: AdminAction) -> anyhow::Result<()> {
    let email = Email::parse(email)?;
    Database::run(config, async |database| {
        let accounts = wiring::accounts(config, &database.db);
        let user = find_person(&accounts, &email).await?;
        let changed = accounts.change_person(AdminActor::Command, user, action);
        println!("{}\t{}d", changed.await?, action.as_str());
        Ok(())
    })
    .await
}

async fn find_person(accounts: &Accounts, email: &Email) -> anyhow::Result<UserId> {
    let user = accounts.find_person(email).await?;
    user.with_context(|| format!("there is no account {}", email.as_str()))
}

/// Works for disabled accounts too; they stay disabled.
async fn set_password(config: &Config, change: UserPassword) -> anyhow::Result<()> {
    let email = Email::parse(&change.email)?;
    let password = Password::parse_new("password", &read_password(change.password_stdin)?)?;
    Database::run(config, async |database| {
        let accounts = wiring::accounts(config, &database.db);
        let user = find_person(&accounts, &email).await?;
        accounts.set_password(user, password).await?;
        println!("{}\tpassword set", email.as_str());
        Ok(())
    })
    .await
}

/// Finds the account that a command names.
async fn find_user(config: &Config, database: &Database, email: &Email) -> anyhow::Result<UserId> {
    let accounts = wiring::accounts(config, &database.db);
    let user = accounts.find_user_by_email(email).await?;
    user.with_context(|| format!("there is no account {}", email.as_str()))
}

async fn create_token(config: &Config, create: TokenCreate) -> anyhow::Result<()> {
    let name = create.service.as_deref().or(create.agent.as_deref());
    let name = AgentName::parse(name.unwrap_or_default())?;
    let email = create.email.as_deref().map(Email::parse).transpose()?;
    let scopes = match create.scope.as_slice() {
        [] => Scope::ALL.into_iter().collect(),
        named => named.iter().map(|s| s.parse()).collect::<Result<_, _>>()?,
    };
    let wish = TokenWish {
        scopes,
        lifetime: parse_expires_days(create.expires_days)?,
        profile: create.profile.as_deref().map(str::parse).transpose()?,
    };
    Database::run(config, async |database| {
        let accounts = wiring::accounts(config, &database.db);
        // clap guarantees: no e-mail address means an operator.
        let made = match email {
            None => accounts.create_service_token_by_name(&name, &wish).await?,
            Some(email) => {
                let user = find_user(config, database, &email).await?;
                accounts.create_token_by_name(user, &name, &wish).await?
            }
        };
        println!("{}", made.reveal());
        Ok(())
    })
    .await
}
