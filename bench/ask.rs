//! Asks the product's own search for what stands on standard input, for the
//! benchmarks beside this file: one JSON object a line, one answer a line.
//!
//!     {"user": 7, "space": 3, "query": "…", "vector": [384 numbers]}
//!     → {"hits": [[id, score, similarity], …], "mode": "hybrid", "ms": 4.2}
//!
//! `{"bits": [numbers]}` gives the bits that are stored for a vector, and
//! `{"words": "…"}` what full text finds a text by. The database is the one of
//! `KEEPSAKE_DATABASE_URL`, and is brought to this program's schema.

#![allow(clippy::unwrap_used)]

use std::io::{BufRead, Write};
use std::time::Instant;

use keepsake::accounts::Viewer;
use keepsake::db::{Db, UserId};
use keepsake::embedding::{QueryVector, SpaceId, Vector};
use keepsake::memories::words;
use keepsake::search::{self, RawQuery, SearchQuery};
use serde_json::{Value, json};

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let url = std::env::var("KEEPSAKE_DATABASE_URL").unwrap();
    let options = url.parse().unwrap();
    keepsake::db::prepare(&options).await.unwrap();
    let db = Db::new(&options);
    for line in std::io::stdin().lock().lines() {
        let asked: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let answer = answer(&db, &asked).await;
        println!("{answer}");
        std::io::stdout().flush().unwrap();
    }
}

async fn answer(db: &Db, asked: &Value) -> Value {
    if let Some(text) = asked["words"].as_str() {
        return json!(words::tsvector([text]));
    }
    if let Some(vector) = vector(&asked["bits"]) {
        let bytes = vector.bits();
        let bits: String = bytes
            .as_bytes()
            .iter()
            .map(|b| format!("{b:08b}"))
            .collect();
        return json!(bits);
    }
    let viewer = Viewer {
        user_id: UserId(asked["user"].as_i64().unwrap()),
        agent_id: None,
    };
    let query = SearchQuery::parse(RawQuery {
        query: asked["query"].as_str().unwrap(),
        limit: Some(50),
        ..RawQuery::default()
    });
    let vector = vector(&asked["vector"]).map(|vector| QueryVector {
        space_id: SpaceId(asked["space"].as_i64().unwrap()),
        vector,
        speakers: Vec::new(),
    });
    let start = Instant::now();
    let mut tx = db.as_user(viewer.user_id).await.unwrap();
    let now = time::OffsetDateTime::now_utc();
    let page = search::search(&mut tx, &viewer, &query.unwrap(), vector.as_ref(), now)
        .await
        .unwrap();
    tx.commit().await.unwrap();
    let ms = start.elapsed().as_secs_f64() * 1e3;
    let hits: Vec<Value> = page
        .hits
        .iter()
        .map(|hit| json!([hit.item.id.0, hit.score, hit.explanation.similarity()]))
        .collect();
    json!({ "hits": hits, "mode": page.mode.as_str(), "ms": ms })
}

fn vector(values: &Value) -> Option<Vector> {
    let values: Vec<f32> = values
        .as_array()?
        .iter()
        .map(|v| v.as_f64().unwrap() as f32)
        .collect();
    Some(Vector::from_answer(&values).unwrap())
}
