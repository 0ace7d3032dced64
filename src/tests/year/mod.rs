//! A year of three people, day by day, with a clock that is moved and a model that follows a script: everything that is done by
//! itself is done, and what is promised is held each evening. `make check` runs it.

mod held;
pub mod model;
mod people;

use keepsake::consolidation::dreaming::{self, DreamSettings};
use keepsake::erasure::{self, ExtractedMemories};
use keepsake::memories::fading::{self, FadingSettings};
use keepsake::providers::chat::ChatPurpose;
use keepsake::sessions::SessionId;
use serde_json::{Value, json};
use time::{Duration, OffsetDateTime, Time};

use crate::chat::use_server;
use crate::consolidation::told;
use crate::support::{Browser, TestApp, TestUser};
use held::Held;
use people::{Dice, PEOPLE, Person};

/// Of each person.
const SESSIONS_A_YEAR: i64 = 100;

#[tokio::test]
#[ignore = "half a minute: `make check` runs it"]
async fn a_month_of_three_people_keeps_what_is_promised() {
    let year = Year::lived(30).await;
    year.ends([20, 2, 2, 1]).await;
}

#[tokio::test]
#[ignore = "some minutes: `make check` runs it"]
async fn a_year_of_three_people_keeps_what_is_promised() {
    let year = Year::lived(365).await;
    year.ends([100, 20, 20, 20]).await;
}

struct Life {
    person: &'static Person,
    user: TestUser,
    browser: Browser,
    dice: Dice,
    /// How many dreams were decided about.
    dreams: usize,
    /// Accepted, to be undone.
    accepted: Option<(i64, i64)>,
}

struct Year {
    app: TestApp,
    lives: Vec<Life>,
    held: Held,
    sessions: i64,
}

impl Year {
    async fn lived(days: i64) -> Self {
        let app = TestApp::start().await;
        let model = model::server().await;
        let mut lives = Vec::new();
        for (n, person) in PEOPLE.iter().enumerate() {
            let user = app.user(person.name).await;
            use_server(&app, &user, &model).await;
            let browser = app.signed_in(&user).await;
            browser.post("/account/time-zone", &[("time_zone", person.time_zone)]).await;
            lives.push(Life {
                person,
                user,
                browser,
                dice: Dice::new(n as u64),
                dreams: 0,
                accepted: None,
            });
        }
        // Anna's memories fade as they do by themselves, Ben's do not, and Chiyo's within days. Ben's dreams ask nobody.
        let days_of = |name: &str| match name {
            "reflection" | "instruction" => "",
            _ => "3",
        };
        let fast = FadingSettings::parse(true, "5", days_of).unwrap();
        let none = FadingSettings {
            is_on: false,
            ..fading::settings(&app.db, lives[1].user.id).await.unwrap()
        };
        fading::save(&app.db, lives[1].user.id, &none).await.unwrap();
        fading::save(&app.db, lives[2].user.id, &fast).await.unwrap();
        let applies = DreamSettings::parse("apply", "5").unwrap();
        dreaming::save(&app.db, lives[1].user.id, applies).await.unwrap();
        let mut year = Self { app, lives, held: Held::default(), sessions: 0 };
        year.held.users = year.users().iter().map(|user| user.id.0).collect();
        year.to(24, 0);
        for day in 0..days {
            year.day(day).await;
        }
        year.held.as_of_every_day(&year.app, &year.users()).await;
        year
    }

    fn users(&self) -> Vec<&TestUser> {
        self.lives.iter().map(|life| &life.user).collect()
    }

    fn now(&self) -> OffsetDateTime {
        self.app.embeddings.now()
    }

    /// This time of the day, in UTC; 24 is the next one's midnight.
    fn to(&self, hour: i64, minute: i64) {
        let now = self.now();
        let to =
            now.replace_time(Time::MIDNIGHT) + Duration::hours(hour) + Duration::minutes(minute);
        self.app.clock.advance(to - now);
    }

    async fn day(&mut self, day: i64) {
        self.to(4, 5);
        self.app.run_due().await;
        self.to(10, 0);
        for life in &mut self.lives {
            let sessions = |day: i64| day * SESSIONS_A_YEAR / 365;
            if sessions(day + 1) > sessions(day) {
                let talk = life.person.talk(&mut life.dice);
                told(&life.user, &format!("day-{day}"), &talk).await;
                self.sessions += 1;
            }
        }
        self.to(10, 40);
        self.app.run_due().await;
        self.to(12, 0);
        for life in &mut self.lives {
            life.noon(day).await;
        }
        self.app.activity.flush().await.unwrap();
        self.to(20, 0);
        for life in &mut self.lives {
            life.evening(&self.app, &mut self.held, day).await;
        }
        self.to(23, 0);
        self.app.run_due().await;
        self.to(23, 50);
        self.held.evening(&self.app, day).await;
        self.to(24, 0);
    }

    /// At least so many sessions were told of each, and so many dreams, reflections and faded memories there were of Anna, Ben and
    /// Chiyo together.
    async fn ends(&self, least: [i64; 4]) {
        let app = &self.app;
        let counted = [
            app.count("sessions").await,
            app.count("dreams").await,
            app.count("memory_items WHERE type = 'reflection'").await,
            app.count("memory_item_events WHERE event = 'faded'").await,
        ];
        println!("sessions, dreams, reflections, faded: {counted:?}");
        assert!(counted.iter().zip(least).all(|(is, least)| *is >= least), "{counted:?} {least:?}");
        let spent: Vec<(String, i64)> = app.sql("SELECT purpose, sum(tokens)::bigint FROM chat_spend_purposes GROUP BY purpose ORDER BY 2 DESC").rows().await;
        for (purpose, tokens) in &spent {
            println!("{purpose}: {} tokens a session", tokens / self.sessions);
        }
        for purpose in [ChatPurpose::Facts, ChatPurpose::Dreaming, ChatPurpose::Reflection] {
            let is_it = |(name, tokens): &(String, i64)| name == purpose.as_str() && *tokens > 0;
            assert!(spent.iter().any(is_it), "{spent:?}");
        }
        // The timeline, to be looked at.
        let life = &self.lives[0];
        life.browser.sign_in(&life.user).await;
        let page = life.browser.look("/timeline").await;
        assert!(page.contains("a dream"), "{page}");
        if let Ok(folder) = std::env::var("KEEPSAKE_YEAR") {
            std::fs::write(format!("{folder}/timeline.html"), page).unwrap();
        }
    }
}

impl Life {
    /// What its agent does.
    async fn noon(&mut self, day: i64) {
        if self.dice.below(3) == 0 {
            let mut note = self.person.note(&mut self.dice, day);
            if note["source"] == "user_explicit" {
                note["source_context"] = note["content"].clone();
            }
            self.user.call("memory_add", note).await;
        }
        let thing = self.person.thing(&mut self.dice);
        let found = self.user.call("memory_search", json!({ "query": thing })).await;
        let results = found["results"].as_array().unwrap();
        let items: Vec<&Value> = results.iter().filter(|hit| hit["type"] == "fact").collect();
        let Some(item) = items.first() else { return };
        let input = json!({ "item_id": item["id"] });
        match self.dice.below(12) {
            0 => drop(self.user.call("memory_confirm", input).await),
            1 if item["trust"] != "user" => drop(self.user.call("memory_archive", input).await),
            _ => {}
        }
    }

    /// What the person does on the pages.
    async fn evening(&mut self, app: &TestApp, held: &mut Held, day: i64) {
        if day % 20 == 0 {
            self.browser.sign_in(&self.user).await;
        }
        self.decide(app, day).await;
        if day % 11 == 10 {
            let item: Option<i64> = app.sql("SELECT id FROM memory_items WHERE user_id = $1 AND type = 'fact' ORDER BY id OFFSET $2 LIMIT 1").bind(self.user.id.0).bind(self.dice.below(8) as i64).maybe_value().await;
            if let Some(item) = item {
                let fields = [("action", "delete"), ("item", &*item.to_string())];
                self.browser.post("/data/delete", &fields).await;
                held.erased(self.user.id.0, Some(item));
            }
        }
        if day % 37 == 25 {
            // One of the first, or of the last.
            let order = ["", "DESC"][usize::from(day % 74 == 25)];
            let (user, offset) = (self.user.id, self.dice.below(2));
            let query = format!(
                "SELECT id FROM sessions WHERE user_id = $1 ORDER BY id {order} OFFSET {offset} LIMIT 1"
            );
            let session = SessionId(app.sql(query).bind(user.0).value().await);
            let (stay, now) = (ExtractedMemories::Stay, app.embeddings.now());
            erasure::session(&app.db, &app.activity, user, session, stay, now).await.unwrap();
            held.erased(user.0, None);
        }
    }

    /// Of every dream what it proposes is dismissed, or accepted and taken back at once or after a week.
    async fn decide(&mut self, app: &TestApp, day: i64) {
        if let Some((dream, since)) = self.accepted
            && day - since == 7
        {
            self.press(dream, "undo").await;
            self.accepted = None;
        }
        let open: Option<(i64, bool)> = app.sql("SELECT dream_id, bool_or(state = 'applied') FROM dream_proposals WHERE user_id = $1
             GROUP BY dream_id HAVING bool_or(state = 'open') ORDER BY dream_id LIMIT 1").bind(self.user.id.0).maybe_row().await;
        let Some((dream, has_applied)) = open else {
            return;
        };
        self.dreams += 1;
        match self.dreams % 3 {
            1 if !has_applied => {
                let before = held::whole(app, self.user.id.0).await;
                self.press(dream, "accept_all").await;
                app.clock.advance(Duration::minutes(2));
                self.press(dream, "undo").await;
                let after = held::whole(app, self.user.id.0).await;
                assert_eq!(after, before, "dream {dream} of {}", self.person.name);
                self.press(dream, "dismiss_all").await;
            }
            2 if self.accepted.is_none() => {
                self.press(dream, "accept_all").await;
                self.press(dream, "dismiss_all").await;
                self.accepted = Some((dream, day));
            }
            _ => self.press(dream, "dismiss_all").await,
        }
    }

    async fn press(&self, dream: i64, action: &str) {
        let dream = dream.to_string();
        let answer = self.browser.post("/dreams", &[("dream", &dream), ("action", action)]).await;
        let status = answer.status().as_u16();
        assert!(status == 200 || status == 303, "{action}: {status}");
    }
}
