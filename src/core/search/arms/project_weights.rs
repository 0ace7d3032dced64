//! How much sources count that are of a project, where the question is asked in one or names some.

use std::collections::HashMap;

use crate::memories::projects::MeantProjects;
use crate::search::candidate::{OTHER_PROJECT_WEIGHT, PROJECT_WEIGHT};
use crate::search::reader::index::Index;

/// How much sources of projects count.
pub struct ProjectWeights {
    by_project: HashMap<u32, f64>,
    pub of_others: f64,
}

impl ProjectWeights {
    pub fn of(index: &Index, meant: &MeantProjects) -> Self {
        // Where others are named, the question is rather about those.
        let of_here = if meant.named.is_empty() { PROJECT_WEIGHT } else { 1.0 / PROJECT_WEIGHT };
        let here = meant.here.as_ref().map(|here| (here.id.0, of_here));
        let all = meant.named.iter().map(|id| (*id, PROJECT_WEIGHT)).chain(here);
        Self {
            by_project: all.filter_map(|(id, w)| Some((index.projects.of(id)?, w))).collect(),
            of_others: if meant.is_asked_in_one { OTHER_PROJECT_WEIGHT } else { 1.0 },
        }
    }

    pub fn weight(&self, project: u32) -> f64 {
        self.by_project.get(&project).copied().unwrap_or(self.of_others)
    }
}
