//! What commands read from a person or a pipe, and how they print lists.

use std::io::{BufRead, ErrorKind, IsTerminal, Read, Write};

use anyhow::{Context, bail};

/// More than the longest password.
const LINE_BYTES_MAX: u64 = 4_096;

/// Asks for a new password, or reads it as the only line of standard input.
pub fn read_password(from_stdin: bool) -> anyhow::Result<String> {
    let stdin = std::io::stdin();
    if from_stdin {
        return read_only_line(stdin.lock());
    }
    if !stdin.is_terminal() {
        bail!("there is no terminal to ask for the password; use --password-stdin");
    }
    let password = rpassword::prompt_password("Password (10 characters or more): ")?;
    if password != rpassword::prompt_password("Repeat the password: ")? {
        bail!("the two passwords differ; nothing was changed");
    }
    Ok(password)
}

fn read_only_line(mut input: impl BufRead) -> anyhow::Result<String> {
    const UNREADABLE: &str = "the password could not be read";
    let mut line = String::new();
    let mut first = input.by_ref().take(LINE_BYTES_MAX);
    first.read_line(&mut line).context(UNREADABLE)?;
    if !input.fill_buf().context(UNREADABLE)?.is_empty() {
        bail!("standard input has more than one line; give the password alone");
    }
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}

/// Prints a list. A reader who leaves early (`| head -1`) has seen enough.
pub fn print_lines(lines: impl IntoIterator<Item = String>) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    for line in lines {
        match writeln!(out, "{line}") {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => return Ok(()),
            done => done.context("standard output could not be written")?,
        }
    }
    Ok(())
}
