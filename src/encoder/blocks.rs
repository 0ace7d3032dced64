//! Products with weights of four bits, in blocks of 32 with one scale (Q4_0). They are unpacked once to eight bits; rows of
//! states are rounded to eight bits, with one scale a block.

use half::f16;
use pulp::{Arch, Simd, WithSimd};

use crate::kernels::Kernel;
use crate::product::{even_parts, in_row_parts};
use crate::weights::Flaw;

/// Weights with one scale.
pub const BLOCK: usize = 32;
/// The scale as a 16-bit float, then two weights a byte.
const BLOCK_BYTES: usize = 18;
/// Columns side by side.
pub const COLUMNS: usize = 16;
/// Rows at once.
pub const ROWS: usize = 8;
/// Terms that one instruction multiplies and adds up, of each column.
pub const TERMS: usize = 4;
/// Added to rounded states, which the instructions take without a sign.
const SHIFT: f32 = 128.0;
/// 1.5 · 2²³: adding it to a float rounds away the fraction.
const ROUNDER: f32 = 12_582_912.0;

/// A block of sixteen columns.
#[derive(Clone)]
#[repr(C, align(64))]
pub struct Tile {
    /// (8, columns, 4)
    pub numbers: [[i8; COLUMNS * TERMS]; BLOCK / TERMS],
    pub scales: [f32; COLUMNS],
    /// With what the sums begin, so that [`SHIFT`] has no effect.
    pub starts: [i32; COLUMNS],
}

/// A linear layer.
pub struct Weights {
    /// (panels of columns, blocks)
    tiles: Vec<Tile>,
    /// Padded to the panels' columns.
    bias: Vec<f32>,
    blocks: usize,
    columns: usize,
    kernel: Kernel,
}

/// Rows of states, rounded: (rows, blocks).
#[derive(Default)]
pub struct Rounded {
    numbers: Vec<[u8; BLOCK]>,
    scales: Vec<f32>,
    blocks: usize,
}

/// Some of the rounded rows.
#[derive(Clone, Copy)]
pub struct Row<'a> {
    pub numbers: &'a [[u8; BLOCK]],
    pub scales: &'a [f32],
}

/// A scale, and the weights.
fn unpack(block: &[u8; BLOCK_BYTES]) -> (f32, [i8; BLOCK]) {
    let mut numbers = [0; BLOCK];
    for (at, pair) in block[2..].iter().enumerate() {
        numbers[at] = (pair & 15) as i8 - 8;
        numbers[at + BLOCK / 2] = (pair >> 4) as i8 - 8;
    }
    (f16::from_le_bytes([block[0], block[1]]).to_f32(), numbers)
}

/// The rows of a matrix, one at a time.
pub struct Table {
    blocks: Vec<[u8; BLOCK_BYTES]>,
    a_row: usize,
}

impl Table {
    pub fn new(packed: &[u8], inner: usize) -> Result<Self, Flaw> {
        let (blocks, a_row) = blocks_of(packed, inner)?;
        Ok(Self { blocks: blocks.to_vec(), a_row })
    }

    pub fn row(&self, n: usize) -> Option<impl Iterator<Item = f32>> {
        let from = n.checked_mul(self.a_row)?;
        let blocks = self.blocks.get(from..from + self.a_row)?;
        Some(blocks.iter().flat_map(|block| {
            let (scale, numbers) = unpack(block);
            numbers.map(|number| f32::from(number) * scale)
        }))
    }
}

/// The blocks of a matrix, and how many a row has.
fn blocks_of(packed: &[u8], inner: usize) -> Result<(&[[u8; BLOCK_BYTES]], usize), Flaw> {
    let (blocks, rest) = packed.as_chunks::<BLOCK_BYTES>();
    let a_row = inner / BLOCK;
    let is_whole = rest.is_empty()
        && inner.is_multiple_of(BLOCK)
        && a_row > 0
        && blocks.len().is_multiple_of(a_row);
    is_whole.then_some((blocks, a_row)).ok_or(Flaw)
}

impl Weights {
    /// `packed`: (columns, inner), as in files.
    pub fn pack(packed: &[u8], mut bias: Vec<f32>, inner: usize) -> Result<Self, Flaw> {
        let (blocks, a_row) = blocks_of(packed, inner)?;
        let columns = bias.len();
        if blocks.len() != columns * a_row {
            return Err(Flaw);
        }
        let zero = Tile {
            numbers: [[0; COLUMNS * TERMS]; BLOCK / TERMS],
            scales: [0.0; COLUMNS],
            starts: [0; COLUMNS],
        };
        let mut tiles = vec![zero; columns.div_ceil(COLUMNS) * a_row];
        for (n, block) in blocks.iter().enumerate() {
            let (column, at) = (n / a_row, n % a_row);
            let tile = &mut tiles[column / COLUMNS * a_row + at];
            let place = column % COLUMNS;
            let (scale, numbers) = unpack(block);
            for (to, from) in tile.numbers.iter_mut().zip(numbers.as_chunks::<TERMS>().0) {
                to[place * TERMS..][..TERMS].copy_from_slice(from);
            }
            tile.scales[place] = scale;
            let sum: i32 = numbers.iter().map(|number| i32::from(*number)).sum();
            tile.starts[place] = -(SHIFT as i32) * sum;
        }
        bias.resize(columns.next_multiple_of(COLUMNS), 0.0);
        Ok(Self { tiles, bias, blocks: a_row, columns, kernel: Kernel::best() })
    }

    /// (rows, inner) into `out`, which becomes (rows, columns).
    pub fn multiply(&self, arch: Arch, rows: &[f32], out: &mut Vec<f32>) {
        let inner = self.blocks * BLOCK;
        in_row_parts((rows, inner), (out, self.columns), |rows, out| {
            let mut rounded = Rounded::default();
            arch.dispatch(Round { rows, inner, rounded: &mut rounded });
            self.kernel.multiply(self, &rounded, out);
        });
    }

    /// Writes (rows, columns). `sums` adds up the products of at most [`ROWS`] rows with a panel.
    #[inline(always)]
    pub fn each_tile(
        &self,
        rows: &Rounded,
        out: &mut [f32],
        sums: impl Fn(&[Tile], &[Row], &mut [[f32; COLUMNS]; ROWS]),
    ) {
        let none = Row { numbers: &[], scales: &[] };
        for (n, panel) in self.tiles.chunks_exact(self.blocks).enumerate() {
            let from = n * COLUMNS;
            let width = COLUMNS.min(self.columns - from);
            let mut start = [0.0; COLUMNS];
            start.copy_from_slice(&self.bias[from..from + COLUMNS]);
            let mut first = 0;
            for count in even_parts(rows.count(), ROWS) {
                let mut of_tile = [none; ROWS];
                for (at, row) in of_tile[..count].iter_mut().enumerate() {
                    *row = rows.row(first + at);
                }
                let mut tile = [start; ROWS];
                sums(panel, &of_tile[..count], &mut tile);
                for (at, row) in tile[..count].iter().enumerate() {
                    let to = (first + at) * self.columns + from;
                    out[to..to + width].copy_from_slice(&row[..width]);
                }
                first += count;
            }
        }
    }
}

impl Rounded {
    fn count(&self) -> usize {
        self.numbers.len() / self.blocks.max(1)
    }

    fn row(&self, n: usize) -> Row<'_> {
        let at = n * self.blocks..(n + 1) * self.blocks;
        Row { numbers: &self.numbers[at.clone()], scales: &self.scales[at] }
    }
}

struct Round<'a> {
    rows: &'a [f32],
    inner: usize,
    rounded: &'a mut Rounded,
}

impl WithSimd for Round<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { rows, inner, rounded } = self;
        rounded.blocks = inner / BLOCK;
        let blocks = rows.as_chunks::<BLOCK>().0;
        rounded.numbers.resize(blocks.len(), [0; BLOCK]);
        rounded.scales.resize(blocks.len(), 0.0);
        let to = rounded.numbers.iter_mut().zip(&mut rounded.scales);
        for (block, (numbers, scale)) in blocks.iter().zip(to) {
            let greatest = block.iter().fold(0.0_f32, |most, x| most.max(x.abs()));
            let factor = if greatest > 0.0 { 127.0 / greatest } else { 0.0 };
            *scale = greatest / 127.0;
            for (number, x) in numbers.iter_mut().zip(block) {
                let whole = x * factor + ROUNDER - ROUNDER;
                *number = (whole + SHIFT) as u8;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that look random, the same at each run.
    pub fn numbers(count: usize) -> Vec<f32> {
        let mut state = 7_u32;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 16) as f32 / 65_536.0 - 0.5
        };
        (0..count).map(|_| next()).collect()
    }

    /// (rows, inner) in blocks.
    fn packed(rows: usize, inner: usize) -> Vec<u8> {
        let blocks = numbers(rows * inner / BLOCK * 17);
        blocks.chunks_exact(17).flat_map(block_of).collect()
    }

    fn block_of(numbers: &[f32]) -> impl Iterator<Item = u8> {
        let scale = f16::from_f32(numbers[0] / 8.0).to_le_bytes();
        let pairs = numbers[1..].iter().map(|x| ((x + 0.5) * 256.0) as u8);
        scale.into_iter().chain(pairs.collect::<Vec<u8>>())
    }

    #[test]
    fn every_kernel_agrees_with_products_one_by_one() {
        for (rows, inner, columns) in
            [(1, 32, 16), (3, 64, 17), (8, 384, 48), (9, 96, 15), (17, 32, 33), (70, 1_536, 32)]
        {
            let (a, file) = (numbers(rows * inner), packed(columns, inner));
            let bias = numbers(columns);
            let table = Table::new(&file, inner).expect("a table");
            let mut weights = Weights::pack(&file, bias.clone(), inner).expect("weights");
            let mut of_all = Vec::new();
            for kernel in Kernel::all() {
                weights.kernel = kernel;
                let mut out = Vec::new();
                weights.multiply(Arch::new(), &a, &mut out);
                of_all.push(out);
            }
            for column in 0..columns {
                let w: Vec<f32> = table.row(column).expect("a row").collect();
                for row in 0..rows {
                    let a = &a[row * inner..(row + 1) * inner];
                    let exact = a.iter().zip(&w).map(|(a, w)| a * w).sum::<f32>() + bias[column];
                    let least = a.iter().zip(&w).map(|(a, w)| (a * w).abs()).sum::<f32>();
                    let made = of_all[0][row * columns + column];
                    assert!((made - exact).abs() < 0.01 * least, "{made} {exact}");
                }
            }
            for out in &of_all[1..] {
                let near = |(one, other): (&f32, &f32)| (one - other).abs() < 1e-4;
                assert!(out.iter().zip(&of_all[0]).all(near), "{rows} {inner} {columns}");
            }
        }
    }

    #[test]
    fn weights_of_a_wrong_shape_are_refused() {
        assert!(Weights::pack(&packed(16, 64), vec![0.0; 15], 64).is_err());
        assert!(Weights::pack(&packed(16, 64)[1..], vec![0.0; 16], 64).is_err());
        assert!(Table::new(&packed(2, 32), 33).is_err());
        assert!(Table::new(&packed(2, 32), 32).expect("a table").row(2).is_none());
    }
}
