//! The lineage of a memory, laid out in columns: sessions, episodes and sources, the memory itself, what
//! replaced it, what was written from it, and the entities that it names.

use app::backend::PageError;
use app::view::{EntityLink, LineageEdge, LineageNode, LineageView, said_in};

use super::items::whose;
use super::{Ui, database};
use crate::accounts::Viewer;
use crate::consolidation::lineage::{self, Edge, How, Kind, Lineage, Node};
use crate::memories::Item;

/// The first of its text; all are named above the picture.
const NAMES_MAX: usize = 6;

impl Ui {
    pub(super) async fn lineage_view(
        &self,
        viewer: &Viewer,
        item: &Item,
        names: &[EntityLink],
    ) -> Result<LineageView, PageError> {
        let found = lineage::of(&self.state.db, viewer.user_id, item).await;
        let mut found = found.map_err(database)?;
        for name in names.iter().take(NAMES_MAX) {
            found.edges.push(Edge {
                from: 0,
                to: found.nodes.len(),
                how: How::Names,
            });
            found.nodes.push(Node {
                kind: Kind::Entity,
                id: name.id,
                text: name.name.clone(),
                trust: None,
            });
        }
        Ok(laid_out(found))
    }
}

/// What gave way to the memory.
fn older(way: Option<How>) -> &'static str {
    match way {
        Some(How::PutAsideFor) => "put aside",
        Some(How::MergedInto) => "merged memory",
        _ => "replaced memory",
    }
}

/// What the memory gave way to.
fn newer(way: Option<How>) -> &'static str {
    match way {
        Some(How::PutAsideFor) => "kept memory",
        Some(How::MergedInto) => "merged memory",
        _ => "newer memory",
    }
}

fn column_of(kind: Kind) -> usize {
    match kind {
        Kind::Session => 0,
        Kind::Turn(_) | Kind::Source | Kind::Older | Kind::Episode => 1,
        Kind::This => 2,
        Kind::Newer => 3,
        Kind::Dream | Kind::Reflection | Kind::Entity => 4,
    }
}

fn laid_out(lineage: Lineage) -> LineageView {
    let mut taken = [0; 5];
    let is_there = |column: usize| {
        lineage
            .nodes
            .iter()
            .any(|node| column_of(node.kind) == column)
    };
    let columns: Vec<usize> = (0..5).filter(|column| is_there(*column)).collect();
    let (is_said, has_newer) = (is_there(0), is_there(3));
    // How the memory at an end of an older or newer one's line gave way.
    let way_of = |at: usize| {
        let mut edges = lineage.edges.iter();
        edges
            .find(|edge| edge.from == at || edge.to == at)
            .map(|edge| edge.how)
    };
    let ways: Vec<Option<How>> = (0..lineage.nodes.len()).map(way_of).collect();
    let mut nodes = Vec::with_capacity(lineage.nodes.len());
    for (node, way) in lineage.nodes.into_iter().zip(ways) {
        let column = column_of(node.kind);
        // The first row beside the memory is for its source; episodes come below, since lines run past them
        // to what was written from them. Entities stand below the newer memory, which their lines would run past.
        let least = usize::from(match node.kind {
            Kind::Episode => is_said,
            Kind::Entity => has_newer,
            _ => false,
        });
        let row = taken[column].max(least);
        taken[column] = row + 1;
        let (what, href) = match node.kind {
            Kind::Session => ("session", format!("/sessions/{}", node.id)),
            Kind::Turn(position) => ("turn", said_in((node.id, Some(position)))),
            Kind::Episode => ("episode", format!("/memory/{}", node.id)),
            Kind::Source => ("memory", format!("/memory/{}", node.id)),
            Kind::Older => (older(way), format!("/memory/{}", node.id)),
            Kind::This => ("this", format!("/memory/{}", node.id)),
            Kind::Newer => (newer(way), format!("/memory/{}", node.id)),
            Kind::Dream => ("dream", format!("/documents/{}", node.id)),
            Kind::Reflection => ("reflection", format!("/memory/{}", node.id)),
            Kind::Entity => ("entity", format!("/entities/{}", node.id)),
        };
        nodes.push(LineageNode {
            column: columns.iter().position(|c| *c == column).unwrap_or(0),
            row,
            what,
            text: match node.kind {
                // The document's file name.
                Kind::Dream => node.text.rsplit('/').next().unwrap_or_default().to_owned(),
                _ => node.text,
            },
            word: node.trust.map(whose),
            href,
            is_this: node.kind == Kind::This,
        });
    }
    let edges = lineage.edges.into_iter().map(|edge| LineageEdge {
        from: edge.from,
        to: edge.to,
        how: match edge.how {
            How::Has => "has",
            How::ToldOf => "is stated by",
            How::WrittenFrom => "was read for",
            How::ReplacedBy => "was replaced by",
            How::MergedInto => "was merged into",
            How::PutAsideFor => "contradicts",
            How::Names => "names",
        },
    });
    LineageView {
        edges: edges.collect(),
        columns: columns.len(),
        rows: taken.into_iter().max().unwrap_or(1),
        nodes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_that_are_empty_are_left_out_and_nothing_stands_upon_another() {
        let node = |kind, id| Node {
            kind,
            id,
            text: format!("node {id}"),
            trust: None,
        };
        let nodes = vec![
            node(Kind::This, 1),
            node(Kind::Session, 2),
            node(Kind::Episode, 3),
            node(Kind::Episode, 4),
            node(Kind::Older, 5),
            node(Kind::Turn(3), 2),
            node(Kind::Dream, 6),
            node(Kind::Entity, 7),
        ];
        let edge = |from, to, how| Edge { from, to, how };
        let edges = vec![edge(2, 5, How::WrittenFrom), edge(4, 0, How::PutAsideFor)];
        let view = laid_out(Lineage { nodes, edges });
        assert_eq!((view.columns, view.rows), (4, 5));
        let mut places: Vec<_> = view.nodes.iter().map(|n| (n.column, n.row)).collect();
        assert_eq!(places[0], (2, 0), "itself");
        assert_eq!(places[6], (3, 0), "past a column that nothing stands in");
        assert_eq!((places[7], view.nodes[4].what), ((3, 1), "put aside"));
        places.sort_unstable();
        places.dedup();
        assert_eq!(places.len(), view.nodes.len());
    }
}
