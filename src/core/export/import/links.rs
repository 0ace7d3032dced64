//! Links from items to those that replaced them, while the newer item has not come yet.

use std::collections::{HashMap, HashSet};

/// At most one for each older item, its first: there are no more links than items, however many lines a file
/// has.
#[derive(Default)]
pub struct WaitingLinks {
    /// Our ids of the items that have, or had, a link here.
    older: HashSet<i64>,
    /// By the file's id of the newer item.
    by_newer: HashMap<i64, Vec<i64>>,
}

impl WaitingLinks {
    /// From our id of the older item to the file's id of the newer.
    pub fn add(&mut self, older: i64, newer: i64) {
        if self.older.insert(older) {
            self.by_newer.entry(newer).or_default().push(older);
        }
    }

    /// The links to these items, given by the file's ids with ours: our ids of the older and the newer.
    pub fn to(&self, newer: &HashMap<i64, i64>) -> impl Iterator<Item = (i64, i64)> {
        newer.iter().flat_map(|(theirs, newer)| {
            let older = self.by_newer.get(theirs).into_iter().flatten();
            older.map(|older| (*older, *newer))
        })
    }

    /// The items came, and the links to them are written.
    pub fn end(&mut self, newer: &HashMap<i64, i64>) {
        for theirs in newer.keys() {
            self.by_newer.remove(theirs);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_has_one_link_however_often_it_comes() {
        let mut links = WaitingLinks::default();
        for line in 0..1_000 {
            links.add(7, 1);
            links.add(7, 2 + line);
            links.add(8, 1);
        }
        assert_eq!((links.older.len(), links.by_newer.len()), (2, 1));
        let came = HashMap::from([(1, 9), (5, 10)]);
        assert_eq!(links.to(&came).collect::<Vec<_>>(), [(7, 9), (8, 9)]);
        links.end(&came);
        links.add(7, 1);
        assert!(links.by_newer.is_empty());
    }
}
