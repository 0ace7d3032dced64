//! Plans are kept as long as their connection: one that was made while a table had one page must
//! not read the whole of it once it has grown.

use sqlx::Executor;

use super::connections::cut_all;
use crate::support::TestApp;

/// Rows that came into what a user's adds write and look up, and how often one of these tables was
/// read whole. What a connection did is counted when it ends.
async fn added_and_read_whole(app: &TestApp) -> (i64, i64) {
    cut_all(app).await;
    app.sql("SELECT sum(n_tup_ins)::bigint, sum(seq_scan)::bigint FROM pg_stat_user_tables
         WHERE relname IN ('memory_items', 'memory_item_events', 'memory_themes', 'agents', 'users')").row().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_an_add_looks_up_is_behind_an_index_however_small_the_table_was() {
    let (app, anna) = TestApp::start_for("anna").await;
    anna.add("Anna keeps bees.").await;
    app.superuser().await.execute("ANALYZE").await.unwrap();
    let (added_before, read_before) = added_and_read_whole(&app).await;
    for n in 0..3 {
        anna.add(&format!("Hive {n} is full.")).await;
    }
    let (added, read) = added_and_read_whole(&app).await;
    assert_eq!(added - added_before, 6, "three items and their events");
    assert_eq!(read - read_before, 0, "tables read whole");
}
