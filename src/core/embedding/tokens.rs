//! Token vectors for late interaction. A memory's are stored as sign bits, a query's as 8-bit codes; comparing these gives
//! nearly the order of the full vectors (bench/README.md, "Late interaction").

use std::sync::Arc;

use super::vector::codes;

/// Limit on the query's tokens, to bound the cost of a search.
const QUERY_TOKENS_MAX: usize = 64;

/// The sign bits of all tokens, eight per byte.
pub fn signs(tokens: &[f32]) -> Vec<u8> {
    let byte = |eight: &[f32]| {
        let bits = eight.iter().enumerate();
        bits.fold(0, |byte, (n, v)| byte | u8::from(*v > 0.0) << n)
    };
    tokens.chunks(8).map(byte).collect()
}

/// The token vectors of a query, each of length 1.
#[derive(Clone, Debug)]
pub struct QueryTokens(Arc<TokenMatrix>);

#[derive(Debug)]
struct TokenMatrix {
    width: usize,
    /// Of all tokens, consecutive.
    codes: Vec<i8>,
    /// Per token, the factor of its codes.
    scales: Vec<f32>,
}

impl QueryTokens {
    /// From consecutive vectors of this width; `None` if there are none.
    pub fn new(tokens: &[f32], width: usize) -> Option<Self> {
        let mut made = TokenMatrix { width, codes: Vec::new(), scales: Vec::new() };
        for token in tokens.chunks_exact(width.max(1)).take(QUERY_TOKENS_MAX) {
            let length = token.iter().map(|v| v * v).sum::<f32>().sqrt();
            let (codes, scale) = codes(token);
            made.codes.extend(codes);
            made.scales.push(scale / length.max(f32::MIN_POSITIVE));
        }
        (!made.scales.is_empty()).then(|| Self(Arc::new(made)))
    }

    pub fn width(&self) -> usize {
        self.0.width
    }

    pub fn count(&self) -> usize {
        self.0.scales.len()
    }

    /// Each token's codes and their factor.
    pub fn iter(&self) -> impl Iterator<Item = (&[i8], f32)> {
        let codes = self.0.codes.chunks_exact(self.0.width);
        codes.zip(self.0.scales.iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_are_packed_in_the_order_of_the_values() {
        let tokens = [1.0, -1.0, 0.5, 0.0, -0.1, 0.1, -3.0, 2.0];
        assert_eq!(signs(&tokens), [0b1010_0101]);
        assert!(signs(&[]).is_empty());
    }

    #[test]
    fn a_querys_tokens_are_of_length_one_and_not_too_many() {
        let tokens = QueryTokens::new(&[3.0, 4.0, 0.0, 2.0], 2).expect("tokens");
        let values: Vec<f32> = tokens
            .iter()
            .flat_map(|(codes, scale)| codes.iter().map(move |code| f32::from(*code) * scale))
            .collect();
        for (value, expected) in values.iter().zip([0.6, 0.8, 0.0, 1.0]) {
            assert!((value - expected).abs() < 0.01, "{values:?}");
        }
        assert!(QueryTokens::new(&[], 2).is_none());
        let many = QueryTokens::new(&[1.0; 2_000], 2).expect("tokens");
        assert_eq!(many.count(), QUERY_TOKENS_MAX);
    }
}
