//! Late interaction: a second look at the candidates that compares query and text token by token (ColBERT). Neighbours count
//! for a turn, slightly less than its own words: an answer means little without its question (bench/README.md, "Late
//! interaction"). A text of several passages has a good token for everything; it is compared by its vectors alone.

use std::collections::{HashMap, HashSet};

use simsimd::SpatialSimilarity;
use sqlx::PgConnection;

use super::candidate::{CandidateSignals, LateSimilarity};
use super::query::Balance;
use super::reader::on_a_thread;
use super::{fuse, store};
use crate::accounts::UserId;
use crate::embedding::QueryVector;
use crate::embedding::tokens::QueryTokens;

/// Above this many tokens the share decreases with the text's length.
const FULL_SHARE_TOKENS: f64 = 128.0;
/// Subtracted from the score of a neighbour's token.
const BESIDE_COUNTS_LESS: f32 = 0.05;
/// So many candidates, the best by the other signals, are compared token by token: comparing all finds no more
/// (bench/README.md, "Late interaction").
const COMPARED_MAX: usize = 64;
/// A larger comparison runs on a blocking thread.
const SIGN_BYTES_INLINE: usize = 1 << 20;

/// Fills in [`CandidateSignals::late`].
///
/// # Errors
/// Database errors only.
pub(super) async fn compare_tokens(
    conn: &mut PgConnection,
    user: UserId,
    vector: &QueryVector,
    found: &mut [CandidateSignals],
) -> Result<(), sqlx::Error> {
    let Some(tokens) = vector.tokens.clone() else {
        return Ok(());
    };
    let chosen = best_by_other_signals(found);
    let compared = found.iter().filter(|s| chosen.contains(&s.id.0));
    let compared = compared.flat_map(|s| {
        let beside = s.neighbours.iter().map(|(id, _)| id.0);
        std::iter::once(s.id.0).chain(beside)
    });
    let mut ids: Vec<i64> = compared.collect();
    ids.sort_unstable();
    ids.dedup();
    if ids.is_empty() {
        return Ok(());
    }
    let signs = store::list_token_signs(conn, user, vector.space_id, &ids).await?;
    let bytes: usize = signs.iter().map(|(_, signs)| signs.len()).sum();
    let work = bytes * tokens.count();
    let compare = move || {
        let compared = signs.iter().filter_map(|(id, signs)| Some((*id, best(&tokens, signs)?)));
        compared.collect::<HashMap<i64, BestTokenMatches>>()
    };
    let compared = match work {
        0..=SIGN_BYTES_INLINE => compare(),
        _ => on_a_thread(compare).await?,
    };
    for signals in found.iter_mut().filter(|s| chosen.contains(&s.id.0)) {
        signals.late = late_of(signals, &compared);
    }
    Ok(())
}

/// Ids of the candidates that are compared token by token.
fn best_by_other_signals(found: &[CandidateSignals]) -> HashSet<i64> {
    let ranked = fuse::weighted(found.to_vec(), Balance::default());
    let ranked = ranked.iter().filter(|(s, _)| s.distance.is_some() && s.passages == 1);
    ranked.take(COMPARED_MAX).map(|(s, _)| s.id.0).collect()
}

/// A text's best match for each token of the query.
struct BestTokenMatches {
    of_query: Vec<f32>,
    tokens: usize,
}

/// `None` where the text has no tokens.
fn best(query: &QueryTokens, signs: &[u8]) -> Option<BestTokenMatches> {
    let mut most = vec![f64::NEG_INFINITY; query.count()];
    let bytes_of_token = query.width().div_ceil(8);
    let mut token = vec![0; 8 * bytes_of_token];
    let mut tokens = 0;
    for eights in signs.chunks_exact(bytes_of_token) {
        for (signs, eight) in token.chunks_exact_mut(8).zip(eights) {
            signs.copy_from_slice(&UNPACKED[usize::from(*eight)]);
        }
        let token = &token[..query.width()];
        for ((codes, _), most) in query.iter().zip(&mut most) {
            *most = most.max(i8::dot(codes, token).unwrap_or_default());
        }
        tokens += 1;
    }
    let length = (query.width() as f32).sqrt();
    let scaled = query.iter().zip(most);
    let scaled = scaled.map(|((_, scale), most)| most as f32 * scale / length);
    (tokens > 0).then(|| BestTokenMatches { of_query: scaled.collect(), tokens })
}

/// The eight signs of a byte as numbers, 1 or -1.
static UNPACKED: [[i8; 8]; 256] = {
    let mut unpacked = [[-1; 8]; 256];
    let mut at = 0;
    while at < 8 * 256 {
        if ((at / 8) >> (at % 8)) & 1 == 1 {
            unpacked[at / 8][at % 8] = 1;
        }
        at += 1;
    }
    unpacked
};

/// The mean over the query's tokens of the best match in the text or, at a small discount, in its neighbours.
fn late_of(
    signals: &CandidateSignals,
    compared: &HashMap<i64, BestTokenMatches>,
) -> Option<LateSimilarity> {
    let own = compared.get(&signals.id.0).filter(|_| signals.distance.is_some())?;
    let beside = signals.neighbours.iter();
    let beside: Vec<&BestTokenMatches> = beside.filter_map(|(id, _)| compared.get(&id.0)).collect();
    let best = own.of_query.iter().enumerate().map(|(at, own)| {
        let beside = beside.iter().map(|other| other.of_query[at] - BESIDE_COUNTS_LESS);
        beside.fold(*own, f32::max)
    });
    let sum: f64 = best.map(f64::from).sum();
    Some(LateSimilarity {
        likeness: sum / own.of_query.len() as f64,
        share: fuse::LATE_SHARE * (FULL_SHARE_TOKENS / own.tokens as f64).min(1.0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embedding::tokens;
    use crate::memories::ItemId;

    /// Tokens of this width, with the values 1 and -1.
    fn text(of: &[[f32; 8]]) -> Vec<u8> {
        tokens::signs(of.as_flattened())
    }

    const A: [f32; 8] = [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
    const B: [f32; 8] = [1.0, 1.0, 1.0, 1.0, -1.0, -1.0, -1.0, -1.0];
    const C: [f32; 8] = [1.0, 1.0, -1.0, -1.0, 1.0, 1.0, -1.0, -1.0];

    fn compared(
        query: &[[f32; 8]],
        texts: &[(i64, &[[f32; 8]])],
    ) -> HashMap<i64, BestTokenMatches> {
        let query = QueryTokens::new(query.as_flattened(), 8).expect("tokens");
        let of = |(id, of): &(i64, &[[f32; 8]])| Some((*id, best(&query, &text(of))?));
        texts.iter().filter_map(of).collect()
    }

    fn likeness(signals: &CandidateSignals, compared: &HashMap<i64, BestTokenMatches>) -> f64 {
        late_of(signals, compared).expect("compared").likeness
    }

    #[test]
    fn each_token_of_the_query_counts_by_its_best_in_the_text() {
        let compared = compared(&[A, B], &[(1, &[A, B, C]), (2, &[C, A]), (3, &[C]), (4, &[])]);
        let of = |id| likeness(&CandidateSignals::at(id, Some(0.5)), &compared);
        for (id, expected) in [(1, 1.0), (2, 0.5), (3, 0.0)] {
            assert!((of(id) - expected).abs() < 0.01, "{id}: {}", of(id));
        }
        assert_eq!(late_of(&CandidateSignals::at(4, Some(0.5)), &compared), None);
        assert_eq!(late_of(&CandidateSignals::at(1, None), &compared), None);
    }

    #[test]
    fn what_stands_beside_counts_a_little_less() {
        let compared = compared(&[A, B], &[(1, &[A]), (2, &[B])]);
        let alone = CandidateSignals::at(1, Some(0.5));
        let beside =
            CandidateSignals { neighbours: vec![(ItemId(2), 1), (ItemId(9), 2)], ..alone.clone() };
        assert!((likeness(&alone, &compared) - 0.5).abs() < 0.01);
        assert!((likeness(&beside, &compared) - 0.975).abs() < 0.01);
    }

    #[test]
    fn of_a_long_text_it_is_a_smaller_share() {
        let long = [A; 200];
        let compared = compared(&[A], &[(1, &long[..]), (2, &[A])]);
        let share = |id| {
            let signals = CandidateSignals::at(id, Some(0.5));
            late_of(&signals, &compared).expect("compared").share
        };
        assert_eq!((share(2), share(1)), (fuse::LATE_SHARE, fuse::LATE_SHARE * 0.64));
    }
}
