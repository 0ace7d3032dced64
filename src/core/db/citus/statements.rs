//! Migrations of a distributed database. Citus refuses some statements in a message with others, such as one that makes an
//! index; there, each migration is one block that executes its statements one by one.

use std::fmt::Write;

use sqlx::migrate::{Migration, Migrator};
use sqlx::{AssertSqlSafe, SqlSafeStr};

/// The same migrations, with the same checksums.
pub fn one_by_one(migrator: &Migrator) -> Migrator {
    let migrations = migrator.iter().map(|migration| Migration {
        sql: AssertSqlSafe(block_of(migration.sql.as_str())).into_sql_str(),
        ..migration.clone()
    });
    Migrator::with_migrations(migrations.collect())
}

/// One block that executes the statements one by one.
pub fn block_of(sql: &str) -> String {
    let mut block = "DO $migration$ BEGIN\n".to_owned();
    for statement in statements(sql) {
        // Writing to a `String` cannot fail.
        let _ = writeln!(block, "EXECUTE $statement${statement}$statement$;");
    }
    block + "END $migration$"
}

fn statements(sql: &str) -> Vec<&str> {
    let (mut statements, mut start, mut at) = (Vec::new(), 0, 0);
    while let Some(next) = sql[at..].find(['-', '/', '\'', '"', '$', ';']) {
        at += next;
        match opaque(&sql[at..]) {
            Some(length) => at += length,
            None if sql[at..].starts_with(';') => {
                statements.push(sql[start..at].trim());
                at += 1;
                start = at;
            }
            None => at += 1,
        }
    }
    statements.push(sql[start..].trim());
    statements.retain(|statement| !statement.is_empty());
    statements
}

/// The length in bytes of the comment, or of the quoted text or name, that this begins with.
fn opaque(sql: &str) -> Option<usize> {
    let until = |from: usize, end: &str| {
        let found = sql[from..].find(end);
        found.map_or(sql.len(), |at| from + at + end.len())
    };
    match sql.as_bytes() {
        [b'-', b'-', ..] => Some(until(2, "\n")),
        [b'/', b'*', ..] => Some(until(2, "*/")),
        // A quote is doubled within: then the next text begins where this one ends.
        [b'\'', ..] => Some(until(1, "'")),
        [b'"', ..] => Some(until(1, "\"")),
        [b'$', ..] => {
            let tag = &sql[..sql[1..].find('$')? + 2];
            let is_tag = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$');
            tag.as_bytes().iter().all(is_tag).then(|| until(tag.len(), tag))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_semicolon_within_quotes_or_comments_ends_nothing() {
        let sql = "-- one; two\nSELECT 'it''s; so', \"a;b\" /* ; */;\nDO $$ BEGIN; END $$;
                   SELECT $a$ $$; $a$, 1 - 2, 4 / 2, '–;';  SELECT 3 -- the last; one";
        assert_eq!(
            statements(sql),
            [
                "-- one; two\nSELECT 'it''s; so', \"a;b\" /* ; */",
                "DO $$ BEGIN; END $$",
                "SELECT $a$ $$; $a$, 1 - 2, 4 / 2, '–;'",
                "SELECT 3 -- the last; one",
            ]
        );
    }
}
