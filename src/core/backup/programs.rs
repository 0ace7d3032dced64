//! Runs pg_dump and pg_restore: those of the data folder's PostgreSQL or those in PATH, whichever fit the server. The
//! password goes through their environment, never through arguments, which other users could read.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::process::Stdio;

use sha2::{Digest, Sha256};
use sqlx::ConnectOptions;
use sqlx::postgres::PgConnectOptions;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncSeekExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStderr, Command};
use url::Url;

use super::file::{BackupFile, BackupWriter};
use super::model::{BackupError, failed_to};
use crate::postgres;

const CHUNK: usize = 256 << 10;
/// A migration of a newer server may hold a table's lock.
const LOCK_WAIT: &str = "--lock-wait-timeout=60s";
/// Fast; vectors hardly get smaller with more.
const COMPRESSION: &str = "--compress=3";
const SAID_MAX_CHARS: usize = 300;
const PG_DUMP: &str = "pg_dump";
const PG_RESTORE: &str = "pg_restore";
/// pg_restore sets `transaction_timeout` since this version, and an older server refuses that.
const RESTORES_NOTHING_OLDER: u32 = 17;
/// Settings for other PostgreSQLs.
const FOREIGN: [&str; 7] = [
    "PGHOSTADDR",
    "PGOPTIONS",
    "PGPASSFILE",
    "PGSERVICE",
    "PGSERVICEFILE",
    "PGSSLNEGOTIATION",
    "PGTARGETSESSIONATTRS",
];

/// A database as the programs connect to it.
pub(super) struct DumpTarget<'a> {
    pub(super) options: &'a PgConnectOptions,
    /// Whether the role of the URL is a superuser; another one acts as `keepsake_owner`.
    pub(super) is_superuser: bool,
}

/// An archive of pg_dump.
#[derive(Clone, Copy)]
pub(super) enum Archive<'a> {
    Backup(&'a BackupFile),
    Ours(&'a [u8]),
}

impl<'a> Archive<'a> {
    async fn open(self) -> Result<Pin<Box<dyn AsyncRead + Send + 'a>>, BackupError> {
        let file = match self {
            Self::Ours(bytes) => return Ok(Box::pin(bytes)),
            Self::Backup(file) => file,
        };
        let opened = async {
            let mut dump = tokio::fs::File::open(&file.path).await?;
            dump.seek(std::io::SeekFrom::Start(file.dump_at)).await?;
            Ok(dump.take(file.dump_bytes))
        };
        Ok(Box::pin(opened.await.map_err(failed_to("read", &file.path))?))
    }

    fn path(&self) -> &Path {
        match self {
            Self::Ours(_) => Path::new("schema"),
            Self::Backup(file) => &file.path,
        }
    }
}

/// A folder of PostgreSQL's programs, or PATH.
pub(super) struct ClientPrograms {
    bin: Option<PathBuf>,
    pub(super) major: u32,
}

impl ClientPrograms {
    /// Those that dump a server of this major version and restore into it; to read a dump, of the pg_dump that wrote it
    /// or newer.
    pub(super) async fn find(
        data_dir: &Path,
        server: u32,
        dumped_by: Option<u32>,
    ) -> Result<Self, BackupError> {
        let mut there = Vec::new();
        for bin in [postgres::client_programs(data_dir), None] {
            if let Some(major) = version_of(bin.as_deref()).await {
                there.push(Self { bin, major });
            }
        }
        Self::choose(there, server, dumped_by)
    }

    /// The oldest that fit: best the server's own version.
    fn choose(there: Vec<Self>, server: u32, dumped_by: Option<u32>) -> Result<Self, BackupError> {
        let least = dumped_by.map_or(server, |dumped_by| dumped_by.max(server));
        let is_old = server < RESTORES_NOTHING_OLDER;
        if is_old && least >= RESTORES_NOTHING_OLDER {
            return Err(BackupError::ServerTooOld { dumped_by: least, server });
        }
        let found = there.last().map(|last| last.major);
        let fits =
            |one: &Self| one.major >= least && (!is_old || one.major < RESTORES_NOTHING_OLDER);
        let chosen = there.into_iter().filter(fits).min_by_key(|one| one.major);
        chosen.ok_or_else(|| {
            let needed = match is_old {
                true => (least..RESTORES_NOTHING_OLDER)
                    .map(|n| n.to_string())
                    .collect::<Vec<_>>()
                    .join(" or "),
                false => format!("{least} or newer"),
            };
            match found {
                Some(found) => BackupError::WrongProgram { program: PG_DUMP, found, needed },
                None => BackupError::NoProgram { program: PG_DUMP, needed },
            }
        })
    }

    /// Dumps the snapshot into `writer`. `tell` gets each table (`schema.table`) as its rows begin, and is
    /// asked often whether to go on.
    pub(super) async fn dump(
        &self,
        target: &DumpTarget<'_>,
        snapshot: &str,
        writer: &mut BackupWriter,
        mut tell: impl FnMut(Option<String>) -> bool,
    ) -> Result<(), BackupError> {
        let mut command = self.command(PG_DUMP, target);
        command.args(["--format=custom", COMPRESSION, LOCK_WAIT, "--verbose"]);
        command.arg(format!("--snapshot={snapshot}"));
        if !target.is_superuser {
            // Row security is forced for the owner too; its policy shows it all rows.
            command.args(["--role=keepsake_owner", "--enable-row-security"]);
        }
        let mut child = spawn(command.stdin(Stdio::null()).stdout(Stdio::piped()), PG_DUMP)?;
        let (Some(mut out), Some(err)) = (child.stdout.take(), child.stderr.take()) else {
            return Err(BackupError::Interrupted);
        };
        let mut lines = BufReader::new(err).lines();
        let (mut chunk, mut said) = (vec![0; CHUNK], String::new());
        let (mut dumps, mut speaks) = (true, true);
        while dumps || speaks {
            let mut table = None;
            tokio::select! {
                read = out.read(&mut chunk), if dumps => match read.unwrap_or(0) {
                    0 => dumps = false,
                    n => writer.dump(&chunk[..n]).await?,
                },
                line = lines.next_line(), if speaks => match line.ok().flatten() {
                    None => speaks = false,
                    Some(line) => {
                        table = dumped_table(&line);
                        note_error(&mut said, &line);
                    }
                },
            }
            if !tell(table) {
                return Err(BackupError::Interrupted);
            }
        }
        ended(child, PG_DUMP, said).await
    }

    /// The tables, functions and so on of the target, without rows but for those that say which migrations made it.
    pub(super) async fn dump_schema(
        &self,
        target: &DumpTarget<'_>,
    ) -> Result<Vec<u8>, BackupError> {
        let mut command = self.command(PG_DUMP, target);
        command.args(["--format=custom", LOCK_WAIT, "--exclude-table-data=public.[a-z]*"]);
        if !target.is_superuser {
            command.args(["--role=keepsake_owner", "--enable-row-security"]);
        }
        let child = spawn(command.stdin(Stdio::null()).stdout(Stdio::piped()), PG_DUMP)?;
        let output = child.wait_with_output().await;
        let output = output.map_err(|error| BackupError::ProgramFailed {
            program: PG_DUMP,
            said: error.to_string(),
        })?;
        match output.status.success() {
            true => Ok(output.stdout),
            false => {
                let mut said = String::new();
                let lines = String::from_utf8_lossy(&output.stderr).into_owned();
                lines.lines().for_each(|line| note_error(&mut said, line));
                Err(BackupError::ProgramFailed { program: PG_DUMP, said: without_content(said) })
            }
        }
    }

    /// The table of contents of an archive, a line an entry.
    pub(super) async fn list(&self, archive: Archive<'_>) -> Result<String, BackupError> {
        let mut command = Command::new(path_of(self.bin.as_deref(), PG_RESTORE));
        command.env("LC_ALL", "C").arg("--list");
        let listed = self.restore_with(command, archive, |_| true).await?;
        Ok(String::from_utf8_lossy(&listed).into_owned())
    }

    /// Restores what `arguments` choose of an archive, all or nothing. `tell` gets the bytes read, and returns false to stop.
    pub(super) async fn restore(
        &self,
        target: &DumpTarget<'_>,
        arguments: &[OsString],
        archive: Archive<'_>,
        tell: impl FnMut(u64) -> bool,
    ) -> Result<(), BackupError> {
        let mut command = self.command(PG_RESTORE, target);
        let database = target.options.get_database().unwrap_or("postgres");
        command.args(["--exit-on-error", "--single-transaction", "--no-comments"]);
        command.args(["--dbname", database]).args(arguments);
        if !target.is_superuser {
            command.arg("--role=keepsake_owner");
        }
        self.restore_with(command, archive, tell).await.map(drop)
    }

    /// Returns what it prints.
    async fn restore_with(
        &self,
        mut command: Command,
        archive: Archive<'_>,
        mut tell: impl FnMut(u64) -> bool,
    ) -> Result<Vec<u8>, BackupError> {
        let mut child = spawn(command.stdin(Stdio::piped()).stdout(Stdio::piped()), PG_RESTORE)?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(mut into), Some(mut out), Some(err)) = pipes else {
            return Err(BackupError::Interrupted);
        };
        let listening = tokio::spawn(errors_of(err));
        let printing = tokio::spawn(async move {
            let mut printed = Vec::new();
            out.read_to_end(&mut printed).await.map(|_| printed)
        });
        let mut source = archive.open().await?;
        let (mut chunk, mut done, mut sum) = (vec![0; CHUNK], 0, Sha256::new());
        let is_read = loop {
            let n = source.read(&mut chunk).await.map_err(failed_to("read", archive.path()))?;
            sum.update(&chunk[..n]);
            // When it has ended early, it says why; it needs no more than the beginning to list it.
            if n == 0 || into.write_all(&chunk[..n]).await.is_err() {
                break n == 0;
            }
            done += n as u64;
            if !tell(done) {
                return Err(BackupError::Interrupted);
            }
        };
        // It may have been replaced since it was checked.
        if let Archive::Backup(file) = archive
            && is_read
        {
            file.is_dump(sum)?;
        }
        into.shutdown().await.ok();
        drop(into);
        // Indexes and constraints take longer than reading.
        let waiting = ended(child, PG_RESTORE, String::new());
        tokio::pin!(waiting);
        let loaded = loop {
            tokio::select! {
                loaded = &mut waiting => break loaded,
                () = tokio::time::sleep(std::time::Duration::from_millis(200)) => {
                    if !tell(done) {
                        return Err(BackupError::Interrupted);
                    }
                }
            }
        };
        let said = listening.await.unwrap_or_default();
        loaded.map_err(|_| BackupError::ProgramFailed {
            program: PG_RESTORE,
            said: without_content(said),
        })?;
        Ok(printing.await.ok().and_then(Result::ok).unwrap_or_default())
    }

    fn command(&self, program: &str, target: &DumpTarget<'_>) -> Command {
        let mut command = Command::new(path_of(self.bin.as_deref(), program));
        for name in FOREIGN {
            command.env_remove(name);
        }
        command.envs(connection(target.options));
        command.arg("--no-password");
        command
    }
}

/// As libpq's variables.
fn connection(options: &PgConnectOptions) -> Vec<(&'static str, String)> {
    let host = match options.get_socket() {
        Some(folder) => folder.display().to_string(),
        None => options.get_host().to_owned(),
    };
    let mut set = vec![
        ("LC_ALL", "C".to_owned()),
        ("PGAPPNAME", "keepsake backup".to_owned()),
        ("PGHOST", host),
        ("PGPORT", options.get_port().to_string()),
        ("PGUSER", options.get_username().to_owned()),
        ("PGDATABASE", options.get_database().unwrap_or("postgres").to_owned()),
    ];
    let url: Url = options.to_url_lossy();
    let decoded = |text: &str| {
        let pair = format!("p={}", text.replace('+', "%2B"));
        url::form_urlencoded::parse(pair.as_bytes()).next().map(|(_, value)| value.into_owned())
    };
    set.extend(url.password().and_then(decoded).map(|p| ("PGPASSWORD", p)));
    for (key, value) in url.query_pairs() {
        let name = match &*key {
            "sslmode" => "PGSSLMODE",
            "sslrootcert" => "PGSSLROOTCERT",
            "sslcert" => "PGSSLCERT",
            "sslkey" => "PGSSLKEY",
            _ => continue,
        };
        set.push((name, value.into_owned()));
    }
    set
}

fn path_of(bin: Option<&Path>, program: &str) -> PathBuf {
    bin.map_or_else(|| PathBuf::from(program), |bin| bin.join(program))
}

/// The major version of the pg_dump there: `pg_dump (PostgreSQL) 18.6`.
async fn version_of(bin: Option<&Path>) -> Option<u32> {
    let mut command = Command::new(path_of(bin, PG_DUMP));
    let output = command.arg("--version").output().await.ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let number = text.split(") ").nth(1)?;
    let digits: String = number.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

fn spawn(command: &mut Command, program: &'static str) -> Result<Child, BackupError> {
    let spawned = command.stderr(Stdio::piped()).kill_on_drop(true).spawn();
    spawned.map_err(|error| BackupError::ProgramFailed { program, said: error.to_string() })
}

async fn ended(mut child: Child, program: &'static str, said: String) -> Result<(), BackupError> {
    match child.wait().await {
        Ok(status) if status.success() => Ok(()),
        Ok(status) if said.is_empty() => {
            Err(BackupError::ProgramFailed { program, said: status.to_string() })
        }
        _ => Err(BackupError::ProgramFailed { program, said }),
    }
}

/// `pg_dump: dumping contents of table "public.users"`
fn dumped_table(line: &str) -> Option<String> {
    let (_, name) = line.split_once("dumping contents of table \"")?;
    Some(name.trim_end_matches('"').to_owned())
}

/// Keeps the first error.
fn note_error(said: &mut String, line: &str) {
    if said.is_empty()
        && let Some((_, error)) = line.split_once("error: ")
    {
        *said = error.chars().take(SAID_MAX_CHARS).collect();
    }
}

async fn errors_of(err: ChildStderr) -> String {
    let (mut lines, mut said) = (BufReader::new(err).lines(), String::new());
    while let Ok(Some(line)) = lines.next_line().await {
        note_error(&mut said, &line);
    }
    said
}

/// A row that cannot be loaded is quoted in PostgreSQL's message.
fn without_content(said: String) -> String {
    match said.split_once("ERROR:") {
        Some((before, _)) if before.contains("COPY failed") => {
            format!("{}the server refused a row", before)
        }
        _ if said.is_empty() => "it ended without a word".to_owned(),
        _ => said,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// Of programs of these versions: the place and version of those that are chosen, or why none are.
    fn chosen(there: &[u32], server: u32, dumped_by: Option<u32>) -> Result<(usize, u32), String> {
        let there = there
            .iter()
            .enumerate()
            .map(|(n, major)| ClientPrograms { bin: Some(n.to_string().into()), major: *major });
        match ClientPrograms::choose(there.collect(), server, dumped_by) {
            Ok(one) => Ok((one.bin.unwrap().to_str().unwrap().parse().unwrap(), one.major)),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn programs_are_of_the_servers_version_or_of_one_that_can_restore_into_it() {
        for (there, server, dumped_by, expected) in [
            (&[18, 17][..], 18, None, (0, 18)),
            (&[18, 17], 17, None, (1, 17)),
            (&[18, 16], 17, None, (0, 18)),
            (&[18, 18], 18, Some(18), (0, 18)),
            (&[18, 17], 17, Some(18), (0, 18)),
            (&[18, 15], 15, None, (1, 15)),
            (&[18, 16], 15, None, (1, 16)),
            (&[18, 15], 15, Some(15), (1, 15)),
            (&[18, 16], 18, Some(15), (0, 18)),
        ] {
            let chosen = chosen(there, server, dumped_by);
            assert_eq!(chosen, Ok(expected), "{there:?} {server} {dumped_by:?}");
        }
        for (there, server, dumped_by, sentence) in [
            (
                &[][..],
                18,
                None,
                "there is no pg_dump: install the client programs of PostgreSQL 18 or newer",
            ),
            (&[18, 17], 19, None, "pg_dump is of PostgreSQL 17, and this server needs 19 or newer"),
            (&[18], 16, None, "pg_dump is of PostgreSQL 18, and this server needs 16"),
            (&[18], 15, Some(15), "pg_dump is of PostgreSQL 18, and this server needs 15 or 16"),
            (&[18, 15], 15, Some(16), "pg_dump is of PostgreSQL 15, and this server needs 16"),
            (&[18, 15], 15, Some(18), "was made by pg_dump of PostgreSQL 18"),
        ] {
            let said = chosen(there, server, dumped_by).unwrap_err();
            assert!(said.contains(sentence), "{said}");
        }
    }
}
