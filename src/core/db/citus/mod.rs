//! A database that Citus distributes over several servers, by user (docs/scaling.md): distributes it once. From then on, the
//! connections notice by themselves (`pool.rs`).

mod statements;
mod store;

pub use statements::{block_of, one_by_one};
pub use store::{
    NOT_DISTRIBUTED, is_distributed, own_functions, set_for_database, skip_generic_plans,
};

use std::fmt;
use std::str::FromStr;

use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection, PgConnection};

use crate::input::Invalid;

const PORT: u16 = 5432;

/// A server of the cluster, as the others reach it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterNode {
    pub host: String,
    pub port: u16,
}

impl FromStr for ClusterNode {
    type Err = &'static str;

    /// `HOST` or `HOST:PORT`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) => (host, port.parse().map_err(|_| "it must be HOST:PORT")?),
            None => (text, PORT),
        };
        match host {
            "" => Err("it must be HOST:PORT"),
            host => Ok(Self { host: host.to_owned(), port }),
        }
    }
}

impl fmt::Display for ClusterNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

/// A person asks for what is possible on one PostgreSQL only.
///
/// # Errors
/// [`Invalid`] of this field, where the database is distributed.
pub async fn require_one_server(
    conn: &mut PgConnection,
    field: &'static str,
    what: &str,
) -> Result<Result<(), Invalid>, sqlx::Error> {
    Ok(match is_distributed(conn).await? {
        true => Err(Invalid::new(
            field,
            "distributed",
            format!("{what} on this server, whose database is distributed by Citus."),
        )),
        false => Ok(()),
    })
}

/// Why a database cannot be distributed. Each message says what to do.
#[derive(Debug, thiserror::Error)]
pub enum CitusError {
    #[error(
        "Citus is missing on this server, or this role may not create it: install Citus, set shared_preload_libraries = 'citus', and connect as a superuser ({0})"
    )]
    Missing(#[source] sqlx::Error),
    #[error("the cluster has no worker: name each with --worker HOST:PORT")]
    NoWorker,
    #[error(
        "the worker {node} cannot be added: its database needs the extensions vector, hstore, btree_gin, btree_gist and citus, and must let the coordinator connect ({problem})"
    )]
    Worker { node: ClusterNode, problem: sqlx::Error },
    #[error(
        "agents have no memory of their own on Citus: share all such memories and documents, and set every agent to share what it writes, first"
    )]
    OwnMemories,
    #[error(
        "teams and pools are not possible on Citus, and {0} are there: end them first (Agents, Admin › Operators)"
    )]
    Teams(i64),
    #[error(transparent)]
    Sql(#[from] sqlx::Error),
}

/// Distributes the migrated database over the cluster, as a superuser of the coordinator. Adds the named workers first.
/// Returns how many tables were distributed: 0 if it was done before.
///
/// # Errors
/// [`CitusError`]; the tables are then as they were. The extension may be there, workers may have been added, and our roles
/// may log in, without a password.
pub async fn distribute(
    options: &PgConnectOptions,
    coordinator: Option<&ClusterNode>,
    workers: &[ClusterNode],
) -> Result<i64, CitusError> {
    let mut conn = PgConnection::connect_with(options).await?;
    super::store::make_extension(&mut conn, "citus").await.map_err(CitusError::Missing)?;
    store::let_roles_connect(&mut conn).await?;
    let own = ClusterNode { host: options.get_host().to_owned(), port: options.get_port() };
    if coordinator.is_some() || !store::is_done(&mut conn).await? {
        store::set_coordinator(&mut conn, coordinator.unwrap_or(&own)).await?;
    }
    for node in workers {
        let added = store::add_worker(&mut conn, node).await;
        added.map_err(|problem| CitusError::Worker { node: node.clone(), problem })?;
    }
    if store::count_workers(&mut conn).await? == 0 {
        return Err(CitusError::NoWorker);
    }
    let tables = distribute_tables(&mut conn).await?;
    store::grant_on_workers(&mut conn).await?;
    set_for_database(&mut conn).await?;
    conn.close().await?;
    Ok(tables)
}

async fn distribute_tables(conn: &mut PgConnection) -> Result<i64, CitusError> {
    let mut tx = conn.begin().await?;
    if store::is_done(&mut tx).await? {
        return Ok(0);
    }
    let lent = store::count_lent(&mut tx).await?;
    if lent > 0 {
        return Err(CitusError::Teams(lent));
    }
    store::share_all_memory(&mut tx).await.map_err(|error| {
        let constraint = error.as_database_error().and_then(|e| e.constraint());
        match constraint.is_some_and(|name| name.ends_with("_shared_check")) {
            true => CitusError::OwnMemories,
            false => CitusError::Sql(error),
        }
    })?;
    store::adapt_functions(&mut tx).await?;
    store::let_app_role_act(&mut tx).await?;
    store::replace_policies(&mut tx).await?;
    store::replace_foreign_key(&mut tx).await?;
    let tables = store::distribute(&mut tx).await?;
    store::distribute_functions(&mut tx).await?;
    tx.commit().await?;
    Ok(tables)
}

/// The functions that were created or replaced on the cluster, as they are there. In a transaction.
pub(super) async fn adapt_functions(conn: &mut PgConnection) -> Result<(), sqlx::Error> {
    store::adapt_functions(conn).await?;
    store::distribute_functions(conn).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_a_host_and_a_port() {
        let node: ClusterNode = "worker1.internal:5433".parse().expect("a node");
        assert_eq!(node.to_string(), "worker1.internal:5433");
        assert_eq!("db".parse::<ClusterNode>().expect("a node").port, PORT);
        for wrong in ["", ":5432", "db:", "db:x"] {
            assert!(wrong.parse::<ClusterNode>().is_err(), "{wrong}");
        }
    }
}
