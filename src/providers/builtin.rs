//! The built-in model: all-MiniLM-L6-v2 (384 dimensions) run by candle in our own
//! process. Texts are cut at 256 tokens, so that no text costs more memory than
//! another; its files are read whole and never mapped.

use std::fs;
use std::path::Path;

use candle_core::{DType, Device, Tensor};
use candle_nn::VarBuilder;
use candle_transformers::models::bert::{BertEncoder, BertModel, Config};
use tokenizers::{Encoding, Tokenizer, TruncationParams};

use super::Embedded;
use super::error::BuiltinFlaw;
pub use super::worker::Model;

pub const MODEL_NAME: &str = "all-MiniLM-L6-v2";
pub const MODEL_DIMENSIONS: usize = 384;

/// Of a text, this many tokens are read, as the model was trained.
pub const MAX_TOKENS: usize = 256;

/// Below the data folder; `tools/fetch_model.py` fills it.
const FOLDER: &str = "runtime/model-all-minilm-l6-v2";
const WEIGHTS: &str = "model.safetensors";
const TOKENIZER: &str = "tokenizer.json";
const CONFIG: &str = "config.json";

/// One pass takes at most so many texts and so many tokens, padding included:
/// it bounds the memory, and how soon a batch ends whose caller has gone. More bring no speed: the
/// products are large enough, and pieces of this size stay in the cache.
const MAX_TEXTS_A_PASS: usize = 16;
const MAX_TOKENS_A_PASS: usize = MAX_TOKENS;

/// The model of a data folder. Its files need not be there yet: they are looked
/// for at each call, and read at the first.
pub fn find(data_dir: &Path) -> Model {
    Model::in_folder(data_dir.join(FOLDER))
}

pub(super) fn is_present(folder: &Path) -> bool {
    let names = [WEIGHTS, TOKENIZER, CONFIG];
    names.iter().all(|name| folder.join(name).is_file())
}

/// The model in memory, taken apart so that the work can end between layers.
pub(super) struct Loaded {
    embeddings: BertModel,
    layers: Vec<BertEncoder>,
    tokenizer: Tokenizer,
}

/// Texts cut into tokens, the passes still to be made (longest last), and the one
/// that is being made.
pub(super) struct Work {
    encodings: Vec<Encoding>,
    passes: Vec<Vec<usize>>,
    open: Option<Pass>,
    done: Embedded,
}

/// Some of the texts on their way through the layers.
struct Pass {
    members: Vec<usize>,
    next_layer: usize,
    /// (texts, tokens, width).
    states: Tensor,
    /// (texts, tokens, 1): 1 for a token, 0 for padding.
    mask: Tensor,
    /// (texts, 1, 1, tokens): 0 for a token, the smallest number for padding.
    attention: Tensor,
}

impl Loaded {
    pub(super) fn from_folder(folder: &Path) -> Result<Self, BuiltinFlaw> {
        if !is_present(folder) {
            return Err(BuiltinFlaw::NoFiles);
        }
        let read = |name| fs::read(folder.join(name)).map_err(|_| BuiltinFlaw::Unreadable);
        let config: Config =
            serde_json::from_slice(&read(CONFIG)?).map_err(|_| BuiltinFlaw::Damaged)?;
        let bert = bert(read(WEIGHTS)?, config).map_err(|_| BuiltinFlaw::Damaged)?;
        let loaded = Self {
            embeddings: bert.0,
            layers: bert.1,
            tokenizer: tokenizer(&read(TOKENIZER)?).map_err(|_| BuiltinFlaw::Damaged)?,
        };
        loaded.try_out()?;
        Ok(loaded)
    }

    /// Files that fit together embed a word.
    fn try_out(&self) -> Result<(), BuiltinFlaw> {
        let mut work = self.begin(&["Keepsake".to_owned()])?;
        while self.advance(&mut work)? {}
        let vector = &work.finish().vectors[0];
        let fits = vector.len() == MODEL_DIMENSIONS && vector.iter().all(|v| v.is_finite());
        fits.then_some(()).ok_or(BuiltinFlaw::Damaged)
    }

    /// Cuts the texts into tokens and plans the passes: texts of like length go
    /// together, which leaves little padding.
    pub(super) fn begin(&self, texts: &[String]) -> Result<Work, BuiltinFlaw> {
        let mut encodings = Vec::with_capacity(texts.len());
        for text in texts {
            let encoding = self.tokenizer.encode(text.as_str(), true);
            encodings.push(encoding.map_err(|_| BuiltinFlaw::Failed)?);
        }
        let truncated = encodings
            .iter()
            .map(|encoding| !encoding.get_overflowing().is_empty())
            .collect();
        let mut by_length: Vec<usize> = (0..texts.len()).collect();
        by_length.sort_by_key(|at| encodings[*at].len());
        let mut passes: Vec<Vec<usize>> = Vec::new();
        for at in by_length {
            // The longest so far, so all of its pass are padded to it.
            let tokens = encodings[at].len();
            match passes.last_mut() {
                Some(pass)
                    if pass.len() < MAX_TEXTS_A_PASS
                        && (pass.len() + 1) * tokens <= MAX_TOKENS_A_PASS =>
                {
                    pass.push(at);
                }
                _ => passes.push(vec![at]),
            }
        }
        Ok(Work {
            done: Embedded {
                vectors: vec![Vec::new(); encodings.len()],
                truncated,
            },
            encodings,
            passes,
            open: None,
        })
    }

    /// Takes one step (a layer of a pass, tens of milliseconds at most); says
    /// whether there was one left to take.
    pub(super) fn advance(&self, work: &mut Work) -> Result<bool, BuiltinFlaw> {
        let pass = match work.open.take() {
            Some(pass) => self.step(pass, &mut work.done),
            None => match work.passes.pop() {
                Some(members) => self.open(members, &work.encodings).map(Some),
                None => return Ok(false),
            },
        };
        work.open = pass.map_err(|_| BuiltinFlaw::Failed)?;
        Ok(true)
    }

    fn open(&self, members: Vec<usize>, all: &[Encoding]) -> candle_core::Result<Pass> {
        let encodings: Vec<&Encoding> = members.iter().map(|at| &all[*at]).collect();
        let width = encodings.iter().map(|e| e.len()).max().unwrap_or(0);
        let padded = |of: fn(&Encoding) -> &[u32]| {
            let rows = encodings.iter().flat_map(|encoding| {
                let padding = width - encoding.len();
                let own = of(encoding).iter().copied();
                own.chain(std::iter::repeat_n(0, padding))
            });
            Tensor::from_iter(rows, &Device::Cpu)?.reshape((encodings.len(), width))
        };
        let ids = padded(Encoding::get_ids)?;
        let mask = padded(Encoding::get_attention_mask)?.to_dtype(DType::F32)?;
        let attention = ((1.0 - &mask)? * f64::from(f32::MIN))?;
        Ok(Pass {
            members,
            next_layer: 0,
            states: self.embeddings.forward(&ids, &ids.zeros_like()?, None)?,
            attention: attention.unsqueeze(1)?.unsqueeze(1)?,
            mask: mask.unsqueeze(2)?,
        })
    }

    /// The pass, one layer further, or nothing once its vectors are written down.
    fn step(&self, mut pass: Pass, done: &mut Embedded) -> candle_core::Result<Option<Pass>> {
        if let Some(layer) = self.layers.get(pass.next_layer) {
            pass.states = layer.forward(&pass.states, &pass.attention)?;
            pass.next_layer += 1;
            return Ok(Some(pass));
        }
        // Mean pooling, then length 1: the sum over the tokens points the same way.
        let sums = pass.states.broadcast_mul(&pass.mask)?.sum(1)?;
        for (at, vector) in pass.members.iter().zip(sums.to_vec2()?) {
            done.vectors[*at] = to_length_one(vector);
        }
        Ok(None)
    }
}

impl Work {
    pub(super) fn finish(self) -> Embedded {
        self.done
    }
}

fn to_length_one(mut vector: Vec<f32>) -> Vec<f32> {
    let norm = vector.iter().map(|v| v * v).sum::<f32>().sqrt();
    vector.iter_mut().for_each(|v| *v /= norm);
    vector
}

/// What comes before the layers, and each layer by itself: a model of no layers,
/// and one encoder a layer that is told it is the first.
fn bert(weights: Vec<u8>, config: Config) -> candle_core::Result<(BertModel, Vec<BertEncoder>)> {
    let weights = VarBuilder::from_buffered_safetensors(weights, DType::F32, &Device::Cpu)?;
    let of_layers = |num_hidden_layers| Config {
        num_hidden_layers,
        ..config.clone()
    };
    let embeddings = BertModel::load(weights.clone(), &of_layers(0))?;
    let layer = |number: usize| {
        let own = format!(".layer.{number}.");
        let renamed = move |name: &str| name.replacen(".layer.0.", &own, 1);
        let weights = weights.clone().rename_f(renamed);
        BertEncoder::load(weights.pp("encoder"), &of_layers(1))
    };
    let layers: candle_core::Result<_> = (0..config.num_hidden_layers).map(layer).collect();
    Ok((embeddings, layers?))
}

/// The file says 128 tokens, always filled up; the model takes 256, and padding is ours.
fn tokenizer(file: &[u8]) -> tokenizers::Result<Tokenizer> {
    let mut tokenizer = Tokenizer::from_bytes(file)?;
    tokenizer.with_truncation(Some(TruncationParams {
        max_length: MAX_TOKENS,
        ..TruncationParams::default()
    }))?;
    tokenizer.with_padding(None);
    Ok(tokenizer)
}
