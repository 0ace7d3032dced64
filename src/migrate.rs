//! `keepsake migrate`: brings the schema forward, and distributes the database over the servers of a Citus cluster.

use anyhow::bail;
use clap::Args;
use keepsake::config::Config;
use keepsake::db::citus::{self, ClusterNode};
use keepsake::wiring::Database;

pub const EXAMPLES: &str = "Example, on the database at KEEPSAKE_DATABASE_URL:
  keepsake migrate --citus --worker worker1.internal:5432 --worker worker2.internal:5432

--citus distributes every user's rows over the workers of a Citus cluster, once and for good; connect as a superuser of the
coordinator. First, on every worker: a database of the same name with the extensions vector, hstore, btree_gin, btree_gist and
citus. Stop all servers. docs/scaling.md says what is not possible on Citus.";

#[derive(Args)]
pub struct MigrateArgs {
    /// Distribute the database by user over the workers of a Citus cluster
    #[arg(long)]
    citus: bool,
    /// A worker to add first, as the coordinator reaches it; once for each
    #[arg(long, value_name = "HOST:PORT", requires = "citus")]
    worker: Vec<ClusterNode>,
    /// The coordinator, as the workers reach it, unless by the host and port of KEEPSAKE_DATABASE_URL
    #[arg(long, value_name = "HOST:PORT", requires = "citus")]
    coordinator: Option<ClusterNode>,
}

pub async fn run(config: &Config, args: &MigrateArgs) -> anyhow::Result<()> {
    if args.citus && config.database_url.is_none() {
        bail!(
            "--citus needs KEEPSAKE_DATABASE_URL: Keepsake's own PostgreSQL is on this machine alone"
        );
    }
    Database::run(config, async |database| match args.citus {
        true => distribute(database, args).await,
        false => Ok(()),
    })
    .await
}

async fn distribute(database: &Database, args: &MigrateArgs) -> anyhow::Result<()> {
    let coordinator = args.coordinator.as_ref();
    match citus::distribute(database.options(), coordinator, &args.worker).await? {
        0 => println!("distributed before"),
        tables => println!("{tables} tables are distributed by user"),
    }
    Ok(())
}
