//! Fading memories, as their page shows them, and the strength of one memory.

use crate::page::PageError;
use crate::view::{FadedRow, FadingPage, FadingRow, ItemStrength};

use crate::accounts::Viewer;
use crate::jobs::{self, schedule};
use crate::memories::fading::{self, BEGINNING_CHARS, FadingSettings, HALF_LIVES, Strength};
use crate::memories::{MemoryItem, manage};
use crate::page::{Page, database};
use crate::pages::item::load::beginning;

impl Page {
    pub(crate) async fn fading_view(&self, viewer: &Viewer) -> Result<FadingPage, PageError> {
        let now = self.state.clock.now();
        // It evaluates all items of the user, which may take long.
        let db = self.state.db.with_job_timeout();
        let overview = fading::overview(&db, viewer.user_id, now).await;
        let overview = overview.map_err(database)?;
        let read_only = manage::is_browser_read_only(&self.state.db).await;
        let schedule = self.schedule_of("fade").await?;
        let weakest = overview.weakest.into_iter().map(|item| FadingRow {
            id: item.id.0,
            item_type: item.item_type.as_str(),
            beginning: beginning(item.beginning, BEGINNING_CHARS),
            strength: percent(item.strength),
            used: item.last_used,
            uses: item.access_count,
        });
        let faded = overview.faded.into_iter().map(|item| FadedRow {
            id: item.id.0,
            item_type: item.item_type.as_str(),
            beginning: beginning(item.beginning, BEGINNING_CHARS),
            at: item.at,
        });
        let days = &overview.settings.half_lives;
        let half_lives = HALF_LIVES.iter().map(|(item_type, _)| {
            let name = item_type.as_str();
            (name, days.get(name).copied().flatten().map(whole_days))
        });
        Ok(FadingPage {
            is_on: overview.settings.is_on,
            threshold: percent(overview.settings.threshold),
            half_lives: half_lives.collect(),
            active: overview.active,
            weak: overview.weak,
            schedule,
            weakest: weakest.collect(),
            faded_count: overview.faded_count,
            faded: faded.collect(),
            is_manageable: !read_only.map_err(database)?,
        })
    }

    /// A job's schedule in words, such as "every day at 04:00".
    pub(crate) async fn schedule_of(&self, job: &str) -> Result<String, PageError> {
        let mut conn = self.state.db.system_connection().await.map_err(database)?;
        let found = match jobs::find(job) {
            Some(job) => schedule::find(&mut conn, job).await.map_err(database)?,
            None => None,
        };
        Ok(found.map_or(String::new(), |schedule| schedule.to_string()))
    }

    pub(crate) fn item_strength(
        &self,
        item: &MemoryItem,
        strength: Strength,
        settings: &FadingSettings,
    ) -> ItemStrength {
        let fades_at = strength.fades_at(item, settings.threshold);
        let of_its_type = HALF_LIVES.iter().any(|(fading, _)| *fading == item.item_type);
        ItemStrength {
            percent: percent(strength.value),
            uses: strength.access_count,
            used: strength.last_accessed.filter(|_| strength.access_count > 0),
            fades: fades_at,
            half_life: strength.half_life_days().map(whole_days),
            is_own: strength.is_own_rate,
            is_on: settings.is_on,
            can_be_set: of_its_type && !item.protected,
        }
    }
}

fn percent(share: f64) -> i64 {
    (100.0 * share).round() as i64
}

fn whole_days(days: f64) -> i64 {
    days.round() as i64
}
