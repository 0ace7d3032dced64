//! What holds each evening, and on each evening looked back to.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use keepsake::clock::Zone;
use keepsake::export::Export;
use keepsake::memories::Day;
use serde_json::{Value, json};
use time::format_description::well_known::Rfc3339;
use time::{Duration, OffsetDateTime};

use super::people::PEOPLE;
use crate::data::records;
use crate::support::{TestApp, TestUser};

/// Of a memory that a copy has.
const COPIED: [&str; 7] =
    ["content", "key", "theme", "type", "status", "valid_from", "valid_until"];
const CALLS_KEPT: Duration = Duration::days(91);

/// Memories by their ids.
type Copy = BTreeMap<i64, Value>;

#[derive(Default)]
pub struct Held {
    /// Of the three people.
    pub users: Vec<i64>,
    /// Each evening.
    copies: Vec<(OffsetDateTime, Copy)>,
    /// Of episodes, when they were dreamt of.
    promoted: HashMap<i64, String>,
    /// Whose, today; a memory where one alone was erased.
    erased: Vec<(i64, Option<i64>)>,
}

impl Held {
    pub fn erased(&mut self, user: i64, item: Option<i64>) {
        self.erased.push((user, item));
    }

    pub async fn evening(&mut self, app: &TestApp, day: i64) {
        let now = app.embeddings.now();
        let today = copy(app).await;
        if let Some((_, yesterday)) = self.copies.last() {
            self.nothing_is_lost(yesterday, &today, now, day);
            a_persons_word_gives_way_to_their_word_alone(yesterday, &today, day);
        }
        nobody_has_the_words_of_another(&today, &self.users);
        for (what, query) in [
            ("a memory faded that is confirmed, an instruction, or what a week was about",
             "memory_item_events e JOIN memory_items i ON i.user_id = e.user_id AND i.id = e.item_id
              WHERE e.event = 'faded' AND (e.was_verified_at IS NOT NULL OR e.was_protected OR i.type IN ('instruction', 'reflection'))"),
            ("Ben's memories do not fade", "memory_item_events e JOIN users u ON u.id = e.user_id WHERE e.event = 'faded' AND u.email LIKE 'ben@%'"),
            ("an episode was dreamt of twice",
             "(SELECT o.source_id FROM memory_origins o JOIN dreams d ON d.user_id = o.user_id AND d.document_id = o.item_id
               GROUP BY o.source_id HAVING count(*) > 1) twice"),
            ("a memory outlives its time", "memory_items WHERE status = 'active' AND expires_at <= $1 - interval '1 hour'"),
            ("calls are kept too long", "activity WHERE at < $1 - $2"),
            ("a job failed", "job_queue WHERE problem IS NOT NULL"),
        ] {
            let query = app.sql(format!("SELECT count(*) FROM {query}")).bind(now).bind(CALLS_KEPT);
            assert_eq!(query.value::<i64>().await, 0, "day {day}: {what}");
        }
        let promoted =
            "SELECT source_id, promoted_at::text FROM episodes WHERE promoted_at IS NOT NULL";
        for (episode, at) in app.sql(promoted).rows::<(i64, String)>().await {
            let first = self.promoted.entry(episode).or_insert_with(|| at.clone());
            assert_eq!(*first, at, "day {day}: episode {episode} was promoted again");
        }
        self.copies.push((now, today));
        self.erased.clear();
    }

    fn nothing_is_lost(&self, yesterday: &Copy, today: &Copy, now: OffsetDateTime, day: i64) {
        for (id, row) in yesterday.iter().filter(|(id, _)| !today.contains_key(id)) {
            let of_user = self.erased.iter().filter(|(user, _)| row["user"] == *user);
            let expires =
                row["expires_at"].as_str().map(|at| OffsetDateTime::parse(at, &Rfc3339).unwrap());
            let is_pardoned = match row["type"].as_str().unwrap() {
                // They go with what they stand on.
                "episode" => of_user.clone().count() > 0 || expires.is_some_and(|at| at <= now),
                "reflection" | "document" => of_user.clone().count() > 0,
                _ => of_user.clone().any(|(_, item)| *item == Some(*id)),
            };
            assert!(is_pardoned, "day {day}: memory {id} is lost: {row}");
        }
    }

    /// Of what is still there; what came later is not in it.
    pub async fn as_of_every_day(&self, app: &TestApp, users: &[&TestUser]) {
        let there = copy(app).await;
        for (n, (at, was)) in self.copies.iter().enumerate() {
            let as_of = at.format(&Rfc3339).unwrap();
            let day = Day::parse(&Zone::utc(), Some(&as_of), None, app.embeddings.now()).unwrap();
            for user in users {
                let mut export =
                    Export::new(&app.db, app.embeddings.sealer(), user.id, app.embeddings.now())
                        .as_of(&day);
                let mut file = Vec::new();
                while let Some(lines) = export.next().await.unwrap() {
                    file.extend(lines);
                }
                let told = records(&String::from_utf8(file).unwrap(), "item");
                let told: BTreeMap<i64, Value> =
                    told.iter().map(|row| (row["id"].as_i64().unwrap(), projected(row))).collect();
                let of_user = was.iter().filter(|(_, row)| row["user"] == user.id.0);
                let was: Copy = of_user
                    .filter(|(id, _)| there.contains_key(id))
                    .map(|(id, row)| (*id, row.clone()))
                    .collect();
                for (id, row) in &was {
                    assert_eq!(told.get(id), Some(&projected(row)), "memory {id} on {as_of}");
                }
                assert_eq!(told.len(), was.len(), "on {as_of}");
                if n % 9 == 0 {
                    let active = was.iter().filter(|(_, row)| row["status"] == "active");
                    let active: BTreeSet<i64> = active.map(|(id, _)| *id).collect();
                    assert_eq!(found_as_of(user, *at).await, active, "on {at}");
                }
            }
        }
    }
}

/// All that an agent finds, page by page.
async fn found_as_of(user: &TestUser, at: OffsetDateTime) -> BTreeSet<i64> {
    let mut found = BTreeSet::new();
    let mut input = json!({ "query": "*", "limit": 50, "as_of": at.format(&Rfc3339).unwrap() });
    loop {
        let page = user.call("memory_search", input.clone()).await;
        found.extend(crate::support::ids(&page));
        match page["cursor"].as_str() {
            Some(cursor) => input["cursor"] = json!(cursor),
            None => return found,
        }
    }
}

fn projected(row: &Value) -> Value {
    let moment = |value: &Value| {
        value.as_str().map(|at| OffsetDateTime::parse(at, &Rfc3339).unwrap().unix_timestamp())
    };
    COPIED
        .iter()
        .map(|name| match *name {
            "valid_from" | "valid_until" => json!(moment(&row[name])),
            _ => row[name].clone(),
        })
        .collect()
}

async fn copy(app: &TestApp) -> Copy {
    let rows: Vec<(i64, Value)> = app.sql("SELECT i.id, jsonb_build_object('user', i.user_id, 'content', i.content, 'key', i.key, 'theme', t.slug, 'type', i.type, 'status', i.status,
                'valid_from', i.valid_from, 'valid_until', i.valid_until, 'trust', i.trust, 'superseded_by', i.superseded_by,
                'expires_at', i.expires_at)
         FROM memory_items i JOIN memory_themes t ON t.user_id = i.user_id AND t.id = i.theme_id").rows().await;
    rows.into_iter().collect()
}

/// A person's memories with all that a decision changes.
pub async fn whole(app: &TestApp, user: i64) -> Copy {
    let rows: Vec<(i64, Value)> = app.sql("SELECT id, jsonb_build_array(content, key, theme_id, status, confidence, protected, trust, tags, superseded_by, last_verified_at,
                expires_at, valid_from, valid_until)
         FROM memory_items WHERE user_id = $1").bind(user).rows().await;
    rows.into_iter().collect()
}

fn a_persons_word_gives_way_to_their_word_alone(yesterday: &Copy, today: &Copy, day: i64) {
    for (id, row) in today {
        let before = yesterday.get(id).map(|row| &row["superseded_by"]);
        if row["trust"] == "user"
            && before != Some(&row["superseded_by"])
            && let Some(newer) = row["superseded_by"].as_i64().and_then(|newer| today.get(&newer))
        {
            assert_eq!(newer["trust"], "user", "day {day}: {row} gave way to {newer}");
        }
    }
}

fn nobody_has_the_words_of_another(today: &Copy, users: &[i64]) {
    for row in today.values() {
        let content = row["content"].as_str().unwrap();
        for (user, person) in users.iter().zip(&PEOPLE) {
            let is_others =
                row["user"] != *user && person.words().any(|word| content.contains(word));
            assert!(!is_others, "{content} is of {}", person.name);
        }
    }
}
