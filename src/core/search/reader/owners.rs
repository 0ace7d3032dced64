//! How many sources of an index are whose.

use std::collections::HashMap;

/// Number of memories and of turns by owner, without those that are gone; `None`: shared.
#[derive(Default)]
pub struct OwnerCounts(HashMap<Option<u32>, [usize; 2]>);

impl OwnerCounts {
    pub fn add(&mut self, owner: Option<u32>, is_turn: bool) {
        self.0.entry(owner).or_default()[usize::from(is_turn)] += 1;
    }

    pub fn remove(&mut self, owner: Option<u32>, is_turn: bool) {
        self.0.entry(owner).or_default()[usize::from(is_turn)] -= 1;
    }

    pub fn count(&self, owner: Option<u32>) -> [usize; 2] {
        self.0.get(&owner).copied().unwrap_or_default()
    }
}
