//! Sums of products of eight-bit numbers, by the best instructions that the processor has.

use crate::blocks::{COLUMNS, ROWS, Rounded, Row, TERMS, Tile, Weights};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kernel {
    Portable,
    /// 256 bits: 32 products at once.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// 512 bits: 64 products at once, added up four by four.
    #[cfg(target_arch = "x86_64")]
    Vnni,
}

impl Kernel {
    /// Those that this processor can run, the best last.
    pub fn all() -> Vec<Self> {
        #[cfg_attr(not(target_arch = "x86_64"), allow(unused_mut))]
        let mut all = vec![Self::Portable];
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                all.push(Self::Avx2);
            }
            if is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512vnni")
            {
                all.push(Self::Vnni);
            }
        }
        all
    }

    pub fn best() -> Self {
        Self::all().last().copied().unwrap_or(Self::Portable)
    }

    /// (rows, columns) of the product into `out`.
    pub fn multiply(self, weights: &Weights, rows: &Rounded, out: &mut [f32]) {
        match self {
            Self::Portable => weights.each_tile(rows, out, portable),
            // SAFETY: these two are made in `all` only, after the processor was asked for the instructions.
            // The code that they run has no other condition.
            #[cfg(target_arch = "x86_64")]
            #[allow(unsafe_code)]
            by_instructions => unsafe {
                match by_instructions {
                    Self::Vnni => x86::vnni(weights, rows, out),
                    _ => x86::avx2(weights, rows, out),
                }
            },
        }
    }
}

#[inline(always)]
fn portable(panel: &[Tile], rows: &[Row], sums: &mut [[f32; COLUMNS]; ROWS]) {
    for (row, sums) in rows.iter().zip(sums) {
        for ((tile, numbers), scale) in panel.iter().zip(row.numbers).zip(row.scales) {
            let mut whole = tile.starts;
            for (weights, four) in tile.numbers.iter().zip(numbers.as_chunks::<TERMS>().0) {
                for (sum, weights) in whole.iter_mut().zip(weights.as_chunks::<TERMS>().0) {
                    let products = weights.iter().zip(four);
                    *sum += products.map(|(w, x)| i32::from(*w) * i32::from(*x)).sum::<i32>();
                }
            }
            for ((sum, whole), of_column) in sums.iter_mut().zip(whole).zip(tile.scales) {
                *sum += whole as f32 * (of_column * scale);
            }
        }
    }
}

/// Calls a function that is generic in the number of rows.
#[cfg(target_arch = "x86_64")]
macro_rules! by_rows {
    ($sums:ident($panel:expr, $rows:expr, $out:expr)) => {
        match $rows.len() {
            1 => $sums::<1>($panel, $rows, $out),
            2 => $sums::<2>($panel, $rows, $out),
            3 => $sums::<3>($panel, $rows, $out),
            4 => $sums::<4>($panel, $rows, $out),
            5 => $sums::<5>($panel, $rows, $out),
            6 => $sums::<6>($panel, $rows, $out),
            7 => $sums::<7>($panel, $rows, $out),
            _ => $sums::<ROWS>($panel, $rows, $out),
        }
    };
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use bytemuck::cast;

    use super::*;

    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    pub fn vnni(weights: &Weights, rows: &Rounded, out: &mut [f32]) {
        weights.each_tile(rows, out, |panel, rows, sums| by_rows!(vnni_sums(panel, rows, sums)));
    }

    #[target_feature(enable = "avx2,fma")]
    pub fn avx2(weights: &Weights, rows: &Rounded, out: &mut [f32]) {
        weights.each_tile(rows, out, |panel, rows, sums| by_rows!(avx2_sums(panel, rows, sums)));
    }

    /// The rows' numbers and scales, as many as the panel has blocks.
    #[inline(always)]
    fn of_rows<'a, const R: usize>(panel: &[Tile], rows: &[Row<'a>]) -> [Row<'a>; R] {
        std::array::from_fn(|n| Row {
            numbers: &rows[n].numbers[..panel.len()],
            scales: &rows[n].scales[..panel.len()],
        })
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    fn vnni_sums<const R: usize>(panel: &[Tile], rows: &[Row], out: &mut [[f32; COLUMNS]; ROWS]) {
        let rows: [Row; R] = of_rows(panel, rows);
        let mut sums = [_mm512_setzero_ps(); R];
        for (sum, start) in sums.iter_mut().zip(&*out) {
            *sum = cast(*start);
        }
        for (at, tile) in panel.iter().enumerate() {
            let mut whole = [cast::<_, __m512i>(tile.starts); R];
            for (n, weights) in tile.numbers.iter().enumerate() {
                let weights: __m512i = cast(*weights);
                for (whole, row) in whole.iter_mut().zip(&rows) {
                    let four = i32::from_ne_bytes(row.numbers[at].as_chunks::<TERMS>().0[n]);
                    *whole = _mm512_dpbusd_epi32(*whole, _mm512_set1_epi32(four), weights);
                }
            }
            let of_columns: __m512 = cast(tile.scales);
            for ((sum, whole), row) in sums.iter_mut().zip(&whole).zip(&rows) {
                let scale = _mm512_mul_ps(of_columns, _mm512_set1_ps(row.scales[at]));
                *sum = _mm512_fmadd_ps(_mm512_cvtepi32_ps(*whole), scale, *sum);
            }
        }
        for (out, sum) in out.iter_mut().zip(&sums) {
            *out = cast(*sum);
        }
    }

    /// Eight columns at once.
    #[target_feature(enable = "avx2,fma")]
    fn avx2_sums<const R: usize>(panel: &[Tile], rows: &[Row], out: &mut [[f32; COLUMNS]; ROWS]) {
        // More sums than that do not fit into the registers.
        if R > 4 {
            let (some, others) = rows.split_at(4);
            by_rows!(avx2_sums(panel, some, out));
            let mut of_others = [[0.0; COLUMNS]; ROWS];
            of_others[..R - 4].copy_from_slice(&out[4..R]);
            by_rows!(avx2_sums(panel, others, &mut of_others));
            out[4..R].copy_from_slice(&of_others[..R - 4]);
            return;
        }
        let rows: [Row; R] = of_rows(panel, rows);
        for half in 0..2 {
            let mut sums = [_mm256_setzero_ps(); R];
            for (sum, start) in sums.iter_mut().zip(&*out) {
                *sum = cast::<[f32; 8], __m256>(start.as_chunks().0[half]);
            }
            for (at, tile) in panel.iter().enumerate() {
                // Eight sums of two products of at most 255 and 8 fit into 16 bits.
                let mut pairs = [_mm256_setzero_si256(); R];
                for (n, weights) in tile.numbers.iter().enumerate() {
                    let weights = cast::<[i8; 32], __m256i>(weights.as_chunks().0[half]);
                    for (pairs, row) in pairs.iter_mut().zip(&rows) {
                        let four = i32::from_ne_bytes(row.numbers[at].as_chunks::<TERMS>().0[n]);
                        let products = _mm256_maddubs_epi16(_mm256_set1_epi32(four), weights);
                        *pairs = _mm256_add_epi16(*pairs, products);
                    }
                }
                let start = cast::<[i32; 8], __m256i>(tile.starts.as_chunks().0[half]);
                let of_columns = cast::<[f32; 8], __m256>(tile.scales.as_chunks().0[half]);
                for ((sum, pairs), row) in sums.iter_mut().zip(&pairs).zip(&rows) {
                    let whole = _mm256_madd_epi16(*pairs, _mm256_set1_epi16(1));
                    let whole = _mm256_cvtepi32_ps(_mm256_add_epi32(whole, start));
                    let scale = _mm256_mul_ps(of_columns, _mm256_set1_ps(row.scales[at]));
                    *sum = _mm256_fmadd_ps(whole, scale, *sum);
                }
            }
            for (out, sum) in out.iter_mut().zip(&sums) {
                out.as_chunks_mut().0[half] = cast::<__m256, [f32; 8]>(*sum);
            }
        }
    }
}
