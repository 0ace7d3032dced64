//! Force-directed layout of a graph: nodes repel each other, edges attract, and all are drawn to the center. Deterministic:
//! nothing is random.

/// In the picture's own unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    pub x: f64,
    pub y: f64,
}

/// Preferred distance of two connected nodes.
const DISTANCE: f64 = 60.0;
/// Limit on the steps; large graphs get fewer, to bound the time.
const STEPS_MAX: usize = 160;
const PAIRS_A_LAYOUT: usize = 20_000_000;
/// The angle between consecutive nodes on the initial spiral, so that no two are collinear.
const GOLDEN_ANGLE: f64 = 2.399_963_229_728_653;

/// One point per node; `edges` are pairs of node indexes.
pub fn layout(nodes: usize, edges: &[(usize, usize)]) -> Vec<Point> {
    let mut points: Vec<Point> = (0..nodes)
        .map(|n| {
            let (radius, angle) = (DISTANCE * 0.6 * (n as f64).sqrt(), n as f64 * GOLDEN_ANGLE);
            Point { x: radius * angle.cos(), y: radius * angle.sin() }
        })
        .collect();
    let edges: Vec<(usize, usize)> =
        edges.iter().copied().filter(|(a, b)| a != b && *a < nodes && *b < nodes).collect();
    let pairs = (nodes * nodes / 2).max(1);
    let steps = (PAIRS_A_LAYOUT / pairs).clamp(20, STEPS_MAX);
    let mut pushes = vec![Point { x: 0.0, y: 0.0 }; nodes];
    for step in 0..steps {
        pushes.fill(Point { x: 0.0, y: 0.0 });
        for a in 0..nodes {
            let at = points[a];
            let (mut x, mut y) = (0.0, 0.0);
            for b in a + 1..nodes {
                let (dx, dy) = (at.x - points[b].x, at.y - points[b].y);
                let squared = (dx * dx + dy * dy).max(1.0);
                let force = DISTANCE * DISTANCE / squared;
                x += dx * force;
                y += dy * force;
                pushes[b].x -= dx * force;
                pushes[b].y -= dy * force;
            }
            pushes[a].x += x;
            pushes[a].y += y;
        }
        for (a, b) in &edges {
            let (dx, dy) = (points[*a].x - points[*b].x, points[*a].y - points[*b].y);
            let length = (dx * dx + dy * dy).sqrt().max(1.0);
            let (x, y) = (
                dx * length / DISTANCE / DISTANCE * 12.0,
                dy * length / DISTANCE / DISTANCE * 12.0,
            );
            pushes[*a].x -= x;
            pushes[*a].y -= y;
            pushes[*b].x += x;
            pushes[*b].y += y;
        }
        // The maximum movement decreases with each step.
        let reach = DISTANCE * (1.0 - step as f64 / steps as f64).max(0.02);
        for (point, push) in points.iter_mut().zip(&pushes) {
            let (x, y) = (push.x - point.x * 0.25, push.y - point.y * 0.25);
            let length = (x * x + y * y).sqrt().max(1e-9);
            let moved = length.min(reach) / length;
            point.x += x * moved;
            point.y += y * moved;
        }
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    fn distance(a: Point, b: Point) -> f64 {
        ((a.x - b.x).powi(2) + (a.y - b.y).powi(2)).sqrt()
    }

    #[test]
    fn one_graph_has_one_picture_and_no_two_stand_on_each_other() {
        let edges: Vec<(usize, usize)> = (1..40).map(|n| (n, n / 2)).collect();
        let points = layout(40, &edges);
        assert_eq!(points, layout(40, &edges));
        for a in 0..40 {
            for b in a + 1..40 {
                assert!(distance(points[a], points[b]) > 8.0, "{a} {b}");
            }
        }
        let near: f64 =
            edges.iter().map(|(a, b)| distance(points[*a], points[*b])).sum::<f64>() / 39.0;
        let all: f64 =
            (0..40).map(|n| distance(points[n], points[(n + 20) % 40])).sum::<f64>() / 40.0;
        assert!(near < all, "{near} {all}");
    }

    #[test]
    fn odd_graphs_are_laid_out_too() {
        assert_eq!(layout(0, &[]), []);
        assert!(layout(1, &[(0, 0), (0, 9)])[0].x.is_finite());
        assert!(layout(500, &[]).iter().all(|p| p.x.is_finite() && p.y.is_finite()));
    }
}
