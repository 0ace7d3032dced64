//! The means of multilingual-e5-small's vectors and token vectors over texts of many languages, which the builtin model
//! subtracts. `bench/centre.py` runs it: `centre MODEL OUT`, a text a line on standard input.

use std::error::Error;
use std::fs;
use std::io::stdin;

const MOST_TOKENS: usize = 512;

fn main() -> Result<(), Box<dyn Error>> {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let [model, out] = given.as_slice() else { return Err("name the model and the file".into()) };
    let (model, tokenizer) =
        encoder::Model::from_e5(&fs::read(model)?).map_err(|_| "no such model")?;
    let width = model.width();
    let (mut of_texts, mut of_tokens) = (vec![0.0; width], vec![0.0; width]);
    let (mut texts, mut tokens) = (0_u32, 0_u32);
    for line in stdin().lines() {
        let ids = tokenizer.tokens(&line?, MOST_TOKENS).ids;
        let mut pass = model.begin(&[&ids]).ok_or("a text is too long")?;
        while model.advance(&mut pass) {}
        let states = pass.texts(width).next().ok_or("no states")?;
        let mut vector = vec![0.0; width];
        for state in states.chunks_exact(width) {
            add(&mut vector, state, 1.0);
        }
        add(&mut of_texts, &vector, 1.0 / length(&vector));
        texts += 1;
        for state in states[width..states.len() - width].chunks_exact(width) {
            add(&mut of_tokens, state, 1.0 / length(state));
            tokens += 1;
        }
    }
    of_texts.iter_mut().for_each(|sum| *sum /= texts as f32);
    of_tokens.iter_mut().for_each(|sum| *sum /= tokens as f32);
    let bytes = of_texts.iter().chain(&of_tokens).flat_map(|mean| mean.to_le_bytes());
    fs::write(out, bytes.collect::<Vec<u8>>())?;
    println!("{texts} texts, {tokens} tokens");
    Ok(())
}

fn length(vector: &[f32]) -> f32 {
    vector.iter().map(|v| v * v).sum::<f32>().sqrt()
}

fn add(sum: &mut [f32], vector: &[f32], factor: f32) {
    sum.iter_mut().zip(vector).for_each(|(sum, v)| *sum += v * factor);
}
