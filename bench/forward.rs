//! How long a builtin model, by its folder, takes for texts of some lengths: lines of threads, tokens, and the milliseconds of the fastest pass
//! and of the one in the middle. `bench/forward.py` runs it with MiniLM, and onnxruntime beside it.

use std::error::Error;
use std::fs;
use std::time::Instant;

const PASSES: usize = 40;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).ok_or("name the model's folder")?;
    let model = match fs::read(format!("{folder}/e5-small-q4.bin")) {
        Ok(file) => encoder::Model::from_e5(&file).map_err(|_| "no such model")?.0,
        Err(_) => {
            let config = serde_json::from_slice(&fs::read(format!("{folder}/config.json"))?)?;
            let file = fs::read(format!("{folder}/model.safetensors"))?;
            encoder::Model::from_safetensors(&file, config).map_err(|_| "no such model")?
        }
    };
    for threads in [1, 2] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
        for tokens in [8, 16, 64, 256] {
            let ids: Vec<u32> = (0..tokens).map(|n| 2_000 + n * 7).collect();
            let mut times = Vec::new();
            for _ in 0..PASSES {
                let begun = Instant::now();
                pool.install(|| {
                    if let Some(mut pass) = model.begin(&[&ids]) {
                        while model.advance(&mut pass) {}
                    }
                });
                times.push(begun.elapsed().as_secs_f64() * 1e3);
            }
            times.sort_by(f64::total_cmp);
            println!("{threads} {tokens} {:.2} {:.2}", times[0], times[PASSES / 2]);
        }
    }
    Ok(())
}
