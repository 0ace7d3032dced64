//! The forward pass of BERT encoders: from token ids to one vector per token. multilingual-e5-small has weights of
//! four bits ([`blocks`]) and its tokenizer here ([`unigram`]); all-MiniLM-L6-v2 has 32-bit floats ([`product`]).
//!
//! Weights are packed once in the order in which products read them, so that a short query is limited by memory
//! bandwidth. Texts of one pass are concatenated without padding. It is its own package so that it is optimised in every
//! profile.

mod attention;
mod blocks;
mod e5;
mod functions;
mod kernels;
mod product;
mod unigram;
mod weights;

use pulp::{Arch, Simd, WithSimd};
use serde::Deserialize;

use functions::{gelu, normalise};
pub use unigram::{Tokenizer, Tokens};
pub use weights::Flaw;
use weights::Tensors;

/// As in `config.json`.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Config {
    pub hidden_size: usize,
    pub intermediate_size: usize,
    pub num_attention_heads: usize,
    pub num_hidden_layers: usize,
    pub max_position_embeddings: usize,
    pub vocab_size: usize,
    pub layer_norm_eps: f32,
}

pub struct Model {
    config: Config,
    arch: Arch,
    words: Words,
    /// The position embeddings, with the token type embedding of a single text added.
    positions: Vec<f32>,
    first_norm: Norm,
    layers: Vec<Layer>,
}

/// The vector of each token.
enum Words {
    Floats(Vec<f32>),
    Blocks(blocks::Table),
}

/// A linear layer.
enum Linear {
    Floats(product::Weights),
    Blocks(blocks::Weights),
}

struct Norm {
    scale: Vec<f32>,
    shift: Vec<f32>,
}

struct Layer {
    /// The query, key and value projections, side by side.
    query_key_value: Linear,
    attended: Linear,
    attended_norm: Norm,
    wide: Linear,
    narrow: Linear,
    norm: Norm,
}

/// A batch of texts on its way through the layers.
pub struct Pass {
    /// Tokens of each text.
    lengths: Vec<usize>,
    /// (tokens of all texts, width).
    states: Vec<f32>,
    next_layer: usize,
    scratch: Scratch,
}

/// Buffers that the layers reuse.
#[derive(Default)]
struct Scratch {
    wide: Vec<f32>,
    attended: Vec<f32>,
    made: Vec<f32>,
}

impl Pass {
    /// The token vectors of each text, (tokens, width).
    pub fn texts(&self, width: usize) -> impl Iterator<Item = &[f32]> {
        let mut rest = self.states.as_slice();
        self.lengths.iter().map(move |length| {
            let (text, others) = rest.split_at(length * width);
            rest = others;
            text
        })
    }
}

impl Model {
    /// Reads a model.
    ///
    /// # Errors
    /// [`Flaw`] if the file is invalid or lacks a tensor of the shape that the configuration requires.
    pub fn from_safetensors(file: &[u8], config: Config) -> Result<Self, Flaw> {
        config.check()?;
        let Config { hidden_size: width, intermediate_size: wide, .. } = config;
        let tensors = Tensors::read(file)?;
        let norm = |name: &str| -> Result<Norm, Flaw> {
            Ok(Norm {
                scale: tensors.vector(&format!("{name}.weight"), width)?,
                shift: tensors.vector(&format!("{name}.bias"), width)?,
            })
        };
        let kind = tensors.matrix("embeddings.token_type_embeddings.weight", 2, width)?;
        let mut positions = tensors.matrix(
            "embeddings.position_embeddings.weight",
            config.max_position_embeddings,
            width,
        )?;
        for row in positions.chunks_exact_mut(width) {
            row.iter_mut().zip(&kind).for_each(|(at, of_all)| *at += of_all);
        }
        let layers = (0..config.num_hidden_layers).map(|n| {
            let at = |part: &str| format!("encoder.layer.{n}.{part}");
            let linear = |part: &str, from: usize, to: usize| {
                let name = at(part);
                let weight = tensors.matrix(&format!("{name}.weight"), to, from)?;
                let bias = tensors.vector(&format!("{name}.bias"), to)?;
                Ok((weight, bias))
            };
            let mut together = (Vec::new(), Vec::new());
            for part in ["query", "key", "value"] {
                let (weight, bias) = linear(&format!("attention.self.{part}"), width, width)?;
                together.0.extend(weight);
                together.1.extend(bias);
            }
            let pack = |(weight, bias): (Vec<f32>, Vec<f32>), from| {
                Linear::Floats(product::Weights::pack(&weight, bias, from))
            };
            Ok(Layer {
                query_key_value: pack(together, width),
                attended: pack(linear("attention.output.dense", width, width)?, width),
                attended_norm: norm(&at("attention.output.LayerNorm"))?,
                wide: pack(linear("intermediate.dense", width, wide)?, width),
                narrow: pack(linear("output.dense", wide, width)?, wide),
                norm: norm(&at("output.LayerNorm"))?,
            })
        });
        Ok(Self {
            arch: Arch::new(),
            words: Words::Floats(tensors.matrix(
                "embeddings.word_embeddings.weight",
                config.vocab_size,
                width,
            )?),
            positions,
            first_norm: norm("embeddings.LayerNorm")?,
            layers: layers.collect::<Result<_, Flaw>>()?,
            config,
        })
    }

    pub fn width(&self) -> usize {
        self.config.hidden_size
    }

    /// Begins with the texts' token ids; `None` if a text is longer than the model's positions, or an id is
    /// unknown.
    pub fn begin(&self, texts: &[&[u32]]) -> Option<Pass> {
        let width = self.width();
        let mut states =
            Vec::with_capacity(texts.iter().map(|text| text.len()).sum::<usize>() * width);
        for text in texts {
            for (place, token) in text.iter().enumerate() {
                let place = self.positions.get(place * width..(place + 1) * width)?;
                let token = *token as usize;
                match &self.words {
                    Words::Floats(words) => {
                        let word = words.get(token * width..(token + 1) * width)?;
                        states.extend(word.iter().zip(place).map(|(word, place)| word + place));
                    }
                    Words::Blocks(table) => {
                        states
                            .extend(table.row(token)?.zip(place).map(|(word, place)| word + place));
                    }
                }
            }
        }
        let (eps, norm) = (self.config.layer_norm_eps, &self.first_norm);
        self.arch.dispatch(|| norm.apply(&mut states, eps));
        Some(Pass {
            lengths: texts.iter().map(|text| text.len()).collect(),
            states,
            next_layer: 0,
            scratch: Scratch::default(),
        })
    }

    /// Runs the next layer, on the current thread pool. False if there is none left.
    pub fn advance(&self, pass: &mut Pass) -> bool {
        let Some(layer) = self.layers.get(pass.next_layer) else {
            return false;
        };
        pass.next_layer += 1;
        let (width, eps) = (self.width(), self.config.layer_norm_eps);
        let (arch, heads) = (self.arch, self.config.num_attention_heads);
        let Pass { lengths, states, scratch, .. } = pass;
        let Scratch { wide, attended, made } = scratch;
        layer.query_key_value.multiply(arch, states, wide);
        attention::attend(arch, (wide, lengths), (heads, width), attended);
        layer.attended.multiply(arch, attended, made);
        arch.dispatch(|| layer.attended_norm.after(made, states, eps));
        layer.wide.multiply(arch, made, wide);
        functions::in_parts(wide, |part| arch.dispatch(Gelu(part)));
        layer.narrow.multiply(arch, wide, states);
        arch.dispatch(|| layer.norm.after(states, made, eps));
        true
    }
}

impl Linear {
    /// (rows, inner) into `out`, which becomes (rows, columns).
    fn multiply(&self, arch: Arch, rows: &[f32], out: &mut Vec<f32>) {
        match self {
            Self::Floats(weights) => weights.multiply(arch, rows, out),
            Self::Blocks(weights) => weights.multiply(arch, rows, out),
        }
    }
}

struct Gelu<'a>(&'a mut [f32]);

impl WithSimd for Gelu<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        self.0.iter_mut().for_each(|x| *x = gelu(*x));
    }
}

impl Norm {
    #[inline(always)]
    fn apply(&self, states: &mut [f32], eps: f32) {
        for row in states.chunks_exact_mut(self.scale.len()) {
            normalise(row, &self.scale, &self.shift, eps);
        }
    }

    /// Adds the residual, and normalises.
    #[inline(always)]
    fn after(&self, made: &mut [f32], given: &[f32], eps: f32) {
        made.iter_mut().zip(given).for_each(|(made, given)| *made += given);
        self.apply(made, eps);
    }
}

impl Config {
    fn check(&self) -> Result<(), Flaw> {
        let sizes = [
            self.hidden_size,
            self.intermediate_size,
            self.vocab_size,
            self.max_position_embeddings,
        ];
        let is_whole = sizes.iter().all(|size| (1..=1 << 20).contains(size))
            && (1..=1_024).contains(&self.num_hidden_layers)
            && self.num_attention_heads > 0
            && self.hidden_size.is_multiple_of(self.num_attention_heads);
        is_whole.then_some(()).ok_or(Flaw)
    }
}
