//! The command line. Each command builds what it needs with `wiring` and does one thing. Standard output
//! carries its result only.

mod background;
mod eval;
mod rebuild;
mod secret;
mod telemetry;
mod transfer;

use std::io::{IsTerminal, Read};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::{Args, Parser, Subcommand};
use keepsake::accounts::admin_events::{AdminAction, AdminActor};
use keepsake::accounts::model::parse_expires_days;
use keepsake::accounts::{AgentName, Email, Password, Role, Scope, TokenWish, UserId};
use keepsake::bridge;
use keepsake::config::{BridgeConfig, Config};
use keepsake::panics;
use keepsake::serve::{self, Workers};
use keepsake::wiring::{self, Database};

/// A self-hosted, long-term memory server for AI agents.
#[derive(Parser)]
#[command(version, about, after_help = ENVIRONMENT)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const ENVIRONMENT: &str = "Environment:
  KEEPSAKE_LISTEN        address and port to serve on (127.0.0.1:3000)
  KEEPSAKE_DATA_DIR      where everything is kept (./data)
  KEEPSAKE_DATABASE_URL  a PostgreSQL of your own, instead of the built-in one
  KEEPSAKE_PUBLIC_URL    how browsers and agents reach this server
  KEEPSAKE_SECRET_KEY    32 bytes in base64 that seal provider keys (made in the data folder)
  KEEPSAKE_SECRET_KEYS_OLD  older ones, comma-separated, that still open what they sealed
  KEEPSAKE_LLAMACPP_URL  a llama.cpp server that computes vectors for everybody
  KEEPSAKE_READER_MB     memory for what searches keep at hand of everybody (512)
  KEEPSAKE_SIGNUP        who may make an account: first (then closed), open, closed
  KEEPSAKE_TRUSTED_PROXIES  proxies whose X-Forwarded-For is believed, such as 127.0.0.1,10.0.0.0/8
                         (none: the address that connects is the client's)
  KEEPSAKE_SITE_DIR      folder of stylesheet and islands (found beside the program)
  KEEPSAKE_LOG           what to log, such as info or keepsake=debug
  KEEPSAKE_LOG_FORMAT    text, or json: one object a line
  KEEPSAKE_METRICS_TOKEN opens /metrics to scrapers that are not on this machine
  KEEPSAKE_STOP_GRACE_SECONDS
                         how long new requests are answered after SIGTERM (2)
  OTEL_EXPORTER_OTLP_ENDPOINT
                         an OpenTelemetry collector (http://host:4318) that takes traces
  KEEPSAKE_TOKEN         for `keepsake mcp`: the token it speaks for
  KEEPSAKE_URL           for `keepsake mcp`: the server (KEEPSAKE_PUBLIC_URL, or KEEPSAKE_LISTEN)";

const BRIDGE: &str = "Environment:
  KEEPSAKE_TOKEN  a token from the page Agents & tokens; never an argument, which others could read
  KEEPSAKE_URL    address of the server, such as https://memory.example.com
                  (when not set: KEEPSAKE_PUBLIC_URL, or the address of KEEPSAKE_LISTEN)

A client that can speak HTTP needs no bridge: give it the server's address with /mcp at its end, and the
header `Authorization: Bearer ks_…`.";

const EVAL: &str = "Examples:
  keepsake eval answers.jsonl
  keepsake eval --email anna@example.com

A data set has a line for each item, {\"id\": \"1\", \"content\": \"Anna drinks green tea.\"}, and for each question,
{\"question\": \"What does Anna drink?\", \"evidence\": [\"1\"]}; docs/evaluation.md says the rest. Its items go into
scratch accounts, which are erased at the end, and are found by the same search that agents use.

Of an account, questions are made of what it remembers (and by its chat model, where one is set, at its cost):
what is found now, and what the last rebuild changed. Nothing of that is written.";

const EXPORT: &str = "Example:
  keepsake export --email anna@example.com > memory.jsonl
  keepsake export --email anna@example.com --as-of 2026-03-03 > then.jsonl

Themes, agents, memories with their history, settings and calls, one a line; docs/export.md says what a
line holds. No password, token, key or vector is in it. The last line counts what was written: a file
without it was cut off.";

const IMPORT: &str = "Example:
  keepsake import --email anna@example.com < memory.jsonl

Takes the file of `keepsake export`, the JSON of mem0's get_all(), or the conversations.json of ChatGPT's
export (of which what ChatGPT kept as memories, not what was said). Memories keep their dates, status, tags
and source. What is there already is left as it is: the same file twice changes nothing. A line that cannot
be taken in is told, and the others go on; then the exit code is 1.";

#[derive(Subcommand)]
enum Command {
    /// Start the server, and its own PostgreSQL unless KEEPSAKE_DATABASE_URL is set
    Serve {
        /// Leave the jobs to `keepsake work`
        #[arg(long)]
        no_worker: bool,
    },
    /// Work off jobs beside servers that run with --no-worker, and serve nobody
    Work,
    /// Bring the database to this version's schema, and end
    Migrate,
    /// Compute a user's vectors anew with the settings in force; waits, with a progress bar
    Rebuild(Rebuild),
    /// Score how well search finds: a data set whose answers are known, or an account's own memory
    #[command(after_help = EVAL)]
    Eval(Eval),
    /// Write all that an account holds to standard output, as JSON Lines
    #[command(after_help = EXPORT)]
    Export(ExportArgs),
    /// Take in an export from standard input: Keepsake's, mem0's or ChatGPT's
    #[command(after_help = IMPORT)]
    Import(Account),
    /// Change the key that seals the providers' keys
    #[command(subcommand)]
    Secret(SecretCommand),
    /// Pass MCP on from standard input and output to a server, for clients that speak nothing else
    #[command(after_help = BRIDGE)]
    Mcp,
    /// List the background jobs, run one now, show what ran
    #[command(subcommand)]
    Jobs(JobsCommand),
    /// Make, list, disable and enable accounts, and set their passwords
    #[command(subcommand)]
    User(UserCommand),
    /// Make tokens for agents and for operators
    #[command(subcommand)]
    Token(TokenCommand),
}

const ROTATE: &str = "While servers run, and none needs a restart where the data folder keeps the key: a new one is made there,
servers find it by themselves, and the old one is removed at the end. With KEEPSAKE_SECRET_KEY, first start
every server with the new key there and the old one in KEEPSAKE_SECRET_KEYS_OLD (docs/secure.md).
Broken off, it is run again and goes on. Backups made before keep needing the old key.";

#[derive(Subcommand)]
enum SecretCommand {
    /// Seal every provider key anew with a new key; waits, with a progress bar
    #[command(after_help = ROTATE)]
    Rotate,
}

#[derive(Args)]
struct Eval {
    /// A data set in JSON Lines (docs/evaluation.md); - for standard input
    #[arg(value_name = "FILE", required_unless_present = "email")]
    file: Option<PathBuf>,
    /// E-mail address of an account whose own memory is measured
    #[arg(long, conflicts_with = "file")]
    email: Option<String>,
    /// Leave these out of the ranking, to see what each is worth: speakers, neighbours, time, spread, late, trust
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        conflicts_with = "email"
    )]
    without: Vec<String>,
    /// Print the figures as one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct ExportArgs {
    #[command(flatten)]
    account: Account,
    /// The memory as it was known then: 2026, 2026-03, 2026-03-03 or a moment
    #[arg(long, value_name = "DATE")]
    as_of: Option<String>,
}

#[derive(Args)]
struct Account {
    /// E-mail address of the account
    #[arg(long)]
    email: String,
}

#[derive(Args)]
struct Rebuild {
    #[command(flatten)]
    account: Account,
    /// Then measure what that changed, by questions asked of the old vectors and of the new
    #[arg(long)]
    measure: bool,
}

#[derive(Subcommand)]
enum JobsCommand {
    /// List the jobs: name, schedule, waiting, later, running, failed
    List,
    /// Run a job until nothing of it is due
    Run(JobsRun),
    /// Show the last 100 runs: end, job, user (0: the server), outcome, done, failed, milliseconds, why
    Runs,
}

#[derive(Args)]
struct JobsRun {
    /// Name of the job, as `keepsake jobs list` shows it
    name: String,
    /// E-mail address of the account [default: all that have work]
    #[arg(long)]
    email: Option<String>,
}

#[derive(Subcommand)]
enum UserCommand {
    /// Make an account; the password is asked for, or read from standard input
    Create(UserCreate),
    /// List accounts: id, e-mail address (or operator: its id of the user), role, state
    List,
    /// Shut somebody out at once: browsers, agents and what is still to be done for them
    Disable(UserChange),
    /// Let somebody in again; their agents' tokens work as before
    Enable(UserChange),
    /// Set a forgotten password anew; every browser of the account is signed out
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
    /// Make an admin
    #[arg(long)]
    admin: bool,
    /// Read the password from standard input (one line)
    #[arg(long)]
    password_stdin: bool,
}

#[derive(Subcommand)]
enum TokenCommand {
    /// Make a token for an agent or an operator, which is made when missing; prints the token alone
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
    /// Name of an operator: makes a service token, which acts for the users that each
    /// call names in the header Keepsake-User
    #[arg(long, value_name = "NAME", conflicts_with_all = ["email", "agent"])]
    service: Option<String>,
    /// memory:read, memory:write or sessions:write; may be given more than once [default: all]
    #[arg(long, value_name = "SCOPE")]
    scope: Vec<String>,
    /// Days until the token expires [default: never]
    #[arg(long, value_name = "N")]
    expires_days: Option<i64>,
    /// Which tools the agent, or each user of the operator, sees from now on: core (search, add, get, archive,
    /// list themes), full (correct, confirm, forget, stats and summary too) or single (`memory` alone) [default: as it is; core for a new one]
    #[arg(long, value_name = "core|full|single")]
    profile: Option<String>,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    match run(cli.command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("keepsake: {error:#}");
            ExitCode::FAILURE
        }
    }
}

#[tokio::main]
async fn run(command: Command) -> anyhow::Result<()> {
    let config = Config::from_env()?;
    panics::tell_only_where();
    let telemetry = telemetry::start(&config)?;
    let done = obey(command, config).await;
    telemetry.end().await;
    done
}

async fn obey(command: Command, config: Config) -> anyhow::Result<()> {
    match command {
        Command::Serve { no_worker } => {
            let workers = if no_worker {
                Workers::Elsewhere
            } else {
                Workers::Here
            };
            serve::serve(&config, workers).await
        }
        Command::Work => serve::work(&config).await,
        Command::Rebuild(given) => {
            rebuild::rebuild(&config, &given.account.email, given.measure).await
        }
        Command::Eval(Eval {
            file,
            email,
            without,
            json,
        }) => match (email, file) {
            (Some(email), _) => eval::own(&config, &email, json).await,
            (None, file) => {
                eval::data_set(&config, &file.unwrap_or_default(), &without, json).await
            }
        },
        Command::Export(ExportArgs { account, as_of }) => {
            transfer::export(&config, &account.email, as_of.as_deref()).await
        }
        Command::Import(Account { email }) => transfer::import(&config, &email).await,
        Command::Secret(SecretCommand::Rotate) => secret::rotate(&config).await,
        Command::Mcp => bridge::run(BridgeConfig::from_env()?).await,
        Command::Migrate => Database::of_command(&config).await?.close().await,
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
    let role = if create.admin {
        Role::Admin
    } else {
        Role::Member
    };
    let database = Database::of_command(config).await?;
    let created = wiring::accounts(config, &database.db)
        .create_user(&email, password, role)
        .await;
    database.close().await?;
    created?;
    println!("{} ({})", email.as_str(), role.as_str());
    Ok(())
}

fn read_password(from_stdin: bool) -> anyhow::Result<String> {
    if from_stdin {
        let mut text = String::new();
        std::io::stdin()
            .read_to_string(&mut text)
            .context("the password could not be read")?;
        return Ok(text.trim_end_matches(['\r', '\n']).to_owned());
    }
    if !std::io::stdin().is_terminal() {
        bail!("there is no terminal to ask for the password at; give --password-stdin");
    }
    let password = rpassword::prompt_password("Password (10 characters or more): ")?;
    if password != rpassword::prompt_password("Once more: ")? {
        bail!("the two passwords differ; nothing was changed");
    }
    Ok(password)
}

async fn list_users(config: &Config) -> anyhow::Result<()> {
    let database = Database::of_command(config).await?;
    let accounts = wiring::accounts(config, &database.db);
    let listed = async {
        let users = accounts.list_users().await?;
        anyhow::Ok((users, accounts.list_operated_users().await?))
    }
    .await;
    database.close().await?;
    let (users, operated) = listed?;
    let tell = |id: UserId, name: &str, role: Role, disabled| {
        let state = if disabled { "disabled" } else { "active" };
        println!("{}\t{name}\t{}\t{state}", id.0, role.as_str());
    };
    for user in users {
        tell(user.id, &user.email, user.role, user.disabled);
    }
    for user in operated {
        let name = format!("{}: {}", user.operator, user.external_id);
        tell(user.id, &name, Role::Member, user.disabled);
    }
    Ok(())
}

async fn change_user(config: &Config, email: &str, action: AdminAction) -> anyhow::Result<()> {
    let email = Email::parse(email)?;
    let database = Database::of_command(config).await?;
    let accounts = wiring::accounts(config, &database.db);
    let changed = async {
        let user = accounts.find_person(&email).await?;
        let user = user.with_context(|| format!("there is no account {}", email.as_str()))?;
        anyhow::Ok(
            accounts
                .change_person(AdminActor::Command, user, action)
                .await?,
        )
    }
    .await;
    database.close().await?;
    println!("{}\t{}d", changed?, action.as_str());
    Ok(())
}

/// Works for disabled accounts too; they stay disabled.
async fn set_password(config: &Config, change: UserPassword) -> anyhow::Result<()> {
    let email = Email::parse(&change.email)?;
    let password = Password::parse_new("password", &read_password(change.password_stdin)?)?;
    let database = Database::of_command(config).await?;
    let accounts = wiring::accounts(config, &database.db);
    let set = async {
        let user = accounts.find_person(&email).await?;
        let user = user.with_context(|| format!("there is no account {}", email.as_str()))?;
        anyhow::Ok(accounts.set_password(user, password).await?)
    }
    .await;
    database.close().await?;
    set?;
    println!("{}\tpassword set", email.as_str());
    Ok(())
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
    let database = Database::of_command(config).await?;
    let accounts = wiring::accounts(config, &database.db);
    let made = async {
        // clap guarantees: no e-mail address means an operator.
        let Some(email) = email else {
            return Ok(accounts.create_service_token_by_name(&name, &wish).await?);
        };
        let user = find_user(config, &database, &email).await?;
        anyhow::Ok(accounts.create_token_by_name(user, &name, &wish).await?)
    }
    .await;
    database.close().await?;
    println!("{}", made?.reveal());
    Ok(())
}
