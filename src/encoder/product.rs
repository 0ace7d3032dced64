//! Matrix products: rows of states times packed columns of weights, in tiles of six rows by sixteen columns,
//! whose sums stay in registers.

use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

/// Columns of a panel.
pub const COLUMNS: usize = 16;
/// Rows of a tile: with two registers of eight columns each, they use twelve of sixteen registers.
const ROWS: usize = 6;
/// Terms summed at once: this piece of a panel fits into the L1 cache together with the rows.
const STRETCH: usize = 192;
/// Fewer rows are not worth a second thread.
const ROWS_A_THREAD_MIN: usize = 4 * ROWS;

/// Columns of a matrix, sixteen side by side: (panels, inner, 16); the last panel is padded with zeros.
pub struct Panels {
    numbers: Vec<f32>,
    inner: usize,
    columns: usize,
}

impl Panels {
    pub fn new() -> Self {
        Self { numbers: Vec::new(), inner: 0, columns: 0 }
    }

    /// From a (columns, inner) matrix, whose rows become columns. `row(n)` returns a row.
    pub fn fill<'a>(&mut self, columns: usize, inner: usize, row: impl Fn(usize) -> &'a [f32]) {
        (self.inner, self.columns) = (inner, columns);
        self.numbers.clear();
        self.numbers.resize(columns.div_ceil(COLUMNS) * inner * COLUMNS, 0.0);
        for column in 0..columns {
            let panel = &mut self.numbers[column / COLUMNS * inner * COLUMNS..][..inner * COLUMNS];
            for (to, from) in panel.chunks_exact_mut(COLUMNS).zip(row(column)) {
                to[column % COLUMNS] = *from;
            }
        }
    }

    /// From an (inner, columns) matrix. `row(n)` returns a row.
    pub fn fill_rows<'a>(
        &mut self,
        inner: usize,
        columns: usize,
        row: impl Fn(usize) -> &'a [f32],
    ) {
        (self.inner, self.columns) = (inner, columns);
        self.numbers.clear();
        self.numbers.resize(columns.div_ceil(COLUMNS) * inner * COLUMNS, 0.0);
        for at in 0..inner {
            for (panel, from) in row(at)[..columns].chunks(COLUMNS).enumerate() {
                self.numbers[(panel * inner + at) * COLUMNS..][..from.len()].copy_from_slice(from);
            }
        }
    }
}

/// A linear layer.
pub struct Weights {
    panels: Panels,
    /// Padded to the panels' columns.
    bias: Vec<f32>,
}

impl Weights {
    /// `weight`: (columns, inner), as in files.
    pub fn pack(weight: &[f32], mut bias: Vec<f32>, inner: usize) -> Self {
        let mut panels = Panels::new();
        let columns = bias.len();
        panels.fill(columns, inner, |n| &weight[n * inner..(n + 1) * inner]);
        bias.resize(columns.next_multiple_of(COLUMNS), 0.0);
        Self { panels, bias }
    }

    /// (rows, inner) into `out`, which becomes (rows, columns).
    pub fn multiply(&self, arch: Arch, rows: &[f32], out: &mut Vec<f32>) {
        let (inner, columns) = (self.panels.inner, self.panels.columns);
        in_row_parts((rows, inner), (out, columns), |rows, out| {
            let mut packed = Packed::default();
            packed.fill(rows.len() / inner, inner, |n| &rows[n * inner..(n + 1) * inner]);
            multiply(arch, &packed, &self.panels, Some(&self.bias), out);
        });
    }
}

/// Makes (rows, columns) of (rows, inner), on all threads if there are enough rows.
pub fn in_row_parts(
    (rows, inner): (&[f32], usize),
    (out, columns): (&mut Vec<f32>, usize),
    run: impl Fn(&[f32], &mut [f32]) + Sync,
) {
    let count = rows.len() / inner;
    out.resize(count * columns, 0.0);
    let threads = rayon::current_num_threads();
    let part = count.div_ceil(threads).next_multiple_of(ROWS).max(ROWS_A_THREAD_MIN);
    if threads == 1 || part >= count {
        run(rows, out);
    } else {
        let parts = rows.par_chunks(part * inner).zip(out.par_chunks_mut(part * columns));
        parts.for_each(|(rows, out)| run(rows, out));
    }
}

/// Rows of a matrix, in blocks of at most six: (inner, rows of the block) each.
#[derive(Default)]
pub struct Packed {
    numbers: Vec<f32>,
    rows: usize,
    inner: usize,
}

impl Packed {
    pub fn fill<'a>(&mut self, rows: usize, inner: usize, row: impl Fn(usize) -> &'a [f32]) {
        (self.rows, self.inner) = (rows, inner);
        self.numbers.clear();
        self.numbers.resize(rows * inner, 0.0);
        let mut rest = self.numbers.as_mut_slice();
        let mut first = 0;
        for size in even_parts(rows, ROWS) {
            let (block, others) = rest.split_at_mut(size * inner);
            for at in 0..size {
                for (to, from) in block.chunks_exact_mut(size).zip(row(first + at)) {
                    to[at] = *from;
                }
            }
            (rest, first) = (others, first + size);
        }
    }
}

/// As few parts as possible, of even sizes, at most `most`.
pub fn even_parts(rows: usize, most: usize) -> impl Iterator<Item = usize> {
    let count = rows.div_ceil(most);
    (0..count).map(move |n| (n + 1) * rows / count - n * rows / count)
}

/// Writes (rows, columns) to `out`.
pub fn multiply(arch: Arch, rows: &Packed, panels: &Panels, bias: Option<&[f32]>, out: &mut [f32]) {
    arch.dispatch(Multiply { rows, panels, bias, out });
}

struct Multiply<'a> {
    rows: &'a Packed,
    panels: &'a Panels,
    bias: Option<&'a [f32]>,
    out: &'a mut [f32],
}

impl WithSimd for Multiply<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { rows, panels, bias, out } = self;
        let (inner, columns) = (panels.inner, panels.columns);
        for (n, panel) in panels.numbers.chunks_exact(inner * COLUMNS).enumerate() {
            let from = n * COLUMNS;
            let width = COLUMNS.min(columns - from);
            for (stretch, panel) in panel.chunks(STRETCH * COLUMNS).enumerate() {
                let mut rest = rows.numbers.as_slice();
                let mut first = 0;
                for size in even_parts(rows.rows, ROWS) {
                    let (block, others) = rest.split_at(size * inner);
                    let block = &block[stretch * STRETCH * size..][..panel.len() / COLUMNS * size];
                    let mut tile = [[0.0; COLUMNS]; ROWS];
                    for (at, row) in tile[..size].iter_mut().enumerate() {
                        let so_far = (first + at) * columns + from;
                        match (stretch, bias) {
                            (0, Some(bias)) => row.copy_from_slice(&bias[from..from + COLUMNS]),
                            (0, None) => {}
                            _ => copy(&mut row[..width], &out[so_far..so_far + width]),
                        }
                    }
                    match size {
                        1 => of_lanes::<S, 1>(simd, block, panel, &mut tile),
                        2 => of_lanes::<S, 2>(simd, block, panel, &mut tile),
                        3 => of_lanes::<S, 3>(simd, block, panel, &mut tile),
                        4 => of_lanes::<S, 4>(simd, block, panel, &mut tile),
                        5 => of_lanes::<S, 5>(simd, block, panel, &mut tile),
                        _ => of_lanes::<S, ROWS>(simd, block, panel, &mut tile),
                    }
                    for (at, row) in tile[..size].iter().enumerate() {
                        let to = (first + at) * columns + from;
                        copy(&mut out[to..to + width], &row[..width]);
                    }
                    (rest, first) = (others, first + size);
                }
            }
        }
    }
}

/// A fast path for whole panels, which most are.
#[inline(always)]
fn copy(to: &mut [f32], from: &[f32]) {
    match (to.as_chunks_mut::<COLUMNS>(), from.as_chunks::<COLUMNS>()) {
        (([to], []), ([from], [])) => *to = *from,
        _ => to.copy_from_slice(from),
    }
}

/// A panel's columns fill one or more registers.
#[inline(always)]
fn of_lanes<S: Simd, const R: usize>(
    simd: S,
    block: &[f32],
    panel: &[f32],
    tile: &mut [[f32; COLUMNS]; ROWS],
) {
    match S::F32_LANES {
        16 => sums::<S, R, 1>(simd, block, panel, tile),
        8 => sums::<S, R, 2>(simd, block, panel, tile),
        4 => sums::<S, R, 4>(simd, block, panel, tile),
        _ => sums::<S, R, COLUMNS>(simd, block, panel, tile),
    }
}

#[inline(always)]
fn sums<S: Simd, const R: usize, const V: usize>(
    simd: S,
    block: &[f32],
    panel: &[f32],
    tile: &mut [[f32; COLUMNS]; ROWS],
) {
    let mut sums = [[simd.splat_f32s(0.0); V]; R];
    for (row, from) in sums.iter_mut().zip(tile.iter()) {
        row.copy_from_slice(S::as_simd_f32s(from).0);
    }
    let (columns, _) = S::as_simd_f32s(panel);
    for (of_rows, of_columns) in block.as_chunks::<R>().0.iter().zip(columns.as_chunks::<V>().0) {
        for (row, value) in sums.iter_mut().zip(of_rows) {
            let value = simd.splat_f32s(*value);
            for (sum, column) in row.iter_mut().zip(of_columns) {
                *sum = simd.mul_add_e_f32s(value, *column, *sum);
            }
        }
    }
    for (to, row) in tile.iter_mut().zip(&sums) {
        S::as_mut_simd_f32s(to).0.copy_from_slice(row);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_of_any_shape_are_what_they_are_one_by_one() {
        let mut state = 7_u32;
        let mut numbers = |count: usize| -> Vec<f32> {
            let mut next = || {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (state >> 16) as f32 / 65_536.0 - 0.5
            };
            (0..count).map(|_| next()).collect()
        };
        for (rows, inner, columns) in [
            (1, 1, 1),
            (2, 3, 16),
            (5, 8, 17),
            (6, 32, 15),
            (7, 5, 40),
            (13, 9, 33),
            (64, 24, 48),
            (13, 400, 33),
        ] {
            let (a, w, bias) = (numbers(rows * inner), numbers(columns * inner), numbers(columns));
            let multiplied = |arch| {
                let mut out = Vec::new();
                Weights::pack(&w, bias.clone(), inner).multiply(arch, &a, &mut out);
                out
            };
            let out = multiplied(Arch::new());
            for row in 0..rows {
                for column in 0..columns {
                    let products =
                        (0..inner).map(|at| a[row * inner + at] * w[column * inner + at]);
                    let exact = products.sum::<f32>() + bias[column];
                    assert!(
                        (out[row * columns + column] - exact).abs() < 1e-4,
                        "{rows} {inner} {columns}"
                    );
                }
            }
            let scalar = multiplied(Arch::Scalar);
            assert!(out.iter().zip(&scalar).all(|(one, other)| (one - other).abs() < 1e-4));
        }
    }
}
