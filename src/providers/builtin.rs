//! The built-in model: all-MiniLM-L6-v2 (384 dimensions), run in our own process (the package `minilm`).
//! Texts are truncated at 256 tokens, which bounds the memory per text. Its files are read into memory, never
//! mapped.

use std::fs;
use std::path::Path;

use minilm::Pass;
use tokenizers::{Encoding, Tokenizer, TruncationParams};

use super::Embedded;
use super::error::BuiltinFlaw;
pub use super::worker::BuiltinModel;
use crate::config::runtime_dirs;

pub const MODEL_NAME: &str = "all-MiniLM-L6-v2";
pub const MODEL_DIMENSIONS: usize = 384;

/// Tokens read per text, as the model was trained.
pub const MAX_TOKENS: usize = 256;

/// In a `runtime` folder; `tools/fetch_model.py` fills it.
const FOLDER: &str = "model-all-minilm-l6-v2";
const WEIGHTS: &str = "model.safetensors";
const TOKENIZER: &str = "tokenizer.json";
const CONFIG: &str = "config.json";

/// Limits of one pass. They bound the memory, and how long an abandoned batch runs on. Larger passes are not
/// faster: the products are large enough, and passes of this size stay in the cache.
const MAX_TEXTS_A_PASS: usize = 16;
const MAX_TOKENS_A_PASS: usize = MAX_TOKENS;

/// The model of a data folder. Its files may still be missing: they are looked for at each call, and read at
/// the first.
pub fn find(data_dir: &Path) -> BuiltinModel {
    let mut folders = runtime_dirs(data_dir).map(|runtime| runtime.join(FOLDER));
    let shipped = folders.clone().find(|folder| is_present(folder));
    let fetched_later = || folders.next();
    BuiltinModel::in_folder(shipped.or_else(fetched_later).unwrap_or_default())
}

pub(super) fn is_present(folder: &Path) -> bool {
    let names = [WEIGHTS, TOKENIZER, CONFIG];
    names.iter().all(|name| folder.join(name).is_file())
}

/// The model in memory.
pub(super) struct Loaded {
    model: minilm::Model,
    tokenizer: Tokenizer,
}

/// Tokenised texts, the passes left to run, and the pass in progress with the indexes of its texts.
pub(super) struct PartialWork {
    encodings: Vec<Encoding>,
    passes: Vec<Vec<usize>>,
    open: Option<(Vec<usize>, Pass)>,
    done: Embedded,
}

impl Loaded {
    pub(super) fn from_folder(folder: &Path) -> Result<Self, BuiltinFlaw> {
        if !is_present(folder) {
            return Err(BuiltinFlaw::NoFiles);
        }
        let read = |name| fs::read(folder.join(name)).map_err(|_| BuiltinFlaw::Unreadable);
        let config = serde_json::from_slice(&read(CONFIG)?).map_err(|_| BuiltinFlaw::Damaged)?;
        let model = minilm::Model::from_safetensors(&read(WEIGHTS)?, config);
        let loaded = Self {
            model: model.map_err(|_| BuiltinFlaw::Damaged)?,
            tokenizer: tokenizer(&read(TOKENIZER)?).map_err(|_| BuiltinFlaw::Damaged)?,
        };
        loaded.try_out()?;
        Ok(loaded)
    }

    /// Checks that the files fit together by embedding one word.
    fn try_out(&self) -> Result<(), BuiltinFlaw> {
        let mut work = self.begin(&["Keepsake".to_owned()])?;
        while self.advance(&mut work)? {}
        let vector = &work.finish().vectors[0];
        let fits = vector.len() == MODEL_DIMENSIONS && vector.iter().all(|v| v.is_finite());
        fits.then_some(()).ok_or(BuiltinFlaw::Damaged)
    }

    /// Tokenises the texts and plans the passes.
    pub(super) fn begin(&self, texts: &[String]) -> Result<PartialWork, BuiltinFlaw> {
        let mut encodings = Vec::with_capacity(texts.len());
        for text in texts {
            let encoding = self.tokenizer.encode(text.as_str(), true);
            encodings.push(encoding.map_err(|_| BuiltinFlaw::Failed)?);
        }
        let truncated =
            encodings.iter().map(|encoding| !encoding.get_overflowing().is_empty()).collect();
        let mut passes: Vec<Vec<usize>> = Vec::new();
        let mut tokens = 0;
        for (at, encoding) in encodings.iter().enumerate() {
            tokens += encoding.len();
            match passes.last_mut() {
                Some(pass) if pass.len() < MAX_TEXTS_A_PASS && tokens <= MAX_TOKENS_A_PASS => {
                    pass.push(at);
                }
                _ => {
                    tokens = encoding.len();
                    passes.push(vec![at]);
                }
            }
        }
        Ok(PartialWork {
            done: Embedded {
                vectors: vec![Vec::new(); encodings.len()],
                tokens: vec![Vec::new(); encodings.len()],
                truncated,
            },
            encodings,
            passes,
            open: None,
        })
    }

    /// Runs one step (one layer of a pass, at most tens of milliseconds). False if none was left.
    pub(super) fn advance(&self, work: &mut PartialWork) -> Result<bool, BuiltinFlaw> {
        let Some((members, mut pass)) = work.open.take() else {
            let Some(members) = work.passes.pop() else {
                return Ok(false);
            };
            let ids = members.iter().map(|at| work.encodings[*at].get_ids());
            let pass = self.model.begin(&ids.collect::<Vec<_>>());
            work.open = Some((members, pass.ok_or(BuiltinFlaw::Failed)?));
            return Ok(true);
        };
        if self.model.advance(&mut pass) {
            work.open = Some((members, pass));
            return Ok(true);
        }
        let width = self.model.width();
        for (at, tokens) in members.into_iter().zip(pass.texts(width)) {
            work.done.vectors[at] = pooled(tokens, width);
            work.done.tokens[at] = without_marks(tokens, width).to_vec();
        }
        Ok(true)
    }
}

impl PartialWork {
    pub(super) fn finish(self) -> Embedded {
        self.done
    }
}

/// Without the special tokens at the start and end of a text.
fn without_marks(tokens: &[f32], width: usize) -> &[f32] {
    let end = tokens.len().saturating_sub(width);
    tokens.get(width..end).unwrap_or_default()
}

/// Mean pooling and normalisation to length 1; the sum over the tokens has the same direction as the mean.
fn pooled(tokens: &[f32], width: usize) -> Vec<f32> {
    let mut vector = vec![0.0; width];
    for token in tokens.chunks_exact(width) {
        vector.iter_mut().zip(token).for_each(|(sum, v)| *sum += v);
    }
    let norm = vector.iter().map(|v| v * v).sum::<f32>().sqrt();
    vector.iter_mut().for_each(|v| *v /= norm);
    vector
}

/// The file says 128 tokens with padding; the model accepts 256, and we do not pad.
fn tokenizer(file: &[u8]) -> tokenizers::Result<Tokenizer> {
    let mut tokenizer = Tokenizer::from_bytes(file)?;
    tokenizer.with_truncation(Some(TruncationParams {
        max_length: MAX_TOKENS,
        ..TruncationParams::default()
    }))?;
    tokenizer.with_padding(None);
    Ok(tokenizer)
}
