//! Which sources of an index a viewer sees. What is counted of a memory, such as how rare a word is, is counted of these
//! alone, so that no score tells of the others.

use super::index::{Index, IndexedSource};

/// What the viewer of a search can see.
#[derive(Clone, Copy, Debug)]
pub struct ViewerScope {
    /// `None`: a user or a job, who sees everything.
    pub agent: Option<i64>,
    pub sees_shared: bool,
    /// False for lent memory.
    pub sees_turns: bool,
    /// The agent's own sources rank before shared ones.
    pub is_own_first: bool,
}

/// A scope, in the numbers of an index.
#[derive(Clone, Copy, Debug)]
pub struct SeenSources {
    /// So that no source has to be checked.
    sees_all: bool,
    sees_shared: bool,
    sees_turns: bool,
    own: Option<u32>,
    counts: [usize; 2],
}

impl SeenSources {
    pub fn of(index: &Index, scope: ViewerScope) -> Self {
        let own = scope.agent.and_then(|id| index.agents.of(id));
        let all = [index.count(false), index.count(true)];
        let mut counts = all;
        if scope.agent.is_some() {
            let of_own = own.map_or([0; 2], |own| index.owners.count(Some(own)));
            let shared = match scope.sees_shared {
                true => index.owners.count(None),
                false => [0; 2],
            };
            counts = [of_own[0] + shared[0], of_own[1] + shared[1]];
        }
        if !scope.sees_turns {
            counts[1] = 0;
        }
        Self {
            sees_all: counts == all,
            sees_shared: scope.sees_shared,
            sees_turns: scope.sees_turns,
            own,
            counts,
        }
    }

    pub fn sees_all(&self) -> bool {
        self.sees_all
    }

    /// The number of the searching agent, if it has sources.
    pub fn own(&self) -> Option<u32> {
        self.own
    }

    pub fn has(&self, source: &IndexedSource) -> bool {
        self.sees_all
            || (self.sees_turns || !source.is_turn())
                && match source.owner {
                    Some(owner) => self.own == Some(owner),
                    None => self.sees_shared,
                }
    }

    /// Number of memories and of turns.
    pub fn counts(&self) -> [usize; 2] {
        self.counts
    }

    /// [`Index::sources_with`], of these alone.
    pub fn with<'a>(&self, index: &'a Index, term: u32) -> impl Iterator<Item = u32> + use<'a> {
        let seen = *self;
        let sources = index.sources_with(term);
        sources.filter(move |source| seen.has(index.source(*source)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::arms::tests::{row, turn};
    use crate::search::reader::index::SourceRow;

    fn of(id: i64, owner: Option<i64>) -> SourceRow {
        SourceRow { owner, ..row(id, "tea") }
    }

    #[test]
    fn what_is_seen_is_counted_however_it_came_changed_and_went() {
        let mut index = Index::default();
        index.load(vec![of(1, None), of(2, Some(7)), of(3, Some(8))]);
        index.settle();
        index.put(turn(4, "tea"));
        index.put(SourceRow { owner: Some(7), ..turn(5, "tea") });
        let seen = |index: &Index, agent, sees_shared, sees_turns| {
            let scope = ViewerScope { agent, sees_shared, sees_turns, is_own_first: false };
            let seen = SeenSources::of(index, scope);
            let counted = index.sources().iter().filter(|s| !s.is_gone && seen.has(s));
            let turns = counted.clone().filter(|s| s.is_turn()).count();
            assert_eq!(seen.counts(), [counted.count() - turns, turns]);
            let all = seen.counts()[0] + seen.counts()[1];
            let term = crate::memories::passages::terms::number("tea");
            assert_eq!(seen.with(index, term).count(), all);
            (seen.counts(), seen.sees_all())
        };
        assert_eq!(seen(&index, None, true, true), ([3, 2], true));
        assert_eq!(seen(&index, Some(7), true, true), ([2, 2], false));
        assert_eq!(seen(&index, Some(7), false, false), ([1, 0], false));
        assert_eq!(seen(&index, Some(9), false, true), ([0, 0], false));
        // To another owner, without another text; and gone.
        index.put(of(3, Some(7)));
        index.remove(1);
        assert_eq!(seen(&index, Some(7), true, true), ([2, 2], true));
        assert_eq!(seen(&index, Some(8), true, true), ([0, 1], false));
        index.put(SourceRow { owner: Some(8), ..row(3, "tea again") });
        assert_eq!(seen(&index, Some(8), false, true), ([1, 0], false));
    }
}
