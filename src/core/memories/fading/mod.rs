//! Fading: memories that nobody uses lose strength and are archived at night once below a threshold. Nothing is deleted.
//! Strength = confidence × e^(−rate × days since last use), computed and never stored. Uses: being added, read, confirmed,
//! stated again, or found among the first results of a search.

mod store;

use std::collections::{BTreeMap, HashMap};
use std::f64::consts::LN_2;
use std::ops::RangeInclusive;

use serde_json::Value;
use sqlx::PgConnection;
use time::{Duration, OffsetDateTime};

use super::model::{ItemId, ItemType, MemoryItem};
use super::store::{archive_items, count_by_status};
use super::{FADED, MemoryError};
use crate::activity::RunningCall;
use crate::db::{Db, UserId, raise_revision};
use crate::input::{Invalid, number};
pub(super) use store::count_faded;
pub use store::{FadedItem, FadingItem};

/// Types that fade, with their default half-lives in days. A fact from a conversation (confidence 70) fades after 22 months
/// without use, a preference after 3 years and 9 months, so that yearly topics stay. Momentary memories fade sooner.
pub const HALF_LIVES: [(ItemType, u32); 4] = [
    (ItemType::Preference, 360),
    (ItemType::Fact, 180),
    (ItemType::Summary, 90),
    (ItemType::Other, 60),
];
/// A memory below this strength is archived.
pub const THRESHOLD: f64 = 0.05;
pub const HALF_LIFE_DAYS_MAX: u32 = 36_500;
const DECAY_RATE_MAX: f64 = 10.0;
const THRESHOLD_PERCENT: RangeInclusive<u32> = 1..=50;
/// Limit on the items archived in one transaction.
const AT_ONCE: i64 = 500;
/// Limit on the items restored by one click.
const RESTORED_AT_ONCE: i64 = 200;
/// Limit on the items shown on a page.
pub const SHOWN_MAX: i64 = 50;
/// Characters of the beginnings of items.
pub const BEGINNING_CHARS: i32 = 160;
/// Ranking factor at strength 0.
const FACTOR_MIN: f64 = 0.5;

/// The ranking factor of recall.
pub fn factor(strength: f64) -> f64 {
    FACTOR_MIN + (1.0 - FACTOR_MIN) * strength
}

/// A user's settings.
#[derive(Clone, Debug, PartialEq)]
pub struct FadingSettings {
    pub is_on: bool,
    /// 0.01 to 0.5
    pub threshold: f64,
    /// Half-life in days per type of [`HALF_LIVES`]; `None`: it never fades.
    pub half_lives: BTreeMap<&'static str, Option<f64>>,
}

impl FadingSettings {
    fn new(is_on: bool, threshold: Option<f64>, rates: &Value) -> Self {
        let half_life = |(item_type, days): &(ItemType, u32)| {
            let name = item_type.as_str();
            let set = rates.get(name).and_then(Value::as_f64);
            let days = set.map_or(Some(f64::from(*days)), days_of);
            (name, days)
        };
        Self {
            is_on,
            threshold: threshold.unwrap_or(THRESHOLD),
            half_lives: HALF_LIVES.iter().map(half_life).collect(),
        }
    }

    /// Parses form values: half-lives in days, empty if the type never fades, and a threshold in percent.
    ///
    /// # Errors
    /// [`Invalid`] naming the field.
    pub fn parse<'a>(
        is_on: bool,
        threshold: &str,
        days: impl Fn(&str) -> &'a str,
    ) -> Result<Self, Invalid> {
        let accepted = "give a whole number of percent, 1 to 50";
        let percent = number("threshold", threshold, THRESHOLD_PERCENT, accepted)?;
        let half_life = |(item_type, _): &(ItemType, u32)| {
            let name = item_type.as_str();
            Ok((name, parse_days(name, days(name))?))
        };
        Ok(Self {
            is_on,
            threshold: f64::from(percent) / 100.0,
            half_lives: HALF_LIVES.iter().map(half_life).collect::<Result<_, Invalid>>()?,
        })
    }

    /// Decay rates per day, by type, as JSON.
    fn rates(&self) -> Value {
        let rates = self.half_lives.iter();
        rates
            .map(|(name, days)| ((*name).to_owned(), Value::from(rate_of(*days))))
            .collect::<serde_json::Map<_, _>>()
            .into()
    }
}

impl Default for FadingSettings {
    fn default() -> Self {
        Self::new(true, None, &Value::Null)
    }
}

/// Parses a half-life in days; empty is `None`: it never fades.
///
/// # Errors
/// [`Invalid`] naming the field.
pub fn parse_days(field: &'static str, text: &str) -> Result<Option<f64>, Invalid> {
    if text.trim().is_empty() {
        return Ok(None);
    }
    let days: Option<u32> = text.trim().parse().ok();
    let days = days.filter(|days| (1..=HALF_LIFE_DAYS_MAX).contains(days));
    days.map(|days| Some(f64::from(days))).ok_or_else(|| {
        let sentence = format!(
            "`{field}` is not a number of days; give 1 to {HALF_LIFE_DAYS_MAX}, or nothing: it never fades."
        );
        Invalid::new(field, "out_of_range", sentence)
    })
}

/// Checks an item's own decay rate, per day.
///
/// # Errors
/// [`Invalid`] naming `decay_rate`.
pub fn check_rate(rate: f64) -> Result<f64, Invalid> {
    let is_rate = (0.0..=DECAY_RATE_MAX).contains(&rate);
    is_rate.then_some(rate).ok_or_else(|| {
        let sentence = format!("`decay_rate` is out of range; it is 0 to {DECAY_RATE_MAX}.");
        Invalid::new("decay_rate", "out_of_range", sentence)
    })
}

fn rate_of(half_life_days: Option<f64>) -> f64 {
    half_life_days.map_or(0.0, |days| LN_2 / days)
}

fn days_of(rate: f64) -> Option<f64> {
    (rate > 0.0).then(|| LN_2 / rate)
}

/// An item's strength and usage.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Strength {
    /// 0 to 1
    pub value: f64,
    /// Decay rate per day; 0: it never fades.
    pub rate: f64,
    /// The rate was set for this item.
    pub is_own_rate: bool,
    pub access_count: i64,
    /// The last counted use.
    pub last_accessed: Option<OffsetDateTime>,
    pub last_used: OffsetDateTime,
}

impl Strength {
    pub fn half_life_days(&self) -> Option<f64> {
        days_of(self.rate)
    }

    /// When the strength will fall below the threshold, if the item is not used.
    pub fn fades_at(&self, item: &MemoryItem, threshold: f64) -> Option<OffsetDateTime> {
        let days = days_of(self.rate)?;
        let halvings = (f64::from(item.confidence) / 100.0 / threshold).log2().max(0.0);
        let seconds = days * halvings * 86_400.0;
        self.last_used.checked_add(Duration::checked_seconds_f64(seconds)?)
    }
}

/// Strengths of items by id. Turns, episodes and document parts have none. Runs in a transaction bound to its user.
///
/// # Errors
/// Database errors only.
pub async fn strengths(
    conn: &mut PgConnection,
    user: UserId,
    ids: &[i64],
    now: OffsetDateTime,
) -> Result<HashMap<i64, Strength>, sqlx::Error> {
    let rates = FadingSettings::default().rates();
    store::list_strengths(conn, user, ids, &rates, now).await
}

/// Strength of one item.
pub(super) async fn strength(
    conn: &mut PgConnection,
    user: UserId,
    id: ItemId,
    now: OffsetDateTime,
) -> Result<Option<Strength>, sqlx::Error> {
    let mut found = strengths(conn, user, &[id.0], now).await?;
    Ok(found.remove(&id.0))
}

/// The content of the fading page.
#[derive(Clone, Debug)]
pub struct FadingOverview {
    pub settings: FadingSettings,
    /// Number of items below the threshold now, in 30 days and in a year, if they are not used.
    pub weak: [i64; 3],
    /// Number of active items.
    pub active: i64,
    /// The weakest items below the threshold, at most [`SHOWN_MAX`].
    pub weakest: Vec<FadingItem>,
    pub faded_count: i64,
    /// The last faded items, at most [`SHOWN_MAX`].
    pub faded: Vec<FadedItem>,
}

/// # Errors
/// Database errors only.
pub async fn overview(
    db: &Db,
    user: UserId,
    now: OffsetDateTime,
) -> Result<FadingOverview, sqlx::Error> {
    let mut tx = db.as_user(user).await?;
    let settings = store::find_settings(&mut tx, user).await?;
    let rates = settings.rates();
    let mut weak = [0; 3];
    for (count, days) in weak.iter_mut().zip([0, 30, 365]) {
        let at = now + Duration::days(days);
        *count = store::count_weak(&mut tx, user, at, &rates, settings.threshold).await?;
    }
    let weakest = store::list_weakest(&mut tx, user, now, &rates, settings.threshold, SHOWN_MAX);
    let weakest = weakest.await?;
    let overview = FadingOverview {
        weak,
        weakest,
        active: count_by_status(&mut tx, user, now).await?.active,
        faded_count: count_faded(&mut tx, user).await?,
        faded: store::list_faded(&mut tx, user, SHOWN_MAX).await?,
        settings,
    };
    tx.commit().await?;
    Ok(overview)
}

/// Faded items, latest first, at most [`RESTORED_AT_ONCE`].
///
/// # Errors
/// Database errors only.
pub async fn list_faded(db: &Db, user: UserId) -> Result<Vec<ItemId>, sqlx::Error> {
    let mut tx = db.as_user(user).await?;
    let faded = store::list_faded(&mut tx, user, RESTORED_AT_ONCE).await?;
    tx.commit().await?;
    Ok(faded.into_iter().map(|item| item.id).collect())
}

/// # Errors
/// Database errors only.
pub async fn settings(db: &Db, user: UserId) -> Result<FadingSettings, sqlx::Error> {
    db.for_user(user, store::find_settings).await
}

/// # Errors
/// Database errors only.
pub async fn save(db: &Db, user: UserId, settings: &FadingSettings) -> Result<(), sqlx::Error> {
    let mut tx = db.as_user(user).await?;
    let (on, threshold) = (settings.is_on, settings.threshold);
    store::save_settings(&mut tx, user, on, threshold, &settings.rates()).await?;
    tx.commit().await
}

/// Sets the half-life of one item; `None`: the rate of its type.
///
/// # Errors
/// [`MemoryError::NotFound`], or a database error.
pub async fn set_half_life(
    db: &Db,
    call: &RunningCall,
    id: ItemId,
    chosen: Option<Option<f64>>,
) -> Result<(), MemoryError> {
    let user = call.viewer.user_id;
    let mut tx = db.as_user(user).await?;
    if !store::set_decay_rate(&mut tx, user, id, chosen.map(rate_of)).await? {
        return Err(MemoryError::NotFound(id));
    }
    call.write(&mut tx, vec![id.0]).await?;
    tx.commit().await?;
    Ok(())
}

/// Archives a batch of a user's weak memories. Returns how many; 0 means none are left.
///
/// # Errors
/// Database errors only.
pub async fn fade(db: &Db, user: UserId, now: OffsetDateTime) -> Result<usize, sqlx::Error> {
    let mut tx = db.as_user(user).await?;
    let settings = store::find_settings(&mut tx, user).await?;
    let (rates, threshold) = (settings.rates(), settings.threshold);
    let find = async |conn: &mut PgConnection| match settings.is_on {
        true => store::list_weak(conn, user, now, &rates, threshold, AT_ONCE).await,
        false => Ok(Vec::new()),
    };
    let mut weak = find(&mut tx).await?;
    if weak.is_empty() {
        return Ok(0);
    }
    raise_revision(&mut tx, user).await?;
    // Read again: before the writer lock was acquired, a weak item may have been used.
    weak = find(&mut tx).await?;
    let faded = archive_items(&mut tx, user, None, &weak, FADED, now).await?;
    tx.commit().await?;
    Ok(faded.len().max(1))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn settings_come_back_from_their_rates_as_they_were() {
        let days = |name: &str| if name == "fact" { "" } else { " 30 " };
        let chosen = FadingSettings::parse(false, "10", days).unwrap();
        let back = FadingSettings::new(false, Some(0.1), &chosen.rates());
        assert_eq!(back.half_lives["fact"], None);
        assert!((back.half_lives["other"].unwrap() - 30.0).abs() < 1e-9);
        let unset = FadingSettings::new(true, None, &Value::Null);
        assert_eq!(unset, FadingSettings::default());
        assert_eq!(unset.half_lives["preference"], Some(360.0));
    }

    #[test]
    fn bad_settings_name_their_field() {
        let none = |_: &str| "";
        for bad in ["", "0", "51", "5.5", "-1", "x"] {
            let refused = FadingSettings::parse(true, bad, none).unwrap_err();
            assert_eq!(refused.field, "threshold", "{bad}");
        }
        for bad in ["0", "36501", "1.5", "-3", "long"] {
            let refused = FadingSettings::parse(true, "5", |_| bad).unwrap_err();
            assert!(HALF_LIVES.iter().any(|(name, _)| name.as_str() == refused.field));
        }
    }

    #[test]
    fn what_is_forgotten_counts_half_in_recall() {
        assert_eq!((factor(0.0), factor(1.0)), (0.5, 1.0));
    }
}
