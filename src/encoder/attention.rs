//! Self-attention over the tokens of each text, head by head.

use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

use super::functions::softmax;
use super::product::{Packed, Panels, multiply};

/// Shorter texts are not worth a second thread.
const TOKENS_A_THREAD_MIN: usize = 48;

/// `told`: (tokens, 3 × width): query, key and value. `out` becomes (tokens, width).
pub fn attend(
    arch: Arch,
    (told, lengths): (&[f32], &[usize]),
    (heads, width): (usize, usize),
    out: &mut Vec<f32>,
) {
    out.resize(told.len() / 3, 0.0);
    let (mut told, mut rest) = (told, out.as_mut_slice());
    let mut scratch = AttentionBuffers::default();
    for &tokens in lengths {
        let (of_text, others) = told.split_at(tokens * 3 * width);
        let (to, later) = rest.split_at_mut(tokens * width);
        let text = Text { arch, told: of_text, tokens, width, of_head: width / heads };
        if rayon::current_num_threads() > 1 && tokens >= TOKENS_A_THREAD_MIN {
            let all: Vec<Vec<f32>> = (0..heads)
                .into_par_iter()
                .map_init(AttentionBuffers::default, |scratch, head| {
                    text.head(head, scratch);
                    std::mem::take(&mut scratch.out)
                })
                .collect();
            for (head, made) in all.iter().enumerate() {
                text.write(head, made, to);
            }
        } else {
            for head in 0..heads {
                text.head(head, &mut scratch);
                text.write(head, &scratch.out, to);
            }
        }
        (told, rest) = (others, later);
    }
}

#[derive(Default)]
struct AttentionBuffers {
    rows: Packed,
    panels: Option<Panels>,
    scores: Vec<f32>,
    out: Vec<f32>,
}

#[derive(Clone, Copy)]
struct Text<'a> {
    arch: Arch,
    told: &'a [f32],
    tokens: usize,
    width: usize,
    of_head: usize,
}

impl<'a> Text<'a> {
    /// One head's part of a token: 0 query, 1 key, 2 value.
    fn part(&self, token: usize, part: usize, head: usize) -> &'a [f32] {
        let at = (token * 3 + part) * self.width + head * self.of_head;
        &self.told[at..at + self.of_head]
    }

    fn head(&self, head: usize, scratch: &mut AttentionBuffers) {
        let (tokens, of_head) = (self.tokens, self.of_head);
        let panels = scratch.panels.get_or_insert_with(Panels::new);
        scratch.rows.fill(tokens, of_head, |token| self.part(token, 0, head));
        panels.fill(tokens, of_head, |token| self.part(token, 1, head));
        scratch.scores.resize(tokens * tokens, 0.0);
        multiply(self.arch, &scratch.rows, panels, None, &mut scratch.scores);
        let factor = 1.0 / (of_head as f32).sqrt();
        self.arch.dispatch(Softmax { rows: &mut scratch.scores, tokens, factor });
        scratch
            .rows
            .fill(tokens, tokens, |token| &scratch.scores[token * tokens..(token + 1) * tokens]);
        panels.fill_rows(tokens, of_head, |token| self.part(token, 2, head));
        scratch.out.resize(tokens * of_head, 0.0);
        multiply(self.arch, &scratch.rows, panels, None, &mut scratch.out);
    }

    fn write(&self, head: usize, made: &[f32], out: &mut [f32]) {
        for (to, from) in out.chunks_exact_mut(self.width).zip(made.chunks_exact(self.of_head)) {
            to[head * self.of_head..][..self.of_head].copy_from_slice(from);
        }
    }
}

struct Softmax<'a> {
    rows: &'a mut [f32],
    tokens: usize,
    factor: f32,
}

impl WithSimd for Softmax<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        for row in self.rows.chunks_exact_mut(self.tokens) {
            softmax(row, self.factor);
        }
    }
}
