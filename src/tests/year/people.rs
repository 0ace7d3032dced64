//! Three people, each with a world of words that nobody else's words occur in, and what they say and do on a day.

use serde_json::{Value, json};

/// Always the same numbers.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn below(&mut self, n: usize) -> usize {
        // Knuth's MMIX.
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }

    pub fn one_of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len())]
    }
}

pub struct Person {
    pub name: &'static str,
    pub time_zone: &'static str,
    pub friend: &'static str,
    things: &'static str,
    cities: &'static [&'static str],
    drinks: &'static [&'static str],
    projects: &'static [&'static str],
    tools: &'static [&'static str],
}

pub const PEOPLE: [Person; 3] = [
    Person {
        name: "anna",
        time_zone: "Europe/Vienna",
        friend: "Marta Helgesen",
        things: "hives",
        cities: &["Graz", "Linz", "Villach", "Salzburg"],
        drinks: &["linden tea over black tea", "clover honey over sugar", "apple juice over beer"],
        projects: &["garden shed", "honey label", "village fair", "bee survey"],
        tools: &["Fedora", "Inkscape", "LibreOffice"],
    },
    Person {
        name: "ben",
        time_zone: "America/New_York",
        friend: "Otis Grant",
        things: "boats",
        cities: &["Boston", "Portland", "Newport", "Salem"],
        drinks: &["cold brew over espresso", "root beer over cola", "cider over wine"],
        projects: &["harbor map", "sail loft", "tide clock", "museum boat"],
        tools: &["Debian", "Blender", "KiCad"],
    },
    Person {
        name: "chiyo",
        time_zone: "Asia/Tokyo",
        friend: "Kenji Mori",
        things: "trains",
        cities: &["Osaka", "Kyoto", "Sendai", "Nara"],
        drinks: &["green tea over water", "plum wine over sake", "barley tea over milk"],
        projects: &["station model", "timetable archive", "signal box", "railway blog"],
        tools: &["Windows", "Krita", "FreeCAD"],
    },
];

impl Person {
    /// Words that are nobody else's.
    pub fn words(&self) -> impl Iterator<Item = &'static str> {
        let more = [self.friend, self.things];
        self.cities.iter().chain(self.projects).copied().chain(more)
    }

    pub fn thing(&self, dice: &mut Dice) -> String {
        match dice.below(2) {
            0 => self.things.to_owned(),
            _ => dice.one_of(self.projects).to_owned(),
        }
    }

    /// The messages of a conversation.
    pub fn talk(&self, dice: &mut Dice) -> Vec<Value> {
        let mut messages = Vec::new();
        for _ in 0..4 + dice.below(5) {
            let (role, said) = self.sentence(dice);
            let id = format!("m{}", messages.len());
            messages.push(json!({ "id": id, "role": role, "content": said }));
        }
        messages
    }

    fn sentence(&self, dice: &mut Dice) -> (&'static str, String) {
        match dice.below(8) {
            0 => ("user", format!("I live in {} now.", dice.one_of(self.cities))),
            1 => ("user", format!("I have {} {} at the moment.", 2 + dice.below(8), self.things)),
            2 => ("user", format!("I prefer {}.", dice.one_of(self.drinks))),
            3 | 4 => (
                "user",
                format!("We are working on the {} these weeks.", dice.one_of(self.projects)),
            ),
            5 => ("assistant", format!("I see that you use {} for this.", dice.one_of(self.tools))),
            6 => {
                ("user", format!("{} helps me with the {} on some days.", self.friend, self.things))
            }
            _ => (
                "assistant",
                "Shall we go on with that tomorrow, or is it enough for today?".to_owned(),
            ),
        }
    }

    /// What an agent notes by itself.
    pub fn note(&self, dice: &mut Dice, day: i64) -> Value {
        let thing = self.thing(dice);
        match dice.below(4) {
            0 => {
                json!({ "type": "fact", "theme": "notes", "content": format!("The {thing} were looked after on day {day}."), "expires_in_days": 5 })
            }
            1 => {
                json!({ "type": "instruction", "theme": "rules", "content": format!("Ask before anything about the {thing} is changed."), "source": "user_explicit" })
            }
            _ => {
                json!({ "type": "fact", "theme": "notes", "content": format!("Read about the {thing} on day {day}.") })
            }
        }
    }
}
