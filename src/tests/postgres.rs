//! The embedded PostgreSQL through its public interface: real processes, really killed. The tree
//! is the one that `KEEPSAKE_TEST_RUNTIME` names, or `data/runtime` of the checkout.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::support::Sql as _;
use crate::support::{PATIENCE, until};
use keepsake::postgres::{EmbeddedPostgres, PostgresError, of_running_server};
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection, PgConnection};

/// A data folder of its own, with the fetched tree in it, reachable by every user.
struct DataDir(tempfile::TempDir);

impl DataDir {
    fn new() -> Self {
        Self::named("data")
    }

    fn named(name: &str) -> Self {
        let outer = tempfile::tempdir().unwrap();
        fs::set_permissions(outer.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let this = Self(outer);
        let link = this.0.path().join("link");
        fs::create_dir_all(this.0.path().join(name)).unwrap();
        symlink(this.0.path().join(name), link).unwrap();
        symlink(runtime(), this.path().join("runtime")).unwrap();
        this
    }

    /// Through a symbolic link, as people have them.
    fn path(&self) -> PathBuf {
        self.0.path().join("link")
    }

    fn cluster(&self) -> PathBuf {
        self.path().join("postgres/cluster")
    }

    fn postmaster(&self) -> Option<Pid> {
        let text = fs::read_to_string(self.cluster().join("postmaster.pid")).ok()?;
        Pid::from_raw(text.lines().next()?.parse().ok()?)
    }

    /// Where the database of a running server is, as commands ask.
    fn running(&self) -> Option<PgConnectOptions> {
        of_running_server(&self.path()).unwrap()
    }

    async fn start(&self) -> EmbeddedPostgres {
        EmbeddedPostgres::start(&self.path()).await.unwrap()
    }

    async fn start_and_stop(&self) {
        self.start().await.stop().await.unwrap();
    }

    async fn refusal(&self) -> PostgresError {
        EmbeddedPostgres::start(&self.path()).await.unwrap_err()
    }

    /// Kills the postmaster, and waits until its successor accepts connections.
    async fn kill_postmaster(&self, options: &PgConnectOptions, what: &str) {
        kill_process(self.postmaster().unwrap(), Signal::KILL).unwrap();
        tokio::time::sleep(Duration::from_millis(100)).await;
        let down = until_accepting(options).await;
        println!("postmaster killed {what}: accepting after {} ms", down.as_millis() + 100);
    }
}

fn runtime() -> PathBuf {
    let named = std::env::var_os("KEEPSAKE_TEST_RUNTIME").map(PathBuf::from);
    named.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("data/runtime"))
}

/// A server in a runtime of its own, which can be ended as by `kill -9`: nothing is awaited,
/// nothing stopped, the kernel takes the lock back.
struct KillableServer {
    runtime: tokio::runtime::Runtime,
    options: PgConnectOptions,
    _postgres: EmbeddedPostgres,
}

impl KillableServer {
    fn start(data: &DataDir) -> Self {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let postgres = runtime.block_on(data.start());
        Self { options: postgres.connect_options(), _postgres: postgres, runtime }
    }

    /// With one row in the table.
    fn with_row(data: &DataDir) -> Self {
        let server = Self::start(data);
        server.runtime.block_on(make_table(&server.options));
        server.runtime.block_on(insert(&server.options)).unwrap();
        server
    }

    fn count(&self) -> i64 {
        self.runtime.block_on(count(&self.options))
    }

    fn kill(self) {
        self.runtime.shutdown_timeout(Duration::from_secs(5));
    }
}

async fn connect(options: &PgConnectOptions) -> PgConnection {
    PgConnection::connect_with(options).await.unwrap()
}

async fn make_table(options: &PgConnectOptions) {
    let statement =
        "CREATE TABLE IF NOT EXISTS acknowledged (id bigint GENERATED ALWAYS AS IDENTITY)";
    connect(options).await.sql(statement).run().await;
}

async fn insert(options: &PgConnectOptions) -> Result<u64, sqlx::Error> {
    let mut connection = PgConnection::connect_with(options).await?;
    connection.sql("INSERT INTO acknowledged DEFAULT VALUES").try_run().await
}

async fn count(options: &PgConnectOptions) -> i64 {
    connect(options).await.count("acknowledged").await
}

/// How long it took until a new connection succeeded.
async fn until_accepting(options: &PgConnectOptions) -> Duration {
    let begun = Instant::now();
    while PgConnection::connect_with(options).await.is_err() {
        assert!(begun.elapsed() < PATIENCE, "still down");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    begun.elapsed()
}

fn is_alive(pid: Pid) -> bool {
    let line = fs::read(format!("/proc/{}/cmdline", pid.as_raw_pid()));
    test_kill_process(pid).is_ok() && line.is_ok_and(|line| !line.is_empty())
}

#[tokio::test]
async fn a_first_start_makes_a_utf8_database_with_checksums_and_fsync_and_a_later_one_a_new_log() {
    let data = DataDir::new();
    let postgres = data.start().await;
    let mut connection = connect(&postgres.connect_options()).await;
    let (settings, lower): (Vec<String>, String) = connection.sql("SELECT ARRAY[current_database()::text, current_user::text, current_setting('server_encoding'),
                current_setting('data_checksums'), current_setting('fsync'),
                current_setting('listen_addresses'), current_setting('TimeZone')], lower('ÉCOLE')").row().await;
    assert_eq!(settings, ["keepsake", "postgres", "UTF8", "on", "on", "", "UTC"]);
    assert_eq!(lower, "école");
    for (path, mode) in [("postgres.password", 0o600), ("postgres/socket", 0o700)] {
        let permissions = fs::metadata(data.path().join(path)).unwrap().permissions();
        assert_eq!(permissions.mode() & 0o777, mode, "{path}");
    }
    let pid = data.postmaster().unwrap();
    postgres.stop().await.unwrap();
    assert!(!is_alive(pid));
    assert!(data.postmaster().is_none());
    // A long log is put aside.
    let log = data.path().join("postgres/postgres.log");
    fs::write(&log, "x".repeat(11 * 1024 * 1024)).unwrap();
    data.start_and_stop().await;
    assert!(fs::metadata(&log).unwrap().len() < 10_000);
    assert!(log.with_extension("log.1").exists());
}

#[tokio::test]
async fn of_many_servers_at_once_one_wins_and_others_and_commands_are_told_of_it_while_it_runs() {
    let data = DataDir::new();
    assert!(data.running().is_none());
    assert!(of_running_server(&data.path().join("absent")).unwrap().is_none());
    let starts = (0..4).map(|_| {
        let path = data.path();
        tokio::spawn(async move { EmbeddedPostgres::start(&path).await })
    });
    let mut won = Vec::new();
    for start in futures_util::future::join_all(starts).await {
        match start.unwrap() {
            Ok(postgres) => won.push(postgres),
            Err(error) => assert!(matches!(error, PostgresError::Owned { .. }), "{error}"),
        }
    }
    assert_eq!(won.len(), 1);
    let error = data.refusal().await;
    assert!(matches!(error, PostgresError::Owned { pid, .. } if pid == Some(std::process::id())));
    assert!(error.to_string().contains("already runs on the data folder"), "{error}");
    connect(&data.running().unwrap()).await;
    won.pop().unwrap().stop().await.unwrap();
    assert!(data.running().is_none());
    data.start_and_stop().await;
}

#[test]
fn a_killed_servers_postgresql_is_adopted_supervised_and_stopped() {
    let data = DataDir::new();
    let killed = KillableServer::with_row(&data);
    let first = data.postmaster().unwrap();
    killed.kill();
    assert!(is_alive(first), "the orphan runs on");
    // A process that another test is just starting may hold the lock for a moment.
    let began = Instant::now();
    while data.running().is_some() {
        assert!(began.elapsed() < PATIENCE, "it is taken for running");
        std::thread::sleep(Duration::from_millis(20));
    }

    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let postgres = data.start().await;
        let options = postgres.connect_options();
        assert_eq!(data.postmaster(), Some(first), "adopted, not started anew");
        assert_eq!(count(&options).await, 1);
        data.kill_postmaster(&options, "though adopted").await;
        assert_ne!(data.postmaster(), Some(first));
        assert_eq!(count(&options).await, 1);
        let second = data.postmaster().unwrap();
        postgres.stop().await.unwrap();
        assert!(!is_alive(second));
    });
    // One that was adopted and is still the same is stopped, too.
    KillableServer::start(&data).kill();
    let orphan = data.postmaster().unwrap();
    runtime.block_on(data.start_and_stop());
    assert!(!is_alive(orphan));
}

#[tokio::test]
#[ignore = "a series under load: `make check` runs it alone"]
async fn a_killed_postmaster_is_back_within_ten_seconds_however_often_and_nothing_is_lost() {
    let data = DataDir::new();
    let postgres = data.start().await;
    let options = postgres.connect_options();
    make_table(&options).await;
    let writer = tokio::spawn({
        let options = options.clone();
        async move {
            let (mut acknowledged, begun) = (0, Instant::now());
            while begun.elapsed() < Duration::from_secs(8) {
                match insert(&options).await {
                    Ok(_) => acknowledged += 1,
                    Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
                }
            }
            acknowledged
        }
    });
    for _ in 0..4 {
        tokio::time::sleep(Duration::from_millis(700)).await;
        data.kill_postmaster(&options, "under writes").await;
    }
    let acknowledged: i64 = writer.await.unwrap();
    let kept = count(&options).await;
    println!("{acknowledged} acknowledged, {kept} kept");
    assert!(kept >= acknowledged && acknowledged > 0);
    postgres.stop().await.unwrap();
}

#[tokio::test]
async fn a_long_statement_that_outlives_its_postmaster_does_not_block_the_restart() {
    let data = DataDir::new();
    let postgres = data.start().await;
    let options = postgres.connect_options();
    let (mut watch, mut connection) = (connect(&options).await, connect(&options).await);
    let busy = tokio::spawn(async move {
        let long = "SELECT count(*) FROM generate_series(1, 3000000000) n";
        let _ = sqlx::query(long).execute(&mut connection).await;
    });
    let running = "pg_stat_activity WHERE query LIKE '%3000000000%' AND pid <> pg_backend_pid()";
    while watch.count(running).await == 0 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    data.kill_postmaster(&options, "with a busy backend").await;
    busy.await.unwrap();
    postgres.stop().await.unwrap();
}

#[test]
fn after_both_are_killed_the_next_start_recovers_even_where_the_process_id_is_anothers() {
    let data = DataDir::new();
    let killed = KillableServer::with_row(&data);
    let path = data.cluster().join("postmaster.pid");
    let kill_both = |server: KillableServer| {
        let postmaster = data.postmaster().unwrap();
        server.kill();
        kill_process(postmaster, Signal::KILL).unwrap();
        assert!(path.exists(), "a stale postmaster.pid is left");
    };
    kill_both(killed);
    let again = KillableServer::start(&data);
    assert_eq!(again.count(), 1);
    kill_both(again);

    // The cluster's own user runs something else under the old process id, which both of
    // PostgreSQL's lock files name.
    let mut stranger = run_as_owner_of(&data.cluster(), "/bin/sleep", "60");
    for lock in ["cluster/postmaster.pid", "socket/.s.PGSQL.5432.lock"] {
        let lock = data.path().join("postgres").join(lock);
        let text = fs::read_to_string(&lock).unwrap();
        let rest = text.split_once('\n').unwrap().1;
        fs::write(&lock, format!("{}\n{rest}", stranger.id())).unwrap();
    }
    let server = KillableServer::start(&data);
    assert_eq!(server.count(), 1);
    assert!(stranger.try_wait().unwrap().is_none(), "the stranger is left alone");
    server.runtime.block_on(async { server._postgres.stop().await.unwrap() });
    assert!(stranger.try_wait().unwrap().is_none(), "the stranger is left alone");
    stranger.kill().unwrap();
    stranger.wait().unwrap();
}

fn run_as_owner_of(path: &Path, program: &str, argument: &str) -> std::process::Child {
    use std::os::unix::fs::MetadataExt;
    use std::os::unix::process::CommandExt;
    let owner = fs::metadata(path).unwrap();
    let mut command = std::process::Command::new(program);
    command.arg(argument);
    if rustix::process::geteuid().is_root() {
        command.uid(owner.uid()).gid(owner.gid());
    }
    command.spawn().unwrap()
}

#[test]
fn an_interrupted_initialisation_does_not_poison_the_folder() {
    let data = DataDir::new();
    for wait_ms in [5, 60, 150, 250, 350] {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let path = data.path();
        let start = runtime.spawn(async move { EmbeddedPostgres::start(&path).await.map(|_| ()) });
        std::thread::sleep(Duration::from_millis(wait_ms));
        assert!(!start.is_finished(), "initdb was done before it could be interrupted");
        runtime.shutdown_timeout(Duration::from_secs(5));
    }
    assert!(!data.cluster().exists());
    tokio::runtime::Runtime::new().unwrap().block_on(data.start_and_stop());
    let home: Vec<_> = fs::read_dir(data.path().join("postgres")).unwrap().collect();
    assert_eq!(home.len(), 3, "cluster, socket and log: {home:?}");
}

#[tokio::test]
async fn a_start_that_is_given_up_leaves_nothing_running() {
    let data = DataDir::new();
    data.start_and_stop().await;
    for wait_ms in [1, 20, 40, 60, 80, 100] {
        let path = data.path();
        let given_up = EmbeddedPostgres::start(&path);
        let _ = tokio::time::timeout(Duration::from_millis(wait_ms), given_up).await;
        let is_gone = async || data.postmaster().is_none() && data.running().is_none();
        until("nothing runs", is_gone).await;
    }
    data.start_and_stop().await;
}

#[tokio::test]
async fn a_path_too_long_for_a_socket_is_served_on_a_loopback_port_that_stays() {
    let data = DataDir::named(&"long".repeat(30));
    let found = async |postgres: &EmbeddedPostgres| {
        let found = data.running().unwrap();
        assert_eq!(found.get_port(), postgres.connect_options().get_port());
        connect(&found).await;
    };
    let postgres = data.start().await;
    let port = postgres.connect_options().get_port();
    assert_eq!(postgres.connect_options().get_host(), "127.0.0.1");
    found(&postgres).await;
    data.kill_postmaster(&postgres.connect_options(), "on a loopback port").await;
    postgres.stop().await.unwrap();

    let again = data.start().await;
    assert_eq!(again.connect_options().get_port(), port);
    again.stop().await.unwrap();

    let _taken = std::net::TcpListener::bind(("127.0.0.1", port)).unwrap();
    let moved = data.start().await;
    assert_ne!(moved.connect_options().get_port(), port);
    found(&moved).await;
    moved.stop().await.unwrap();
}

#[tokio::test]
async fn blanks_commas_quotes_and_accents_in_the_path_are_no_obstacle() {
    let data = DataDir::named("it's, \"mine\" é%20?#");
    let postgres = data.start().await;
    connect(&postgres.connect_options()).await;
    connect(&data.running().unwrap()).await;
    postgres.stop().await.unwrap();
}

#[tokio::test]
async fn what_is_missing_or_foreign_is_refused_in_a_sentence_that_helps() {
    let data = DataDir::new();
    fs::remove_file(data.path().join("runtime")).unwrap();
    let error = data.refusal().await.to_string();
    let real = data.path().canonicalize().unwrap().join("runtime");
    let wanted = format!("python3 tools/fetch_postgres.py --into {}", real.display());
    assert!(error.contains(&wanted), "{error}");

    symlink(runtime(), data.path().join("runtime")).unwrap();
    data.start_and_stop().await;
    let password = data.path().join("postgres.password");
    fs::rename(&password, password.with_extension("kept")).unwrap();
    let error = data.refusal().await;
    assert!(matches!(error, PostgresError::PasswordMissing { .. }), "{error}");
    fs::write(&password, "wrong").unwrap();
    let error = data.refusal().await;
    assert!(matches!(error, PostgresError::PasswordRefused { .. }), "{error}");
    assert!(data.postmaster().is_none(), "nothing is left running");
    fs::rename(password.with_extension("kept"), &password).unwrap();

    let version = data.cluster().join("PG_VERSION");
    fs::write(&version, "17\n").unwrap();
    let error = data.refusal().await.to_string();
    assert!(error.contains("was made by PostgreSQL 17 and the fetched one is 18"), "{error}");
    fs::write(&version, "18\n").unwrap();
    data.start_and_stop().await;
}

#[tokio::test]
async fn what_people_store_never_reaches_the_log_of_postgresql() {
    let data = DataDir::new();
    let postgres = data.start().await;
    let options = postgres.connect_options();
    let mut connection = connect(&options).await;
    for statement in [
        "SELECT 'marzipan'::bigint",
        "SELECT to_tsquery('marzipan & & (')",
        "CREATE TABLE names (name text UNIQUE CHECK (name <> 'x marzipan'))",
        "INSERT INTO names VALUES ('marzipan')",
        "INSERT INTO names VALUES ('marzipan')",
        "INSERT INTO names VALUES ('x marzipan')",
        "DO $$ BEGIN RAISE WARNING 'marzipan'; END $$",
        "SELECT 'marzipan', pg_terminate_backend(pg_backend_pid())",
    ] {
        let _ = sqlx::query(statement).execute(&mut connection).await;
    }
    // A backend that crashes has its statement named, unless told otherwise.
    let mut connection = connect(&options).await;
    let pid: i32 = connection.sql("SELECT pg_backend_pid()").value().await;
    let busy = tokio::spawn(async move {
        let _ = sqlx::query("SELECT 'marzipan', pg_sleep(30)").execute(&mut connection).await;
    });
    tokio::time::sleep(Duration::from_millis(300)).await;
    kill_process(Pid::from_raw(pid).unwrap(), Signal::SEGV).unwrap();
    busy.await.unwrap();
    until_accepting(&options).await;
    postgres.stop().await.unwrap();
    let log = fs::read_to_string(data.path().join("postgres/postgres.log")).unwrap();
    assert!(log.contains("terminated by signal 11"), "{log}");
    assert!(!log.contains("marzipan"), "{log}");
}

#[tokio::test]
async fn as_root_a_folder_that_the_unprivileged_user_cannot_reach_is_served_from_elsewhere() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let data = DataDir::new();
    let closed = data.path().canonicalize().unwrap();
    fs::set_permissions(closed.parent().unwrap(), fs::Permissions::from_mode(0o700)).unwrap();
    let postgres = data.start().await;
    make_table(&postgres.connect_options()).await;
    insert(&data.running().unwrap()).await.unwrap();
    postgres.stop().await.unwrap();
    let home = fs::read_to_string(closed.join("postgres.location")).unwrap();
    let home = PathBuf::from(home.trim());
    assert!(home.starts_with("/var/lib/keepsake") && home.join("cluster").exists());
    assert!(!closed.join("postgres").exists());

    // The choice stays, though the folder can be reached now.
    fs::set_permissions(closed.parent().unwrap(), fs::Permissions::from_mode(0o755)).unwrap();
    let postgres = data.start().await;
    assert_eq!(count(&postgres.connect_options()).await, 1);

    // A copy of the data folder names the same cluster, and does not get it.
    let copy = DataDir::new();
    for file in ["postgres.location", "postgres.password"] {
        fs::copy(closed.join(file), copy.path().join(file)).unwrap();
    }
    let error = copy.refusal().await;
    assert!(matches!(error, PostgresError::Owned { .. }), "{error}");
    postgres.stop().await.unwrap();

    fs::remove_dir_all(&home).unwrap();
    fs::remove_file(home.with_extension("lock")).unwrap();
    let error = data.refusal().await;
    assert!(matches!(error, PostgresError::ClusterMissing { .. }), "{error}");
}
