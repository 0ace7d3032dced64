//! The lineage of a memory, laid out in columns: sessions, episodes and sources, the memory itself, what
//! replaced it, and what was written from it.

use app::backend::PageError;
use app::view::{LineageEdge, LineageNode, LineageView, said_in};

use super::items::whose;
use super::{Ui, database};
use crate::accounts::Viewer;
use crate::consolidation::lineage::{self, How, Kind, Lineage};
use crate::memories::Item;

impl Ui {
    pub(super) async fn lineage_view(
        &self,
        viewer: &Viewer,
        item: &Item,
    ) -> Result<LineageView, PageError> {
        let found = lineage::of(&self.state.db, viewer.user_id, item).await;
        Ok(laid_out(found.map_err(database)?))
    }
}

fn column_of(kind: Kind) -> usize {
    match kind {
        Kind::Session => 0,
        Kind::Turn(_) | Kind::Source | Kind::Older | Kind::Episode => 1,
        Kind::This => 2,
        Kind::Newer => 3,
        Kind::Dream | Kind::Reflection => 4,
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
    let is_said = is_there(0);
    let mut nodes = Vec::with_capacity(lineage.nodes.len());
    for node in lineage.nodes {
        let column = column_of(node.kind);
        // The first row beside the memory is for its source; episodes come below, since lines run past them
        // to what was written from them.
        let least = usize::from(node.kind == Kind::Episode && is_said);
        let row = taken[column].max(least);
        taken[column] = row + 1;
        let (what, href) = match node.kind {
            Kind::Session => ("session", format!("/sessions/{}", node.id)),
            Kind::Turn(position) => ("turn", said_in((node.id, Some(position)))),
            Kind::Episode => ("episode", format!("/memory/{}", node.id)),
            Kind::Source => ("memory", format!("/memory/{}", node.id)),
            Kind::Older => ("older memory", format!("/memory/{}", node.id)),
            Kind::This => ("this", format!("/memory/{}", node.id)),
            Kind::Newer => ("newer memory", format!("/memory/{}", node.id)),
            Kind::Dream => ("dream", format!("/documents/{}", node.id)),
            Kind::Reflection => ("reflection", format!("/memory/{}", node.id)),
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
    use crate::consolidation::lineage::{Edge, Node};

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
        ];
        let how = How::WrittenFrom;
        let edges = vec![Edge {
            from: 2,
            to: 5,
            how,
        }];
        let view = laid_out(Lineage { nodes, edges });
        assert_eq!((view.columns, view.rows), (4, 5));
        let mut places: Vec<_> = view.nodes.iter().map(|n| (n.column, n.row)).collect();
        assert_eq!(places[0], (2, 0), "itself");
        assert_eq!(places[6], (3, 0), "past a column that nothing stands in");
        places.sort_unstable();
        places.dedup();
        assert_eq!(places.len(), view.nodes.len());
    }
}
