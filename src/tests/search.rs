//! How search runs, behind the scenes.

use keepsake::memories::words;
use sqlx::{AssertSqlSafe, Row};

use crate::support::TestApp;

/// The statement of `search::store`, as PostgreSQL plans it for the app role.
pub async fn explain_search(app: &TestApp, user: keepsake::db::UserId, query: &str) -> String {
    let source = include_str!("../search/store.rs");
    let statement = source
        .split("r#\"")
        .nth(2)
        .unwrap()
        .split("\"#")
        .next()
        .unwrap();
    let statement = statement
        .replace("AS \"", "AS \"x_")
        .replace(['!', '?'], "");
    let terms: Vec<String> = words::query_terms(query)
        .iter()
        .map(|t| format!("$q${}$q$", t.tsquery()))
        .collect();
    let mut tx = app.db.as_user(user).await.unwrap();
    let prepare = format!(
        "PREPARE search (bigint, text[], text[], text, text[], text, timestamptz, bigint, bigint, bit, halfvec,
                         bigint, float8, bigint, bigint, text, bigint, timestamptz, boolean[], bigint,
                         text[], bigint, bigint, float8) AS {statement}"
    );
    sqlx::raw_sql(AssertSqlSafe(prepare))
        .execute(&mut *tx)
        .await
        .unwrap();
    let (ones, bits) = (vec!["1"; 1_024].join(","), "1".repeat(1_024));
    let explain = format!(
        "EXPLAIN (ANALYZE, COSTS OFF) EXECUTE search ({}, ARRAY[{}], ARRAY['%none%'], NULL, NULL, 'active', NULL, 50,
            1, B'{bits}', '[{ones}]', 1000, 600, 200, 250, NULL, 25000, now(), '{{false,true}}', 1000,
            '{{}}', 5, 2, 3600)",
        user.0,
        terms.join(", ")
    );
    let rows = sqlx::raw_sql(AssertSqlSafe(explain))
        .fetch_all(&mut *tx)
        .await
        .unwrap();
    rows.iter()
        .map(|row| row.get::<String, _>(0))
        .collect::<Vec<_>>()
        .join("\n")
}

#[tokio::test]
async fn the_full_text_index_is_used_under_row_security_over_ten_thousand_items() {
    let app = TestApp::start().await;
    let (anna, ben) = (app.user("anna").await, app.user("ben").await);
    anna.add("the first zeppelin").await;
    ben.add("the second zeppelin").await;
    let mut conn = app.superuser().await;
    for user in [anna.id, ben.id] {
        sqlx::query(
            "INSERT INTO memory_items (user_id, theme_id, type, content, content_hash, source,
                                       created_at, updated_at, content_tsv)
             SELECT $1, (SELECT id FROM memory_themes WHERE user_id = $1), 'fact',
                    'note ' || n, sha256(n::text::bytea), 'agent', now(), now(),
                    array_to_tsvector(ARRAY['note', 'w' || n % 500, 'v' || n])
             FROM generate_series(1, 10000) n",
        )
        .bind(user.0)
        .execute(&mut conn)
        .await
        .unwrap();
    }
    sqlx::query("VACUUM ANALYZE memory_items")
        .execute(&mut conn)
        .await
        .unwrap();
    for query in ["zeppelin", "zeppelin w17 v4711"] {
        let plan = explain_search(&app, anna.id, query).await;
        assert!(plan.contains("memory_items_words_idx"), "{plan}");
        let after_words = plan.split("memory_items_words_idx").nth(1).unwrap();
        assert!(
            after_words.contains("content_tsv @@"),
            "the words are in the index condition: {plan}"
        );
    }
    assert_eq!(anna.find("zeppelin").await.len(), 1);
}

#[tokio::test]
async fn without_the_leakproof_operator_readiness_warns() {
    let app = TestApp::start().await;
    let ready = || async {
        let url = format!("{}/readyz", app.base);
        reqwest::get(url)
            .await
            .unwrap()
            .json::<serde_json::Value>()
            .await
            .unwrap()
    };
    assert_eq!(ready().await["warnings"], serde_json::json!([]));
    sqlx::query("ALTER FUNCTION pg_catalog.ts_match_vq(tsvector, tsquery) NOT LEAKPROOF")
        .execute(&mut app.superuser().await)
        .await
        .unwrap();
    let told = ready().await;
    assert!(
        told["warnings"][0].as_str().unwrap().contains("LEAKPROOF"),
        "{told}"
    );
    assert_eq!(told["ready"], true);
}
