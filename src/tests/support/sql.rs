//! SQL behind the scenes, as superuser or on a connection of the test's own: `app.sql("SELECT …").bind(id).value().await`.
//! An error fails the test.

use sqlx::postgres::{PgArguments, PgRow};
use sqlx::{
    Arguments, AssertSqlSafe, Decode, Encode, FromRow, PgConnection, Postgres, Type, query_as_with,
    query_with,
};

use super::TestApp;

/// A statement, and where it runs.
pub struct Statement<'a> {
    on: On<'a>,
    text: String,
    arguments: PgArguments,
}

enum On<'a> {
    App(&'a TestApp),
    Connection(&'a mut PgConnection),
}

/// A value of a single column.
pub trait Value: Send + Unpin + Type<Postgres> + for<'r> Decode<'r, Postgres> {}

impl<T: Send + Unpin + Type<Postgres> + for<'r> Decode<'r, Postgres>> Value for T {}

/// A row, such as a tuple of values.
pub trait Columns: Send + Unpin + for<'r> FromRow<'r, PgRow> {}

impl<T: Send + Unpin + for<'r> FromRow<'r, PgRow>> Columns for T {}

impl TestApp {
    /// Runs on the app's one superuser connection, after the statement before it.
    pub fn sql(&self, text: impl Into<String>) -> Statement<'_> {
        Statement::new(On::App(self), text)
    }

    /// Rows of a table, with a condition perhaps.
    pub async fn count(&self, of: &str) -> i64 {
        self.sql(format!("SELECT count(*) FROM {of}")).value().await
    }
}

pub trait Sql {
    fn sql(&mut self, text: impl Into<String>) -> Statement<'_>;

    async fn count(&mut self, of: &str) -> i64 {
        self.sql(format!("SELECT count(*) FROM {of}")).value().await
    }
}

impl Sql for PgConnection {
    fn sql(&mut self, text: impl Into<String>) -> Statement<'_> {
        Statement::new(On::Connection(self), text)
    }
}

impl<'a> Statement<'a> {
    fn new(on: On<'a>, text: impl Into<String>) -> Self {
        Self { on, text: text.into(), arguments: PgArguments::default() }
    }

    pub fn bind<'q, T: Encode<'q, Postgres> + Type<Postgres> + 'q>(mut self, value: T) -> Self {
        self.arguments.add(value).unwrap();
        self
    }

    pub async fn value<T: Value>(self) -> T {
        self.row::<(T,)>().await.0
    }

    pub async fn maybe_value<T: Value>(self) -> Option<T> {
        self.maybe_row::<(T,)>().await.map(|row| row.0)
    }

    pub async fn values<T: Value>(self) -> Vec<T> {
        self.rows::<(T,)>().await.into_iter().map(|row| row.0).collect()
    }

    pub async fn row<T: Columns>(self) -> T {
        self.maybe_row().await.expect("a row")
    }

    pub async fn maybe_row<T: Columns>(self) -> Option<T> {
        self.rows().await.into_iter().next()
    }

    pub async fn rows<T: Columns>(self) -> Vec<T> {
        let query = query_as_with(AssertSqlSafe(self.text), self.arguments);
        match self.on {
            On::App(app) => query.fetch_all(&mut *app.own_connection().await).await.unwrap(),
            On::Connection(conn) => query.fetch_all(conn).await.unwrap(),
        }
    }

    /// Returns how many rows it changed.
    pub async fn run(self) -> u64 {
        self.try_run().await.unwrap()
    }

    pub async fn try_run(self) -> Result<u64, sqlx::Error> {
        let query = query_with(AssertSqlSafe(self.text), self.arguments);
        let done = match self.on {
            On::App(app) => query.execute(&mut *app.own_connection().await).await,
            On::Connection(conn) => query.execute(conn).await,
        };
        done.map(|done| done.rows_affected())
    }

    /// Of several statements, without arguments.
    pub async fn run_all(self) {
        let text = sqlx::raw_sql(AssertSqlSafe(self.text));
        match self.on {
            On::App(app) => text.execute(&mut *app.own_connection().await).await.unwrap(),
            On::Connection(conn) => text.execute(conn).await.unwrap(),
        };
    }
}
