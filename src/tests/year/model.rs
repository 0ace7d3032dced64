//! A model that understands what these people say, and nothing else. It answers every kind of question that the product asks, and
//! counts its tokens by their letters.

use serde_json::{Value, json};
use wiremock::ResponseTemplate;

use super::people::PEOPLE;
use crate::consolidation::fact;
use crate::support::ChatServer;

/// Letters of a token, as models of English have them.
const LETTERS_A_TOKEN: usize = 4;

pub async fn server() -> ChatServer {
    ChatServer::answering(|body, _| {
        let text = |n: usize| body["messages"][n]["content"].as_str().unwrap_or_default();
        let (system, user) = (text(0), text(1));
        let answer = answer(system, user);
        let tokens = |letters: usize| letters / LETTERS_A_TOKEN;
        ResponseTemplate::new(200).set_body_json(json!({
            "choices": [{ "index": 0, "message": { "role": "assistant", "content": answer }, "finish_reason": "stop" }],
            "usage": { "prompt_tokens": tokens(system.len() + user.len()), "completion_tokens": tokens(answer.len()) },
        }))
    })
    .await
}

fn answer(system: &str, user: &str) -> String {
    if system.contains("note what is lastingly true") {
        return extraction(user);
    }
    if system.contains("list what they name") {
        return named(user);
    }
    if user.contains("<pair ") {
        return compared(user);
    }
    if system.contains("look through what is remembered") {
        return paired(user);
    }
    if system.contains("write down what lasts") {
        let lines: String = told(user).map(|line| format!("- {line}\n")).collect();
        return format!("## Preferences\n{lines}");
    }
    told(user).take(4).collect::<Vec<_>>().join(" ")
}

/// The statements of a list, without their marks.
fn told(user: &str) -> impl Iterator<Item = &str> {
    user.lines().filter_map(|line| {
        let line = line.trim_start_matches(|c: char| !c.is_alphabetic());
        let line = line.split(" [").next().unwrap_or_default().trim();
        (line.len() > 12 && !line.contains("facts>") && line.contains(' ')).then_some(line)
    })
}

/// What a sentence says, as [`people`](super::people) say it.
fn fact_in(said: &str) -> Option<Value> {
    let between = |before: &str, after: &str| said.strip_prefix(before)?.strip_suffix(after);
    if let Some(city) = between("I live in ", " now.") {
        let value = format!("Lives in {city}");
        return Some(fact("profile", "home_city", &value, "user_explicit", said));
    }
    if let Some((n, things)) = between("I have ", " at the moment.").and_then(|s| s.split_once(' '))
    {
        let value = format!("Has {n} {things}");
        return Some(fact("profile", things, &value, "user_explicit", said));
    }
    if let Some((one, other)) = between("I prefer ", ".").and_then(|s| s.split_once(" over ")) {
        let (value, key) = (format!("Prefers {one} over {other}"), one.replace(' ', "_"));
        return Some(fact("preferences", &key, &value, "user_explicit", said));
    }
    if let Some(project) = between("We are working on the ", " these weeks.") {
        let (value, key) = (format!("Works on the {project}"), project.replace(' ', "_"));
        return Some(fact("projects", &key, &value, "conversation", said));
    }
    if let Some(tool) = between("I see that you use ", " for this.") {
        let value = format!("Uses {tool}");
        return Some(fact("technical", "tool", &value, "auto_discovery", said));
    }
    None
}

fn extraction(window: &str) -> String {
    let said: Vec<&str> = window
        .lines()
        .filter_map(|line| line.split_once(": ").map(|(_, said)| said.trim()))
        .collect();
    let facts: Vec<Value> = said.iter().filter_map(|said| fact_in(said)).collect();
    let summary: String = said.join(" ").chars().take(600).collect();
    json!({ "facts": facts, "summary": summary, "entities": [], "connections": [] }).to_string()
}

fn named(user: &str) -> String {
    let mut entities = Vec::new();
    for text in user.split("<text").skip(1) {
        let number: String = text
            .chars()
            .skip_while(|c| !c.is_ascii_digit())
            .take_while(char::is_ascii_digit)
            .collect();
        let friends = PEOPLE.iter().map(|person| person.friend);
        for friend in friends.filter(|friend| text.contains(friend)) {
            entities.push(
                json!({ "text": number.parse::<u64>().ok(), "name": friend, "type": "person" }),
            );
        }
    }
    json!({ "entities": entities, "connections": [] }).to_string()
}

/// Of two projects the later one is the one.
fn compared(user: &str) -> String {
    let relations =
        user.split("<pair ").skip(1).map(|pair| match pair.matches("Works on the").count() {
            2 => "contradicts",
            _ => "unrelated",
        });
    json!({ "relations": relations.collect::<Vec<_>>() }).to_string()
}

/// Memories that begin alike belong together, each in one pair.
fn paired(user: &str) -> String {
    let mut open: Vec<(u64, &str)> = Vec::new();
    let mut pairs = Vec::new();
    for line in user.lines() {
        let Some((number, rest)) = line.trim_start_matches("<facts>").split_once(". (") else {
            continue;
        };
        let content = rest.split_once(") ").map_or(rest, |(_, content)| content);
        let content = content.split_once(": ").map_or(content, |(_, content)| content);
        let (Ok(number), Some(first)) = (number.parse::<u64>(), content.split(' ').next()) else {
            continue;
        };
        let kind = match first {
            "Prefers" => "merge",
            "Uses" => "contradiction",
            "Lives" | "Works" | "Has" => "supersede",
            _ => continue,
        };
        match open.iter().position(|(_, other)| *other == first) {
            Some(at) => {
                let (other, _) = open.swap_remove(at);
                pairs.push(json!({ "kind": kind, "first": other, "second": number, "why": "One came later." }));
            }
            None => open.push((number, first)),
        }
    }
    json!({ "pairs": pairs }).to_string()
}
