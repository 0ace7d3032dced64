//! Why PostgreSQL refused: the error's code, or which constraint a row violates and what that says.

/// Whether this is the error's SQLSTATE.
pub(super) fn has_code(error: &sqlx::Error, code: &str) -> bool {
    let said = error.as_database_error().and_then(|said| said.code());
    said.as_deref() == Some(code)
}

/// The constraint that a row violates. On Citus each part of a table has its number at the end of its constraints' names, and
/// only the message of a worker's error names the constraint.
pub fn constraint_of(error: &sqlx::Error) -> Option<&str> {
    let error = error.as_database_error()?;
    let in_message = || {
        let is_violation = error.code().is_some_and(|code| code.starts_with("23"));
        let (_, rest) = error.message().split_once(" constraint \"")?;
        is_violation.then_some(rest.split('"').next()?)
    };
    let name = error.constraint().or_else(in_message)?;
    match name.rsplit_once('_') {
        Some((whole, part)) if part.len() > 5 && part.bytes().all(|b| b.is_ascii_digit()) => {
            Some(whole)
        }
        _ => Some(name),
    }
}

/// Whether a row was rejected because its user or agent was erased meanwhile.
pub fn is_of_a_gone_user(error: &sqlx::Error) -> bool {
    constraint_of(error)
        .is_some_and(|c| c.ends_with("_user_id_fkey") || c.ends_with("_agent_id_fkey"))
}
