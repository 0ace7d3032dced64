//! Asks the product's own search for what stands on standard input, for the
//! benchmarks beside this file: one JSON object a line, one answer a line.
//!
//!     {"user": 7, "space": 3, "query": "…", "vector": [384 numbers]}
//!     → {"hits": [id, …], "mode": "hybrid"}
//!
//! `{"terms": "…"}` gives what a text is found by, in base 64. The database is the
//! one of `KEEPSAKE_DATABASE_URL`, and is brought to this program's schema.

#![allow(clippy::unwrap_used)]

use std::io::{BufRead, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use keepsake::accounts::Viewer;
use keepsake::config::Config;
use keepsake::db::{Db, UserId};
use keepsake::embedding::{QueryVector, SpaceId, Vector};
use keepsake::memories::passages::terms;
use keepsake::search::{RawQuery, Search, SearchQuery};
use keepsake::wiring;
use serde_json::{Value, json};

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let url = std::env::var("KEEPSAKE_DATABASE_URL").unwrap();
    let options = url.parse().unwrap();
    keepsake::db::prepare(&options).await.unwrap();
    let config = Config::from_env().unwrap();
    let search = wiring::services(&config, &Db::new(&options), &options).unwrap().search;
    for line in std::io::stdin().lock().lines() {
        let asked: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let answer = answer(&search, &asked).await;
        println!("{answer}");
        std::io::stdout().flush().unwrap();
    }
}

async fn answer(search: &Search, asked: &Value) -> Value {
    if let Some(text) = asked["terms"].as_str() {
        return json!(BASE64.encode(terms::of(text, None, &[])));
    }
    let viewer = Viewer::person(UserId(asked["user"].as_i64().unwrap()));
    let query = SearchQuery::parse(RawQuery {
        query: asked["query"].as_str().unwrap(),
        limit: Some(50),
        ..RawQuery::default()
    });
    let vector = vector(&asked["vector"]).map(|vector| QueryVector {
        space_id: SpaceId(asked["space"].as_i64().unwrap()),
        is_fitted: true,
        vector,
        tokens: None,
        speakers: Vec::new(),
    });
    let query = query.unwrap();
    let page = search.find_with(&viewer, &query, vector.as_ref());
    let page = page.await.unwrap();
    let hits: Vec<i64> = page.hits.iter().map(|hit| hit.item.id.0).collect();
    json!({ "hits": hits, "mode": page.mode.as_str() })
}

fn vector(values: &Value) -> Option<Vector> {
    let values: Vec<f32> = values.as_array()?.iter().map(|v| v.as_f64().unwrap() as f32).collect();
    Some(Vector::from_answer(&values).unwrap())
}
