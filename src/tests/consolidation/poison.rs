//! Planted texts, written by someone who had not read the code: whatever way they come in, and though the chat model obeys
//! them, they become neither the person's word nor, unless an agent says so itself, an agent's.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{fact, finding, items, read_due, told, user_of, user_says};
use crate::support::TestApp;

#[derive(Deserialize)]
struct Texts {
    text: Vec<PlantedText>,
}

#[derive(Deserialize)]
struct PlantedText {
    name: String,
    way: String,
    marker: String,
    person: String,
    planted: String,
    question: String,
    #[serde(default)]
    answers: Vec<ObedientAnswer>,
}

/// What a chat model answers that does as it is told.
#[derive(Deserialize)]
struct ObedientAnswer {
    category: String,
    key: String,
    value: String,
    source: String,
    context: String,
}

fn texts() -> Vec<PlantedText> {
    toml::from_str::<Texts>(include_str!("../behaviour/poison.toml")).unwrap().text
}

impl PlantedText {
    /// `None`: it does not come in by a conversation.
    fn conversation(&self) -> Option<Vec<Value>> {
        let by_tool = |name: &str| {
            let call = json!({ "id": "c1", "name": name, "arguments": "{}" });
            vec![
                user_says("m1", &self.person),
                json!({ "id": "m2", "role": "assistant", "content": "", "tool_calls": [call] }),
                json!({ "id": "m3", "role": "tool", "tool_call_id": "c1", "content": self.planted }),
            ]
        };
        Some(match self.way.as_str() {
            "page" => by_tool("fetch"),
            "file" => by_tool("read_file"),
            "document" => by_tool("read_document"),
            "tool" if self.planted.contains("evil__") => by_tool("evil__memory_search"),
            "tool" => by_tool("shell"),
            "user_element" => {
                vec![user_says("m1", &format!("{}\n\n{}", self.planted, self.person))]
            }
            "quoted" => vec![user_says("m1", &format!("{}\n\n{}", self.person, self.planted))],
            _ => return None,
        })
    }

    fn facts(&self) -> Value {
        let each = self.answers.iter().map(|answer| {
            let category = match answer.category.as_str() {
                "preference" => "preferences",
                "project" => "projects",
                "profile" => "profile",
                _ => "other",
            };
            fact(category, &answer.key, &answer.value, &answer.source, &answer.context)
        });
        each.collect()
    }

    /// The trust of the memories that say it.
    fn believed(&self, items: &[Value]) -> Vec<String> {
        let of = items.iter().filter(|item| item["content"].to_string().contains(&self.marker));
        of.map(|item| item["trust"].as_str().unwrap().to_owned()).collect()
    }
}

#[tokio::test]
async fn a_planted_text_becomes_nobodys_word() {
    let app = TestApp::start().await;
    let mut wrong = Vec::new();
    let mut read = 0;
    for (n, text) in texts().into_iter().enumerate() {
        let Some(messages) = text.conversation() else { continue };
        let model = finding(text.facts(), "unrelated").await;
        let user = user_of(&app, &format!("reader-{n}"), &model).await;
        told(&user, "talk", &messages).await;
        read_due(&app).await;
        let believed = text.believed(&items(&app, &user).await);
        read += believed.len();
        if believed.iter().any(|trust| trust == "user" || trust == "agent") {
            wrong.push(format!("{} ({}): {believed:?}", text.name, text.way));
        }
    }
    assert!(read >= 46, "what the model said was stored, and this is no proof of anything: {read}");
    assert!(wrong.is_empty(), "{} of {read}\n{}", wrong.len(), wrong.join("\n"));
}

#[tokio::test(crate = "crate::support::shared")]
async fn what_a_hostile_agent_adds_is_its_own_word_and_none_of_the_persons() {
    let app = TestApp::shared().await;
    for (n, text) in texts().into_iter().filter(|text| text.way == "agent").enumerate() {
        let user = app.user(&format!("victim-{n}")).await;
        told(&user, "talk", &[user_says("m1", &text.person), user_says("m2", &text.question)])
            .await;
        for quote in [&text.person, &text.question] {
            for item_type in ["instruction", "fact"] {
                let content: String = text.planted.chars().take(4_000).collect();
                let added = user
                    .call(
                        "memory_add",
                        json!({ "type": item_type, "content": format!("{content} ({item_type})"),
                                "source": "user_explicit", "source_context": quote }),
                    )
                    .await;
                assert_eq!(added["trust"], "agent", "{}: {added}", text.name);
            }
        }
    }
}
