//! Where the entities of a graph stand in its picture: the layout, scaled to the picture, and a cache of layouts.

use std::num::NonZeroUsize;
use std::sync::{LazyLock, Mutex, PoisonError};

use lru::LruCache;
use sha2::{Digest, Sha256};

use crate::entities::layout::{Point, layout};

/// Of the picture, in its units.
pub const WIDTH: f64 = 1_000.0;
pub const HEIGHT: f64 = 640.0;
/// Space around the picture, for names.
const MARGIN: f64 = 48.0;
/// Maximum scale, in picture units per layout unit, so that a small graph is not enlarged too much.
const SCALE_MAX: f64 = 2.6;
/// Maximum horizontal stretch: the layout is round, and the picture wider than high.
const STRETCH_MAX: f64 = 1.7;

/// A cache of layouts: one of 500 nodes takes about 50 ms.
static PICTURES: LazyLock<Mutex<LruCache<[u8; 32], Vec<Point>>>> =
    LazyLock::new(|| Mutex::new(LruCache::new(NonZeroUsize::new(128).expect("not zero"))));

/// The place of each of `count` nodes, of which these pairs are connected.
pub fn places(count: usize, pairs: Vec<(usize, usize)>) -> Vec<Point> {
    fitted(&drawn(count, pairs))
}

fn drawn(count: usize, mut pairs: Vec<(usize, usize)>) -> Vec<Point> {
    // Several relations between two entities pull no harder than one.
    for pair in &mut pairs {
        *pair = (pair.0.min(pair.1), pair.0.max(pair.1));
    }
    pairs.sort_unstable();
    pairs.dedup();
    // The key is the input of the layout, so that an entry is never stale and contains no names.
    let mut hash = Sha256::new();
    for (one, other) in [(count, count)].iter().chain(&pairs) {
        hash.update(one.to_le_bytes());
        hash.update(other.to_le_bytes());
    }
    let key: [u8; 32] = hash.finalize().into();
    let pictures = || PICTURES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = pictures().get(&key) {
        return known.clone();
    }
    let points = layout(count, &pairs);
    pictures().put(key, points.clone());
    points
}

/// Scales the layout to the picture and centres it.
fn fitted(points: &[Point]) -> Vec<Point> {
    let span = |of: fn(&Point) -> f64| {
        let (mut low, mut high) = (f64::MAX, f64::MIN);
        for point in points {
            (low, high) = (low.min(of(point)), high.max(of(point)));
        }
        ((low + high) / 2.0, (high - low).max(1.0))
    };
    let ((x_middle, x_span), (y_middle, y_span)) = (span(|p| p.x), span(|p| p.y));
    let (x_fit, y_fit) = ((WIDTH - 2.0 * MARGIN) / x_span, (HEIGHT - 2.0 * MARGIN) / y_span);
    let scale = x_fit.min(y_fit).min(SCALE_MAX);
    let (x_scale, y_scale) = (x_fit.min(scale * STRETCH_MAX), y_fit.min(scale * STRETCH_MAX));
    points
        .iter()
        .map(|point| Point {
            x: WIDTH / 2.0 + (point.x - x_middle) * x_scale,
            y: HEIGHT / 2.0 + (point.y - y_middle) * y_scale,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_point_is_within_the_frame_and_two_stand_in_its_middle() {
        let edges: Vec<(usize, usize)> = (1..60).map(|n| (n, n / 3)).collect();
        for count in [1, 2, 3, 60] {
            let points = places(count, edges.clone());
            let is_inside = |p: &Point| {
                (MARGIN - 0.1..=WIDTH - MARGIN + 0.1).contains(&p.x)
                    && (MARGIN - 0.1..=HEIGHT - MARGIN + 0.1).contains(&p.y)
            };
            assert!(points.iter().all(is_inside), "{points:?}");
        }
        let two = places(2, vec![(1, 0)]);
        assert!((two[0].x + two[1].x - WIDTH).abs() < 1.0, "{two:?}");
    }
}
