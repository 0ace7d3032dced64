//! The table of contents of a dump: of a backup's only the rows of our own tables are loaded. What else it lists is what our
//! migrations make, or is left out.

use std::collections::BTreeSet;

/// Written by our own migrations, in the schema that they make.
const MIGRATIONS: &str = "TABLE DATA public _sqlx_migrations";
/// Kinds of entries that are not restored and make nothing: privileges and comments are ours, whatever the file says.
const NOTHING_MADE: [&str; 5] =
    ["ACL ", "COMMENT ", "DEFAULT ACL ", "STATISTICS DATA ", "SECURITY LABEL "];

/// What is taken of a backup.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ChosenEntries {
    /// Lines for `pg_restore --use-list`.
    pub(super) list: String,
    /// What Keepsake has not made, as `VIEW public sales`.
    pub(super) left_out: Vec<String>,
}

/// `theirs` and `ours` are what `pg_restore --list` prints.
pub(super) fn choose(theirs: &str, ours: &str) -> ChosenEntries {
    let ours: BTreeSet<&str> = entries(ours).map(|(_, entry)| entry).collect();
    let is_row = |entry: &str| {
        let rows_of = |kind: &str, of: &str| {
            let name = entry.strip_prefix(kind);
            name.is_some_and(|name| ours.contains(&*format!("{of}{name}")))
        };
        entry != MIGRATIONS
            && (rows_of("TABLE DATA ", "TABLE ") || rows_of("SEQUENCE SET ", "SEQUENCE "))
    };
    let (mut list, mut left_out) = (String::new(), Vec::new());
    for (line, entry) in entries(theirs) {
        if is_row(entry) {
            list += line;
            list.push('\n');
        } else if !ours.contains(entry)
            && entry != MIGRATIONS
            && !NOTHING_MADE.iter().any(|kind| entry.starts_with(kind))
        {
            left_out.push(entry.to_owned());
        }
    }
    ChosenEntries { list, left_out }
}

/// Each line, and what it lists: `4231; 0 16541 TABLE DATA public users keepsake_owner`, without numbers and owner.
fn entries(listed: &str) -> impl Iterator<Item = (&str, &str)> {
    let lines = listed.lines().filter(|line| !line.starts_with(';'));
    lines.filter_map(|line| {
        let entry = line.splitn(4, ' ').nth(3)?;
        Some((line, entry.rsplit_once(' ')?.0))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_our_tables_are_taken_and_nothing_else() {
        let ours = "; Archive
3; 1259 1 TABLE public users keepsake_owner
4; 1259 2 SEQUENCE public users_id_seq keepsake_owner
5; 1255 3 FUNCTION public for_user(bigint, text) keepsake_owner
6; 1259 4 TABLE public _sqlx_migrations keepsake_owner
";
        let theirs = "; Archive
13; 1259 1 TABLE public users somebody
15; 1255 3 FUNCTION public for_user(bigint, text) keepsake_owner
16; 0 0 ACL public TABLE users keepsake_owner
17; 0 1 TABLE DATA public users keepsake_owner
18; 0 2 SEQUENCE SET public users_id_seq keepsake_owner
19; 0 4 TABLE DATA public _sqlx_migrations keepsake_owner
20; 0 9 TABLE DATA public evil keepsake_owner
21; 0 9 TABLE DATA other users keepsake_owner
22; 2620 8 TRIGGER public users evil keepsake_owner
23; 3466 7 EVENT TRIGGER - evil postgres
24; 1255 3 FUNCTION public for_user(bigint) keepsake_owner
";
        let chosen = choose(theirs, ours);
        assert_eq!(
            chosen.list,
            "17; 0 1 TABLE DATA public users keepsake_owner
18; 0 2 SEQUENCE SET public users_id_seq keepsake_owner
"
        );
        let left_out = [
            "TABLE DATA public evil",
            "TABLE DATA other users",
            "TRIGGER public users evil",
            "EVENT TRIGGER - evil",
            "FUNCTION public for_user(bigint)",
        ];
        assert_eq!(chosen.left_out, left_out);
    }
}
