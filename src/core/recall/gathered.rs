//! What may be relevant for a message: candidates for the whole of it and for each part that asks, with the best relevance of
//! each.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

use crate::accounts::{AgentSettings, Viewer};
use crate::clock::Zone;
use crate::db::Tx;
use crate::embedding::QUERY_DEADLINE;
use crate::memories::projects::MeantProjects;
use crate::memories::{ItemType, ProjectRef, Status};
use crate::search::asks::asks;
use crate::search::query::Ingredients;
use crate::search::reciprocal::reciprocal;
use crate::search::{
    CandidateSignals, Candidates, Filters, LentFound, Search, WeighedTerms, relevance,
};

/// Limit on the sources whose relevance is checked, for each part.
const LOOKED_AT: usize = 30;
/// The memory about somebody or something named that is nearest to the message is at least so relevant, which is the default
/// threshold …
const NAMED_RELEVANCE: f64 = AgentSettings::THRESHOLD;
/// … unless it is below this, or more memories name it …
const NAMED_MIN: f64 = 0.1;
const NAMED_MAX: usize = 8;
/// … and so are others that are nearly as near.
const NAMED_SHARE: f64 = 0.7;

/// The candidates of a message.
pub(super) struct Gathered {
    /// Of the own memory; `None` if lent memory was searched too.
    pub(super) tx: Option<Tx>,
    pub(super) lent: Option<LentFound>,
    /// By id, each once, without those of other projects than the one that is worked on.
    pub(super) relevance: Vec<(i64, f64)>,
    /// The highest of those; 0 if there is none.
    pub(super) elsewhere: f64,
    /// The distinct words of the message, with their highest weights.
    pub(super) terms: WeighedTerms,
    /// Of the person.
    pub(super) zone: Zone,
    pub(super) projects: Option<Arc<MeantProjects>>,
    /// See [`Candidates::degraded`].
    pub(super) degraded: Option<String>,
    parts: Vec<Part>,
    /// By id, the part for which it is most relevant.
    part_of: HashMap<i64, usize>,
}

struct Part {
    terms: WeighedTerms,
    passages: HashMap<i64, usize>,
    out_of_time: HashSet<i64>,
}

impl Gathered {
    /// The words that found it, and the passage that is nearest.
    pub(super) fn shown_by(&self, id: i64) -> (&WeighedTerms, usize) {
        match self.part_of.get(&id).and_then(|part| self.parts.get(*part)) {
            Some(part) => (&part.terms, part.passages.get(&id).copied().unwrap_or_default()),
            None => (&self.terms, 0),
        }
    }

    /// No part of the message asks for its time.
    pub(super) fn is_out_of_time(&self, id: i64) -> bool {
        let mut found = self.parts.iter().filter(|part| part.passages.contains_key(&id));
        found.all(|part| part.out_of_time.contains(&id))
    }
}

/// Gathers what may be relevant for a message.
///
/// # Errors
/// Database errors only.
pub(super) async fn gathered(
    search: &Search,
    viewer: &Viewer,
    project: Option<ProjectRef>,
    text: &str,
) -> Result<Gathered, sqlx::Error> {
    let filters = filters(project);
    let mut asks = asks(text).into_iter().rev();
    let first = asks.next().unwrap_or_default();
    let mut found = search.gather(viewer, &filters, &first).await?;
    let mut gathered = Gathered {
        tx: None,
        lent: None,
        relevance: Vec::new(),
        elsewhere: 0.0,
        terms: WeighedTerms::new(),
        zone: found.zone.clone(),
        projects: None,
        degraded: None,
        parts: Vec::new(),
        part_of: HashMap::new(),
    };
    let mut best: HashMap<i64, f64> = HashMap::new();
    let began = Instant::now();
    loop {
        gathered.add(found, &mut best);
        // Nobody waits for a slow endpoint several times.
        let is_late = began.elapsed() > QUERY_DEADLINE;
        let Some(ask) = asks.next().filter(|_| !is_late) else { break };
        // One connection at a time.
        gathered.tx = None;
        found = search.gather(viewer, &filters, &ask).await?;
    }
    gathered.relevance = best.into_iter().collect();
    Ok(gathered)
}

impl Gathered {
    fn add(&mut self, mut found: Candidates, best: &mut HashMap<i64, f64>) {
        if found.found.iter().any(CandidateSignals::is_of_another_project) {
            let of = relevance::of_all(&found.found, found.terms.len());
            let others = found.found.iter().filter(|signals| signals.is_of_another_project());
            let of_others = others.filter_map(|signals| of.get(&signals.id.0).copied());
            self.elsewhere = of_others.fold(self.elsewhere, f64::max);
            found.found.retain(|signals| !signals.is_of_another_project());
        }
        for (id, relevance) in ranked(&found.found, found.terms.len()) {
            let known = best.entry(id).or_insert(f64::NEG_INFINITY);
            if relevance > *known {
                *known = relevance;
                self.part_of.insert(id, self.parts.len());
            }
        }
        for (term, weight) in &found.terms {
            match self.terms.iter_mut().find(|(known, _)| known == term) {
                Some((_, known)) => *known = known.max(*weight),
                None => self.terms.push((term.clone(), *weight)),
            }
        }
        let signals = || found.found.iter();
        let out_of_time = signals().filter(|signals| signals.is_out_of_time);
        self.parts.push(Part {
            passages: signals().map(|signals| (signals.id.0, signals.best_passage)).collect(),
            out_of_time: out_of_time.map(|signals| signals.id.0).collect(),
            terms: found.terms,
        });
        self.lent = match (self.lent.take(), found.lent) {
            (Some(lent), Some(other)) => Some(lent.joined(other)),
            (lent, other) => lent.or(other),
        };
        self.tx = found.tx;
        self.projects = found.projects.or(self.projects.take());
        self.degraded = found.degraded.or(self.degraded.take());
    }
}

fn filters(project: Option<ProjectRef>) -> Filters {
    Filters {
        project,
        types: vec![
            ItemType::Preference,
            ItemType::Fact,
            ItemType::Instruction,
            ItemType::Summary,
            ItemType::Other,
            ItemType::Reflection,
            ItemType::Episode,
        ],
        status: Some(Status::Active),
        // Recall ranks by words and embeddings only.
        ingredients: Ingredients { late: false, ..Ingredients::default() },
        ..Filters::default()
    }
}

/// The best candidates by reciprocal rank fusion of the arms, with their relevance.
fn ranked(found: &[CandidateSignals], terms: usize) -> Vec<(i64, f64)> {
    let by = |value: &dyn Fn(&CandidateSignals) -> Option<f64>| -> Vec<i64> {
        let mut of_arm: Vec<(f64, i64)> =
            found.iter().filter_map(|signals| Some((value(signals)?, signals.id.0))).collect();
        of_arm.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        of_arm.into_iter().map(|(_, id)| id).collect()
    };
    let lists = [
        by(&|signals| signals.distance.map(|distance| -distance)),
        by(&|signals| (signals.lexical > 0.0).then_some(signals.lexical)),
        by(&|signals| (signals.entities > 0.0).then_some(signals.entities)),
    ];
    let mut relevance = relevance::of_all(found, terms);
    raise_named(found, &mut relevance);
    let weights = found.iter().map(|signals| (signals.id.0, signals.own_weight()));
    let weights: HashMap<i64, f64> = weights.collect();
    let best = reciprocal(&lists).into_iter().take(LOOKED_AT);
    best.map(|(id, _)| {
        let relevance = relevance.get(&id).copied().unwrap_or_default();
        let weight = weights.get(&id).copied().unwrap_or(1.0);
        (id, (relevance * weight).min(1.0))
    })
    .collect()
}

/// A person, place or thing that the message names brings what is known of it and near the message ("a cake for Anna": her
/// allergy). Names that occur everywhere bring nothing.
fn raise_named(found: &[CandidateSignals], relevance: &mut HashMap<i64, f64>) {
    let named = found.iter().filter(|signals| signals.entities > 0.5).map(|signals| signals.id.0);
    let named: Vec<i64> = named.collect();
    let of = |id: &i64| relevance.get(id).copied().unwrap_or_default();
    let best = named.iter().map(of).fold(0.0, f64::max);
    if named.len() > NAMED_MAX || best < NAMED_MIN {
        return;
    }
    let least = NAMED_MIN.max(best * NAMED_SHARE);
    let near: Vec<i64> = named.into_iter().filter(|id| of(id) >= least).collect();
    for id in near {
        relevance.entry(id).and_modify(|own| *own = own.max(NAMED_RELEVANCE));
    }
}
