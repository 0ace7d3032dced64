//! Element-wise and row-wise functions, written so that the compiler vectorises them to eight lanes.

use rayon::prelude::*;

/// Less is not worth a second thread.
const PART_MIN: usize = 16_384;
/// Partial sums computed side by side.
const LANES: usize = 8;

/// Runs each part on its own thread, if there are several.
pub fn in_parts(numbers: &mut [f32], run: impl Fn(&mut [f32]) + Send + Sync) {
    let threads = rayon::current_num_threads();
    if threads == 1 || numbers.len() < 2 * PART_MIN {
        return run(numbers);
    }
    let part = numbers.len().div_ceil(threads).max(PART_MIN);
    numbers.par_chunks_mut(part).for_each(run);
}

/// 1.5 · 2²³: adding it to a float rounds away the fraction.
const ROUNDER: f32 = 12_582_912.0;

/// eˣ, accurate to about 2 units in the last place; the argument is clamped to -87 … 88.
#[inline(always)]
pub fn exp(x: f32) -> f32 {
    let x = x.clamp(-87.0, 88.0);
    // 2 to an integer power, times e to the power of at most ln 2 / 2 (Cephes). Adding `ROUNDER` rounds to
    // the integer, which is then in the last bits of the sum.
    let rounded = x * std::f32::consts::LOG2_E + ROUNDER;
    let whole = rounded - ROUNDER;
    let rest = x - whole * 0.693_359_4 - whole * -2.121_944_4e-4;
    let mut sum = 1.987_569_1e-4;
    sum = sum * rest + 1.398_199_9e-3;
    sum = sum * rest + 8.333_452e-3;
    sum = sum * rest + 4.166_579_6e-2;
    sum = sum * rest + 1.666_666_5e-1;
    sum = sum * rest + 5.0e-1;
    let sum = sum * rest * rest + rest + 1.0;
    sum * f32::from_bits((rounded.to_bits() << 23).wrapping_add(127 << 23))
}

/// x · Φ(x); the error function is accurate to 1.5e-7 (Abramowitz and Stegun 7.1.26).
#[inline(always)]
pub fn gelu(x: f32) -> f32 {
    let z = x.abs() * std::f32::consts::FRAC_1_SQRT_2;
    let t = 1.0 / (1.0 + 0.327_591_1 * z);
    let mut sum = 1.061_405_4;
    sum = sum * t - 1.453_152_1;
    sum = sum * t + 1.421_413_8;
    sum = sum * t - 0.284_496_72;
    sum = sum * t + 0.254_829_6;
    let erf = 1.0 - sum * t * exp(-z * z);
    0.5 * x * (1.0 + erf.copysign(x))
}

#[inline(always)]
fn sum_of(numbers: &[f32], of: impl Fn(f32) -> f32) -> f32 {
    let mut sums = [0.0; LANES];
    let (whole, rest) = numbers.as_chunks::<LANES>();
    for chunk in whole {
        for (sum, x) in sums.iter_mut().zip(chunk) {
            *sum += of(*x);
        }
    }
    sums.iter().sum::<f32>() + rest.iter().map(|x| of(*x)).sum::<f32>()
}

/// Layer normalisation: mean 0 and variance 1, then scaled and shifted.
#[inline(always)]
pub fn normalise(row: &mut [f32], scale: &[f32], shift: &[f32], eps: f32) {
    let count = row.len() as f32;
    let mean = sum_of(row, |x| x) / count;
    let variance = sum_of(row, |x| (x - mean) * (x - mean)) / count;
    let factor = 1.0 / (variance + eps).sqrt();
    for ((x, scale), shift) in row.iter_mut().zip(scale).zip(shift) {
        *x = (*x - mean) * factor * scale + shift;
    }
}

/// Softmax of the numbers times `factor`.
#[inline(always)]
pub fn softmax(row: &mut [f32], factor: f32) {
    let mut greatest = [f32::MIN; LANES];
    let (whole, rest) = row.as_chunks::<LANES>();
    for chunk in whole {
        for (greatest, x) in greatest.iter_mut().zip(chunk) {
            *greatest = greatest.max(*x);
        }
    }
    let greatest = greatest.iter().chain(rest).fold(f32::MIN, |a, b| a.max(*b));
    row.iter_mut().for_each(|x| *x = exp((*x - greatest) * factor));
    let total = 1.0 / sum_of(row, |x| x);
    row.iter_mut().for_each(|x| *x *= total);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_what_mathematics_says() {
        for n in -2_000..2_000 {
            let x = n as f32 / 100.0;
            let exact = f64::from(x).exp();
            assert!((f64::from(exp(x)) - exact).abs() <= exact * 3e-7, "{x}");
        }
        assert_eq!(exp(0.0), 1.0);
        for (x, exact) in
            [(0.0, 0.0), (1.0, 0.841_344_7), (-1.0, -0.158_655_25), (3.0, 2.995_950_2), (-9.0, 0.0)]
        {
            assert!((gelu(x) - exact).abs() < 1e-6, "{x}: {}", gelu(x));
        }
        let mut row: Vec<f32> = (0..19).map(|n| n as f32).collect();
        softmax(&mut row, 1.0);
        assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-6);
        assert!((row[18] / row[17] - std::f32::consts::E).abs() < 1e-5);
        let mut row: Vec<f32> = (0..19).map(|n| n as f32).collect();
        normalise(&mut row, &[2.0; 19], &[1.0; 19], 0.0);
        let mean = row.iter().sum::<f32>() / 19.0;
        let variance = row.iter().map(|x| (x - 1.0) * (x - 1.0)).sum::<f32>() / 19.0;
        assert!((mean - 1.0).abs() < 1e-5 && (variance - 4.0).abs() < 1e-4, "{mean} {variance}");
    }
}
