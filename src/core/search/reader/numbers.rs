//! Small numbers in place of ids.

use std::collections::HashMap;

/// Maps the ids of a user's themes, agents, projects and sessions to small numbers, in order of first use.
#[derive(Default)]
pub struct IdNumbers(HashMap<i64, u32>);

impl IdNumbers {
    pub fn number(&mut self, id: i64) -> u32 {
        let next = self.0.len() as u32;
        *self.0.entry(id).or_insert(next)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn of(&self, id: i64) -> Option<u32> {
        self.0.get(&id).copied()
    }
}
