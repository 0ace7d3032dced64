//! The built-in models, run in our own process (the package `encoder`): multilingual-e5-small, and all-MiniLM-L6-v2 for
//! spaces that were made with it. Both have 384 dimensions. Texts are truncated, which bounds the memory per text. Their
//! files are read into memory, never mapped.

use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use encoder::Pass;
use tokenizers::{Tokenizer, TruncationParams};

use super::Embedded;
pub use super::builtin_model::BuiltinModel;
use super::builtin_model::{CONFIG, E5, TOKENIZER, WEIGHTS};
use super::error::BuiltinFlaw;
pub use super::worker::BuiltinModels;

pub const MODEL_DIMENSIONS: usize = 384;

/// "query" and ":".
const E5_PREFIX_TOKENS: usize = 2;
/// MiniLM's number of what it does not know.
const ENGLISH_UNKNOWN: u32 = 100;

/// What is subtracted from the vectors and from the token vectors, each of length 1: all of e5's point into nearly the same
/// direction (bench/README.md, "A multilingual model").
struct Means {
    of_texts: Vec<f32>,
    of_tokens: Vec<f32>,
}

static E5_MEANS: LazyLock<Means> = LazyLock::new(|| {
    let (floats, _) = include_bytes!("e5_means.bin").as_chunks();
    let mut of_texts: Vec<f32> = floats.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
    let of_tokens = of_texts.split_off(MODEL_DIMENSIONS);
    Means { of_texts, of_tokens }
});

/// The models of a data folder. Their files may still be missing: they are looked for at each call, and read at the first.
pub fn find(data_dir: &Path) -> BuiltinModels {
    BuiltinModels::in_folders(BuiltinModel::ALL.map(|model| model.find(data_dir)))
}

/// Limits of one pass. They bound the memory, and how long an abandoned batch runs on. Larger passes are not
/// faster: the products are large enough, and passes of this size stay in the cache.
const MAX_TEXTS_A_PASS: usize = 16;
const MAX_TOKENS_A_PASS: usize = 256;

/// The model in memory.
pub(super) struct Loaded {
    model: encoder::Model,
    tokenizer: AnyTokenizer,
    tokens_max: usize,
    /// Of the prefix that each text has.
    prefix_tokens: usize,
    means: Option<&'static Means>,
}

enum AnyTokenizer {
    Pieces(encoder::Tokenizer),
    /// Also truncates.
    English(Box<Tokenizer>),
}

/// Tokenised texts, the passes left to run, and the pass in progress with the indexes of its texts.
pub(super) struct PartialWork {
    texts: Vec<encoder::Tokens>,
    passes: Vec<Vec<usize>>,
    open: Option<(Vec<usize>, Pass)>,
    done: Embedded,
}

impl Loaded {
    pub(super) fn from_folder(kind: BuiltinModel, folder: &Path) -> Result<Self, BuiltinFlaw> {
        if !kind.is_in(folder) {
            return Err(BuiltinFlaw::NoFiles(kind));
        }
        let read = |name| fs::read(folder.join(name)).map_err(|_| BuiltinFlaw::Unreadable);
        let damaged = |_| BuiltinFlaw::Damaged;
        let (model, tokenizer, prefix_tokens, means) = match kind {
            BuiltinModel::Multilingual => {
                let (model, tokenizer) = encoder::Model::from_e5(&read(E5)?).map_err(damaged)?;
                (model, AnyTokenizer::Pieces(tokenizer), E5_PREFIX_TOKENS, Some(&*E5_MEANS))
            }
            BuiltinModel::English => {
                let config = read(CONFIG)?;
                let config = serde_json::from_slice(&config).map_err(|_| BuiltinFlaw::Damaged)?;
                let model = encoder::Model::from_safetensors(&read(WEIGHTS)?, config);
                let tokenizer = tokenizer(&read(TOKENIZER)?, kind.tokens_max());
                let tokenizer = tokenizer.map_err(|_| BuiltinFlaw::Damaged)?;
                (model.map_err(damaged)?, AnyTokenizer::English(Box::new(tokenizer)), 0, None)
            }
        };
        let loaded = Self { model, tokenizer, tokens_max: kind.tokens_max(), prefix_tokens, means };
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
        let texts = texts.iter().map(|text| self.tokens(text)).collect::<Result<Vec<_>, _>>()?;
        let mut passes: Vec<Vec<usize>> = Vec::new();
        let mut tokens = 0;
        for (at, text) in texts.iter().enumerate() {
            tokens += text.ids.len();
            match passes.last_mut() {
                Some(pass) if pass.len() < MAX_TEXTS_A_PASS && tokens <= MAX_TOKENS_A_PASS => {
                    pass.push(at);
                }
                _ => {
                    tokens = text.ids.len();
                    passes.push(vec![at]);
                }
            }
        }
        Ok(PartialWork {
            done: Embedded {
                vectors: vec![Vec::new(); texts.len()],
                tokens: vec![Vec::new(); texts.len()],
                truncated: texts.iter().map(|text| text.is_truncated).collect(),
            },
            texts,
            passes,
            open: None,
        })
    }

    fn tokens(&self, text: &str) -> Result<encoder::Tokens, BuiltinFlaw> {
        match &self.tokenizer {
            AnyTokenizer::Pieces(tokenizer) => Ok(tokenizer.tokens(text, self.tokens_max)),
            AnyTokenizer::English(tokenizer) => {
                let encoding = tokenizer.encode(text, true).map_err(|_| BuiltinFlaw::Failed)?;
                let ids = encoding.get_ids();
                let unknown = ids.iter().filter(|id| **id == ENGLISH_UNKNOWN).count();
                Ok(encoder::Tokens {
                    unknown,
                    known: ids.len().saturating_sub(2 + unknown),
                    ids: ids.to_vec(),
                    is_truncated: !encoding.get_overflowing().is_empty(),
                })
            }
        }
    }

    /// Runs one step (one layer of a pass, at most tens of milliseconds). False if none was left.
    pub(super) fn advance(&self, work: &mut PartialWork) -> Result<bool, BuiltinFlaw> {
        let Some((members, mut pass)) = work.open.take() else {
            let Some(members) = work.passes.pop() else {
                return Ok(false);
            };
            let ids = members.iter().map(|at| work.texts[*at].ids.as_slice());
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
            let text = &work.texts[at];
            if text.unknown > text.known.saturating_sub(self.prefix_tokens) {
                work.done.vectors[at] = vec![0.0; width];
                continue;
            }
            let mut vector = pooled(tokens, width);
            let mut tokens = without_marks(tokens, width).to_vec();
            if let Some(means) = self.means {
                centre(&mut vector, &means.of_texts);
                for token in tokens.chunks_exact_mut(width) {
                    centre(token, &means.of_tokens);
                }
            }
            work.done.vectors[at] = vector;
            work.done.tokens[at] = tokens;
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
    normalise(&mut vector);
    vector
}

fn centre(vector: &mut [f32], mean: &[f32]) {
    normalise(vector);
    vector.iter_mut().zip(mean).for_each(|(v, mean)| *v -= mean);
    normalise(vector);
}

fn normalise(vector: &mut [f32]) {
    let norm = vector.iter().map(|v| v * v).sum::<f32>().sqrt();
    vector.iter_mut().for_each(|v| *v /= norm);
}

/// The file says 128 tokens with padding; the model accepts 256, and we do not pad.
fn tokenizer(file: &[u8], max_length: usize) -> tokenizers::Result<Tokenizer> {
    let mut tokenizer = Tokenizer::from_bytes(file)?;
    tokenizer
        .with_truncation(Some(TruncationParams { max_length, ..TruncationParams::default() }))?;
    tokenizer.with_padding(None);
    Ok(tokenizer)
}
