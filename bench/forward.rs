//! How long a pass takes: `cargo run --release -p minilm --example time -- FOLDER`.
use std::time::Instant;
fn main() {
    let folder = std::env::args().nth(1).unwrap();
    let config: minilm::Config =
        serde_json::from_slice(&std::fs::read(format!("{folder}/config.json")).unwrap()).unwrap();
    let file = std::fs::read(format!("{folder}/model.safetensors")).unwrap();
    let begun = Instant::now();
    let model = minilm::Model::from_safetensors(&file, config).unwrap();
    println!("loaded in {:?}", begun.elapsed());
    for threads in [1, 2] {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        for tokens in [8, 16, 64, 256] {
            let ids: Vec<u32> = (0..tokens).map(|n| 2_000 + n * 7).collect();
            let mut times: Vec<f64> = (0..40)
                .map(|_| {
                    let begun = Instant::now();
                    pool.install(|| {
                        let mut pass = model.begin(&[&ids]).unwrap();
                        while model.advance(&mut pass) {}
                    });
                    begun.elapsed().as_secs_f64() * 1e3
                })
                .collect();
            times.sort_by(f64::total_cmp);
            println!(
                "{threads} threads, {tokens} tokens: least {:.2} ms, median {:.2} ms",
                times[0], times[20]
            );
        }
    }
}
