//! The lineage of a memory, laid out in columns: sessions, episodes and sources, the memory itself, what
//! replaced it, what was written from it, and the entities that it names.

use crate::page::PageError;
use crate::view::{EntityLink, LineageEdge, LineageNode, LineageView, said_in};

use crate::accounts::Viewer;
use crate::consolidation::lineage::{
    self, Lineage, LineageKind, LineageLink, OriginEdge, OriginNode,
};
use crate::memories::MemoryItem;
use crate::page::whose;
use crate::page::{Page, database};

/// The first of its text; all are named above the picture.
const NAMES_MAX: usize = 6;

impl Page {
    pub(crate) async fn lineage_view(
        &self,
        viewer: &Viewer,
        item: &MemoryItem,
        names: &[EntityLink],
    ) -> Result<LineageView, PageError> {
        let found = lineage::of(&self.state.db, viewer.user_id, item).await;
        let mut found = found.map_err(database)?;
        for name in names.iter().take(NAMES_MAX) {
            found.edges.push(OriginEdge {
                from: 0,
                to: found.nodes.len(),
                how: LineageLink::Names,
            });
            found.nodes.push(OriginNode {
                kind: LineageKind::Entity,
                id: name.id,
                text: name.name.clone(),
                trust: None,
            });
        }
        Ok(laid_out(found))
    }
}

/// What gave way to the memory.
fn older(way: Option<LineageLink>) -> &'static str {
    match way {
        Some(LineageLink::PutAsideFor) => "put aside",
        Some(LineageLink::MergedInto) => "merged memory",
        _ => "replaced memory",
    }
}

/// What the memory gave way to.
fn newer(way: Option<LineageLink>) -> &'static str {
    match way {
        Some(LineageLink::PutAsideFor) => "kept memory",
        Some(LineageLink::MergedInto) => "merged memory",
        _ => "newer memory",
    }
}

fn column_of(kind: LineageKind) -> usize {
    match kind {
        LineageKind::Session => 0,
        LineageKind::Turn(_) | LineageKind::Source | LineageKind::Older | LineageKind::Episode => 1,
        LineageKind::This => 2,
        LineageKind::Newer => 3,
        LineageKind::Dream | LineageKind::Reflection | LineageKind::Entity => 4,
    }
}

fn laid_out(lineage: Lineage) -> LineageView {
    let mut taken = [0; 5];
    let is_there = |column: usize| lineage.nodes.iter().any(|node| column_of(node.kind) == column);
    let columns: Vec<usize> = (0..5).filter(|column| is_there(*column)).collect();
    let (is_said, has_newer) = (is_there(0), is_there(3));
    // How the memory at an end of an older or newer one's line gave way.
    let way_of = |at: usize| {
        let mut edges = lineage.edges.iter();
        edges.find(|edge| edge.from == at || edge.to == at).map(|edge| edge.how)
    };
    let ways: Vec<Option<LineageLink>> = (0..lineage.nodes.len()).map(way_of).collect();
    let mut nodes = Vec::with_capacity(lineage.nodes.len());
    for (node, way) in lineage.nodes.into_iter().zip(ways) {
        let column = column_of(node.kind);
        // The first row beside the memory is for its source; episodes come below, since lines run past them
        // to what was written from them. Entities stand below the newer memory, which their lines would run past.
        let least = usize::from(match node.kind {
            LineageKind::Episode => is_said,
            LineageKind::Entity => has_newer,
            _ => false,
        });
        let row = taken[column].max(least);
        taken[column] = row + 1;
        let (what, href) = match node.kind {
            LineageKind::Session => ("session", format!("/sessions/{}", node.id)),
            LineageKind::Turn(position) => ("turn", said_in((node.id, Some(position)))),
            LineageKind::Episode => ("episode", format!("/memory/{}", node.id)),
            LineageKind::Source => ("memory", format!("/memory/{}", node.id)),
            LineageKind::Older => (older(way), format!("/memory/{}", node.id)),
            LineageKind::This => ("this", format!("/memory/{}", node.id)),
            LineageKind::Newer => (newer(way), format!("/memory/{}", node.id)),
            LineageKind::Dream => ("dream", format!("/documents/{}", node.id)),
            LineageKind::Reflection => ("reflection", format!("/memory/{}", node.id)),
            LineageKind::Entity => ("entity", format!("/entities/{}", node.id)),
        };
        nodes.push(LineageNode {
            column: columns.iter().position(|c| *c == column).unwrap_or(0),
            row,
            what,
            text: match node.kind {
                // The document's file name.
                LineageKind::Dream => node.text.rsplit('/').next().unwrap_or_default().to_owned(),
                _ => node.text,
            },
            word: node.trust.map(whose),
            href,
            is_this: node.kind == LineageKind::This,
        });
    }
    let edges = lineage.edges.into_iter().map(|edge| LineageEdge {
        from: edge.from,
        to: edge.to,
        how: match edge.how {
            LineageLink::Has => "has",
            LineageLink::ToldOf => "is stated by",
            LineageLink::WrittenFrom => "was read for",
            LineageLink::ReplacedBy => "was replaced by",
            LineageLink::MergedInto => "was merged into",
            LineageLink::PutAsideFor => "contradicts",
            LineageLink::Names => "names",
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
        let node = |kind, id| OriginNode { kind, id, text: format!("node {id}"), trust: None };
        let nodes = vec![
            node(LineageKind::This, 1),
            node(LineageKind::Session, 2),
            node(LineageKind::Episode, 3),
            node(LineageKind::Episode, 4),
            node(LineageKind::Older, 5),
            node(LineageKind::Turn(3), 2),
            node(LineageKind::Dream, 6),
            node(LineageKind::Entity, 7),
        ];
        let edge = |from, to, how| OriginEdge { from, to, how };
        let edges =
            vec![edge(2, 5, LineageLink::WrittenFrom), edge(4, 0, LineageLink::PutAsideFor)];
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
