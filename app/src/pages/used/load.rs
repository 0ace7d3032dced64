//! How much of a memory is used, and by which agents, as its page shows it.

use crate::page::PageError;
use crate::view::{MemoryLine, ThemeUse, UsagePage};

use crate::accounts::Viewer;
use crate::activity::{BEGINNING_CHARS, KEPT_DAYS, READS_COUNTED_MAX, ThemeReads, UsedItem};
use crate::page::{Page, database};
use crate::pages::item::load::beginning;

impl Page {
    pub(crate) async fn usage_view(&self, viewer: &Viewer) -> Result<UsagePage, PageError> {
        let tools = self.state.registry.definitions();
        let tools = tools.filter(|tool| tool.read_only);
        let tools: Vec<String> = tools.map(|tool| tool.name.to_owned()).collect();
        let usage = self.state.activity.usage(viewer.user_id, &tools).await;
        let usage = usage.map_err(database)?;
        let line = |item: &UsedItem| MemoryLine {
            href: format!("/memory/{}", item.id),
            text: beginning(item.beginning.clone(), BEGINNING_CHARS),
        };
        let (agents, themes) = grid(&usage.reads);
        Ok(UsagePage {
            agents,
            themes,
            most_used: usage.most_used.iter().map(|i| (line(i), i.uses)).collect(),
            never_used: usage.never_used.iter().map(|i| (line(i), i.created_at)).collect(),
            active: usage.active,
            unused: usage.unused,
            days: KEPT_DAYS,
            counted_max: READS_COUNTED_MAX,
        })
    }
}

/// Agents by id and name, and a row for each theme; both the busiest first.
fn grid(reads: &[ThemeReads]) -> (Vec<(i64, String)>, Vec<ThemeUse>) {
    let (mut agents, mut themes) = (Vec::new(), Vec::new());
    for one in reads {
        add(&mut agents, (one.agent, &one.agent_name), one.calls);
        add(&mut themes, (&one.theme, &one.theme_name), one.calls);
    }
    for_busiest(&mut agents);
    for_busiest(&mut themes);
    let calls = |agent: i64, theme: &str| {
        let of = |one: &&ThemeReads| one.agent == agent && one.theme == theme;
        reads.iter().find(of).map_or(0, |one| one.calls)
    };
    let row = |((slug, name), _): ((&String, &String), i64)| ThemeUse {
        calls: agents.iter().map(|((agent, _), _)| calls(*agent, slug)).collect(),
        slug: slug.clone(),
        name: name.clone(),
    };
    let themes = themes.into_iter().map(row).collect();
    let agents = agents.iter().map(|((id, name), _)| (*id, (*name).clone()));
    (agents.collect(), themes)
}

fn add<K: PartialEq>(totals: &mut Vec<(K, i64)>, key: K, calls: i64) {
    match totals.iter_mut().find(|(known, _)| *known == key) {
        Some((_, total)) => *total += calls,
        None => totals.push((key, calls)),
    }
}

fn for_busiest<K: Ord>(totals: &mut [(K, i64)]) {
    totals.sort_by(|(one, n), (other, m)| m.cmp(n).then_with(|| one.cmp(other)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grid_has_the_busiest_first_and_a_count_in_each_cell() {
        let reads = |agent, theme: &str, calls| ThemeReads {
            agent,
            agent_name: format!("agent {agent}"),
            theme: theme.to_owned(),
            theme_name: theme.to_uppercase(),
            calls,
        };
        let (agents, themes) =
            grid(&[reads(1, "food", 2), reads(2, "work", 3), reads(2, "food", 2)]);
        assert_eq!(agents, [(2, "agent 2".to_owned()), (1, "agent 1".to_owned())]);
        let rows: Vec<_> = themes.iter().map(|t| (t.name.as_str(), &t.calls[..])).collect();
        assert_eq!(rows, [("FOOD", &[2, 2][..]), ("WORK", &[3, 0][..])]);
        assert_eq!(grid(&[]), (Vec::new(), Vec::new()));
    }
}
