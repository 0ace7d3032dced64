//! The program itself, as a process: the command line, its own PostgreSQL,
//! signals, and what its log says.

mod frozen;
mod pipes;
mod rebuild;
mod start;

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use keepsake::postgres::{CommandLock, of_running_server};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};

use crate::support::Sql as _;
use crate::support::{
    Browser, PASSWORD, PATIENCE, database_url, empty_database, server_options, until,
};

/// A data folder that PostgreSQL's unprivileged user can reach, with the fetched tree in it.
pub struct Home {
    pub folder: tempfile::TempDir,
    port: u16,
}

impl Home {
    pub fn new() -> Self {
        // For the clients that ask it; another test may have been first.
        rustls::crypto::ring::default_provider().install_default().ok();
        let folder = tempfile::tempdir().unwrap();
        std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
        let runtime = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/runtime");
        symlink(runtime, folder.path().join("runtime")).unwrap();
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        Self { folder, port }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_keepsake"));
        command
            .args(args)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("KEEPSAKE_DATA_DIR", self.folder.path())
            .env("KEEPSAKE_LISTEN", format!("127.0.0.1:{}", self.port))
            // No balancer has to notice anything.
            .env("KEEPSAKE_STOP_GRACE_SECONDS", "0")
            .stdin(Stdio::null());
        command
    }

    pub fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// Runs a command that must succeed: what it said on standard output.
    fn say(&self, args: &[&str]) -> String {
        let output = self.run(args);
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
    }

    fn create_user(&self, email: &str) {
        self.give_password("create", email, PASSWORD);
    }

    /// `keepsake user <command>` with a password on standard input: what it prints.
    fn give_password(&self, command: &str, email: &str, password: &str) -> String {
        let args = ["user", command, "--email", email, "--password-stdin"];
        let mut child =
            self.command(&args).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        writeln!(child.stdin.take().unwrap(), "{password}").unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{args:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn postmaster(&self) -> Pid {
        let file = find(self.folder.path(), "postmaster.pid").expect("a running PostgreSQL");
        let text = std::fs::read_to_string(file).unwrap();
        Pid::from_raw(text.lines().next().unwrap().trim().parse().unwrap()).unwrap()
    }
}

/// Runs a command that must fail: what it said on standard error.
fn refused(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && output.stdout.is_empty(), "{command:?}: {said}");
    said
}

pub fn find(folder: &Path, name: &str) -> Option<PathBuf> {
    for entry in std::fs::read_dir(folder).ok()?.flatten() {
        let path = entry.path();
        if path.file_name().is_some_and(|n| n == name) {
            return Some(path);
        }
        if path.is_dir()
            && !path.is_symlink()
            && let Some(found) = find(&path, name)
        {
            return Some(found);
        }
    }
    None
}

pub struct Server {
    child: Child,
    log: Option<std::thread::JoinHandle<String>>,
}

/// A test that fails leaves no server behind.
impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

impl Server {
    /// Starts `keepsake serve` and waits until it is ready.
    async fn start(home: &Home) -> Self {
        let mut command = home.command(&["serve"]);
        Self::start_command(home, &mut command).await
    }

    pub async fn start_command(home: &Home, command: &mut Command) -> Self {
        let server = Self::spawn(command);
        until("it is ready", async || is_ready(home).await == Some(true)).await;
        server
    }

    pub fn spawn(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let log = std::thread::spawn(move || {
            let lines = stderr.lines().map_while(Result::ok);
            lines.fold(String::new(), |log, line| log + &line + "\n")
        });
        Self { child, log: Some(log) }
    }

    pub fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Asks it to stop: its exit code and its log.
    pub fn stop(self) -> (Option<i32>, String) {
        self.signal(Signal::TERM);
        self.ended()
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    /// Waits for its end: its exit code and its log.
    pub fn ended(mut self) -> (Option<i32>, String) {
        let code = self.child.wait().unwrap().code();
        (code, self.log.take().unwrap().join().unwrap())
    }

    /// As `kill -9` would.
    pub fn kill(self) {
        drop(self);
    }
}

pub async fn is_ready(home: &Home) -> Option<bool> {
    let response = reqwest::get(home.url("/readyz")).await.ok()?;
    Some(response.status() == 200)
}

pub async fn call(home: &Home, token: &str, tool: &str, input: Value) -> (u16, Value) {
    let url = home.url(&format!("/api/v1/tools/{tool}"));
    let request = reqwest::Client::new().post(url).bearer_auth(token).json(&input);
    match request.send().await {
        Ok(response) => (response.status().as_u16(), response.json().await.unwrap_or_default()),
        Err(_) => (0, Value::Null),
    }
}

const TOKEN: [&str; 6] = ["token", "create", "--email", "anna@example.com", "--agent", "cli"];

#[tokio::test]
async fn commands_work_with_and_beside_a_running_server_and_sigterm_stops_it_and_postgres() {
    let home = Home::new();
    // Without a server a command starts the database for as long as it runs.
    home.create_user("anna@example.com");
    let token = home.say(&TOKEN);
    assert!(token.starts_with("ks_") && token.lines().count() == 1, "the token alone");
    let server = Server::start(&home).await;
    let postmaster = home.postmaster();
    let second = home.say(&TOKEN);
    assert_ne!(token, second);
    assert_eq!(home.postmaster(), postmaster, "no second PostgreSQL");
    assert_eq!(reqwest::get(home.url("/livez")).await.unwrap().text().await.unwrap(), "ok\n");
    for token in [&token, &second] {
        assert_eq!(call(&home, token, "memory_list_themes", json!({})).await.0, 200);
    }
    assert!(home.say(&["user", "list"]).contains("anna@example.com\tmember\tactive"));
    let service = home.say(&["token", "create", "--service", "support-bot"]);
    let served = reqwest::Client::new().post(home.url("/api/v1/tools/memory_list_themes"));
    let served = served.bearer_auth(service).header("keepsake-user", "customer-42").send();
    assert_eq!(served.await.unwrap().status(), 200);
    assert!(home.say(&["user", "list"]).contains("support-bot: customer-42\tmember\tactive"));
    for (act, state) in [("disable", "disabled"), ("enable", "active")] {
        let said = home.say(&["user", act, "--email", "Anna@example.com"]);
        assert_eq!(said, format!("anna@example.com\t{act}d"));
        let listed = format!("anna@example.com\tmember\t{state}");
        assert!(home.say(&["user", "list"]).contains(&listed));
    }
    let jobs = home.say(&["jobs", "list"]);
    assert!(jobs.contains("embed\twhen there is work\t0\t"), "{jobs}");
    assert_eq!(jobs.lines().count(), keepsake::jobs::JOBS.len());
    let ran = home.say(&["jobs", "run", "embed", "--email", "anna@example.com"]);
    assert_eq!(ran, "embed\t0 done\t0 failed");
    home.say(&["jobs", "run", "cleanup"]);
    home.say(&["jobs", "runs"]);
    let new_password = "another password of hers";
    let said = home.give_password("set-password", "Anna@example.com", new_password);
    assert_eq!(said, "anna@example.com\tpassword set\n");
    for (password, status) in [(PASSWORD, 422), (new_password, 303)] {
        let fields = [("email", "anna@example.com"), ("password", password)];
        let answer = Browser::at(home.url("")).post("/login", &fields).await;
        assert_eq!(answer.status(), status);
    }
    // A second server is refused, and told whose it is.
    let said = refused(&mut home.command(&["serve"]));
    assert!(said.contains(&server.child.id().to_string()), "{said}");
    assert_eq!(server.stop().0, Some(0));
    assert!(rustix::process::test_kill_process(postmaster).is_err(), "PostgreSQL is gone");
}

#[tokio::test]
async fn the_command_that_started_postgresql_stops_it_after_the_last_that_uses_it() {
    let home = Home::new();
    let other = CommandLock::share(home.folder.path()).await.unwrap();
    let mut first = home.command(&["user", "list"]);
    // Settings of another PostgreSQL do not reach the built-in one.
    first.env("PGOPTIONS", "-c default_transaction_read_only=on -c search_path=nowhere");
    let mut first = first.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(first.stderr.take().unwrap()).lines();
    let waits = |line: std::io::Result<String>| line.unwrap().contains("runs on until");
    assert!(said.any(waits), "it stopped it");
    let running = || of_running_server(home.folder.path()).unwrap().is_some();
    assert!(running());
    drop(other);
    assert!(first.wait().unwrap().success());
    assert!(!running());
}

#[tokio::test]
async fn commands_say_what_is_wrong_in_one_sentence() {
    let home = Home::new();
    for (args, said) in [
        ("user create --email nonsense --password-stdin", "is not an address"),
        ("user create --email a@b.c", "--password-stdin"),
        ("jobs run sleepwalk", "there are: embed, passages, entities"),
        ("jobs run cleanup --email a@b.c", "leave --email out"),
        ("token create --email a@b.c --agent x --scope all", "memory:read"),
        ("token create --email a@b.c --agent x --expires-days 0", "out of range"),
        ("token create --email nobody@example.com --agent x", "there is no account"),
    ] {
        let args: Vec<&str> = args.split(' ').collect();
        let error = refused(&mut home.command(&args));
        assert!(error.lines().last().is_some_and(|last| last.contains(said)), "{args:?}: {error}");
    }
    let mut wrong = home.command(&["serve"]);
    let error = refused(wrong.env("KEEPSAKE_PUBLIC_URL", "http://example.com"));
    assert!(error.contains("KEEPSAKE_PUBLIC_URL"), "{error}");
}

#[tokio::test]
async fn after_kill_9_of_postgres_of_the_server_and_of_both_nothing_acknowledged_is_lost() {
    let home = Home::new();
    home.create_user("anna@example.com");
    let token = home.say(&TOKEN);
    let server = Server::start(&home).await;
    let input = json!({ "type": "fact", "content": "acknowledged" });
    let (status, added) = call(&home, &token, "memory_add", input).await;
    assert_eq!(status, 200);
    kill_process(home.postmaster(), Signal::KILL).unwrap();
    let killed = Instant::now();
    let mut was_unready = false;
    let get = async || call(&home, &token, "memory_get", json!({ "item_id": added["id"] })).await;
    while killed.elapsed() < PATIENCE {
        let (status, answer) = get().await;
        assert!(status == 200 || status == 503, "{status} {answer}");
        assert_eq!(reqwest::get(home.url("/livez")).await.unwrap().status(), 200);
        match is_ready(&home).await {
            Some(false) => was_unready = true,
            _ if was_unready || killed.elapsed() > Duration::from_secs(2) => break,
            _ => {}
        }
    }
    // A connection that died just now is met by one more call, which is told to try again.
    let item = loop {
        match get().await {
            (200, item) => break item,
            (status, _) => assert_eq!(status, 503),
        }
        assert!(killed.elapsed() < PATIENCE, "not back");
        tokio::time::sleep(Duration::from_millis(100)).await;
    };
    assert_eq!(item["content"].as_str(), Some("acknowledged"));
    assert_eq!(server.stop().0, Some(0));

    let mut acknowledged = Vec::new();
    for both in [false, true] {
        let server = Server::start(&home).await;
        for n in 0..20 {
            let input = json!({ "type": "fact", "content": format!("{both} {n}") });
            let (status, added) = call(&home, &token, "memory_add", input).await;
            assert_eq!(status, 200);
            acknowledged.push(added["id"].clone());
        }
        let postmaster = home.postmaster();
        server.kill();
        if both {
            kill_process(postmaster, Signal::KILL).unwrap();
        }
    }
    let server = Server::start(&home).await;
    for id in acknowledged {
        assert_eq!(call(&home, &token, "memory_get", json!({ "item_id": id })).await.0, 200);
    }
    assert_eq!(server.stop().0, Some(0));
}

#[tokio::test]
async fn no_content_query_token_or_password_is_logged() {
    let home = Home::new();
    home.create_user("anna@example.com");
    let token = home.say(&TOKEN);
    let mut command = home.command(&["serve"]);
    command.env("KEEPSAKE_LOG", "debug,rmcp=trace,rmcp::transport=trace,keepsake=trace,sqlx=debug");
    let server = Server::start_command(&home, &mut command).await;
    let canary = "canary-4711";
    let add = json!({ "type": "fact", "content": canary, "theme": canary, "tags": [canary] });
    assert_eq!(call(&home, &token, "memory_add", add).await.0, 200);
    assert_eq!(call(&home, &token, "memory_search", json!({ "query": canary })).await.0, 200);
    call(&home, &token, "memory_search", json!({ "query": canary, "status": canary })).await;
    for address in ["/mcp".to_owned(), format!("/mcp?token={token}")] {
        let call = json!({ "jsonrpc": "2.0", "id": canary, "method": "tools/call",
            "params": { "name": "memory_search", "arguments": { "query": canary } } });
        let request = reqwest::Client::new()
            .post(home.url(&address))
            .bearer_auth(&token)
            .header("accept", "application/json, text/event-stream")
            .json(&call);
        let answer = request.send().await.unwrap();
        assert_eq!(answer.status().is_success(), address == "/mcp");
    }
    let browser = Browser::at(home.url(""));
    let fields = [("email", "anna@example.com"), ("password", PASSWORD)];
    assert_eq!(browser.post("/login", &fields).await.status(), 303);
    browser.look(&format!("/memory?q={canary}")).await;
    let (_, log) = server.stop();
    assert!(log.contains("answered"), "the log is on: {log}");
    let postgres_log = find(home.folder.path(), "postgres.log").unwrap();
    let postgres_log = std::fs::read_to_string(postgres_log).unwrap();
    for secret in [canary, &token[3..], PASSWORD, "anna@example.com"] {
        assert!(!log.contains(secret), "{secret} in the log: {log}");
        assert!(!postgres_log.contains(secret), "{secret} in PostgreSQL's log");
    }
}

#[tokio::test]
async fn a_database_of_ones_own_is_used_and_a_wrong_old_or_newer_one_refused_with_what_to_do() {
    let home = Home::new();
    let options = empty_database().await;
    let own = database_url(&options);
    let mut command = home.command(&["serve"]);
    let server = Server::start_command(&home, command.env("KEEPSAKE_DATABASE_URL", &own)).await;
    assert!(find(home.folder.path(), "postmaster.pid").is_none(), "none of our own runs");
    assert_eq!(server.stop().0, Some(0));
    let mut conn = PgConnection::connect_with(&options).await.unwrap();
    let old = "UPDATE pg_extension SET extversion = '0.8.1' WHERE extname = 'vector'";
    let newer = "UPDATE pg_extension SET extversion = '0.8.6' WHERE extname = 'vector';
                 INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
                 VALUES (99990101000000, 'from the future', true, '', 0)";
    for (change, told) in [(old, "ALTER EXTENSION vector UPDATE"), (newer, "newer Keepsake")] {
        conn.sql(change).run_all().await;
        let said = keepsake::db::prepare(&options).await.unwrap_err().to_string();
        assert!(said.contains(told), "{said}");
    }
    let mut conn = PgConnection::connect_with(&server_options()).await.unwrap();
    let ascii = "CREATE DATABASE ascii ENCODING 'SQL_ASCII' LOCALE_PROVIDER libc LOCALE 'C' TEMPLATE template0";
    conn.sql(ascii).run().await;
    let ascii = database_url(&options.database("ascii"));
    let said = refused(home.command(&["migrate"]).env("KEEPSAKE_DATABASE_URL", ascii));
    assert!(said.contains("UTF8"), "{said}");
}
