//! What commands read from standard input, and how they write to a reader who leaves.

use std::io::Write;
use std::process::{Child, Command, Output, Stdio};

use super::Home;
use crate::support::{PASSWORD, database_url, fresh_database};

/// `keepsake user create` with this on standard input.
fn create_with(home: &Home, url: &str, given: &str) -> Output {
    let args = ["user", "create", "--email", "anna@example.com", "--password-stdin"];
    let mut child = spawn(home.command(&args).stdin(Stdio::piped()), url);
    // Refused before it is read to its end.
    child.stdin.take().unwrap().write_all(given.as_bytes()).ok();
    child.wait_with_output().unwrap()
}

fn spawn(command: &mut Command, url: &str) -> Child {
    let command = command.env("KEEPSAKE_DATABASE_URL", url);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

#[tokio::test]
async fn a_password_on_standard_input_is_one_line_and_a_list_whose_reader_leaves_ends_quietly() {
    let (home, url) = (Home::new(), database_url(&fresh_database().await));
    for given in
        [format!("{PASSWORD}\nand another line\n"), format!("{PASSWORD}\n\n"), "x".repeat(5_000)]
    {
        let refused = create_with(&home, &url, &given);
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(!refused.status.success() && said.contains("more than one line"), "{said}");
    }
    let created = create_with(&home, &url, PASSWORD);
    assert!(created.status.success(), "{created:?}");

    for args in [["user", "list"], ["jobs", "list"]] {
        let mut child = spawn(&mut home.command(&args), &url);
        drop(child.stdout.take());
        let ended = child.wait_with_output().unwrap();
        assert!(ended.status.success(), "{args:?}: {ended:?}");
    }
}
